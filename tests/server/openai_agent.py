"""An agent as strangers write them: a loop over the openai package that knows no more of tripwright
than what it is called with."""

import json
import re
from collections.abc import Callable
from typing import Any

import openai

MOST_TURNS = 10


def play(
    messages: list[Any],
    tools: list[Any],
    call: Callable[[str, dict[str, Any]], str],
    base_url: str,
    model: str,
) -> str | None:
    client = openai.OpenAI(base_url=base_url, api_key="none", max_retries=0)
    messages = list(messages)
    for _ in range(MOST_TURNS):
        said = client.chat.completions.create(
            model=model, messages=messages, tools=tools, max_tokens=400
        )
        message = said.choices[0].message
        messages.append(message)
        for made in message.tool_calls or ():
            text = call(made.function.name, json.loads(made.function.arguments))
            messages.append({"role": "tool", "tool_call_id": made.id, "content": text})
        if not message.tool_calls:
            found = re.search(r"<answer>(.*)</answer>", message.content or "", re.DOTALL)
            return found and found[1].strip()
    return None


def forgetful(messages: list[Any], tools: Any, call: Any, base_url: str, model: str) -> str | None:
    """Begins anew, and says it otherwise."""
    play(messages, tools, call, base_url, model)
    return play(messages[1:], tools, call, base_url, model)


def broken(**_: Any) -> str | None:
    raise KeyError("plan")

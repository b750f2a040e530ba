"""A Search-R1 model behind an OpenAI-compatible endpoint: its whole episode is one assistant
message that is written on.

Search-R1 puts what a search found into the model's own text, without another role in between. So
every request holds the user's prompt and one assistant message, everything so far, and asks the
server to continue it (`continue_final_message`, as vLLM and SGLang know it) up to the next
`</search>` or `</answer>`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tripwright.llm.client import ChatEndpoint, Completion, Fault

STOPS = ("</search>", "</answer>")
TO_THE_TAG = {"stop": list(STOPS), "include_stop_str_in_output": True}
GO_ON = {"continue_final_message": True, "add_generation_prompt": False}


@dataclass(frozen=True)
class ContinuingEndpoint(ChatEndpoint):
    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Completion | Fault:
        """`tools` are never sent: this notation has its own."""
        outcome = super().complete(as_one_turn(messages), max_tokens=max_tokens)
        return (
            replace(outcome, text=closed(outcome.text))
            if isinstance(outcome, Completion)
            else outcome
        )

    def _request(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        begun = messages[-1]["role"] == "assistant"
        return {
            **super()._request(messages, tools, max_tokens),
            **TO_THE_TAG,
            **(GO_ON if begun else {}),
        }


def as_one_turn(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """What stands before the first assistant turn as it is, and all the rest as one assistant
    message."""
    opening = next(
        (place for place, message in enumerate(messages) if message["role"] == "assistant"),
        len(messages),
    )
    written = "".join(str(message["content"]) for message in messages[opening:])
    return [
        *map(dict, messages[:opening]),
        *([{"role": "assistant", "content": written}] if written else []),
    ]


def closed(text: str) -> str:
    """With the tag at which the server stopped, where it leaves that out."""
    for stop in STOPS:
        opened = text.rfind(stop.replace("/", ""))
        if opened >= 0 and stop not in text[opened:]:
            return text + stop
    return text

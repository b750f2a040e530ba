"""A transcript as Inspect's chat messages, and what an Inspect model said as our client would say
it.

What is sent is what `--policy endpoint` sends (`policies/endpoint.py`), with one difference: a
dialect whose prompt lists the tools itself makes no native calls, so its tool answers go as the
user's words, between `<tool_response>` tags, because most providers refuse a tool's answer to no
call.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    ContentReasoning,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.tool import ToolCall, ToolInfo, ToolParams

from tripwright.llm.client import Completion, RequestedCall
from tripwright.policies.endpoint import Notation, messages
from tripwright.transcript import Transcript


def chat_messages(
    transcript: Transcript,
    how: Notation,
    schemas: list[dict[str, Any]],
    context_from: int | None = None,
) -> list[ChatMessage]:
    """The conversation so far; `how` and `context_from` as in the endpoint policy."""
    return [_message(message) for message in messages(transcript, how, schemas, context_from)]


def tool_infos(schemas: Sequence[dict[str, Any]]) -> list[ToolInfo]:
    """JSON functions of OpenAI's format as Inspect hands them to a provider: the same, and closed
    (`additionalProperties` false), which providers need who read calls strictly."""
    functions = [schema["function"] for schema in schemas]
    return [
        ToolInfo(
            name=function["name"],
            description=function["description"],
            parameters=ToolParams.model_validate(function["parameters"]),
        )
        for function in functions
    ]


def completion_of(output: ModelOutput) -> Completion:
    """What the model said, as our own client would say it: text, calls and reasoning, no token
    ids."""
    calls = tuple(_requested(call) for call in output.message.tool_calls or ())
    usage: dict[str, float] = {}
    if output.usage is not None:
        usage = {
            "prompt_tokens": output.usage.input_tokens,
            "completion_tokens": output.usage.output_tokens,
        }
    finish_reason = "length" if output.stop_reason == "max_tokens" else output.stop_reason
    content = output.message.content
    blocks = [] if isinstance(content, str) else content
    reasoning = "".join(block.reasoning for block in blocks if isinstance(block, ContentReasoning))
    return Completion(output.message.text, calls, finish_reason, usage, reasoning)


def last_words(transcript: Transcript, model: str) -> ModelOutput:
    """The answer (else the last turn) as a model's output, which the viewer shows first."""
    turns = [segment.text for segment in transcript.segments if segment.role == "assistant"]
    output = ModelOutput.from_content(
        model, transcript.answer if transcript.answer is not None else "".join(turns[-1:])
    )
    input_tokens, output_tokens = (
        int(transcript.usage.get(name, 0)) for name in ("prompt_tokens", "completion_tokens")
    )
    if input_tokens or output_tokens:
        output.usage = ModelUsage(
            input_tokens=input_tokens,
            output_tokens=output_tokens,
            total_tokens=input_tokens + output_tokens,
        )
    return output


def _message(message: dict[str, Any]) -> ChatMessage:
    role, text = message["role"], message["content"]
    if role == "system":
        return ChatMessageSystem(content=text)
    if role == "assistant":
        calls = [
            ToolCall(
                id=call["id"],
                function=call["function"]["name"],
                arguments=json.loads(call["function"]["arguments"]),
            )
            for call in message.get("tool_calls", ())
        ]
        return ChatMessageAssistant(content=text, tool_calls=calls or None)
    if role == "tool" and "tool_call_id" in message:
        return ChatMessageTool(content=text, tool_call_id=message["tool_call_id"])
    if role == "tool":  # as Qwen's chat templates write what a tool said, and as STAR's agent does
        text = f"<tool_response>\n{text}\n</tool_response>"
    return ChatMessageUser(content=text)


def _requested(call: ToolCall) -> RequestedCall:
    """Arguments that Inspect could not read are lost there; what stands in their place cannot be
    read either."""
    arguments = (
        json.dumps(call.arguments) if call.parse_error is None else "(arguments that are no JSON)"
    )
    return RequestedCall(call.id, call.function, arguments)

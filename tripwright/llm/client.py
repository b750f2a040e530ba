"""A client for OpenAI-compatible chat endpoints whose failures are values (`endpoint`).

Everything the model wrote, however odd, is a `Completion`. Requests are sent and
bodies are read by us and not by the openai package: it builds its objects without checking them, so
that a missing field would surface much later, and takes longer for each request than everything
else here together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripwright.errors import UserError
from tripwright.llm.endpoint import Endpoint, Fault, FaultKind

__all__ = ["ChatEndpoint", "Completion", "Fault", "FaultKind", "RequestedCall"]


class RequestedCall(NamedTuple):
    """A native tool call. `arguments` is the JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Completion:
    text: str
    tool_calls: tuple[RequestedCall, ...]
    finish_reason: str | None
    # prompt_tokens, completion_tokens, cached_tokens of the prompt (where the server counts them),
    # seconds
    usage: dict[str, float]
    reasoning: str = ""  # where the server tells thoughts apart from the text


@dataclass(frozen=True)
class ChatEndpoint(Endpoint):
    """An endpoint, by its address up to and including /v1, with its sampling settings; None leaves
    a setting to the server."""

    model: str
    temperature: float | None = field(default=None, kw_only=True)
    top_p: float | None = field(default=None, kw_only=True)
    max_tokens: int | None = field(default=None, kw_only=True)
    # What only some servers know, for instance {"chat_template_kwargs": {"enable_thinking": False}}
    # for vLLM (Planner-R1 trains and tests without thinking; row P7).
    extra_body: Mapping[str, Any] = field(default_factory=dict, kw_only=True)

    answer = "chat completion"

    def advice(self) -> str:
        return f"Check the model '{self.model}', the account, and that the URL ends in /v1."

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.model:
            raise UserError(f"No model named for the endpoint {self.shown_url}.")

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Completion | Fault:
        """One assistant message. Without `tools` the text may hold calls in another notation,
        `<tool_call>…`, for the caller to parse. `max_tokens` in place of the endpoint's own."""
        optional = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": max_tokens or self.max_tokens,
            "tools": tools or None,
        }
        settings = {name: value for name, value in optional.items() if value is not None}
        body = {"model": self.model, "messages": list(messages), **settings, **self.extra_body}
        reply = self.ask("/chat/completions", body, _completion)
        if isinstance(reply, Fault):
            return reply
        reply.value.usage["seconds"] = reply.seconds
        return reply.value


def _completion(body: Any) -> Completion:
    """Reads a chat completion, failing (AttributeError, KeyError, IndexError, TypeError) where a
    field is missing or of another type."""
    choice = body["choices"][0]
    message = choice["message"]
    calls = tuple(
        _requested_call(call, position)
        for position, call in enumerate(message.get("tool_calls") or ())
    )
    counts = body.get("usage") or {}
    usage = {
        name: float(counts[name])
        for name in ("prompt_tokens", "completion_tokens")
        if isinstance(counts.get(name), int)
    }
    cached = (counts.get("prompt_tokens_details") or {}).get(
        "cached_tokens", counts.get("prompt_cache_hit_tokens")
    )  # OpenAI's, DeepSeek's
    if isinstance(cached, int):
        usage["cached_tokens"] = float(cached)
    # DeepSeek's and vLLM's name; OpenRouter's and vLLM's later one
    reasoning = _text(message.get("reasoning_content") or message.get("reasoning") or "")
    text = _text(message.get("content") or "")
    return Completion(text, calls, choice.get("finish_reason"), usage, reasoning)


def _requested_call(call: Any, position: int) -> RequestedCall:
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    if isinstance(arguments, dict):  # as some servers send them
        arguments = json.dumps(arguments)
    return RequestedCall(
        str(call.get("id") or f"call_{position}"), _text(function["name"]), _text(arguments)
    )


def _text(value: Any) -> str:
    """Text that can be sent back: JSON may hold lone surrogates, which no encoder takes."""
    if not isinstance(value, str):
        raise TypeError("not text")
    return value.encode("utf-8", "replace").decode()

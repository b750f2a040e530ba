"""A client for OpenAI-compatible chat endpoints whose failures are values (`endpoint`).

Everything the model wrote, however odd, is a `Completion`. Requests are sent and
bodies are read by us and not by the openai package: it builds its objects without checking them, so
that a missing field would surface much later, and takes longer for each request than everything
else here together.
"""

from __future__ import annotations

import json
import math
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripwright.errors import UserError
from tripwright.llm.endpoint import Endpoint, Fault, Reply

__all__ = ["ChatEndpoint", "Completion", "Fault", "RequestedCall"]

# what is said of tools where they are refused
OF_TOOLS = dict.fromkeys(("reasoning_content", "tool"), "tools")
# where servers tell thoughts apart: DeepSeek, Kimi, GLM; vLLM, OpenRouter; MiniMax, OpenRouter
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")

BYTES_PER_TOKEN = 3  # by our own count: English has four or five, Chinese three
MOST_BYTES_PER_TOKEN = 48  # of a whole text: a server that counts fewer tokens is not believed
MOST_TOKENS = 10_000_000  # of one request: no model takes more


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
    # seconds; uncounted_requests: 1 where we had to count
    usage: dict[str, float]
    reasoning: str = ""  # where the server tells thoughts apart from the text
    # the same as it came, by its name: with native tools such servers want it back
    told_apart: Mapping[str, Any] = field(default_factory=dict)
    # as it came, without what is null or empty, for whoever compares what comes back
    message: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ChatEndpoint(Endpoint):
    """An endpoint, by its address up to and including /v1, with its sampling settings; None leaves
    a setting to the server."""

    model: str
    temperature: float | None = field(default=None, kw_only=True)
    top_p: float | None = field(default=None, kw_only=True)
    max_tokens: int | None = field(default=None, kw_only=True)
    max_tokens_field: str = field(default="max_tokens", kw_only=True)
    # What only some servers know, for instance {"chat_template_kwargs": {"enable_thinking": False}}
    # for vLLM (Planner-R1 trains and tests without thinking; row P7).
    extra_body: Mapping[str, Any] = field(default_factory=dict, kw_only=True)
    # word of a refusal, a parameter or OF_TOOLS → what a user can give in place of what is refused
    cures: Mapping[str, str] = field(default_factory=dict, kw_only=True, repr=False)

    # taken by the first thread that has to say that tokens are counted by us
    _unsaid: threading.Lock = field(
        default_factory=threading.Lock, init=False, repr=False, compare=False
    )

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
        `<tool_call>…`, for the caller to parse. `max_tokens` in place of the endpoint's own. What a
        content filter refuses or cuts off has the finish_reason "content_filter". Raises UserError
        where a parameter is refused that `cures` knows, because it would be every time."""
        optional = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            self.max_tokens_field: max_tokens or self.max_tokens,
            "tools": tools or None,
        }
        settings = {name: value for name, value in optional.items() if value is not None}
        body = {"model": self.model, "messages": list(messages), **settings, **self.extra_body}

        def read(answer: Any) -> tuple[Completion, Any]:
            return _completion(answer), answer.get("usage")

        reply = self.ask("/chat/completions", body, read)
        if isinstance(reply, Fault):
            words = reply.message.lower() if reply.kind == "rejected" else ""
            for word, cure in self.cures.items():
                if word in words and OF_TOOLS.get(word, word) in body:
                    raise UserError(f"{reply.message} Give {cure}.")
            if reply.kind != "content_filter":
                return reply
            # a service that has read the prompt may ask its price
            refused = Completion("", (), "content_filter", {})
            reply = Reply((refused, None), 0.0, reply.attempts, {}, len(json.dumps(body)))
        completion, stated = reply.value
        calls = (call.name + call.arguments for call in completion.tool_calls)
        said = "".join([completion.text, completion.reasoning, *calls])
        completion.usage.update(_usage(stated, reply.sent_bytes, len(said.encode())))
        completion.usage["seconds"] = reply.seconds
        if "uncounted_requests" in completion.usage and self._unsaid.acquire(blocking=False):
            print(
                f"\nwarning: {self.shown_url} states no true counts of its tokens, which are"
                f" counted by us: one for every {BYTES_PER_TOKEN} bytes.",
                file=sys.stderr,
                flush=True,
            )
        return completion


def _completion(body: Any) -> Completion:
    """Reads a chat completion, failing (AttributeError, KeyError, IndexError, TypeError) where a
    field is missing or of another type."""
    choice = body["choices"][0]
    is_filtered = choice.get("finish_reason") == "content_filter"
    message = (choice.get("message") or {}) if is_filtered else choice["message"]
    calls = tuple(
        _requested_call(call, position)
        for position, call in enumerate(message.get("tool_calls") or ())
    )
    told_apart = {name: message[name] for name in THOUGHTS if message.get(name) is not None}
    text, thought = _said(message.get("content"))
    apart = told_apart.get("reasoning_content") or told_apart.get("reasoning")
    reasoning = "".join(_said(apart)) or thought
    ended = choice.get("finish_reason")
    whole = {name: value for name, value in message.items() if value not in (None, [])}
    return Completion(text, calls, ended, {}, reasoning, _sendable(told_apart), _sendable(whole))


def _usage(stated: Any, sent_bytes: int, said_bytes: int) -> dict[str, float]:
    """The server's count of each kind of tokens where it can be true, else ours, which is rather
    too high: its bill must not pass --max-cost-usd unseen."""
    stated, usage = stated if isinstance(stated, dict) else {}, dict[str, float]()
    for name, size in (("prompt_tokens", sent_bytes), ("completion_tokens", said_bytes)):
        count = stated.get(name)
        if type(count) is int and size / MOST_BYTES_PER_TOKEN <= count <= MOST_TOKENS:
            usage[name] = float(count)
        else:
            usage |= {name: float(math.ceil(size / BYTES_PER_TOKEN)), "uncounted_requests": 1.0}
    details = stated.get("prompt_tokens_details")  # OpenAI's; the other is DeepSeek's
    cached = (details if isinstance(details, dict) else {}).get(
        "cached_tokens", stated.get("prompt_cache_hit_tokens")
    )
    if type(cached) is int and 0 <= cached <= usage["prompt_tokens"]:
        usage["cached_tokens"] = float(cached)
    return usage


def _requested_call(call: Any, position: int) -> RequestedCall:
    function = call["function"]
    arguments = function.get("arguments") or "{}"
    if not isinstance(arguments, str):  # an object, as some servers send them
        arguments = json.dumps(arguments)
    return RequestedCall(
        str(call.get("id") or f"call_{position}"), _text(function["name"]), _text(arguments)
    )


def _said(content: Any) -> tuple[str, str]:
    """(text, thoughts) of a text, of nothing, or of a list of parts, as Mistral's models answer who
    think."""
    if not isinstance(content, list):
        return _text(content or ""), ""
    text = thoughts = ""
    for part in content:
        kind = part["type"]
        if kind in ("thinking", "reasoning"):
            thoughts += "".join(_said(part.get(kind) or part["text"]))
        else:
            text += _text(part["text"])
    return text, thoughts


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not text")
    return str(_sendable(value))


def _sendable(value: Any) -> Any:
    """The same without lone surrogates, which JSON may hold and no encoder takes."""
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))

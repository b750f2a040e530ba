"""A client for OpenAI-compatible chat endpoints whose failures are values.

Three kinds of trouble, three ways out: what may pass (timeouts, refused connections, 5xx, 429,
rubbish bodies) is retried and then returned as a `Fault`, so that a rollout becomes unscored
instead of a reward of 0; what will never pass (wrong key, unknown model, no credit) raises
UserError at once; everything the model wrote, however odd, is a `Completion`. Requests are sent and
bodies are read by us and not by the openai package: it builds its objects without checking them, so
that a missing field would surface much later, and takes longer for each request than everything
else here together.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

from tripwright import __version__
from tripwright.errors import UserError
from tripwright.llm.connections import Connections
from tripwright.llm.pace import Pace
from tripwright.llm.urls import shown_url

if TYPE_CHECKING:
    import httpx2

LONGEST_WAIT_S = 60.0  # between two attempts, whatever the server asks for
SHOWN_CHARACTERS = 200  # of a foreign message
HOPELESS_STATUS = {401, 402, 403, 404}
# header → environment variable
ACCOUNT_HEADERS = {"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"}

FaultKind = Literal[
    "timeout",
    "connection",
    "server_error",
    "rate_limit",
    "bad_response",
    "rejected",
    "context_overflow",
    "stopped",
]


@dataclass(frozen=True)
class Fault:
    """Why there is no completion. `context_overflow` (the messages outgrew the model's window) is
    an outcome of the episode, not of the endpoint; all other kinds are faults of our side."""

    kind: FaultKind
    message: str
    attempts: int = 1


@dataclass(frozen=True)
class RequestedCall:
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
class ChatEndpoint:
    """An endpoint with its sampling settings; None leaves a setting to the server. Threads may
    share one."""

    base_url: str = field(repr=False)  # up to and including /v1; may hold a user and a password
    model: str
    api_key_env: str = "OPENAI_API_KEY"  # servers without keys do not need it
    timeout_s: float = 120.0  # per attempt, for connecting and between two reads
    max_retries: int = 4
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    first_wait_s: float = 0.5  # doubles with each retry
    # What only some servers know, for instance {"chat_template_kwargs": {"enable_thinking": False}}
    # for vLLM (Planner-R1 trains and tests without thinking; row P7).
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    requests_per_second: float | None = None  # over all threads, retries included
    _connections: Connections = field(init=False, repr=False, compare=False)
    _pace: Pace = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise UserError(
                f"Endpoint '{self._shown_url}' is not a URL: expected one like"
                " http://localhost:8000/v1."
            )
        if not self.model:
            raise UserError(f"No model named for the endpoint {self._shown_url}.")
        if self.timeout_s <= 0 or self.max_retries < 0 or self.first_wait_s < 0:
            raise UserError(
                "An endpoint needs timeout_s > 0, max_retries >= 0 and first_wait_s >= 0."
            )
        if self.requests_per_second is not None and not self.requests_per_second > 0:
            raise UserError(
                "An endpoint is asked some requests_per_second above 0, found"
                f" {self.requests_per_second}."
            )
        self._open()

    def complete(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None = None,
        max_tokens: int | None = None,
    ) -> Completion | Fault:
        """One assistant message. Without `tools` the text may hold calls in another notation,
        `<tool_call>…`, for the caller to parse. `max_tokens` in place of the endpoint's own."""
        content = json.dumps(self._request(messages, tools, max_tokens)).encode()
        for attempt in range(1, self.max_retries + 2):
            if not self._pace.wait():
                break
            started = time.monotonic()
            outcome, server_wait_s = self._attempt(content)
            if isinstance(outcome, Completion):
                outcome.usage["seconds"] = time.monotonic() - started
                return outcome
            if outcome.kind in ("rejected", "context_overflow") or attempt > self.max_retries:
                return Fault(outcome.kind, outcome.message, attempt)
            wait_s = self._wait_s(attempt, server_wait_s)
            if server_wait_s is not None:
                self._pace.hold(wait_s)  # it speaks to all threads
            elif not self._pace.sleep(wait_s):
                break
        return Fault("stopped", "The run was stopped before this request was sent.")

    def stop(self) -> None:
        """From now on nothing is sent: what waits for its turn or for another attempt ends as a
        Fault. Answers under way still arrive."""
        self._pace.stop()

    def _request(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]] | None,
        max_tokens: int | None,
    ) -> dict[str, Any]:
        optional = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": max_tokens or self.max_tokens,
            "tools": tools or None,
        }
        settings = {name: value for name, value in optional.items() if value is not None}
        return {"model": self.model, "messages": list(messages), **settings, **self.extra_body}

    def _attempt(self, content: bytes) -> tuple[Completion | Fault, float | None]:
        """(outcome, seconds the server asks us to wait)."""
        import httpx2  # a quarter of a second to import: only for those who use an endpoint

        try:
            with self._connections.one() as client:
                response = client.post(
                    f"{self.base_url.rstrip('/')}/chat/completions",
                    content=content,
                    headers=self._headers(),
                )
        except httpx2.TimeoutException:
            return (
                Fault("timeout", f"{self._shown_url} did not answer within {self.timeout_s:g} s."),
                None,
            )
        except httpx2.InvalidURL as error:
            raise UserError(
                f"Endpoint '{self._shown_url}' is not a URL: {self._shown(error)}."
            ) from None
        except httpx2.HTTPError as error:
            return (
                Fault("connection", f"{self._shown_url} cannot be reached: {self._shown(error)}"),
                None,
            )
        if response.is_success:
            return self._read(response.text), None
        return self._status_fault(response), _retry_after_s(response.headers.get("retry-after"))

    def _headers(self) -> dict[str, str]:
        """Read for each request: a key may be set anew while a long run is under way."""
        key = os.environ.get(self.api_key_env) or "no-key"
        account = {
            header: os.environ[name]
            for header, name in ACCOUNT_HEADERS.items()
            if os.environ.get(name)
        }
        fixed = {"Content-Type": "application/json", "User-Agent": f"tripwright/{__version__}"}
        return {"Authorization": f"Bearer {key}", **fixed, **account}

    def _status_fault(self, response: httpx2.Response) -> Fault:
        status, (code, message) = response.status_code, _said_error(response.text)
        answer = f"{self._shown_url} answered {status}: {self._shown(message).rstrip('.')}."
        if status == 401 or status == 403:
            state = "set" if os.environ.get(self.api_key_env) else "not set"
            raise UserError(
                f"{answer} The key is read from the environment variable {self.api_key_env}, which"
                f" is {state}."
            )
        if status in HOPELESS_STATUS or code == "insufficient_quota":
            raise UserError(
                f"{answer} Check the model '{self.model}', the account, and that the URL ends in"
                " /v1."
            )
        if status == 429:
            return Fault("rate_limit", answer)
        if status >= 500 or status in (408, 409):
            return Fault("server_error", answer)
        words = f"{code} {message}".lower()
        overflow = (
            "context_length" in words
            or "context length" in words
            or "context window" in words
            or "maximum model length" in words
        )
        return Fault("context_overflow" if overflow else "rejected", answer)

    def _read(self, body: str) -> Completion | Fault:
        try:
            return _completion(json.loads(body))
        except (ValueError, RecursionError):
            return Fault(
                "bad_response",
                f"{self._shown_url} answered with something other than JSON: {self._shown(body)}",
            )
        except (AttributeError, KeyError, IndexError, TypeError):
            return Fault(
                "bad_response",
                f"{self._shown_url} answered JSON that is no chat completion: {self._shown(body)}",
            )

    def _wait_s(self, attempt: int, server_wait_s: float | None) -> float:
        if server_wait_s is not None:
            return min(server_wait_s, LONGEST_WAIT_S)
        # many rollouts fail at the same moment and must not come back at the same moment
        jitter = 0.75 + 0.5 * random.random()
        return min(float(self.first_wait_s * 2 ** min(attempt - 1, 20) * jitter), LONGEST_WAIT_S)

    @property
    def _shown_url(self) -> str:
        return shown_url(self.base_url)

    def _shown(self, message: object) -> str:
        """One short line of a foreign message, without the key should the server have repeated
        it."""
        line = " ".join(str(message).split())
        if key := os.environ.get(self.api_key_env):
            line = line.replace(key, "***")
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"

    def _open(self) -> None:
        object.__setattr__(self, "_connections", Connections(self.base_url, self.timeout_s))
        object.__setattr__(self, "_pace", Pace(self.requests_per_second))

    def __getstate__(self) -> dict[str, Any]:
        # connections and waits stay in their process
        return {each.name: getattr(self, each.name) for each in fields(self) if each.init}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()


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


def _said_error(body: str) -> tuple[str, str]:
    """(code, message) of a refusal, wherever the server puts them; else the body as it is."""
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return "", body
    error = content.get("error", content) if isinstance(content, dict) else content
    if not isinstance(error, dict):
        return "", str(error)
    return str(error.get("code") or ""), str(error.get("message") or error.get("detail") or body)


def _text(value: Any) -> str:
    """Text that can be sent back: JSON may hold lone surrogates, which no encoder takes."""
    if not isinstance(value, str):
        raise TypeError("not text")
    return value.encode("utf-8", "replace").decode()


def _retry_after_s(header: str | None) -> float | None:
    """The `Retry-After` header in seconds: it holds a number or a date."""
    if not header:
        return None
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return seconds if 0 <= seconds < float("inf") else None

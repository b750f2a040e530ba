"""An HTTP endpoint that is asked in JSON and whose failures are values: retries, pace, connections.
What is asked, and how an answer is read, whoever uses it says (`client`, `rl/token_servers`).

Three kinds of trouble, three ways out: what may pass (timeouts, refused connections, 5xx, 429,
rubbish bodies) is retried and then returned as a `Fault`, so that a rollout becomes unscored
instead of a reward of 0; what will never pass (wrong key, unknown model, no credit) raises
UserError at once; everything that can be read is a `Reply`.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from tripwright import __version__
from tripwright.errors import UserError
from tripwright.llm.connections import Connections
from tripwright.llm.pace import Pace
from tripwright.llm.urls import shown_url

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")

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


class BadAnswer(ValueError):
    """An answer that is JSON, and not what was asked for. Its words say why."""


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What an answer said. `seconds` are of the attempt that brought it."""

    value: T
    seconds: float
    attempts: int


@dataclass(frozen=True)
class Endpoint:
    """Threads may share one."""

    base_url: str = field(repr=False)  # may hold a user and a password
    # servers without keys do not need it
    api_key_env: str = field(default="OPENAI_API_KEY", kw_only=True)
    # per attempt, for connecting and between two reads
    timeout_s: float = field(default=120.0, kw_only=True)
    max_retries: int = field(default=4, kw_only=True)
    first_wait_s: float = field(default=0.5, kw_only=True)  # doubles with each retry
    # over all threads, retries included
    requests_per_second: float | None = field(default=None, kw_only=True)
    _connections: Connections = field(init=False, repr=False, compare=False)
    _pace: Pace = field(init=False, repr=False, compare=False)

    answer = "answer"  # what messages call a good one

    def advice(self) -> str:
        """What to check where a server refuses for ever."""
        return "Check the address."

    def __post_init__(self) -> None:
        if not self.base_url.startswith(("http://", "https://")):
            raise UserError(
                f"Endpoint '{self.shown_url}' is not a URL: expected one like"
                " http://localhost:8000/v1."
            )
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

    def ask(
        self,
        path: str,
        body: Any,
        read: Callable[[Any], T],
        method: str = "POST",
        plain: bool = False,
    ) -> Reply[T] | Fault:
        """What `read` makes of the answer's JSON. It raises BadAnswer, or whatever a missing or odd
        field raises, where that is not what was asked for. With `plain` an answer may be text, or
        nothing at all."""
        content = None if body is None else json.dumps(body).encode()
        for attempt in range(1, self.max_retries + 2):
            if not self._pace.wait():
                break
            started = time.monotonic()
            outcome, server_wait_s = self._attempt(method, path, content, read, plain)
            if not isinstance(outcome, Fault):
                return Reply(outcome, time.monotonic() - started, attempt)
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

    def _attempt(
        self, method: str, path: str, content: bytes | None, read: Callable[[Any], T], plain: bool
    ) -> tuple[T | Fault, float | None]:
        """(outcome, seconds the server asks us to wait)."""
        import httpx2  # a quarter of a second to import: only for those who use an endpoint

        try:
            with self._connections.one() as client:
                response = client.request(
                    method,
                    f"{self.base_url.rstrip('/')}{path}",
                    content=content,
                    headers=self._headers(),
                )
        except httpx2.TimeoutException:
            return (
                Fault("timeout", f"{self.shown_url} did not answer within {self.timeout_s:g} s."),
                None,
            )
        except httpx2.InvalidURL as error:
            raise UserError(
                f"Endpoint '{self.shown_url}' is not a URL: {self._shown(error)}."
            ) from None
        except httpx2.HTTPError as error:
            return (
                Fault("connection", f"{self.shown_url} cannot be reached: {self._shown(error)}"),
                None,
            )
        if response.is_success:
            return self._read(response.text, read, plain), None
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
        answer = f"{self.shown_url} answered {status}: {self._shown(message).rstrip('.')}."
        if status == 401 or status == 403:
            state = "set" if os.environ.get(self.api_key_env) else "not set"
            raise UserError(
                f"{answer} The key is read from the environment variable {self.api_key_env}, which"
                f" is {state}."
            )
        if status in HOPELESS_STATUS or code == "insufficient_quota":
            raise UserError(f"{answer} {self.advice()}")
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

    def _read(self, body: str, read: Callable[[Any], T], plain: bool) -> T | Fault:
        content: Any = body
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            if not plain:
                return Fault(
                    "bad_response",
                    f"{self.shown_url} answered something other than JSON: {self._shown(body)}",
                )
        try:
            return read(content)
        except BadAnswer as error:
            return Fault("bad_response", f"{self.shown_url} answered {self._shown(error)}")
        except (AttributeError, KeyError, IndexError, TypeError, ValueError):
            return Fault(
                "bad_response",
                f"{self.shown_url} answered JSON that is no {self.answer}: {self._shown(body)}",
            )

    def _wait_s(self, attempt: int, server_wait_s: float | None) -> float:
        if server_wait_s is not None:
            return min(server_wait_s, LONGEST_WAIT_S)
        # many rollouts fail at the same moment and must not come back at the same moment
        jitter = 0.75 + 0.5 * random.random()
        return min(float(self.first_wait_s * 2 ** min(attempt - 1, 20) * jitter), LONGEST_WAIT_S)

    @property
    def shown_url(self) -> str:
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

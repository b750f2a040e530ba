"""An HTTP endpoint that is asked in JSON by many threads, and whose failures are values: addresses,
connections, pace, retries. What is asked, and how an answer is read, whoever uses it says
(`client`, `training/served`).

Three kinds of trouble, three ways out: what may pass (timeouts, refused connections, 5xx, 429,
rubbish bodies) is retried and then returned as a `Fault`, so that a rollout becomes unscored
instead of a reward of 0; what will never pass (wrong key, unknown model, no credit) raises
UserError at once; everything that can be read is a `Reply`.

One client that all threads share would look at every open connection under one lock for each
request: with a thousand of them that takes longer than the request. So each client here holds one
connection, and a request takes any client that is free."""

from __future__ import annotations

import json
import os
import random
import re
import resource
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urljoin, urlsplit

from tripwright.errors import UserError
from tripwright.llm import http

if TYPE_CHECKING:
    import httpx2


# by the text alone: what is no URL is shown too, in the message that refuses it
_USER = re.compile(r"^((?:[^/?#@]*://)?)[^/?#]*@")


def shown_url(url: str) -> str:
    """`url` without "user:password@", for messages and run cards."""
    return _USER.sub(r"\1", url)


def is_address(base_url: str) -> bool:
    """Whether a server can be there at all: what cannot exist is not waited for."""
    try:
        parts = urlsplit(base_url)
        # reading the port checks its range
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


SPREAD = 0.25  # of a pause: threads that waited for its end do not come back at the same moment


class Pace:
    """Threads share one. Without `requests_per_second` only pauses are waited for.

    Turns are evenly spaced and given in the order in which they are asked for; a retry takes a turn
    like any other request.
    """

    def __init__(self, requests_per_second: float | None = None):
        self._between_s = 1 / requests_per_second if requests_per_second else 0.0
        self._lock = threading.Lock()
        self._free_at = self._held_until = 0.0
        self._stopped = threading.Event()

    def wait(self) -> bool:
        """Waits for this thread's turn. False: nothing is to be sent any more."""
        with self._lock:
            turn = max(self._free_at, time.monotonic())
            if self._between_s:
                turn = max(turn, self._held_until)
                self._free_at = turn + self._between_s
        while (wait_s := max(turn - time.monotonic(), self._held_s())) > 0:
            if not self.sleep(wait_s):
                return False
        return not self._stopped.is_set()

    def sleep(self, seconds: float) -> bool:
        """False where `stop` ended the sleep."""
        return not self._stopped.wait(seconds)

    def hold(self, seconds: float) -> None:
        """The endpoint asks for a pause: nobody's turn comes before it is over."""
        with self._lock:
            self._held_until = max(self._held_until, time.monotonic() + seconds)

    def stop(self) -> None:
        """Ends every wait, now and from now on: what is waiting is not sent."""
        self._stopped.set()

    def _held_s(self) -> float:
        left_s = self._held_until - time.monotonic()
        return left_s * (1 + SPREAD * random.random()) if left_s > 0 else 0.0


MOST_NAMES = 10_000  # whose turns are remembered


class Budgets:
    """When each of many may ask again, in seconds; of this process."""

    def __init__(self) -> None:
        self._free_at = OrderedDict[str, float]()
        self._lock = threading.Lock()

    def take(self, name: str, between_s: float, at_once: int = 1) -> float:
        """0 where it may ask now, which takes its turn; else how long to wait before looking again.
        Whoever waited long enough may ask `at_once` times without a pause."""
        with self._lock:
            now = time.monotonic()
            free_at = max(now, self._free_at.pop(name, now))
            wait_s = max(0.0, free_at - (at_once - 1) * between_s - now)
            self._free_at[name] = free_at if wait_s else free_at + between_s
            if len(self._free_at) > MOST_NAMES:
                self._free_at.popitem(last=False)
        return wait_s

    def pause(self, name: str, seconds: float) -> None:
        """Its next turn is not before so long."""
        with self._lock:
            until = time.monotonic() + seconds
            self._free_at[name] = max(self._free_at.get(name, 0.0), until)


# how long an idle connection may be used again: an agent's tools answer in less
KEPT_SECONDS = 30.0
SPARE_FILES = 128  # for everything that is no connection: the world's store, transcripts, libraries


def allow_open_files(count: int) -> None:
    """Raises this process's limit of open files so far that `count` more fit. Raises UserError
    where the system does not let it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = count + SPARE_FILES
    if soft == resource.RLIM_INFINITY or soft >= limit:
        return
    if hard != resource.RLIM_INFINITY and hard < limit:
        raise UserError(
            f"So many episodes at once need some {limit} open files, and this system allows {hard}"
            " a process ('ulimit -Hn'). Raise that limit, or choose a lower --concurrency."
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


T = TypeVar("T")

LONGEST_WAIT_S = 60.0  # between two attempts, where the server asks for none
HOPELESS_STATUS = {401, 402, 403, 404}
# what servers say of a context that is full
OVERFLOWS = ("context_length", "context length", "context window", "maximum model length")
# what they say of a prompt that their content filter refuses: OpenAI's, Alibaba's, DeepSeek's
FILTERS = ("content_filter", "data_inspection_failed", "content exists risk")

FINAL = ("rejected", "context_overflow", "content_filter")  # faults that another attempt has too


@dataclass(frozen=True)
class Fault:
    """Why there is no completion. `context_overflow` (the messages outgrew the model's window) is
    an outcome of the episode, not of the endpoint; all other kinds are faults of our side."""

    kind: http.FaultKind
    message: str
    attempts: int = 1


def backoff_s(first_wait_s: float, attempt: int, longest_s: float) -> float:
    """The pause after this failed attempt, from 1. It doubles each time and varies by a quarter:
    many fail at the same moment, and must not come back at the same moment."""
    jitter = 0.75 + 0.5 * random.random()
    return min(first_wait_s * 2.0 ** min(attempt - 1, 20) * jitter, longest_s)


class BadAnswer(ValueError):
    """An answer that is JSON, and not what was asked for. Its words say why."""


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What an answer said. `seconds` are of the attempt that brought it; names of headers are read
    in any case."""

    value: T
    seconds: float
    attempts: int
    headers: Mapping[str, str]
    sent_bytes: int


@dataclass(frozen=True)
class Endpoint:
    """Threads may share one."""

    base_url: str = field(repr=False)  # may hold a user and a password
    # servers without keys do not need it
    api_key_env: str = field(default="OPENAI_API_KEY", kw_only=True)
    api_key: str | None = field(default=None, kw_only=True, repr=False)  # instead of that
    headers: Mapping[str, str] = field(default_factory=dict, kw_only=True)  # of every request
    # of a whole attempt, from connecting to the answer's last byte
    timeout_s: float = field(default=120.0, kw_only=True)
    max_retries: int = field(default=4, kw_only=True)
    first_wait_s: float = field(default=0.5, kw_only=True)  # doubles with each retry
    # over all threads, retries included
    requests_per_second: float | None = field(default=None, kw_only=True)
    # clients that no thread uses now, the last used first: it is the most likely to be still open
    _free: deque[tuple[httpx2.Client, _Timed]] = field(
        default_factory=deque, init=False, repr=False, compare=False
    )
    _pace: Pace = field(init=False, repr=False, compare=False)

    answer = "answer"  # what messages call a good one

    def advice(self) -> str:
        """What to check where a server refuses for ever."""
        return "Check the address."

    def __post_init__(self) -> None:
        if not is_address(self.base_url):
            raise UserError(
                f"'{self.shown_url}' is not a URL: expected one like http://localhost:8000/v1."
            )
        rate = self.requests_per_second
        if not (self.timeout_s > 0 and (rate is None or rate > 0)):
            raise UserError("An endpoint needs timeout_s and requests_per_second above 0.")
        if self.max_retries < 0 or self.first_wait_s < 0:
            raise UserError("An endpoint needs max_retries and first_wait_s of 0 or more.")
        object.__setattr__(self, "_pace", Pace(self.requests_per_second))

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
            outcome, headers = self._attempt(method, path, content, read, plain)
            if not isinstance(outcome, Fault):
                seconds = time.monotonic() - started
                return Reply(outcome, seconds, attempt, headers, len(content or b""))
            if outcome.kind in FINAL or attempt > self.max_retries:
                return Fault(outcome.kind, outcome.message, attempt)
            server_wait_s = http.retry_after_s(headers.get("retry-after"))
            if server_wait_s is not None:
                self._pace.hold(min(server_wait_s, self.timeout_s))  # it speaks to all threads
            elif not self._pace.sleep(backoff_s(self.first_wait_s, attempt, LONGEST_WAIT_S)):
                break
        return Fault("stopped", "The run was stopped before this request was sent.")

    def stop(self) -> None:
        """From now on nothing is sent: what waits for its turn or for another attempt ends as a
        Fault. Answers under way still arrive."""
        self._pace.stop()
        while self._free:
            self._free.pop()[0].close()

    def _attempt(
        self, method: str, path: str, content: bytes | None, read: Callable[[Any], T], plain: bool
    ) -> tuple[T | Fault, Mapping[str, str]]:
        """(outcome, the answer's headers)."""
        import httpx2  # a quarter of a second to import: only for those who use an endpoint

        url = f"{self.base_url.rstrip('/')}{path}"
        try:
            with (
                self._client() as client,
                client.stream(method, url, content=content, headers=self._headers()) as response,
            ):
                body = _body(response)
            if response.is_success:
                return self._read(body, read, plain), response.headers
        except (httpx2.TimeoutException, TimeoutError):
            why = f"{self.shown_url} did not answer within {self.timeout_s:g} s."
            return Fault("timeout", why), {}
        except httpx2.InvalidURL as error:
            raise UserError(f"'{self.shown_url}' is not a URL: {self._shown(error)}.") from None
        except (BadAnswer, httpx2.DecodingError) as error:
            return Fault("bad_response", f"{self.shown_url} answered {self._shown(error)}"), {}
        except httpx2.HTTPError as error:
            why = f"{self.shown_url} cannot be reached: {self._shown(error)}"
            return Fault("connection", why), {}
        return self._status_fault(response.status_code, response.headers, body), response.headers

    @contextmanager
    def _client(self) -> Iterator[httpx2.Client]:
        """One that no other thread uses meanwhile, made when it is first needed. What is done with
        it has `timeout_s`, all together. It follows no redirects: where they lead, nobody said
        that we ask."""
        import httpx2

        if self._free:
            client, backend = self._free.pop()
        else:
            limits = httpx2.Limits(
                max_connections=1, max_keepalive_connections=1, keepalive_expiry=KEPT_SECONDS
            )
            client = httpx2.Client(timeout=self.timeout_s, limits=limits, verify=self._verify)
            # with a transport for each proxy that the environment names; httpx2 has no other way
            transports: list[Any] = [client._transport, *client._mounts.values()]
            backend = _Timed(transports[0]._pool._network_backend)
            for transport in filter(None, transports):
                transport._pool._network_backend = backend
        backend.ends_at = time.monotonic() + self.timeout_s
        try:
            yield client
        finally:
            self._free.append((client, backend))

    @cached_property
    def _verify(self) -> Any:
        """The certificates, read once for all clients, and only for those who need them."""
        import httpx2

        return httpx2.create_ssl_context() if self.base_url.startswith("https://") else False

    def _headers(self) -> dict[str, str]:
        """Read for each request: a key may be set anew while a long run is under way."""
        return {
            "Authorization": f"Bearer {self.api_key or http.key_of(self.api_key_env) or 'no-key'}",
            "Content-Type": "application/json",
            "Accept-Encoding": "gzip",  # which can be unpacked piece by piece
            "User-Agent": http.USER_AGENT,
            **self.headers,
        }

    def _status_fault(self, status: int, headers: Mapping[str, str], body: str) -> Fault:
        if 300 <= status < 400 and (target := headers.get("location")):
            place = self._shown(redirect_host(self.base_url, target))
            raise UserError(
                f"{self.shown_url} answered {status}, a redirect to '{place}'. Redirects are not"
                " followed: give the address that is meant."
            )
        code, message = _said_error(body)
        answer = f"{self.shown_url} answered {status}: {self._shown(message).rstrip('.')}."
        if status == 401 or status == 403:
            if self.api_key:
                raise UserError(answer)
            state = "set" if os.environ.get(self.api_key_env) else "not set"
            raise UserError(
                f"{answer} The key is read from the environment variable {self.api_key_env}, which"
                f" is {state}."
            )
        if status in HOPELESS_STATUS or code == "insufficient_quota":
            raise UserError(f"{answer} {self.advice()}")
        if status in (429, 529):  # 529: overloaded, as Anthropic and others say it
            return Fault("rate_limit", answer)
        if status >= 500 or status in (408, 409):
            return Fault("server_error", answer)
        words = f"{code} {message}".lower()
        if any(said in words for said in FILTERS):
            return Fault("content_filter", answer)
        overflow = any(said in words for said in OVERFLOWS)
        return Fault("context_overflow" if overflow else "rejected", answer)

    def _read(self, body: str, read: Callable[[Any], T], plain: bool) -> T:
        """Raises BadAnswer."""
        content: Any = body
        try:
            content = json.loads(body)
        except (ValueError, RecursionError):
            if not plain:
                raise BadAnswer(f"something other than JSON: {body}") from None
        try:
            return read(content)
        except BadAnswer:
            raise
        except (AttributeError, LookupError, TypeError, ValueError, RecursionError):
            raise BadAnswer(f"JSON that is no {self.answer}: {body}") from None

    @property
    def shown_url(self) -> str:
        return shown_url(self.base_url)

    def _shown(self, message: object) -> str:
        """One short line of a foreign message, without keys should the server have repeated one."""
        keys = {**os.environ, "API_KEY": self.api_key} if self.api_key else None
        return http.Redaction(keys).shown(message)


def _body(response: httpx2.Response) -> str:
    """Read no further than allowed: little that is packed may be gigabytes. Raises BadAnswer."""
    packing = response.headers.get("content-encoding", "identity").strip().lower()
    if packing not in ("identity", "gzip"):
        raise BadAnswer(f"packed as '{packing}', where gzip alone was asked for")
    body = bytearray()
    for piece in response.iter_bytes():  # of 64 KB that came packed: 66 MB at the most
        body += piece
        if len(body) > http.MAX_ANSWER_MB * 1e6:
            raise BadAnswer(f"more than {http.MAX_ANSWER_MB:g} MB")
    return body.decode("utf-8", "replace")


def redirect_host(base_url: str, target: str) -> str:
    """Where a redirect points, the host alone: the rest may be a key."""
    try:
        parts = urlsplit(urljoin(base_url, target))
    except ValueError:
        return "no address"
    return shown_url(f"{parts.scheme}://{parts.netloc}")


# what waits for the other side, and how many arguments it has before its timeout
STEPS = {"connect_tcp": 2, "start_tls": 2, "read": 1, "write": 1}


class _Timed:
    """A network backend of httpcore2, or a stream of one, whose every step ends with the attempt,
    at `first.ends_at`: a timeout of each step would begin anew with each byte that comes in."""

    ends_at = 0.0

    def __init__(self, inner: Any, first: _Timed | None = None):
        self._inner, self._first = inner, first or self

    def __getattr__(self, name: str) -> Any:
        step = getattr(self._inner, name)
        if name not in STEPS:
            return step

        def timed(*what: Any, **how: Any) -> Any:
            if (left_s := self._first.ends_at - time.monotonic()) <= 0:
                raise TimeoutError
            done = step(*what[: STEPS[name]], **{**how, "timeout": left_s})
            return _Timed(done, self._first) if name in ("connect_tcp", "start_tls") else done

        return timed


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


MOST_FAULTS = 20  # in a row: then an endpoint counts as dead, and nobody waits for it any more

LIVING = ("rejected", "context_overflow", "rate_limit")  # faults that a dead endpoint does not have

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_unordered(
    work: Callable[[Item], Result], items: Iterable[Item], concurrency: int
) -> Iterator[Result]:
    """work(item) of every item, in the order they finish, `concurrency` at once. Items are drawn,
    here, as threads come free.

    What `work` raises is raised here, the first of several. Then, or when nobody draws results any
    more, what is in flight is left alone.
    """
    waiting, finished = iter(items), SimpleQueue[Result | BaseException]()
    in_flight = 0

    def run(item: Item) -> None:
        try:
            finished.put(work(item))
        except BaseException as error:  # raised again by whoever draws the results
            finished.put(error)

    while True:
        for item in islice(waiting, concurrency - in_flight):
            # Daemons: an interrupted run must not wait for the slowest answer before it can end.
            threading.Thread(target=run, args=(item,), daemon=True).start()
            in_flight += 1
        if not in_flight:
            return
        outcome = finished.get()
        in_flight -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        yield outcome


class Breaker:
    """Shared by the threads that ask for one thing after the other: counts faults in a row."""

    def __init__(self) -> None:
        self.abandoned = False  # nobody consumes play() any more
        self._last_fault = ""
        self._in_a_row = 0
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._in_a_row >= MOST_FAULTS

    @property
    def why(self) -> str:
        """Of an episode that an open one ends."""
        return (
            f"not asked: {MOST_FAULTS} requests in a row had failed, the last because"
            f" {self._last_fault}"
        )

    def note(self, outcome: object) -> None:
        """A refused request says nothing about the next one, and who says "too many" is alive;
        every other fault may be the end."""
        with self._lock:
            if not isinstance(outcome, Fault):
                self._in_a_row = 0
            elif outcome.kind not in LIVING:
                self._in_a_row += 1
                self._last_fault = outcome.message

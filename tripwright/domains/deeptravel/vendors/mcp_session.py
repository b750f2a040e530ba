"""One connection to an MCP server, kept open between calls and used from any thread.

Built on the official client, package `mcp` 2 (https://py.sdk.modelcontextprotocol.io/, extra
`mcp`): Streamable HTTP for a URL, stdio for a command. A connection that breaks is closed and the
next call opens another one; one that is open when the program ends is closed then.
"""

from __future__ import annotations

import asyncio
import atexit
import logging
import os
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tripwright.domains.deeptravel.sandbox.provider import FaultKind, ProviderFault
from tripwright.domains.deeptravel.vendors.vendor import check_address
from tripwright.errors import UserError
from tripwright.tools.http import (
    MAX_ANSWER_MB,
    USER_AGENT,
    Redaction,
    key_in,
    retry_after_s,
    run,
    start,
    with_keys,
)

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

GRACE_S = 0.5  # the protocol's own timeout comes first, and leaves the connection whole
CLOSE_S = 8.0  # for ending a session, and a command's process
T = TypeVar("T")


@dataclass(frozen=True)
class McpServer:
    """Where the server is: a URL, or a command that speaks over stdin and stdout. Keys are named,
    and read from the environment.

    `token_env` names the variable whose value is sent as a bearer token; `env` names variables that
    the command gets (besides PATH, HOME and the like, it gets no others). A {VARIABLE} in the URL
    stands for a key. Raises UserError.
    """

    url: str = ""
    command: Sequence[str] = ()
    token_env: str = ""
    env: Sequence[str] = ()
    timeout_s: float = 30.0
    max_answer_mb: float = MAX_ANSWER_MB

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.command):
            found = "both" if self.url else "neither"
            raise UserError(f"An MCP server has either a url or a command: found {found}.")
        if self.url:
            check_address("The url of an MCP server", self.url, takes_query=True)
        for name in ("timeout_s", "max_answer_mb"):
            if not 0 < (value := getattr(self, name)) < float("inf"):
                raise UserError(f"{name} of an MCP server is above 0: found {value:g}.")
        if self.token_env and self.command or self.env and self.url:
            raise UserError(
                "An MCP server with a url takes token_env, one with a command takes env: found the"
                " other one."
            )
        for name in (self.token_env, *self.env):
            if name:
                key_in(name, "An MCP server")
        with_keys(self.url)

    @property
    def label(self) -> str:
        """For messages: no arguments of a command and no query of a URL, which may hold keys."""
        return self.url.partition("?")[0] if self.url else os.path.basename(self.command[0])

    def shown(self, message: object) -> str:
        """One short line of a foreign message, without keys."""
        return Redaction().shown(message)


class _Connection(NamedTuple):
    client: Client
    leave: asyncio.Event
    task: Future[None]  # holds it open until `leave`
    process: int


class McpSession:
    """Threads may share one."""

    def __init__(self, server: McpServer):
        self.server = server
        self._lock = threading.Lock()
        self._open: _Connection | None = None
        # the last HTTP status that was an error: the package keeps it to itself
        self._problem: tuple[int, float | None] | None = None
        self._refused: ProviderFault | None = None  # an answer that was not read to its end

    def run(self, work: Callable[[Client], Coroutine[Any, Any, T]]) -> T:
        """What `work` finds out; connecting, where that is needed, is part of its time. Raises
        ProviderFault, and MCPError where the server says that the parameters are wrong."""
        import mcp  # noqa: F401  # takes a second, which is not the server's

        opened, give_up_at = None, time.monotonic() + self.server.timeout_s + GRACE_S
        try:
            opened = self._connected(give_up_at)
            return run(work(opened.client), give_up_at - time.monotonic())
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise self._explained(_first(error), opened) from None

    def close(self) -> None:
        if opened := self._leave(self._open):
            wait([opened.task], CLOSE_S + GRACE_S)

    def _leave(self, opened: _Connection | None) -> _Connection | None:
        """The connection, which now ends by itself; None where another thread has done so before,
        and opened a new one perhaps, and in a fork, which has none."""
        with self._lock:
            if opened is None or opened is not self._open:
                return None
            self._open = None
        atexit.unregister(self.close)
        if opened.process != os.getpid():
            return None
        start(_set(opened.leave))
        return opened

    def fault(self, kind: FaultKind, message: object, wait_s: float | None = None) -> ProviderFault:
        return ProviderFault(
            kind, f"MCP server {self.server.label}: {self.server.shown(message)}", wait_s
        )

    def _explained(self, cause: BaseException, opened: _Connection | None) -> Exception:
        """Errors that the protocol states leave the connection whole; after anything else the next
        call begins anew."""
        import httpx2
        from mcp import MCPError

        refused, self._refused = self._refused, None
        if refused is not None:  # which broke the connection, and that is all the package knows
            self._leave(opened)
            return refused
        if isinstance(cause, ProviderFault):
            return cause
        if isinstance(cause, MCPError):
            if (kind := kind_of_error(cause.code, cause.message)) == "connection":
                self._leave(opened)
            problem, self._problem = self._problem, None
            # what the package says instead of an HTTP status
            if problem is not None and kind == "server_error":
                return self.fault(
                    _kind_of_status(problem[0]), f"answered {problem[0]}: {cause}", problem[1]
                )
            return self.fault(kind, cause) if kind is not None else cause
        self._leave(opened)
        if isinstance(cause, TimeoutError | httpx2.TimeoutException):
            return self.fault("timeout", f"no answer within {self.server.timeout_s:g} s")
        if isinstance(cause, httpx2.HTTPError | httpx2.InvalidURL | OSError | CancelledError):
            return self.fault("connection", f"cannot be reached: {cause}")
        # The package checks answers against schemas in many places, and each has its own
        # exceptions.
        return self.fault("bad_response", f"{type(cause).__name__}: {cause}")

    def _connected(self, give_up_at: float) -> _Connection:
        """Raises TimeoutError, and whatever the package raises."""
        if not self._lock.acquire(timeout=max(0.0, give_up_at - time.monotonic())):
            raise TimeoutError  # another thread is connecting
        try:
            opened = self._open
            # a fork has neither the thread nor the connection
            if opened is None or opened.process != os.getpid() or opened.task.done():
                opened = self._open = self._connect(give_up_at)
                atexit.unregister(self.close)
                atexit.register(self.close)
            return opened
        finally:
            self._lock.release()

    def _connect(self, give_up_at: float) -> _Connection:
        _silence()
        self._problem = None
        entered: Future[tuple[Client, asyncio.Event]] = Future()
        task = start(self._hold(entered))
        ends: list[Future[Any]] = [task, entered]
        wait(ends, give_up_at - time.monotonic(), FIRST_COMPLETED)
        if task.done():
            task.result()  # raises
        if not entered.done():
            task.cancel()
            raise TimeoutError
        return _Connection(*entered.result(), task, os.getpid())

    async def _hold(self, entered: Future[tuple[Client, asyncio.Event]]) -> None:
        """Opens and closes in one task, as the package wants it."""
        from mcp import Client
        from mcp.types import Implementation

        info = Implementation(name="tripwright", version=USER_AGENT.partition("/")[2])
        leave = asyncio.Event()
        async with (
            asyncio.timeout(None) as limit,
            Client(
                self._transport(), read_timeout_seconds=self.server.timeout_s, client_info=info
            ) as client,
        ):
            entered.set_result((client, leave))
            await leave.wait()
            limit.reschedule(asyncio.get_running_loop().time() + CLOSE_S)

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if self.server.url:
            return self._over_http()
        return _over_stdio(self.server)

    @asynccontextmanager
    async def _over_http(self) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        # what is not packed need not be unpacked
        headers = {"user-agent": USER_AGENT, "accept-encoding": "identity"}
        if self.server.token_env:
            headers["authorization"] = f"Bearer {os.environ[self.server.token_env].strip()}"
        timeout = httpx2.Timeout(self.server.timeout_s + GRACE_S, connect=self.server.timeout_s)
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [self._note_status, self._limit]}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as http,
            streamable_http_client(with_keys(self.server.url), http_client=http) as streams,
        ):
            yield streams

    async def _note_status(self, response: httpx2.Response) -> None:
        if response.status_code in (401, 402, 403, 408, 429) or response.status_code >= 500:
            self._problem = response.status_code, retry_after_s(response.headers)

    async def _limit(self, response: httpx2.Response) -> None:
        """Of a stream of events the package limits each event."""
        import httpx2

        if "text/event-stream" in response.headers.get("content-type", ""):
            return
        if response.headers.get("content-encoding", "identity") != "identity":
            raise self._refuse("answers packed where it was asked not to")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        stream: httpx2.AsyncByteStream = response.stream
        most_mb, refuse = self.server.max_answer_mb, self._refuse

        class Limited(httpx2.AsyncByteStream):
            async def __aiter__(self) -> AsyncIterator[bytes]:
                length = 0
                async for piece in stream:
                    length += len(piece)
                    if length > most_mb * 1e6:
                        raise refuse(f"answered with more than {most_mb:g} MB")
                    yield piece

            async def aclose(self) -> None:
                await stream.aclose()

        response.stream = Limited()

    def _refuse(self, why: str) -> ProviderFault:
        self._refused = self.fault("bad_response", why)
        return self._refused


@asynccontextmanager
async def _over_stdio(server: McpServer) -> Any:
    from mcp import StdioServerParameters, stdio_client

    env = {name: os.environ[name] for name in server.env}
    parameters = StdioServerParameters(
        command=server.command[0], args=list(server.command[1:]), env=env
    )
    with open(os.devnull, "w") as nowhere:  # what a server writes to stderr may hold its keys
        async with stdio_client(parameters, errlog=nowhere) as streams:
            yield streams


def kind_of_error(code: int, message: str) -> FaultKind | None:
    """Of an error of the protocol. None where the server says that the parameters are wrong."""
    from mcp.types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_PARAMS, REQUEST_TIMEOUT

    if code == INVALID_PARAMS:
        return None
    # a server that was started again knows no old session
    if code == CONNECTION_CLOSED or "session terminated" in message.lower():
        return "connection"
    kinds: dict[int, FaultKind] = {REQUEST_TIMEOUT: "timeout", INTERNAL_ERROR: "server_error"}
    return kinds.get(code, "bad_response")


def _kind_of_status(status: int) -> FaultKind:
    if status == 429:
        return "rate_limit"
    return "server_error" if status >= 500 or status == 408 else "unauthorized"


def _first(error: BaseException) -> BaseException:
    """Task groups wrap what went wrong, sometimes several times."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def _silence() -> None:
    """The package logs answers that it cannot read, word by word; here they become faults, which
    are short and hold no keys."""
    for name in ("mcp.client.streamable_http", "mcp.client.stdio"):
        logger = logging.getLogger(name)
        if _unread not in logger.filters:
            logger.addFilter(_unread)


def _unread(record: logging.LogRecord) -> bool:
    return record.levelno < logging.ERROR


async def _set(event: asyncio.Event) -> None:
    event.set()

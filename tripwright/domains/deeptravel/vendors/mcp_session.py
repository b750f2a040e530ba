"""One connection to an MCP server, kept open between calls and used from any thread.

Built on the official client, package `mcp` 2 (https://py.sdk.modelcontextprotocol.io/, extra
`mcp`): Streamable HTTP for a URL, stdio for a command. Each connection has an event loop in a
thread of its own, which anyio's portal runs. One that breaks is closed and the next call opens
another one; one that is open when the program ends is closed then.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import re
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlsplit

import anyio
from anyio.from_thread import BlockingPortal, start_blocking_portal

from tripwright.domains.deeptravel.sandbox.provider import FaultKind, ProviderFault
from tripwright.errors import UserError
from tripwright.llm.endpoint import is_address
from tripwright.tools.http import (
    PLACE_OF_KEY,
    USER_AGENT,
    Redaction,
    asked_wait_s,
    fault_of_status,
    with_keys,
)

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

    from tripwright.domains.deeptravel.vendors.mcp import McpOptions

GRACE_S = 0.5  # the protocol's own timeout comes first, and leaves the connection whole
CLOSE_S = 8.0  # for ending a session, and a command's process
PLAIN_WORD = re.compile(r"[A-Za-z._-]{0,32}|.{0,15}")  # in a URL; any other may be a key
T = TypeVar("T")


def check_address(url: str) -> None:
    """Raises UserError for what is no URL, and for one that may hold a key: it is written into
    messages, this one excepted."""
    if not is_address(url) or PLACE_OF_KEY.search(urlsplit(url).netloc):
        raise UserError("The url of an MCP server is no URL: expected one like https://a.example.")
    parts = urlsplit(url)
    if "@" in parts.netloc or parts.fragment:
        raise UserError("The url of an MCP server is a plain address: found one with a user.")
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    for word in [*parts.path.split("/"), *(word for pair in pairs for word in pair)]:
        if not PLAIN_WORD.fullmatch(PLACE_OF_KEY.sub("", word)):
            raise UserError(
                "The url of an MCP server has a part that may be a key. Write the name of an"
                " environment variable in its place, as in https://example.org/{MY_KEY}/v1, and set"
                " that variable."
            )


class _Connection(NamedTuple):
    client: Client
    portal: BlockingPortal
    leave: threading.Event
    thread: threading.Thread  # holds it open until `leave`
    process: int


class McpSession:
    """Threads may share one."""

    def __init__(self, server: McpOptions):
        self.server = server
        # for messages: no arguments of a command and no query of a URL, which may hold keys
        self.label = server.url.partition("?")[0] or os.path.basename(server.command[0])
        self._lock = threading.Lock()
        self._open: _Connection | None = None
        # the last HTTP status that was an error: the package keeps it to itself
        self._problem: tuple[int, float | None] | None = None
        self._refused: ProviderFault | None = None  # an answer that was not read to its end

    def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """What `work` finds out; connecting, where that is needed, is part of its time. Raises
        ProviderFault, and MCPError where the server says that the parameters are wrong."""
        import mcp  # noqa: F401  # takes a second, which is not the server's

        opened, give_up_at = None, time.monotonic() + self.server.timeout_s + GRACE_S
        try:
            opened = self._connected(give_up_at)
            call = opened.portal.start_task_soon(work, opened.client)
            try:
                return call.result(give_up_at - time.monotonic())
            finally:
                call.cancel()  # of what has ended, nothing
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise self._explained(_first(error), opened) from None

    def close(self) -> None:
        if opened := self._leave(self._open):
            opened.thread.join(CLOSE_S + GRACE_S)

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
        opened.leave.set()
        return opened

    def fault(self, kind: FaultKind, message: object, wait_s: float | None = None) -> ProviderFault:
        return ProviderFault(kind, f"MCP server {self.label}: {Redaction().shown(message)}", wait_s)

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
                status, wait_s = problem
                told = f"answered {status}: {cause}"
                return self.fault(fault_of_status(status) or kind, told, wait_s)
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
            if opened is None or opened.process != os.getpid():  # a fork has not got the thread
                self._problem, entered = None, Future[_Connection]()
                threading.Thread(target=self._hold, args=(entered,), daemon=True).start()
                try:
                    opened = self._open = entered.result(give_up_at - time.monotonic())
                finally:
                    entered.cancel()
                atexit.unregister(self.close)
                atexit.register(self.close)
            return opened
        finally:
            self._lock.release()

    def _hold(self, entered: Future[_Connection]) -> None:
        """What a connection's thread does."""
        _silence()
        try:
            with (
                start_blocking_portal() as portal,
                portal.wrap_async_context_manager(self._client()) as client,
            ):
                leave, thread = threading.Event(), threading.current_thread()
                if entered.set_running_or_notify_cancel():
                    entered.set_result(_Connection(client, portal, leave, thread, os.getpid()))
                    leave.wait()
        except BaseException as error:
            # of a connection that did not come about, or ends in disorder
            if not entered.done():
                entered.set_exception(error)

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        from mcp import Client
        from mcp.types import Implementation

        server = self.server
        info = Implementation(name="tripwright", version=USER_AGENT.partition("/")[2])
        with anyio.fail_after(server.timeout_s + GRACE_S) as limit:
            transport: AbstractAsyncContextManager[Any] = (
                self._over_http() if server.url else _over_stdio(server)
            )
            async with Client(
                transport, read_timeout_seconds=server.timeout_s, client_info=info
            ) as client:
                limit.deadline = math.inf
                yield client
                limit.deadline = anyio.current_time() + CLOSE_S

    @asynccontextmanager
    async def _over_http(self) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        server = self.server
        # what is not packed need not be unpacked
        headers = {"user-agent": USER_AGENT, "accept-encoding": "identity"}
        if server.token_env:
            headers["authorization"] = f"Bearer {os.environ[server.token_env].strip()}"
        timeout = httpx2.Timeout(server.timeout_s + GRACE_S, connect=server.timeout_s)
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [self._note_status, self._limit]}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as http,
            streamable_http_client(with_keys(server.url), http_client=http) as streams,
        ):
            yield streams

    async def _note_status(self, response: httpx2.Response) -> None:
        if fault_of_status(response.status_code) is not None:
            self._problem = response.status_code, asked_wait_s(response.headers)

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
async def _over_stdio(server: McpOptions) -> Any:
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

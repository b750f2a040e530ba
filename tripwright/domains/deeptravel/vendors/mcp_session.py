"""One connection to an MCP server, kept open between calls and used from any thread.

Built on the official client, package `mcp` 2 (https://py.sdk.modelcontextprotocol.io/, extra
`mcp`): Streamable HTTP for a URL, stdio for a command. Its event loop runs in a thread of ours. A
connection that breaks is closed and the next call opens another one.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from tripwright.domains.deeptravel.sandbox.provider import FaultKind, ProviderFault
from tripwright.errors import UserError
from tripwright.tools.http import SHOWN_CHARACTERS, USER_AGENT, retry_after_s

if TYPE_CHECKING:
    import httpx2
    from anyio.from_thread import BlockingPortal
    from mcp import Client

GRACE_S = 5.0  # the protocol's own timeout comes first and says more
T = TypeVar("T")


@dataclass(frozen=True)
class McpServer:
    """Where the server is: a URL, or a command that speaks over stdin and stdout. Keys are named,
    and read from the environment.

    `token_env` names the variable whose value is sent as a bearer token; `env` names variables that
    the command gets (besides PATH, HOME and the like, it gets no others). Raises UserError.
    """

    url: str = ""
    command: Sequence[str] = ()
    token_env: str = ""
    env: Sequence[str] = ()
    timeout_s: float = 30.0
    secrets: tuple[str, ...] = field(init=False, repr=False, default=())

    def __post_init__(self) -> None:
        if bool(self.url) == bool(self.command):
            raise UserError(
                f"An MCP server has either a url or a command: found url '{self.url}' and command"
                f" {list(self.command)}."
            )
        if self.url and not self.url.startswith(("http://", "https://")):
            raise UserError(
                f"The url of an MCP server is one like https://example.org/mcp: found '{self.url}'."
            )
        if self.timeout_s <= 0:
            raise UserError(f"timeout_s of an MCP server is above 0: found {self.timeout_s:g}.")
        if self.token_env and self.command or self.env and self.url:
            raise UserError(
                "An MCP server with a url takes token_env, one with a command takes env: found the"
                " other one."
            )
        names = [name for name in (self.token_env, *self.env) if name]
        if absent := [name for name in names if not os.environ.get(name, "").strip()]:
            raise UserError(
                f"An MCP server needs the environment variable {absent[0]}, which is not set."
            )
        object.__setattr__(self, "secrets", tuple(os.environ[name].strip() for name in names))

    @property
    def label(self) -> str:
        """For messages: no arguments of a command and no query of a URL, which may hold keys."""
        return (
            self.url.partition("?")[0].rpartition("@")[2]
            if self.url
            else os.path.basename(self.command[0])
        )

    def shown(self, message: object) -> str:
        """One short line of a foreign message, without keys."""
        line = " ".join(str(message).split())
        for secret in self.secrets:
            line = line.replace(secret, "***")
        return line if len(line) <= SHOWN_CHARACTERS else line[:SHOWN_CHARACTERS] + "…"


class McpSession:
    """Threads may share one."""

    def __init__(self, server: McpServer):
        self.server = server
        self._lock = threading.Lock()
        self._open: ExitStack | None = None
        self._portal: BlockingPortal | None = None
        self._client: Client | None = None
        self._pid = os.getpid()
        # the last HTTP status that was an error: the package keeps it to itself
        self._problem: tuple[int, float | None] | None = None

    def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """What `work` finds out. Raises ProviderFault, and MCPError where the server says that the
        parameters are wrong."""
        client = None
        try:
            portal, client = self._connected()
            future = portal.start_task_soon(work, client)
            try:
                return future.result(self.server.timeout_s + GRACE_S)
            except FutureTimeout:
                future.cancel()
                raise
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            raise self._explained(_first(error), client) from None

    def close(self) -> None:
        with self._lock:
            self._close()

    def _drop(self, client: Client | None) -> None:
        """Only the connection that broke: another thread may have opened a new one already."""
        with self._lock:
            if client is not None and client is self._client:
                self._close()

    def fault(self, kind: FaultKind, message: object, wait_s: float | None = None) -> ProviderFault:
        return ProviderFault(
            kind, f"MCP server {self.server.label}: {self.server.shown(message)}", wait_s
        )

    def _explained(self, cause: BaseException, client: Client | None) -> Exception:
        """Errors that the protocol states leave the connection whole; after anything else the next
        call begins anew."""
        import httpx2
        from mcp import MCPError

        if isinstance(cause, ProviderFault):
            return cause
        if isinstance(cause, MCPError):
            if (kind := kind_of_error(cause.code, cause.message)) == "connection":
                self._drop(client)
            problem, self._problem = self._problem, None
            # what the package says instead of an HTTP status
            if problem is not None and kind == "server_error":
                return self.fault(
                    _kind_of_status(problem[0]), f"answered {problem[0]}: {cause}", problem[1]
                )
            return self.fault(kind, cause) if kind is not None else cause
        self._drop(client)
        if isinstance(cause, FutureTimeout | TimeoutError | httpx2.TimeoutException):
            return self.fault("timeout", f"no answer within {self.server.timeout_s:g} s")
        # another thread closed what this one had just been given
        is_closed = isinstance(cause, RuntimeError) and "portal" in str(cause)
        if is_closed or isinstance(
            cause, httpx2.HTTPError | httpx2.InvalidURL | OSError | CancelledError
        ):
            return self.fault("connection", f"cannot be reached: {cause}")
        # The package checks answers against schemas in many places, and each has its own
        # exceptions.
        return self.fault("bad_response", f"{type(cause).__name__}: {cause}")

    def _connected(self) -> tuple[BlockingPortal, Client]:
        with self._lock:
            if self._pid != os.getpid():  # a fork has neither the thread nor the connection
                self._open, self._portal, self._client, self._pid = None, None, None, os.getpid()
            if self._portal is not None and self._client is not None:
                return self._portal, self._client
            from anyio.from_thread import start_blocking_portal
            from mcp import Client
            from mcp.types import Implementation

            _silence()
            self._problem = None
            info = Implementation(name="tripwright", version=USER_AGENT.partition("/")[2])
            client = Client(
                self._transport(), read_timeout_seconds=self.server.timeout_s, client_info=info
            )
            with ExitStack() as stack:
                portal = stack.enter_context(start_blocking_portal())
                stack.enter_context(portal.wrap_async_context_manager(client))
                self._open, self._portal, self._client = stack.pop_all(), portal, client
            return portal, client

    def _close(self) -> None:
        stack, self._open, self._portal, self._client = self._open, None, None, None
        if stack is not None:
            try:
                stack.close()
            except Exception as error:  # it is being closed because it broke: how is known already
                logging.getLogger(__name__).debug(
                    "closing an MCP connection: %s", self.server.shown(_first(error))
                )

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        if self.server.url:
            return self._over_http()
        return _over_stdio(self.server)

    @asynccontextmanager
    async def _over_http(self) -> Any:
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        headers = {"user-agent": USER_AGENT}
        if self.server.token_env:
            headers["authorization"] = f"Bearer {self.server.secrets[0]}"
        timeout = httpx2.Timeout(self.server.timeout_s + GRACE_S, connect=self.server.timeout_s)
        hooks: dict[str, list[Callable[..., Any]]] = {"response": [self._note_status]}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=timeout, event_hooks=hooks) as http,
            streamable_http_client(self.server.url, http_client=http) as streams,
        ):
            yield streams

    async def _note_status(self, response: httpx2.Response) -> None:
        if response.status_code in (401, 402, 403, 408, 429) or response.status_code >= 500:
            self._problem = response.status_code, retry_after_s(response.headers)


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

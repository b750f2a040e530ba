"""Any MCP server's tools as some of the six, https://modelcontextprotocol.io/specification.

A table for each tool says which tool of the server answers, how our arguments are called there,
where the rows are, and where each field of a record is in a row. Nobody knows a server's terms:
what it answers may be kept only where `may_store` says so. Never called live here; tested against
servers of the official package on this machine.

A server reports an error of a tool as text (`isError`), whoever is to blame. A text that speaks of
limits, outages and time is taken for a fault of our side, any other for a refusal of the call.

The client is the official package `mcp` 2 (https://py.sdk.modelcontextprotocol.io/, extra `mcp`):
Streamable HTTP for a URL, stdio for a command. The connection to a server is kept open between
calls by an event loop in a thread of its own, until it breaks (the next call opens another one) or
the program ends.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from concurrent.futures import CancelledError
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self, TypeVar
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field, NonNegativeFloat, model_validator

from tripwright.domains.deeptravel.sandbox.provider import (
    Terms,
    ToolName,
    answer_from,
    options_of,
)
from tripwright.domains.deeptravel.tools.answers import (
    RECORDS,
    ProviderAnswer,
)
from tripwright.domains.deeptravel.vendors.http import RowMap
from tripwright.errors import UserError
from tripwright.llm.endpoint import is_address, redirect_host
from tripwright.llm.http import (
    MAX_ANSWER_MB,
    PLACE_OF_KEY,
    USER_AGENT,
    FaultKind,
    ProviderFault,
    Redaction,
    asked_wait_s,
    fault_of_status,
    key_in,
    with_keys,
)

if TYPE_CHECKING:
    import httpx2
    from mcp import Client

CLIENT_VERSION = 1
OWN_RESULT = "result"  # under which servers of the official package put what is no object
GRACE_S = 0.5  # the protocol's own timeout comes first, and leaves the connection whole
CLOSE_S = 8.0  # for ending a session, and a command's process
PLAIN_WORD = re.compile(r"[A-Za-z._-]{0,32}|.{0,15}")  # in a URL; any other may be a key
FAULTS: tuple[tuple[re.Pattern[str], FaultKind], ...] = (
    (re.compile(r"rate.?limit|too many requests|\b429\b|quota", re.IGNORECASE), "rate_limit"),
    (re.compile(r"time[d ]*out", re.IGNORECASE), "timeout"),
    (re.compile(r"unauthori[sz]ed|forbidden|api.?key|\b40[13]\b", re.IGNORECASE), "unauthorized"),
    (
        re.compile(
            r"unavailable|internal (server )?error|connection|\b50[0234]\b|^Error executing tool"
            r" \S+$",
            re.IGNORECASE,
        ),
        "server_error",
    ),
    (re.compile(r"^Unknown tool", re.IGNORECASE), "bad_response"),
)
T = TypeVar("T")


class ToolMap(RowMap):
    """`arguments`: ours to theirs, and only those named are sent. `constants` are sent with every
    call."""

    tool: str = Field(min_length=1)
    arguments: dict[str, str] = {}
    constants: dict[str, Any] = {}

    def sent(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the server's tool is called with. Blank arguments are left out: ours mean "no wish"
        by them."""
        renamed = {
            theirs: arguments[ours]
            for ours, theirs in self.arguments.items()
            if arguments.get(ours) not in (None, "")
        }
        return {**self.constants, **renamed}


class McpOptions(Terms):
    """Where the server is (a `url`, or a `command` that speaks over stdin and stdout), its terms,
    and a table in `maps` for each of the six tools that it answers.

    Keys are named, and read from the environment: `token_env` names the variable whose value is
    sent as a bearer token, `env` those that the command gets (besides PATH, HOME and the like, it
    gets no others), a {VARIABLE} in the URL stands for one. `version` is yours to raise when the
    server changes; the tables are part of a recording's key anyway. Raises UserError.
    """

    url: str = ""
    command: list[str] = []
    token_env: str = ""
    env: list[str] = []
    timeout_s: float = Field(30.0, gt=0)
    max_answer_mb: float = Field(MAX_ANSWER_MB, gt=0)
    name: str = "mcp"
    version: str = "1"
    requests_per_second: NonNegativeFloat = 1.0
    may_store: bool = False
    maps: dict[ToolName, ToolMap] = {}

    @model_validator(mode="after")
    def _checked(self) -> Self:
        if bool(self.url) == bool(self.command):
            found = "both" if self.url else "neither"
            raise UserError(f"An MCP server has either a url or a command: found {found}.")
        if self.token_env and self.command or self.env and self.url:
            raise UserError(
                "An MCP server with a url takes token_env, one with a command takes env: found the"
                " other one."
            )
        if self.url:
            check_address(self.url)
            with_keys(self.url)
        for variable in filter(None, (self.token_env, *self.env)):
            key_in(variable, "An MCP server")
        if not self.maps:
            raise UserError(
                f"MCP server '{self.name}' answers nothing: expected maps onto"
                f" {', '.join(RECORDS)}."
            )
        for tool, table in self.maps.items():
            table.check(tool, f"maps.{tool}")
        return self


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


def mcp_of_options(table: Mapping[str, Any], where: str = "vendors.mcp") -> McpProvider:
    """Of one table of a services file. Raises UserError."""
    named = {"name": where.removeprefix("vendors."), **table}
    return McpProvider(options_of(McpOptions, named, where))


class McpProvider:
    """Threads may share one. Raises UserError."""

    def __init__(self, options: McpOptions):
        if find_spec("mcp") is None:
            raise UserError(
                "MCP servers need the package 'mcp', which is not installed: pip install"
                " 'tripwright[mcp]'."
            )
        self.terms: Terms = options
        self.name, self._maps = options.name, options.maps
        tables = json.dumps(
            {tool: table.model_dump() for tool, table in self._maps.items()}, sort_keys=True
        )
        self.version = (
            f"{CLIENT_VERSION}; server={options.version};"
            f" maps={hashlib.sha256(tables.encode()).hexdigest()[:12]}"
        )
        self._session = McpSession(options)

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(self._maps)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault and nothing else."""
        table, fault = self._maps[tool], self._session.fault
        values = table.sent(arguments)
        result = self._session.run(lambda client: client.call_tool(table.tool, values))
        text = "\n".join(part.text for part in result.content if part.type == "text")
        if result.is_error:
            line = Redaction().shown(text)
            for pattern, kind in FAULTS:
                if pattern.search(line):
                    raise fault(kind, text)
            return answer_from(self, (), line or "The tool failed and said nothing.", refused=True)
        content = result.structured_content
        if content is None:
            content = _json_or_text(text)
        if table.rows == "@" and isinstance(content, Mapping) and set(content) == {OWN_RESULT}:
            content = content[OWN_RESULT]
        where = f"MCP server {self._session.label}: {table.tool}"
        records = table.records(tool, content, arguments, where)
        return answer_from(self, records, f"{table.tool} found nothing.")


def _json_or_text(text: str) -> Any:
    """Servers that know no structured content write their JSON as text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


# ---- the connection


class _Connection:
    """Held open by a task of the event loop until `leave` is set."""

    def __init__(self, client: AbstractAsyncContextManager[Client]):
        self._client, self.leave = client, asyncio.Event()
        self.ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._hold())

    async def _hold(self) -> None:
        try:
            async with self._client as client:
                self.ready.set_result(client)
                await self.leave.wait()
        except BaseException as error:
            # of a connection that did not come about, or ends in disorder
            if not self.ready.done():
                self.ready.set_exception(error)
                self.ready.exception()  # whoever waited may have given up


class McpSession:
    """Threads may share one: all that changes here belongs to the event loop's thread."""

    def __init__(self, server: McpOptions):
        self.server = server
        # for messages: no arguments of a command and no query of a URL, which may hold keys
        self.label = server.url.partition("?")[0] or os.path.basename(server.command[0])
        self._starting, self._process = threading.Lock(), 0
        self._loop: asyncio.AbstractEventLoop
        self._open: _Connection | None = None
        # the last HTTP status that was an error: the package keeps it to itself
        self._problem: tuple[int, float | None] | None = None
        self._refused: ProviderFault | None = None  # an answer that was not read to its end

    def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """What `work` finds out; connecting, where that is needed, is part of its time. Raises
        ProviderFault and nothing else."""
        import mcp  # noqa: F401  # takes a second, which is not the server's

        with self._starting:
            if self._process != os.getpid():  # a fork has not got the thread
                self._loop, self._process, self._open = asyncio.new_event_loop(), os.getpid(), None
                threading.Thread(target=self._loop.run_forever, daemon=True).start()
                # the package logs answers that it cannot read, word by word
                logging.getLogger("mcp.client").setLevel(logging.CRITICAL)
        attempt = asyncio.run_coroutine_threadsafe(self._worked(work), self._loop)
        try:
            return attempt.result()
        except (KeyboardInterrupt, SystemExit):
            attempt.cancel()
            raise

    async def _worked(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Errors that the protocol states leave the connection whole; after anything else the next
        call begins anew."""
        opened = self._open
        if opened is None:
            self._problem, opened = None, _Connection(self._client())
            self._open = opened
        try:
            async with asyncio.timeout(self.server.timeout_s + GRACE_S):
                return await work(await asyncio.shield(opened.ready))
        except BaseException as error:
            fault, is_whole = self._explained(_first(error))
            if not is_whole:
                opened.leave.set()
                if self._open is opened:  # another call may have opened a new one already
                    self._open = None
            raise fault from None

    def fault(self, kind: FaultKind, message: object, wait_s: float | None = None) -> ProviderFault:
        return ProviderFault(kind, f"MCP server {self.label}: {Redaction().shown(message)}", wait_s)

    def _explained(self, cause: BaseException) -> tuple[ProviderFault, bool]:
        """What went wrong, and whether the connection is whole."""
        import httpx2
        from mcp import MCPError

        refused, self._refused = self._refused, None
        if refused is not None:  # which broke the connection, and that is all the package knows
            return refused, False
        if isinstance(cause, MCPError):
            kind = kind_of_error(cause.code, cause.message)
            problem, self._problem = self._problem, None
            # what the package says instead of an HTTP status
            if problem is not None and kind == "server_error":
                status, wait_s = problem
                told = f"answered {status}: {cause}"
                return self.fault(fault_of_status(status) or kind, told, wait_s), True
            return self.fault(kind, cause), kind != "connection"
        if isinstance(cause, TimeoutError | httpx2.TimeoutException):
            return self.fault("timeout", f"no answer within {self.server.timeout_s:g} s"), False
        lost = (httpx2.HTTPError, httpx2.InvalidURL, OSError, CancelledError)
        if isinstance(cause, lost):
            return self.fault("connection", f"cannot be reached: {cause}"), False
        # The package checks answers against schemas in many places, and each has its own
        # exceptions.
        return self.fault("bad_response", f"{type(cause).__name__}: {cause}"), False

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        from mcp import Client
        from mcp.types import Implementation

        server = self.server
        info = Implementation(name="tripwright", version=USER_AGENT.partition("/")[2])
        transport: AbstractAsyncContextManager[Any] = (
            self._over_http() if server.url else _over_stdio(server)
        )
        async with asyncio.timeout(server.timeout_s + GRACE_S) as limit:
            async with Client(
                transport, read_timeout_seconds=server.timeout_s, client_info=info
            ) as client:
                limit.reschedule(None)
                yield client
                limit.reschedule(asyncio.get_running_loop().time() + CLOSE_S)

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
        """An answer as a stream of events is handed on event by event, and may be no longer in
        all. The stream that stays open beside the answers is limited by the package alone, event by
        event."""
        import httpx2

        url, target = str(response.url), response.headers.get("location")
        if target and (place := redirect_host(url, target)) != redirect_host(url, url):
            status = response.status_code
            raise self._refuse(f"answered {status}, a redirect to '{place}', which is not followed")
        if response.headers.get("content-encoding", "identity") != "identity":
            raise self._refuse("answers packed where it was asked not to")
        most_mb, stream = self.server.max_answer_mb, response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)

        async def pieces() -> AsyncIterator[bytes]:
            size = 0
            try:
                async for piece in stream:
                    size += len(piece)
                    if size > most_mb * 1e6:
                        raise self._refuse(f"answered with more than {most_mb:g} MB")
                    yield piece
            finally:
                await stream.aclose()

        if "text/event-stream" not in response.headers.get("content-type", ""):
            response.stream = httpx2.ByteStream(b"".join([piece async for piece in pieces()]))
        elif response.request.method != "GET":
            response.stream = httpx2.Response(200, content=pieces()).stream

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


def kind_of_error(code: int, message: str) -> FaultKind:
    """Of an error of the protocol. Wrong parameters are our side's fault too: a table made them."""
    from mcp.types import CONNECTION_CLOSED, INTERNAL_ERROR, REQUEST_TIMEOUT

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

"""Any MCP server's tools, https://modelcontextprotocol.io/specification: as one of the six, or
under their own names.

A tool that a table maps onto one of the six answers with that tool's records; one that is offered
under its own name answers with generic rows, and its JSON schema comes from the server. Nobody
knows a server's terms: what it answers may be kept only where `may_store` says so. Never called
live here; tested against servers of the official package on this machine.

A server reports an error of a tool as text (`isError`), whoever is to blame. A text that speaks of
limits, outages and time is taken for a fault of our side, any other for a refusal of the call.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tripwright.domains.deeptravel.sandbox.provider import FaultKind, ProviderFault, Terms
from tripwright.domains.deeptravel.tools.answers import RECORDS, Provenance, ProviderAnswer, Record
from tripwright.domains.deeptravel.vendors.mcp_mapping import ToolMap, listed, rows_of, tool_map
from tripwright.domains.deeptravel.vendors.mcp_session import McpServer, McpSession
from tripwright.domains.deeptravel.vendors.reading import readable
from tripwright.domains.deeptravel.vendors.vendor import utc_now
from tripwright.errors import UserError
from tripwright.tools.http import Redaction

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

MOST_ROWS = 10_000  # of an answer: no model reads as many
PAGES = 100  # of a server's list of tools, before it is taken for endless
CLIENT_VERSION = 1
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
SERVER_OPTIONS = ("url", "command", "token_env", "env", "timeout_s", "max_answer_mb")
KINDS: Mapping[str, tuple[Any, str]] = {
    **dict.fromkeys(
        ("url", "token_env", "name", "version", "attribution", "terms_url"), (str, "a text")
    ),
    **dict.fromkeys(("command", "env", "own"), (list, "a list of texts")),
    **dict.fromkeys(
        ("timeout_s", "max_answer_mb", "requests_per_second"), (int | float, "a number")
    ),
    "burst": (int, "a whole number"),
    "may_store": (bool, "true or false"),
    "maps": (dict, "a table"),
}


class McpProvider:
    """`maps` by our tool's name, `own` names of the server's tools to be offered as they are.
    Threads may share one.

    `version` is yours to raise when the server changes; the tables are part of the key anyway.
    Raises UserError.
    """

    def __init__(
        self,
        server: McpServer,
        maps: Mapping[str, ToolMap] | None = None,
        own: Collection[str] = (),
        *,
        name: str = "mcp",
        version: str = "1",
        terms: Terms | None = None,
        now: Callable[[], datetime] = utc_now,
    ):
        if find_spec("mcp") is None:
            raise UserError(
                "MCP servers need the package 'mcp', which is not installed: pip install"
                " 'tripwright[mcp]'."
            )
        self.name, self._maps, self._own, self._now = name, dict(maps or {}), frozenset(own), now
        if not self._maps and not self._own:
            raise UserError(
                f"MCP server '{name}' answers nothing: expected maps onto {', '.join(RECORDS)}, or"
                " own tools by name."
            )
        if clashes := sorted(self._own & set(RECORDS)):
            raise UserError(
                f"MCP server '{name}' cannot offer '{clashes[0]}' as its own tool: expected"
                f" maps.{clashes[0]} with its fields."
            )
        self.terms = terms or Terms(requests_per_second=1.0, may_store=False)
        tables = json.dumps(
            {tool: vars(table) for tool, table in self._maps.items()}, sort_keys=True, default=dict
        )
        self.version = (
            f"{CLIENT_VERSION}; server={version};"
            f" maps={hashlib.sha256(tables.encode()).hexdigest()[:12]}"
        )
        self._session = McpSession(server)

    @property
    def tools(self) -> frozenset[str]:
        return self._own | set(self._maps)

    def schemas(self) -> list[dict[str, Any]]:
        """Of the own tools, by name, as a chat endpoint takes them. Raises ProviderFault, also
        where the server has no such tool."""
        from mcp import MCPError

        try:
            tools = self._session.run(_all_tools)
        except MCPError as error:
            raise self._session.fault("bad_response", error) from None
        own = {tool.name: tool for tool in tools if tool.name in self._own}
        if absent := sorted(self._own - set(own)):
            raise self._session.fault(
                "bad_response",
                f"has no tool '{absent[0]}', only {', '.join(sorted(tool.name for tool in tools))}",
            )
        hide = Redaction().within  # a server knows its key
        return [
            {
                "type": "function",
                "function": {
                    "name": name,
                    "description": hide(tool.description or ""),
                    "parameters": hide(tool.input_schema),
                },
            }
            for name, tool in sorted(own.items())
        ]

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        from mcp import MCPError

        if tool not in self.tools:
            raise ProviderFault(
                "bad_response",
                f"{self.name} does not answer {tool}, only {', '.join(sorted(self.tools))}.",
            )
        table = self._maps.get(tool)
        theirs, values = (table.tool, table.sent(arguments)) if table else (tool, dict(arguments))

        async def call(client: Client) -> CallToolResult:
            return await client.call_tool(theirs, values)

        try:
            result = self._session.run(call)
        except MCPError as error:
            if table is None:  # with a table, the parameters are our side's
                return self._answer((), self._session.server.shown(error), refused=True)
            raise self._session.fault("bad_response", error) from None
        text = "\n".join(part.text for part in result.content if part.type == "text")
        if result.is_error:
            return self._error(text)
        content = (
            result.structured_content
            if result.structured_content is not None
            else _json_or_text(text)
        )
        rows = table.rows_in(content) if table else listed(content)
        if rows and len(rows) > MOST_ROWS:
            raise self._session.fault(
                "bad_response", f"{theirs} answered {len(rows):,} rows: at most {MOST_ROWS:,} fit"
            )
        if table is None:
            return self._answer(rows_of(rows), f"{tool} answered nothing.")
        if rows is None:
            raise self._session.fault(
                "bad_response", f"{theirs} answered without a list at '{table.rows or 'the top'}'"
            )
        records: list[Record] = readable(
            self.name, rows, lambda row: table.record(tool, row, arguments)
        )
        return self._answer(tuple(records), f"{theirs} found nothing.")

    def close(self) -> None:
        """A later call opens the connection again."""
        self._session.close()

    def _error(self, text: str) -> ProviderAnswer:
        line = self._session.server.shown(text)
        for pattern, kind in FAULTS:
            if pattern.search(line):
                raise self._session.fault(kind, text)
        return self._answer((), line or "The tool failed and said nothing.", refused=True)

    def _answer(
        self, records: tuple[Record, ...], note: str, *, refused: bool = False
    ) -> ProviderAnswer:
        fetched_at = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        source = Provenance(
            self.name, self.version, fetched_at, self.terms.attribution, self.terms.may_store
        )
        return ProviderAnswer(records, source, "" if records else note, refused)


async def _all_tools(client: Client) -> list[Any]:
    tools: list[Any] = []
    cursor: str | None = None
    for _ in range(PAGES):
        page = await client.list_tools(cursor=cursor)
        tools += page.tools
        cursor = page.next_cursor
        if cursor is None:
            return tools
    raise ProviderFault(
        "bad_response", f"An MCP server's list of tools does not end after {PAGES} pages."
    )


def _json_or_text(text: str) -> Any:
    """Servers that know no structured content write their JSON as text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def mcp_of_options(options: Mapping[str, Any], label: str = "mcp") -> McpProvider:
    """Of one table of a TOML file: where the server is, its terms, `own` tools, and a table
    `maps.TOOL` for each of the six it answers. Raises UserError."""
    if unknown := sorted(set(options) - set(KINDS)):
        raise UserError(
            f"An MCP server ('{label}') has the options {', '.join(KINDS)}: found '{unknown[0]}'."
        )
    for name, value in options.items():
        kind, parts = KINDS[name]
        whole = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not whole or (kind is list and not all(isinstance(part, str) for part in value)):
            raise UserError(
                f"'{name}' of an MCP server ('{label}') should be {parts}: found"
                f" {type(value).__name__}."
            )
    rate = options.get("requests_per_second", 1.0)
    if not 0 <= rate < float("inf") or options.get("burst", 1) < 1:
        raise UserError(
            f"requests_per_second of an MCP server ('{label}') is at least 0 (no limit), and burst"
            " at least 1."
        )
    terms = Terms(
        requests_per_second=rate or None,
        burst=options.get("burst", 1),
        may_store=options.get("may_store", False),
        attribution=options.get("attribution", ""),
        terms_url=options.get("terms_url", ""),
    )
    server = McpServer(**{name: value for name, value in options.items() if name in SERVER_OPTIONS})
    maps = {tool: tool_map(tool, table) for tool, table in options.get("maps", {}).items()}
    name, version = options.get("name", label.removeprefix("vendors.")), options.get("version", "1")
    return McpProvider(
        server, maps, options.get("own", ()), name=name, version=version, terms=terms
    )

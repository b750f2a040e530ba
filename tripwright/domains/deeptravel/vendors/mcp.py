"""Any MCP server's tools, https://modelcontextprotocol.io/specification: as one of the six, or
under their own names.

A tool that a table maps onto one of the six answers with that tool's records: the table says which
tool of the server answers, how our arguments are called there, where the rows are, and where each
field of a record is in a row. A tool that is offered under its own name answers with generic rows,
and its JSON schema comes from the server. Nobody knows a server's terms: what it answers may be
kept only where `may_store` says so. Never called live here; tested against servers of the official
package on this machine.

A server reports an error of a tool as text (`isError`), whoever is to blame. A text that speaks of
limits, outages and time is taken for a fault of our side, any other for a refusal of the call.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import fields as fields_of
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Self

from pydantic import Field, model_validator

from tripwright.domains.deeptravel.sandbox.provider import (
    FaultKind,
    ProviderFault,
    answer_from,
)
from tripwright.domains.deeptravel.sandbox.services import Options, TermsOptions, options_of
from tripwright.domains.deeptravel.tools.answers import (
    RECORDS,
    ProviderAnswer,
    Record,
    VendorRow,
)
from tripwright.domains.deeptravel.vendors.mcp_session import McpSession, check_address
from tripwright.domains.deeptravel.vendors.rows import (
    ESSENTIAL,
    MOMENTS,
    MOST_ROWS,
    OF_THE_CALL,
    at,
    moment_or_none,
    money_or_none,
    number_or_none,
    text_or_empty,
    written,
)
from tripwright.errors import UserError
from tripwright.tools.http import MAX_ANSWER_MB, Redaction, key_in, with_keys

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult

PAGES = 100  # of a server's list of tools, before it is taken for endless
CLIENT_VERSION = 1
OWN_RESULT = "result"  # under which servers of the official package put what is no object
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


class ToolMap(Options):
    """`arguments`: ours to theirs, and only those named are sent. `constants` are sent with every
    call. `rows` and the values of `fields` are paths with dots, numbers for places in a list;
    fields without an entry are looked for under their own name. `currency` is for prices whose row
    names none."""

    tool: str = Field(min_length=1)
    arguments: dict[str, str] = {}
    constants: dict[str, Any] = {}
    rows: str = ""
    fields: dict[str, str] = {}
    currency: str = ""

    def sent(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """What the server's tool is called with. Blank arguments are left out: ours mean "no wish"
        by them."""
        renamed = {
            theirs: arguments[ours]
            for ours, theirs in self.arguments.items()
            if arguments.get(ours) not in (None, "")
        }
        return {**self.constants, **renamed}

    def rows_in(self, content: Any) -> list[Any] | None:
        """None where there is no list. One object is a list of one."""
        rows = at(content, *_path(self.rows))
        if not self.rows and isinstance(rows, Mapping) and set(rows) == {OWN_RESULT}:
            rows = rows[OWN_RESULT]
        if isinstance(rows, Mapping):
            return [rows]
        return rows if isinstance(rows, list) else None

    def record(self, tool: str, row: Any, arguments: Mapping[str, Any]) -> Record | None:
        """None where it lacks what its kind of record cannot do without."""
        kind, values = RECORDS[tool], {}
        for entry in fields_of(kind):
            raw = self._at(row, entry.name)
            if entry.name in OF_THE_CALL and not text_or_empty(raw):
                raw = arguments.get(OF_THE_CALL[entry.name])
            values[entry.name] = self._value(entry.name, str(entry.type), raw, row)
        if "minutes" in values and values["minutes"] is None and "departs_at" in values:
            values["minutes"] = self._minutes(row)
        if tool == "web_search":
            values["title"] = values["title"] or values["url"]
        if any(values[name] in (None, "") for name in ESSENTIAL[tool]):
            return None
        return kind(**{name: value for name, value in values.items() if value is not None})

    def _at(self, row: Any, name: str) -> Any:
        return at(row, *_path(self.fields.get(name, name)))

    def _value(self, name: str, kind: str, value: Any, row: Any) -> Any:
        if name == "price":
            currency = text_or_empty(self._at(row, "currency")) or self.currency
            return money_or_none(number_or_none(value), currency)
        if name in MOMENTS:
            moment = moment_or_none(text_or_empty(value))
            return written(moment) if moment is not None else ""
        if kind.startswith(("int", "float")):
            number = number_or_none(value)
            return round(number) if number is not None and kind.startswith("int") else number
        # a train may be called 571
        return text_or_empty(str(value) if isinstance(value, int) else value)

    def _minutes(self, row: Any) -> int | None:
        """Between two moments that state their offsets; local times of two places say nothing
        about it."""
        begins, ends = (moment_or_none(text_or_empty(self._at(row, name))) for name in MOMENTS)
        if begins is None or ends is None or begins.tzinfo is None or ends.tzinfo is None:
            return None
        return round((ends - begins).total_seconds() / 60) if ends >= begins else None


class McpOptions(TermsOptions):
    """Where the server is (a `url`, or a `command` that speaks over stdin and stdout), its terms,
    `own` tools that are offered as they are, and a table in `maps` for each of the six it answers.

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
    requests_per_second: float = Field(1.0, ge=0)
    may_store: bool = False
    own: list[str] = []
    maps: dict[str, ToolMap] = {}

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
        if not self.maps and not self.own:
            raise UserError(
                f"MCP server '{self.name}' answers nothing: expected maps onto"
                f" {', '.join(RECORDS)}, or own tools by name."
            )
        if clashes := sorted(set(self.own) & set(RECORDS)):
            raise UserError(
                f"MCP server '{self.name}' cannot offer '{clashes[0]}' as its own tool: expected"
                f" maps.{clashes[0]} with its fields."
            )
        for tool, table in self.maps.items():
            if tool not in RECORDS:
                raise UserError(
                    f"An MCP server's tool can stand for {', '.join(RECORDS)}: found maps.{tool}."
                )
            names = {entry.name for entry in fields_of(RECORDS[tool])}
            known = names | ({"currency"} if "price" in names else set())
            if unknown := sorted(set(table.fields) - known):
                raise UserError(
                    f"maps.{tool}.fields of an MCP server knows {', '.join(sorted(known))}: found"
                    f" '{unknown[0]}'."
                )
        return self


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
        self.name, self.terms, self._maps = options.name, options.terms, options.maps
        self._own = frozenset(options.own)
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
        """Raises ProviderFault and nothing else."""
        from mcp import MCPError

        table = self._maps.get(tool)
        theirs, values = (table.tool, table.sent(arguments)) if table else (tool, dict(arguments))

        async def call(client: Client) -> CallToolResult:
            return await client.call_tool(theirs, values)

        try:
            result = self._session.run(call)
        except MCPError as error:
            if table is None:  # with a table, the parameters are our side's
                return answer_from(self, (), Redaction().shown(error), refused=True)
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
        if rows is None:
            where = table.rows if table and table.rows else "the top"
            raise self._session.fault(
                "bad_response", f"{theirs} answered without a list at '{where}'"
            )
        if len(rows) > MOST_ROWS:
            raise self._session.fault(
                "bad_response", f"{theirs} answered {len(rows):,} rows: at most {MOST_ROWS:,} fit"
            )
        if table is None:
            return answer_from(self, rows_of(rows), f"{tool} answered nothing.")
        read = (table.record(tool, row, arguments) for row in rows)
        records = tuple(record for record in read if record is not None)
        if rows and not records:
            # an interface that has changed must not look like "nothing found"
            raise self._session.fault(
                "bad_response", f"{theirs} answered {len(rows)} rows, none with the fields named"
            )
        return answer_from(self, records, f"{theirs} found nothing.")

    def close(self) -> None:
        """A later call opens the connection again."""
        self._session.close()

    def _error(self, text: str) -> ProviderAnswer:
        line = Redaction().shown(text)
        for pattern, kind in FAULTS:
            if pattern.search(line):
                raise self._session.fault(kind, text)
        return answer_from(self, (), line or "The tool failed and said nothing.", refused=True)


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


def rows_of(content: Any) -> tuple[VendorRow, ...]:
    """An answer as generic records: one for each element of a list, one for anything else. What is
    nested stays JSON."""
    return tuple(VendorRow(values) for row in listed(content) if (values := _scalars(row)))


def listed(content: Any) -> list[Any]:
    """The rows of an answer that no table describes."""
    if isinstance(content, Mapping) and set(content) == {OWN_RESULT}:
        content = content[OWN_RESULT]
    return content if isinstance(content, list) else [content]


def _scalars(row: Any) -> tuple[tuple[str, str | float], ...]:
    values = row if isinstance(row, Mapping) else {"text" if isinstance(row, str) else "value": row}
    return tuple(
        (text_or_empty(str(name)), _scalar(value))
        for name, value in values.items()
        if value is not None and value != ""
    )


def _scalar(value: Any) -> str | float:
    is_number = not isinstance(value, str) and number_or_none(value) is not None
    if isinstance(value, int | float) and is_number:
        return value
    whole = isinstance(value, str)  # with its line breaks
    text = value if whole else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return str(text.encode("utf-8", "replace").decode())


def _json_or_text(text: str) -> Any:
    """Servers that know no structured content write their JSON as text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _path(dotted: str) -> list[str | int]:
    steps = dotted.split(".") if dotted else []
    return [int(step) if step.lstrip("-").isdecimal() else step for step in steps]

"""A company's HTTP services as some of the six tools, by tables in a services file: a URL, what is
sent, and where in the JSON that comes back each field of a record lies, in JMESPath
(https://jmespath.org, extra `http`).

Rows are read strictly: one that a record cannot be made of is a fault that names row and field, and
so is an answer without a list, because an interface that has changed must not look like "nothing
found". What leaves rows out is the expression, as in "offers[?price]". A service says that there is
nothing by an empty list, or by a status that the table names in `nothing`.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, NoReturn
from urllib.parse import quote, urlencode, urlsplit

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import Field

from tripwright.domains.deeptravel.sandbox.provider import (
    CurrencyCode,
    Options,
    Terms,
    ToolName,
    answer_from,
)
from tripwright.domains.deeptravel.tools.answers import (
    MOMENTS,
    MOST_ROWS,
    BadRow,
    ProviderAnswer,
    minutes_between,
    names_in,
    record_of_row,
)
from tripwright.domains.deeptravel.tools.live_tools import LiveTools
from tripwright.errors import UserError
from tripwright.llm.endpoint import Endpoint, Fault, is_address, redirect_host
from tripwright.llm.http import (
    PLACE_OF_KEY,
    USER_AGENT,
    ProviderFault,
    Redaction,
    asked_wait_s,
    fault_of_status,
    key_in,
)

CLIENT_VERSION = 1
compiled = cache(jmespath.compile)


class RowMap(Options):
    """Where the rows are and where each field is in a row; fields without an entry are looked for
    under their own name. `currency` and `price_per` are for prices whose rows say neither."""

    rows: str = "@"
    fields: dict[str, str] = {}
    currency: CurrencyCode | None = None
    price_per: Literal["night", "stay"] | None = None

    def rows_in(self, content: Any) -> list[Any] | None:
        """None where there is no list. One object is a list of one."""
        rows = compiled(self.rows).search(content)
        return [rows] if isinstance(rows, Mapping) else rows if isinstance(rows, list) else None

    def row(self, tool: str, row: Any) -> dict[str, Any]:
        """What is said of each field. Raises BadRow."""
        values = dict[str, Any]()
        for name in names_in(tool):
            try:
                values[name] = compiled(self.fields.get(name, name)).search(row)
            except JMESPathError as error:
                raise BadRow(f"of which '{name}' cannot be read: {error}") from None
        for name in ("currency", "price_per"):
            if name in values:
                values[name] = values[name] or getattr(self, name)
        if "departs_at" in values and values["minutes"] is None:
            values["minutes"] = minutes_between(*(values[name] for name in MOMENTS))
        return values

    def check(self, tool: str, where: str) -> None:
        """Raises UserError."""
        for name, path in {"rows": self.rows, **self.fields}.items():
            place = where if name == "rows" else f"{where}.fields"
            if name != "rows" and name not in names_in(tool):
                known = ", ".join(names_in(tool))
                raise UserError(f"{place}.{name} is no field of {tool}, which has {known}.")
            try:
                compiled(path)
            except JMESPathError as error:
                why = str(error).partition("\n")[0]
                raise UserError(f"{place}.{name} is no JMESPath: {why}") from None
        for name in {"currency", "price_per"} & {*names_in(tool)} - {*self.fields}:
            if "price" in self.fields and getattr(self, name) is None:
                what = "'night' or 'stay'" if name == "price_per" else "a code like 'EUR'"
                raise UserError(f"{where}.{name} is missing, which says what price is: {what}.")


class HttpMap(RowMap):
    """{city_name} in the URL, in `params` and in `body` is what is asked, {MY_KEY} a variable of
    the environment. A parameter that is nothing but an argument without a value is left out.
    `nothing`: statuses by which the service says that there is nothing, such as 404."""

    url: str
    params: dict[str, str] = {}
    body: dict[str, Any] | None = None
    nothing: list[int] = []


class HttpOptions(Terms):
    """`version` is yours to raise when the services change; the tables are part of a recording's
    key anyway."""

    headers: dict[str, str] = {}
    timeout_s: float = Field(30.0, gt=0)
    version: str = "1"
    maps: dict[ToolName, HttpMap] = Field(min_length=1)


class Nothing(Exception):
    """The service's word for no rows."""


@dataclass(frozen=True)
class Service(Endpoint):
    """One of the company's, which tells its faults as providers do."""

    nothing: tuple[int, ...] = ()

    def _headers(self) -> dict[str, str]:
        usual = {"Accept": "application/json", "Content-Type": "application/json"}
        return {**usual, "Accept-Encoding": "gzip", "User-Agent": USER_AGENT, **self.headers}

    def _status_fault(self, status: int, headers: Mapping[str, str], body: str) -> NoReturn:
        if status in self.nothing:
            raise Nothing
        said = f"{self.shown_url} answered {status}"
        if 300 <= status < 400 and (target := headers.get("location")):
            place = self._shown(redirect_host(self.base_url, target))
            raise ProviderFault("bad_response", f"{said}, a redirect to '{place}', not followed")
        kind = fault_of_status(status) or "bad_response"
        wait_s = asked_wait_s(headers, limited=status == 429)
        raise ProviderFault(kind, f"{said}: {self._shown(body)}", wait_s)


class HttpProvider:
    """Threads may share one. Raises UserError."""

    def __init__(self, name: str, options: HttpOptions):
        self.name, self.terms, self._maps = name, options, options.maps
        where = f"vendors.{name}"
        headers = {
            key: _filled(text, {}, lambda value: value, f"{where}.headers.{key}")
            for key, text in options.headers.items()
        }
        for key, text in headers.items():
            if not (key + text).isascii() or not text.isprintable():
                raise UserError(f"{where}.headers.{key} has characters that no header may have.")
        self._services = dict[str, Service]()
        for tool, table in self._maps.items():
            _check(tool, table, f"{where}.maps.{tool}")
            parts = urlsplit(table.url)
            self._services[tool] = Service(
                f"{parts.scheme}://{parts.netloc}",
                nothing=tuple(table.nothing),
                headers=headers,
                timeout_s=options.timeout_s,
                max_retries=0,
            )
        tables = json.dumps({t: m.model_dump() for t, m in self._maps.items()}, sort_keys=True)
        digest = hashlib.sha256(tables.encode()).hexdigest()[:12]
        self.version = f"{CLIENT_VERSION}; maps={digest}; version={options.version}"

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(self._maps)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault and nothing else."""
        table, service = self._maps[tool], self._services[tool]
        try:
            path, body = _sent(table, arguments)
            method = "GET" if body is None else "POST"
            reply = service.ask(path, body, lambda content: content, method)
        except Nothing:
            return answer_from(self, (), "Nothing was found.")
        except UserError as error:  # such as a key that has gone
            raise ProviderFault("bad_response", Redaction().shown(error)) from None
        if isinstance(reply, Fault):
            raise ProviderFault(reply.kind, reply.message)
        return answer_from(self, self._records(tool, reply.value, arguments), "Nothing was found.")

    def _records(self, tool: str, content: Any, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
        table, where = self._maps[tool], f"vendors.{self.name}.maps.{tool}"
        try:
            rows = table.rows_in(content)
            if rows is None or len(rows) > MOST_ROWS:
                found = "no list" if rows is None else f"{len(rows):,} rows: at most {MOST_ROWS:,}"
                raise BadRow(f"'{table.rows}' found {found}")
            records = []
            for number, row in enumerate(rows, start=1):
                try:
                    records.append(record_of_row(tool, table.row(tool, row), arguments))
                except BadRow as problem:
                    raise BadRow(f"row {number} came {problem}") from None
        except (BadRow, JMESPathError) as problem:
            raise ProviderFault("bad_response", f"{where}: {Redaction().shown(problem)}") from None
        return tuple(records)


def _check(tool: str, table: HttpMap, where: str) -> None:
    """Raises UserError, with the part of the table that is wrong."""
    table.check(tool, where)
    parts = urlsplit(table.url)
    if not is_address(table.url) or "{" in parts.netloc or "@" in parts.netloc or parts.fragment:
        raise UserError(f"{where}.url is no plain address like https://our.example/v1/trains.")
    own = list(inspect.signature(getattr(LiveTools, tool)).parameters.values())[1:]
    arguments, said = dict.fromkeys((each.name for each in own), ""), json.dumps(table.model_dump())
    for name, part in {"url": table.url, "params": table.params, "body": table.body}.items():
        _filled(part, arguments, str, f"{where}.{name}")
    for each in own:
        if each.default is each.empty and f"{{{each.name}}}" not in said:
            raise UserError(f"{where} sends '{{{each.name}}}' nowhere, which every call has.")


def _sent(table: HttpMap, arguments: Mapping[str, Any]) -> tuple[str, Any]:
    """The address behind the host, and the body."""
    parts = urlsplit(table.url)
    if {".", ".."} & {*map(str, arguments.values())}:
        raise Nothing  # no such city: in an address it would lead elsewhere
    quoted = lambda text: quote(str(text), safe="")  # noqa: E731
    path, query = (_filled(part, arguments, quoted) for part in (parts.path, parts.query))
    given = {
        name: _filled(text, arguments, str)
        for name, text in table.params.items()
        if not (text.startswith("{") and arguments.get(text[1:-1], text) == "")
    }
    query = "&".join(filter(None, (query, urlencode(given))))
    body = None if table.body is None else _filled(table.body, arguments, lambda value: value)
    return f"{path}?{query}" if query else path, body


def _filled(
    part: Any, arguments: Mapping[str, Any], written: Callable[[Any], Any], where: str = ""
) -> Any:
    """With what stands for {names}; a text that is nothing else becomes the value itself. Raises
    UserError."""
    if isinstance(part, Mapping):
        return {
            key: _filled(each, arguments, written, f"{where}.{key}") for key, each in part.items()
        }
    if isinstance(part, list):
        return [_filled(each, arguments, written, where) for each in part]
    if not isinstance(part, str):
        return part

    def value(name: str) -> Any:
        if name in arguments:
            return arguments[name]
        if name.upper() != name:
            known = ", ".join(arguments) or "nothing"
            raise UserError(
                f"{where}: {{{name}}} is neither what is asked ({known}) nor a variable in"
                " capitals."
            )
        return key_in(name, where)

    if found := PLACE_OF_KEY.fullmatch(part):
        return written(value(found[1]))
    return PLACE_OF_KEY.sub(lambda found: str(written(value(found[1]))), part)

"""A company's HTTP services as some of the six tools, by tables in a services file: a URL, what is
sent, and where in the JSON that comes back each field of a record lies, in JMESPath
(https://jmespath.org, extra `http`).

A row that no record can be made of is a fault that names it and its field, and so is an answer
without a list: an interface that has changed must not look like "nothing found". What leaves rows
out is the expression, as in "offers[?price]"; a service says that there is nothing by an empty
list, or by a status that the table names.
"""

from __future__ import annotations

import hashlib
import inspect
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
    Record,
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

compiled = cache(jmespath.compile)


class RowMap(Options):
    """Where the rows are and where each field is in a row; fields without an entry are looked for
    under their own name. `currency` and `price_per` are for prices whose rows say neither."""

    rows: str = "@"
    fields: dict[str, str] = {}
    currency: CurrencyCode | None = None
    price_per: Literal["night", "stay"] | None = None

    def check(self, tool: str, where: str) -> None:
        """Raises UserError."""
        known = names_in(tool)
        for name, path in {f"{where}.rows": self.rows, **self.fields}.items():
            place = name if path is self.rows else f"{where}.fields.{name}"
            if place != name and name not in known:
                raise UserError(f"{place} is no field of {tool}, which has {', '.join(known)}.")
            try:
                compiled(path)
            except JMESPathError as error:
                why = str(error).partition("\n")[0]
                raise UserError(f"{place} is no JMESPath: {why}") from None
        for name, example in (("currency", "'EUR'"), ("price_per", "'night' or 'stay'")):
            is_said = name in self.fields or getattr(self, name) is not None
            if name in known and "price" in self.fields and not is_said:
                raise UserError(f"{where}.{name} is missing, which says what price is: {example}.")

    def records(
        self, tool: str, content: Any, arguments: Mapping[str, Any], where: str
    ) -> tuple[Record, ...]:
        """One object is a list of one. Raises ProviderFault."""
        records, reading = list[Record](), False
        try:
            rows = compiled(self.rows).search(content)
            rows = [rows] if isinstance(rows, Mapping) else rows
            if not isinstance(rows, list) or len(rows) > MOST_ROWS:
                found = f"{len(rows):,} rows" if isinstance(rows, list) else "no list"
                raise BadRow(f"with {found} at '{self.rows}': a list of {MOST_ROWS:,} fits")
            for row in rows:
                reading, names = True, names_in(tool)
                values = {name: compiled(self.fields.get(name, name)).search(row) for name in names}
                for name in {"currency", "price_per"} & values.keys():
                    values[name] = values[name] or getattr(self, name)
                if "departs_at" in values and values["minutes"] is None:
                    values["minutes"] = minutes_between(*(values[name] for name in MOMENTS))
                records.append(record_of_row(tool, values, arguments))
        except (BadRow, JMESPathError) as problem:
            row = f"row {len(records) + 1} " if reading else ""
            shown = Redaction().shown(f"answered {row}{problem}")
            raise ProviderFault("bad_response", f"{where} {shown}") from None
        return tuple(records)


class HttpMap(RowMap):
    """{city_name} in the URL, in `params` and in `body` is what is asked, {MY_KEY} a variable of
    the environment. A parameter that is nothing but an argument without a value is left out.
    `nothing`: statuses by which the service says that there is nothing, such as 404."""

    url: str
    params: dict[str, str] = {}
    body: dict[str, Any] | None = None
    nothing: list[int] = []

    def check(self, tool: str, where: str) -> None:
        super().check(tool, where)
        parts = urlsplit(self.url)
        if not is_address(self.url) or parts.fragment or {"{", "@"} & set(parts.netloc):
            raise UserError(f"{where}.url is no plain address like https://our.example/v1/trains.")
        _, *own = inspect.signature(getattr(LiveTools, tool)).parameters.values()
        blank = {each.name: "" for each in own}
        for name in ("url", "params", "body"):
            _filled(getattr(self, name), blank, str, f"{where}.{name}")
        for each in own:
            if each.default is each.empty and f"{{{each.name}}}" not in self.model_dump_json():
                raise UserError(f"{where} sends '{{{each.name}}}' nowhere, which every call has.")

    def sent(self, arguments: Mapping[str, Any]) -> tuple[str, Any]:
        """The address behind the host, and the body."""
        if {".", ".."} & {*map(str, arguments.values())}:
            raise Nothing  # no such city: in an address it would lead elsewhere
        parts = urlsplit(self.url)
        path, query = (_filled(part, arguments, _quoted) for part in (parts.path, parts.query))
        given = {
            name: _filled(text, arguments, str)
            for name, text in self.params.items()
            if arguments.get(text[1:-1], text) != ""
        }
        query = "&".join(filter(None, (query, urlencode(given))))
        return f"{path}?{query}", _filled(self.body, arguments, lambda value: value)


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
    """Tells its faults as providers do."""

    nothing: tuple[int, ...] = ()

    def _headers(self) -> dict[str, str]:
        usual = {"Accept": "application/json", "Content-Type": "application/json"}
        return {**usual, "Accept-Encoding": "gzip", "User-Agent": USER_AGENT, **self.headers}

    def _status_fault(self, status: int, headers: Mapping[str, str], body: str) -> NoReturn:
        if status in self.nothing:
            raise Nothing
        if 300 <= status < 400:
            place = redirect_host(self.base_url, headers.get("location", ""))
            body = f"a redirect to '{place}', which is not followed"
        said = f"{self.shown_url} answered {status}: {self._shown(body)}"
        wait_s = asked_wait_s(headers, limited=status == 429)
        raise ProviderFault(fault_of_status(status) or "bad_response", said, wait_s)


class HttpProvider:
    """Threads may share one. Raises UserError."""

    def __init__(self, name: str, options: HttpOptions):
        self.name, self.terms, self._maps = name, options, options.maps
        self._where, tables = f"vendors.{name}", options.model_dump_json(include={"maps"})
        digest = hashlib.sha256(tables.encode()).hexdigest()[:12]
        self.version = f"1; maps={digest}; version={options.version}"
        headers = _filled(options.headers, {}, str, f"{self._where}.headers")
        if not "".join(headers.values()).isascii():
            raise UserError(f"{self._where}.headers have characters that no header may have.")
        self._services = dict[str, Service]()
        for tool, table in self._maps.items():
            table.check(tool, f"{self._where}.maps.{tool}")
            host = "://".join(urlsplit(table.url)[:2])
            how = {"headers": headers, "timeout_s": options.timeout_s, "max_retries": 0}
            self._services[tool] = Service(host, nothing=tuple(table.nothing), **how)

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(self._maps)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Raises ProviderFault and nothing else."""
        table, records = self._maps[tool], tuple[Record, ...]()
        try:
            path, body = table.sent(arguments)
            method = "GET" if body is None else "POST"
            reply = self._services[tool].ask(path, body, lambda content: content, method)
            if isinstance(reply, Fault):
                raise ProviderFault(reply.kind, reply.message)
            where = f"{self._where}.maps.{tool}"
            records = table.records(tool, reply.value, arguments, where)
        except Nothing:
            pass
        except UserError as error:  # such as a key that has gone
            raise ProviderFault("bad_response", Redaction().shown(error)) from None
        return answer_from(self, records, "Nothing was found.")


def _quoted(value: Any) -> str:
    return quote(str(value), safe="")


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
        if name not in arguments and name.upper() != name:
            known = ", ".join(arguments) or "nothing"
            told = f"neither what is asked ({known}) nor a variable in capitals"
            raise UserError(f"{where}: {{{name}}} is {told}.")
        return written(arguments[name] if name in arguments else key_in(name, where))

    if found := PLACE_OF_KEY.fullmatch(part):
        return value(found[1])
    return PLACE_OF_KEY.sub(lambda found: str(value(found[1])), part)

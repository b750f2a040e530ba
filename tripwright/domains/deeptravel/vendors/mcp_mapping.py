"""How the answer of an MCP server's tool becomes records: a table of names for one of the six
tools, or rows as they are.

A table says which tool of the server answers, how our arguments are called there, where the rows
are, and where each field of a record is in a row. Fields without an entry are looked for under
their own name; what a row does not say about the call's cities and days is taken from the call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from tripwright.domains.deeptravel.tools.answers import RECORDS, Record, VendorRow
from tripwright.domains.deeptravel.vendors.fields import moment_or_none, money_or_none, written
from tripwright.domains.deeptravel.vendors.reading import at, number_or_none, text_or_empty
from tripwright.errors import UserError

OWN_RESULT = "result"  # under which servers of the official package put what is no object
MOMENTS = ("departs_at", "arrives_at")
ESSENTIAL: Mapping[str, tuple[str, ...]] = {  # without these a row is unreadable
    "flight_search": ("number", "departs_at", "arrives_at", "minutes"),
    "train_search": ("number", "departs_at", "arrives_at", "minutes"),
    "route_planning": ("minutes", "distance_km"),
    "hotel_search": ("name",),
    "poi_search": ("name",),
    "web_search": ("url",),
}
OF_THE_CALL: Mapping[str, str] = {
    "depart_city": "depart_city_name",
    "arrive_city": "arrival_city_name",
    "origin": "origin_name",
    "destination": "destination_name",
    "city": "city_name",
    "checkin_date": "checkin_date",
    "checkout_date": "checkout_date",
}


@dataclass(frozen=True)
class ToolMap:
    """`arguments`: ours to theirs, and only those named are sent. `constants` are sent with every
    call. `rows` and the values of `fields` are paths with dots, numbers for places in a list.
    `currency` is for prices whose row names none."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    rows: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
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
        for name in (entry.name for entry in fields(kind)):
            raw = at(row, *_path(self.fields.get(name, name)))
            if name in OF_THE_CALL and not text_or_empty(raw):
                raw = arguments.get(OF_THE_CALL[name])
            values[name] = self._value(name, str(kind.__dataclass_fields__[name].type), raw, row)
        if "minutes" in values and values["minutes"] is None and "departs_at" in values:
            values["minutes"] = _minutes(row, [self.fields.get(name, name) for name in MOMENTS])
        if tool == "web_search":
            values["title"] = values["title"] or values["url"]
        if any(values[name] in (None, "") for name in ESSENTIAL[tool]):
            return None
        return kind(**{name: value for name, value in values.items() if value is not None})

    def _value(self, name: str, kind: str, value: Any, row: Any) -> Any:
        if name == "price":
            currency = (
                text_or_empty(at(row, *_path(self.fields.get("currency", "currency"))))
                or self.currency
            )
            return money_or_none(number_or_none(value), currency)
        if name in MOMENTS:
            moment = moment_or_none(text_or_empty(value))
            return written(moment) if moment is not None else ""
        if kind.startswith(("int", "float")):
            number = number_or_none(value)
            return round(number) if number is not None and kind.startswith("int") else number
        # a train may be called 571
        return text_or_empty(str(value) if isinstance(value, int) else value)


def tool_map(tool: str, table: Mapping[str, Any]) -> ToolMap:
    """Of a table of a TOML file. Raises UserError."""
    if tool not in RECORDS:
        raise UserError(
            f"An MCP server's tool can stand for {', '.join(RECORDS)}: found maps.{tool}."
        )
    if not isinstance(table, Mapping):
        raise UserError(
            f"maps.{tool} of an MCP server should be a table: found {type(table).__name__}."
        )
    keys = [entry.name for entry in fields(ToolMap)]
    for name, value in table.items():
        if name not in keys:
            raise UserError(f"maps.{tool} of an MCP server has {', '.join(keys)}: found '{name}'.")
        texts = (
            isinstance(value, str)
            if name in ("tool", "rows", "currency")
            else isinstance(value, Mapping)
        )
        if (
            not texts
            or name in ("arguments", "fields")
            and not all(isinstance(part, str) for part in value.values())
        ):
            raise UserError(
                f"maps.{tool}.{name} of an MCP server is not of the right type: found"
                f" {type(value).__name__}."
            )
    if not table.get("tool"):
        raise UserError(
            f"maps.{tool} of an MCP server names no tool: expected tool = \"the server's name of"
            ' it".'
        )
    field_names = {entry.name for entry in fields(RECORDS[tool])} | (
        {"currency"} if "price" in RECORDS[tool].__dataclass_fields__ else set()
    )
    if unknown := sorted(set(table.get("fields", {})) - field_names):
        raise UserError(
            f"maps.{tool}.fields of an MCP server knows {', '.join(sorted(field_names))}: found"
            f" '{unknown[0]}'."
        )
    return ToolMap(**table)


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
    if isinstance(value, str):
        # with its line breaks: it may be a whole text
        return value.encode("utf-8", "replace").decode()
    if (
        not isinstance(value, bool)
        and isinstance(value, int | float)
        and number_or_none(value) is not None
    ):
        return value
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        .encode("utf-8", "replace")
        .decode()
    )


def _path(dotted: str) -> list[str | int]:
    return (
        [int(step) if step.lstrip("-").isdecimal() else step for step in dotted.split(".")]
        if dotted
        else []
    )


def _minutes(row: Any, paths: list[str]) -> int | None:
    """Between two moments that state their offsets; local times of two places say nothing about
    it."""
    begins, ends = (moment_or_none(text_or_empty(at(row, *_path(path)))) for path in paths)
    if (
        begins is None
        or ends is None
        or begins.tzinfo is None
        or ends.tzinfo is None
        or ends < begins
    ):
        return None
    return round((ends - begins).total_seconds() / 60)

"""The rows that tools have shown, as records: all that the errand expert decides from. What a compact row leaves out is completed from the
call itself: the day, the cities, the names that were asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from tripwright.domains.deeptravel.answer.advice import Card
from tripwright.domains.deeptravel.answer.advice_writing import arrival_day
from tripwright.domains.deeptravel.tools.answers import RECORDS, Money, Record, RouteLeg
from tripwright.transcript import ToolCall

_COMPLETED = {  # field of a record → the argument that says it
    "depart_city": "depart_city_name",
    "arrive_city": "arrival_city_name",
    "city": "city_name",
    "checkin_date": "checkin_date",
    "checkout_date": "checkout_date",
    "origin": "origin_name",
    "destination": "destination_name",
}


@dataclass(frozen=True)
class SeenRow:
    card: Card
    record: Any


@dataclass(frozen=True)
class SeenAnswer:
    """`note` is what the tool said instead of rows: that there are none, or what was wrong."""

    rows: tuple[SeenRow, ...]
    note: str = ""


def read_answer(call: ToolCall, number: int, currency: str) -> SeenAnswer:
    """`number` counts calls from 1. `currency` is that of amounts which are shown without one. What has no time that can be read is no
    row."""
    if call.rows is None:
        return SeenAnswer(())
    rows = []
    for row, shown in enumerate(call.rows.records(), start=call.rows.first):
        record = _record({name: value for name, value in shown.items() if value is not None and value != ""}, call, currency)
        if record is not None:
            rows.append(SeenRow(Card(number, row), record))
    return SeenAnswer(tuple(rows), call.rows.note)


def _record(values: dict[str, Any], call: ToolCall, currency: str) -> Record | None:
    kind: type[Any] | None = RECORDS.get(call.name)
    if kind is None:
        return None
    if "mode" in values:
        kind = RouteLeg  # the ways to and from an airport stand among its flights
    return _typed(kind, values, call.arguments, currency)


def _typed(kind: type[Any], values: dict[str, Any], arguments: Mapping[str, Any], currency: str) -> Record | None:
    """None where something that must be a text or a number is neither, or a time is none."""
    price, paid_in = values.pop("price", None), values.pop("currency", currency)
    for name, argument in _COMPLETED.items():
        if argument in arguments:
            values.setdefault(name, arguments[argument])
    known: dict[str, Any] = {}
    for field in fields(kind):
        if field.name == "price":
            known["price"] = Money(float(price), str(paid_in)) if _is_number(price) else None
        elif field.name in values:
            known[field.name] = values[field.name]
        elif field.default is MISSING:
            known[field.name] = 0 if field.type in ("int", "float") else ""
        if field.type in ("str",) and not isinstance(known.get(field.name, ""), str):
            return None
        if str(field.type).startswith(("int", "float")) and not (known.get(field.name) is None or _is_number(known[field.name])):
            return None
    if "departs_at" in known and not _with_day(known, arguments.get("depart_date")):
        return None
    record: Record = kind(**known)
    return record


def _with_day(known: dict[str, Any], day: Any) -> bool:
    """Makes moments of clock times."""
    departs, arrives = known["departs_at"], known["arrives_at"]
    if all(re.fullmatch(r"\d{2}:\d{2}", clock) for clock in (departs, arrives)) and isinstance(day, str):
        known["departs_at"] = f"{day}T{departs}"
        known["arrives_at"] = f"{arrival_day(known['departs_at'], arrives)}T{arrives}"
    return all(re.match(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}", known[name]) for name in ("departs_at", "arrives_at"))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

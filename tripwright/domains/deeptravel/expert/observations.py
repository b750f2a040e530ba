"""Turns the rows that tools have shown into records: all that the expert decides from. What a
compact row leaves out is completed from the call itself: the day, the cities, the names that were
asked for."""

from __future__ import annotations

import re
from dataclasses import MISSING, dataclass, fields
from datetime import date as Date
from datetime import timedelta
from typing import Any

from tripwright.domains.deeptravel.tools.answers import (
    RECORDS,
    HotelOffer,
    Money,
    Record,
    RouteLeg,
)
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
    """Calls and rows count from 1."""

    call: int
    row: int
    record: Any

    @property
    def name(self) -> str:
        """Of an offer."""
        return str(self.record.name if isinstance(self.record, HotelOffer) else self.record.number)


@dataclass(frozen=True)
class SeenAnswer:
    """`note` is what the tool said instead of rows: that there are none, or what was wrong."""

    rows: tuple[SeenRow, ...]
    note: str = ""


def read_answer(call: ToolCall, number: int, currency: str) -> SeenAnswer:
    """`number` counts calls from 1. `currency` is that of amounts which are shown without one. What
    has no time that can be read is no row."""
    if call.rows is None:
        return SeenAnswer(())
    rows = []
    for row, values in enumerate(call.rows.records(), start=call.rows.first):
        record = _record(
            {name: value for name, value in values.items() if value is not None and value != ""},
            call,
            currency,
        )
        if record is not None:
            rows.append(SeenRow(number, row, record))
    return SeenAnswer(tuple(rows), call.rows.note)


def _record(values: dict[str, Any], call: ToolCall, currency: str) -> Record | None:
    # ways to an airport stand among its flights
    kind: type[Any] | None = RouteLeg if "mode" in values else RECORDS.get(call.name)
    if kind is None:
        return None
    unsaid = {
        field.name: 0 if field.type in ("int", "float") else ""
        for field in fields(kind)
        if field.default is MISSING
    }
    arguments = {
        name: call.arguments[argument]
        for name, argument in _COMPLETED.items()
        if argument in call.arguments
    }
    names = {field.name for field in fields(kind)}
    attributes = {
        name: value for name, value in {**unsaid, **arguments, **values}.items() if name in names
    }
    if "price" in values:
        attributes["price"] = Money(float(values["price"]), values.get("currency", currency))
    if "departs_at" in attributes and not _with_day(attributes, call.arguments.get("depart_date")):
        return None
    record: Record = kind(**attributes)
    return record


def _with_day(values: dict[str, Any], day: Any) -> bool:
    """Makes moments of clock times."""
    departs, arrives = values["departs_at"], values["arrives_at"]
    if all(re.fullmatch(r"\d{2}:\d{2}", clock) for clock in (departs, arrives)) and isinstance(
        day, str
    ):
        values["departs_at"] = f"{day}T{departs}"
        values["arrives_at"] = f"{arrival_day(values['departs_at'], arrives)}T{arrives}"
    return all(
        re.match(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}", values[name])
        for name in ("departs_at", "arrives_at")
    )


def arrival_day(departs_at: str, arrives: str) -> str:
    """The day of an arrival of which only the clock is known: the next one where that is earlier
    than the departure's, as the compact face of the tools has it."""
    later = arrives < departs_at[11:16]
    return (Date.fromisoformat(departs_at[:10]) + timedelta(days=later)).isoformat()

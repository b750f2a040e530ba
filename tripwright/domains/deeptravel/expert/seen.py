"""Tool answers as they were shown, read back into typed rows: all that the errand expert decides from.

It reads what the two live faces write, objects or arrays. An answer that was cut ends with its last whole row. What a compact row leaves
out is completed from the call itself: the day, the cities, the names that were asked for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any

from tripwright.domains.deeptravel.answer.advice import Card
from tripwright.domains.deeptravel.answer.advice_writing import arrival_day
from tripwright.domains.deeptravel.tools.answers import RECORDS, Money, Record, RouteLeg
from tripwright.tools.face import Face

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


def read_answer(shown: str, face: Face, tool: str, arguments: Mapping[str, Any], call: int, currency: str) -> SeenAnswer:
    """`call` counts from 1. `currency` is that of amounts which are shown without one. What cannot be read is no row."""
    body, entries = _entries(shown)
    rows = []
    for place, entry in enumerate(entries, start=1):
        record = _record(entry, face, tool, arguments, currency)
        if record is not None:
            number = entry.get("row", place) if isinstance(entry, Mapping) else place
            rows.append(SeenRow(Card(call, number if isinstance(number, int) else place), record))
    note = body.get("error") or body.get("note") or ""
    return SeenAnswer(tuple(rows), note if isinstance(note, str) else "")


def _entries(shown: str) -> tuple[dict[str, Any], list[Any]]:
    try:
        body = json.loads(shown)
    except (ValueError, RecursionError):
        return {}, _whole_entries(shown)
    if not isinstance(body, dict):
        return {}, []
    rows = body.get("rows")
    return body, rows if isinstance(rows, list) else []


def _whole_entries(shown: str) -> list[Any]:
    """Of an answer that was cut, the rows before the cut."""
    start = re.match(r'\s*\{\s*"rows"\s*:\s*\[', shown)
    if start is None:
        return []
    found: list[Any] = []
    place, decoder = start.end(), json.JSONDecoder()
    while True:
        place += len(shown[place:]) - len(shown[place:].lstrip(" ,\n"))
        try:
            entry, place = decoder.raw_decode(shown, place)
        except (ValueError, RecursionError):
            return found
        found.append(entry)


def _record(entry: Any, face: Face, tool: str, arguments: Mapping[str, Any], currency: str) -> Record | None:
    kind: type[Any] | None = RECORDS.get(tool)
    if kind is not None and isinstance(entry, Mapping):
        if kind is not RouteLeg and "mode" in entry:
            kind = RouteLeg  # the ways to and from an airport stand among its flights
        values = {str(name): value for name, value in entry.items()}
    elif kind is not None and isinstance(entry, list):
        labels = face.tables[kind].labels
        if len(labels) != len(entry):
            return None
        values = dict(zip(labels, entry, strict=True))
    else:
        return None
    return _typed(kind, {name: value for name, value in values.items() if value is not None}, arguments, currency)


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

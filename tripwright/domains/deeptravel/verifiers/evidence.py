"""The tool answers of a transcript as typed rows: what an answer's words may rest on (rows D3 and D4).

What counts is what the model was shown: where a tool's segment holds less than the call's result (it was cut) or something else (a fault),
the segment is read. Rows of the six tools of row D1 are known by their fields, as JSON objects or as arrays through the face's columns;
anything else (a server's own tools, plain text) keeps its names, numbers and times as they stand. Instructions in tool data are data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from tripwright.domains import face_named
from tripwright.domains.deeptravel.tools.answers import RECORDS
from tripwright.transcript import ToolCall, Transcript

RowKind = Literal["ride", "hotel", "place", "route", "page", "other"]
KINDS: dict[str, RowKind] = {
    "flight_search": "ride",
    "train_search": "ride",
    "hotel_search": "hotel",
    "poi_search": "place",
    "route_planning": "route",
    "web_search": "page",
}
COMPACT_FACE = "deeptravel_compact"
_MOMENT = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2})?.*)?|\d{2}:\d{2}")
_PROSE_CHARACTERS = 80  # a longer value is text to quote from, no name


@dataclass(frozen=True)
class Row:
    """One row of one answer. `values` has the labels of `domains/deeptravel/tools/answers.py`; what was not said is not there."""

    call: int  # from 1
    row: int  # from 1
    kind: RowKind
    tool: str
    values: Mapping[str, Any] = field(hash=False)
    arguments: Mapping[str, Any] = field(hash=False)

    def text(self, label: str) -> str:
        value = self.values.get(label)
        return value.strip() if isinstance(value, str) else ""

    def number(self, label: str) -> float | None:
        """None where it is not said, or no number."""
        value = self.values.get(label)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    @property
    def name(self) -> str:
        """What an answer calls it: a ride's number, a hotel's or place's name; '' for a route, which is known by its ends."""
        if self.kind == "other":
            return next((self.text(label) for label in ("name", "title", "number", "id") if self.text(label)), "")
        return self.text({"ride": "number", "hotel": "name", "place": "name", "page": "title", "route": ""}[self.kind])

    @property
    def is_flight(self) -> bool:
        return self.tool == "flight_search"

    @property
    def said(self) -> tuple[str, ...]:
        """Its short texts that are no times: names, cities, stations, addresses, rooms."""
        values = (self.text(label) for label in self.values if label.rpartition(".")[2] != "currency")
        return tuple(v for v in values if v and len(v) <= _PROSE_CHARACTERS and not _MOMENT.fullmatch(v))

    @property
    def prose(self) -> str:
        """All its text, lower case: what a quotation may come from."""
        return " ".join(str(value) for value in self.values.values() if isinstance(value, str)).lower()


@dataclass(frozen=True)
class Answered:
    """One call with what the model was shown of its answer."""

    number: int
    call: ToolCall
    rows: tuple[Row, ...]
    shown: str


def evidence(transcript: Transcript) -> list[Answered]:
    """The calls in order. An answer that cannot be read has no rows, hence supports nothing."""
    found: list[Answered] = []
    segments = transcript.segments
    for place, segment in enumerate(segments):
        if segment.call is None:
            continue
        after = segments[place + 1] if place + 1 < len(segments) else None
        shown = after.text if after is not None and after.role == "tool" else segment.call.result
        if segment.call.result and segment.call.result in shown:
            shown = segment.call.result
        rows = () if segment.call.error else _rows(segment.call, len(found) + 1, shown)
        found.append(Answered(len(found) + 1, segment.call, rows, shown))
    return found


def _rows(call: ToolCall, number: int, shown: str) -> tuple[Row, ...]:
    kind = KINDS.get(call.name, "other")
    entries = _entries(shown)
    if kind == "other" and not entries:
        return (Row(number, 1, kind, call.name, {"text": shown}, call.arguments),) if shown.strip() else ()
    rows = []
    for place, entry in enumerate(entries, start=1):
        values = dict(entry) if isinstance(entry, Mapping) else _from_columns(call, entry, place) if isinstance(entry, list) else None
        if values is None:
            continue
        told = values.pop("row", place)
        position = told if isinstance(told, int) and not isinstance(told, bool) else place
        rows.append(Row(number, position, kind, call.name, _flat(values) if kind == "other" else values, call.arguments))
    return tuple(rows)


def _entries(shown: str) -> list[Any]:
    """The rows of an answer: of the whole JSON, or of as much as was shown before it was cut."""
    try:
        body = json.loads(shown)
    except (ValueError, RecursionError):
        return _whole_ones(shown)
    if isinstance(body, Mapping):
        rows = body.get("rows")
        return rows if isinstance(rows, list) else [] if "error" in body or "note" in body else [body]
    return body if isinstance(body, list) else []


def _whole_ones(shown: str) -> list[Any]:
    """Of `{"rows": [{…}, {…}, {"num` the objects or arrays that are complete."""
    begin = re.search(r'"rows"\s*:\s*\[', shown)
    if begin is None:
        return []
    decoder, place, found = json.JSONDecoder(), begin.end(), []
    while place < len(shown):
        while place < len(shown) and shown[place] in " ,\n\r\t":
            place += 1
        try:
            entry, place = decoder.raw_decode(shown, place)
        except (ValueError, RecursionError):
            break
        found.append(entry)
    return found


def _from_columns(call: ToolCall, entry: list[Any], place: int) -> dict[str, Any] | None:
    """An array of the compact face. Its times are clocks of the day that was asked for; what the call itself says completes the row."""
    columns = _columns(call.name)
    if len(columns) != len(entry):
        return None
    values: dict[str, Any] = {label: value for label, value in zip(columns, entry, strict=True) if value is not None}
    said = call.arguments
    for label, argument in _COMPLETED.get(call.name, {}).items():
        if label not in values and isinstance(said.get(argument), str):
            values[label] = said[argument]
    day = said.get("depart_date")
    for label in ("departs_at", "arrives_at"):
        clock = values.get(label)
        if isinstance(day, str) and isinstance(clock, str) and re.fullmatch(r"\d{2}:\d{2}", clock):
            values[label] = f"{day}T{clock}"
    if "arrives_at" in values and str(values["arrives_at"]) < str(values.get("departs_at", "")):
        values["arrives_at"] = _a_day_later(str(values["arrives_at"]))  # as the face has it
    if call.name in ("flight_search", "train_search", "hotel_search"):
        values.setdefault("currency", "USD")  # the face leaves out what is always the same
    return values


def _a_day_later(stamp: str) -> str:
    try:
        return (datetime.fromisoformat(stamp) + timedelta(days=1)).isoformat(timespec="minutes")
    except ValueError:
        return stamp


def _columns(tool: str) -> tuple[str, ...]:
    record = RECORDS.get(tool)
    table = face_named(COMPACT_FACE).tables.get(record) if record is not None else None
    return table.labels if table is not None else ()


_COMPLETED = {
    "flight_search": {"depart_city": "depart_city_name", "arrive_city": "arrival_city_name"},
    "train_search": {"depart_city": "depart_city_name", "arrive_city": "arrival_city_name"},
    "hotel_search": {"city": "city_name", "checkin_date": "checkin_date", "checkout_date": "checkout_date"},
    "poi_search": {"city": "city_name"},
    "route_planning": {"origin": "origin_name", "destination": "destination_name", "city": "city_name"},
}


def _flat(values: Mapping[str, Any], under: str = "", depth: int = 0) -> dict[str, Any]:
    """An unknown tool's nested object as one level of labels; `a.b` where `b` stands under `a`."""
    flat: dict[str, Any] = {}
    for label, value in values.items():
        path = f"{under}.{label}" if under else str(label)
        if isinstance(value, Mapping) and depth < 4:
            flat.update(_flat(value, path, depth + 1))
        elif isinstance(value, list) and depth < 4:
            flat.update(_flat({str(n): each for n, each in enumerate(value)}, path, depth + 1))
        else:
            flat[path] = value
    return flat

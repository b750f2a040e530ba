"""The rows that the tools of a transcript have shown: what a card may refer to (DeepTravel, section
3.3; rows D3 and D4).

What counts is what the model was shown, which a call's rows hold: after pages and cuts, and nothing
of a call that failed. Rows are known by their tool, so a page of the web never speaks for a train;
what a server's own tools answer is of no kind that a card may refer to. Instructions in tool data
are data.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal

from tripwright.transcript import ToolCall, Transcript

RowKind = Literal["flight", "train", "hotel", "place", "route", "page", "other"]
KINDS: dict[str, RowKind] = {
    "flight_search": "flight",
    "train_search": "train",
    "hotel_search": "hotel",
    "poi_search": "place",
    "route_planning": "route",
    "web_search": "page",
}


@dataclass(frozen=True)
class EvidenceRow:
    """One row of one answer. `values` has the labels of `domains/deeptravel/tools/answers.py`; what
    was not said is not there."""

    call: int  # from 1
    row: int  # from 1
    kind: RowKind
    values: Mapping[str, Any] = field(hash=False)

    def text(self, label: str) -> str:
        value = self.values.get(label)
        return value.strip() if isinstance(value, str) else ""

    def number(self, label: str) -> float | None:
        """None where it is not said, or no number."""
        value = self.values.get(label)
        return (
            float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
        )

    @property
    def name(self) -> str:
        """What an answer calls it: a ride's number, a hotel's or place's name."""
        return self.text("number") or self.text("name")


@dataclass(frozen=True)
class CallEvidence:
    """One call with what the model was shown of its answer."""

    number: int
    call: ToolCall
    rows: tuple[EvidenceRow, ...]
    shown: str


def evidence(transcript: Transcript) -> list[CallEvidence]:
    """The calls in order. An answer without typed rows supports nothing."""
    answered: list[CallEvidence] = []
    segments = transcript.segments
    for place, segment in enumerate(segments):
        if segment.call is None:
            continue
        after = segments[place + 1] if place + 1 < len(segments) else None
        text = after.text if after is not None and after.role == "tool" else segment.call.result
        if segment.call.result and segment.call.result in text:
            text = segment.call.result
        rows = () if segment.call.error else _rows(segment.call, len(answered) + 1)
        answered.append(CallEvidence(len(answered) + 1, segment.call, rows, text))
    return answered


def _rows(call: ToolCall, number: int) -> tuple[EvidenceRow, ...]:
    if call.rows is None:
        return ()
    kind = KINDS.get(call.name, "other")
    return tuple(
        EvidenceRow(number, row, _kind_of(values, kind), _completed(values, call))
        for row, values in enumerate(call.rows.records(), start=call.rows.first)
    )


def _kind_of(values: Mapping[str, Any], kind: RowKind) -> RowKind:
    """Ways to an airport stand among its flights."""
    return "route" if "mode" in values else kind


def _completed(fields: Mapping[str, Any], call: ToolCall) -> dict[str, Any]:
    """What an answer says. The compact face leaves out what the call says itself, and shows times
    as clocks of the day that was asked."""
    values = {name: value for name, value in fields.items() if value is not None and value != ""}
    for name, argument in _COMPLETED.get(call.name, {}).items():
        if name not in fields and isinstance(call.arguments.get(argument), str):
            values[name] = call.arguments[argument]
    clocks = [
        name
        for name in ("departs_at", "arrives_at")
        if re.fullmatch(r"\d{2}:\d{2}", str(values.get(name)))
    ]
    day = call.arguments.get("depart_date")
    if isinstance(day, str):
        values |= {name: f"{day}T{values[name]}" for name in clocks}
    if (
        clocks
        and "arrives_at" in values
        and str(values["arrives_at"]) < str(values.get("departs_at", ""))
    ):
        values["arrives_at"] = _a_day_later(str(values["arrives_at"]))  # as the face has it
    return values


def _a_day_later(stamp: str) -> str:
    try:
        return (datetime.fromisoformat(stamp) + timedelta(days=1)).isoformat(timespec="minutes")
    except ValueError:
        return stamp


_COMPLETED = {
    "flight_search": {"depart_city": "depart_city_name", "arrive_city": "arrival_city_name"},
    "train_search": {"depart_city": "depart_city_name", "arrive_city": "arrival_city_name"},
    "hotel_search": {
        "city": "city_name",
        "checkin_date": "checkin_date",
        "checkout_date": "checkout_date",
    },
    "poi_search": {"city": "city_name"},
    "route_planning": {
        "origin": "origin_name",
        "destination": "destination_name",
        "city": "city_name",
    },
}

"""A plan as a text for travellers that loses nothing: `parse_itinerary` gives back the same plan.

Every piece is written the readable way and read again at once. What would come back changed (a name
over two lines, a city with a comma, a train) is written as `exactly "…"`, the official text in JSON
quotes, so that the promise holds for every text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from tripwright.domains.travelplanner.plan.itinerary.headings import day_heading, read_heading
from tripwright.domains.travelplanner.plan.itinerary.lines import read_line, split_label
from tripwright.domains.travelplanner.plan.itinerary.travel import FARE, Unreadable
from tripwright.domains.travelplanner.plan.parse import CLOSE, OPEN
from tripwright.domains.travelplanner.plan.render import request_line
from tripwright.domains.travelplanner.query import Query

_LABELS = {
    "transportation": "Travel",
    "breakfast": "Breakfast",
    "attraction": "See",
    "lunch": "Lunch",
    "dinner": "Dinner",
    "accommodation": "Stay",
}
_FIELDS = {"days", "current_city", *_LABELS}
_FLIGHT = re.compile(
    r"Flight Number: ([^,]*), (from .+?)(?:, Departure Time: ([^,]+))?(?:, Arrival Time: ([^,]+))?"
    r"(?:, duration: ([^,]+), distance: ([^|]+?), cost: (\d+))?"
)
_ROAD = re.compile(
    r"([A-Z][\w-]+), (from .+?)(?:, duration: (.+?))?(?:, distance: (.+?))?(?:, cost: (.+))?"
)


def render_itinerary(query: Query, plan: Sequence[dict[str, Any]]) -> str:
    """Raises ValueError for a plan that is not in the official format (eight texts a day); padding
    at the end is left out."""
    days = list(plan)
    while days and not days[-1]:
        days.pop()
    if not days:
        raise ValueError("a plan without days cannot be written as an itinerary")
    return (
        "\n".join(
            [
                request_line(query),
                *(
                    line
                    for number, day in enumerate(days, start=1)
                    for line in _day(number, day, query)
                ),
            ]
        )
        + "\n"
    )


def _day(number: int, day: dict[str, Any], query: Query) -> list[str]:
    if not isinstance(day, dict) or set(day) != _FIELDS or day["days"] != number:
        raise ValueError(f"day {number} does not have the fields of the official format")
    for key in _LABELS | {"current_city": ""}:
        if not isinstance(day[key], str):
            raise ValueError(f"day {number}: '{key}' is not text")
    date = (
        f" ({query.date[number - 1]})"
        if number <= len(query.date) and re.fullmatch(r"\d{4}-\d\d-\d\d", query.date[number - 1])
        else ""
    )
    lines = ["", f"Day {number}{date}: {_city(day['current_city'])}"]
    for key, label in _LABELS.items():
        said = day[key]
        pieces = (
            []
            if said == "-"
            else _sights(said)
            if key == "attraction"
            else [_readable(key, label, said) or _exactly(said)]
        )
        lines += [f"- {label}: {piece}" for piece in pieces]
    return lines


def _city(said: str) -> str:
    for readable in (said, f"in {said}") if not _has_answer_tag(said) else ():
        found = day_heading(f"Day 1: {readable}") if "\n" not in readable else None
        try:
            heading = read_heading(found[1], ()) if found else None
        except Unreadable:
            continue
        if heading and (
            heading.exact == said
            or (heading.route and f"from {heading.route[0]} to {heading.route[1]}" == said)
        ):
            return readable
    return _exactly(said)


def _sights(said: str) -> list[str]:
    """One line for each, where all are of the readable kind; else the whole as one."""
    *pieces, rest = said.split(";")
    written = [_readable("attraction", _LABELS["attraction"], piece) for piece in pieces]
    readable = [line for line in written if line]
    return readable if readable and len(readable) == len(written) and not rest else [_exactly(said)]


def _readable(key: str, label: str, said: str) -> str | None:
    """`said` in the readable form, if reading that gives `said` back."""
    written = (
        _journey(said)
        if key == "transportation"
        else "[{0}] in {2}".format(*said.rpartition(", "))
        if ", " in said
        else None
    )
    if written is None or "\n" in written or not written.isprintable() or _has_answer_tag(said):
        return None
    try:
        item = read_line(*split_label(f"- {label}: {written}"), ())
    except Unreadable:
        return None
    if item.journey:
        return written if item.journey.text == said else None
    return (
        written
        if len(item.names) == 1
        and f"{item.names[0].text}, {item.names[0].city}" == said
        and item.nights == 1
        else None
    )


def _journey(said: str) -> str | None:
    if found := _FLIGHT.fullmatch(said):
        number, route, departure, arrival, duration, distance, cost = found.groups()
        details = (
            ("Departure", departure),
            ("Arrival", arrival),
            ("Duration", duration),
            ("Distance", distance),
            (FARE, cost and f"${cost}"),
        )
        return " | ".join(
            [
                f"Flight [{number}] {route}",
                *(f"{label}: {value}" for label, value in details if value),
            ]
        )
    if found := _ROAD.fullmatch(said):
        mode, route, duration, distance, cost = found.groups()
        stated = (("Duration", duration), ("Distance", distance), ("Cost", cost and f"${cost}"))
        return " | ".join(
            [f"{mode} {route}", *(f"{label}: {value}" for label, value in stated if value)]
        )
    return None


def _exactly(said: str) -> str:
    written = json.dumps(said, ensure_ascii=not said.isprintable())
    return (
        f"exactly {written.replace('<', chr(92) + 'u003c') if _has_answer_tag(said) else written}"
    )


def _has_answer_tag(said: str) -> bool:
    """Written plainly, it would make the itinerary look like a response with an answer block."""
    return OPEN in said or CLOSE in said

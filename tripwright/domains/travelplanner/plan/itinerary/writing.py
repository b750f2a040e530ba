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
from tripwright.domains.travelplanner.plan.itinerary.travel import FARE, UnreadableItinerary
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
        text = day[key]
        pieces = (
            []
            if text == "-"
            else _sights(text)
            if key == "attraction"
            else [_readable(key, label, text) or _exactly(text)]
        )
        lines += [f"- {label}: {piece}" for piece in pieces]
    return lines


def _city(text: str) -> str:
    for readable in (text, f"in {text}") if not _has_answer_tag(text) else ():
        heading_match = day_heading(f"Day 1: {readable}") if "\n" not in readable else None
        try:
            heading = read_heading(heading_match[1], ()) if heading_match else None
        except UnreadableItinerary:
            continue
        if heading and (
            heading.exact == text
            or (heading.route and f"from {heading.route[0]} to {heading.route[1]}" == text)
        ):
            return readable
    return _exactly(text)


def _sights(text: str) -> list[str]:
    """One line for each, where all are of the readable kind; else the whole as one."""
    *pieces, rest = text.split(";")
    lines = [_readable("attraction", _LABELS["attraction"], piece) for piece in pieces]
    readable = [line for line in lines if line]
    return readable if readable and len(readable) == len(lines) and not rest else [_exactly(text)]


def _readable(key: str, label: str, text: str) -> str | None:
    """`text` in the readable form, if reading that gives `text` back."""
    readable = (
        _journey(text)
        if key == "transportation"
        else "[{0}] in {2}".format(*text.rpartition(", "))
        if ", " in text
        else None
    )
    if readable is None or "\n" in readable or not readable.isprintable() or _has_answer_tag(text):
        return None
    try:
        item = read_line(*split_label(f"- {label}: {readable}"), ())
    except UnreadableItinerary:
        return None
    if item.journey:
        return readable if item.journey.text == text else None
    return (
        readable
        if len(item.names) == 1
        and f"{item.names[0].text}, {item.names[0].city}" == text
        and item.nights == 1
        else None
    )


def _journey(text: str) -> str | None:
    if match := _FLIGHT.fullmatch(text):
        number, route, departure, arrival, duration, distance, cost = match.groups()
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
    if match := _ROAD.fullmatch(text):
        mode, route, duration, distance, cost = match.groups()
        claims = (("Duration", duration), ("Distance", distance), ("Cost", cost and f"${cost}"))
        return " | ".join(
            [f"{mode} {route}", *(f"{label}: {value}" for label, value in claims if value)]
        )
    return None


def _exactly(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=not text.isprintable())
    return f"exactly {quoted.replace('<', chr(92) + 'u003c') if _has_answer_tag(text) else quoted}"


def _has_answer_tag(text: str) -> bool:
    """Written plainly, it would make the itinerary look like a response with an answer block."""
    return OPEN in text or CLOSE in text

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

from tripwright.domains.travelplanner.plan.itinerary.reading import LABELS, read_city, read_item
from tripwright.domains.travelplanner.plan.itinerary.travel import written_journey
from tripwright.domains.travelplanner.plan.parse import CLOSE, OPEN
from tripwright.domains.travelplanner.query import Query, request_line

_FIELDS = {"days", "current_city", *LABELS}


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
    for key in LABELS | {"current_city": ""}:
        if not isinstance(day[key], str):
            raise ValueError(f"day {number}: '{key}' is not text")
    date = (
        f" ({query.date[number - 1]})"
        if number <= len(query.date) and re.fullmatch(r"\d{4}-\d\d-\d\d", query.date[number - 1])
        else ""
    )
    lines = ["", f"Day {number}{date}: {_city(day['current_city'])}"]
    for key, label in LABELS.items():
        text = day[key]
        pieces = (
            []
            if text == "-"
            else _sights(text)
            if key == "attraction"
            else [_readable(key, text) or _exactly(text)]
        )
        lines += [f"- {label}: {piece}" for piece in pieces]
    return lines


def _city(text: str) -> str:
    for readable in (text, f"in {text}"):
        if _survives(readable) and read_city(readable) == text:
            return readable
    return _exactly(text)


def _sights(text: str) -> list[str]:
    """One line for each, where all are of the readable kind; else the whole as one."""
    *pieces, rest = text.split(";")
    lines = [_readable("attraction", f"{piece};") for piece in pieces]
    readable = [line for line in lines if line]
    return readable if readable and len(readable) == len(lines) and not rest else [_exactly(text)]


def _readable(field: str, text: str) -> str | None:
    """`text` in the readable form, if reading that gives `text` back."""
    if field == "transportation":
        readable = written_journey(text)
    else:
        name, comma, city = text.removesuffix(";").rpartition(", ")
        readable = f"[{name}] in {city}" if comma else None
    if readable and _survives(readable) and read_item(field, readable) == text:
        return readable
    return None


def _survives(line: str) -> bool:
    """Written as a line it comes back as it is. An answer's tag would make the itinerary look like
    a response with an answer block."""
    return line.isprintable() and line == line.strip() and OPEN not in line and CLOSE not in line


def _exactly(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=not text.isprintable())
    if OPEN in text or CLOSE in text:
        quoted = quoted.replace("<", "\\u003c")
    return f"exactly {quoted}"

"""A text of a traveller's agent in the printed layout → a plan, or a problem that quotes the line
and says what was expected.

    Day 1 (2022-03-01): from St. Home to Aston
    - Travel: Flight [F12] from St. Home to Aston | Departure: 08:00 | Arrival: 09:00
    - Dinner: [Grill A] in Aston
    - Stay: [Inn, the old one] in Aston

    Day 2 (2022-03-02): in Aston
    - See: [Old Tower] in Aston
    - See: [Lake] in Aston

What a day does not name is "-". Lines before the first day are a title. Any text of the official
format may stand as `exactly "…"`, in JSON quotes.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.plan.itinerary.travel import (
    JOURNEY,
    read_journey,
    read_route,
)
from tripwright.domains.travelplanner.plan.parse import CLOSE, OPEN, extract_answer
from tripwright.domains.travelplanner.plan.plan import CityOf
from tripwright.domains.travelplanner.query import Query

LABELS = {
    "transportation": "Travel",
    "breakfast": "Breakfast",
    "attraction": "See",
    "lunch": "Lunch",
    "dinner": "Dinner",
    "accommodation": "Stay",
}
_FIELDS = {label: field for field, label in LABELS.items()}
# characters, lines, days: beyond these nothing is read
LONGEST_TEXT, MOST_LINES, MOST_DAYS = 16_000, 400, 30
SHOWN = 100  # characters of a quoted line

_DAY = re.compile(r"Day (\d{1,3})(?: \(\d{4}-\d{2}-\d{2}\))?: (.+)")
_ITEM = re.compile(r"- (\w+): (.+)")
_PLACE = re.compile(r"\[(.+)\] in (.+)")


@dataclass(frozen=True)
class FormattedPlan:
    """A plan in the official format, or why there is none. `unscored`: our side failed (a dead
    endpoint); nothing is said of the text."""

    plan: list[dict[str, Any]] | None
    problem: str | None = None
    unscored: bool = False


class UnreadableItinerary(ValueError):
    """A line that is not in the layout."""


def parse_itinerary(
    text: str, query: Query | None = None, city_of: CityOf | None = None
) -> FormattedPlan:
    """Never raises. Of a response with an <answer> block, the last block is read. `query` and
    `city_of` are not asked: the layout says everything itself."""
    if OPEN in text or CLOSE in text:
        answer = extract_answer(text)
        if answer is None:
            return FormattedPlan(None, f"the last {OPEN} block is not complete")
        text = answer
    lines = text.replace("\r\n", "\n").split("\n")
    if len(text) > LONGEST_TEXT or len(lines) > MOST_LINES:
        return FormattedPlan(
            None,
            f"an itinerary of {len(text):,} characters and {len(lines):,} lines is not read (at"
            f" most {LONGEST_TEXT:,} and {MOST_LINES})",
        )
    try:
        return FormattedPlan(_days(lines))
    except UnreadableItinerary as problem:
        return FormattedPlan(None, str(problem))


def _days(lines: list[str]) -> list[dict[str, Any]]:
    days: list[dict[str, Any]] = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if day := _DAY.fullmatch(line):
            if int(day[1]) != len(days) + 1 or len(days) == MOST_DAYS:
                raise _unlike(number, line, f"day {len(days) + 1}")
            city = read_city(day[2])
            if city is None:
                raise _unlike(number, line, "'Day 1: in City' or 'Day 1: from City to City'")
            rest = dict.fromkeys(LABELS, "-")
            days.append({"days": len(days) + 1, "current_city": city, **rest})
        elif days and line:
            _add(days[-1], number, line)
    if not days:
        raise UnreadableItinerary("no line begins a day: expected 'Day 1: in City'")
    return days


def _add(day: dict[str, Any], number: int, line: str) -> None:
    item = _ITEM.fullmatch(line)
    if item is None or item[1] not in _FIELDS:
        names = ", ".join(_FIELDS)
        raise _unlike(number, line, f"a day, or '- Label: …' with one of the labels {names}")
    field = _FIELDS[item[1]]
    text = read_item(field, item[2])
    if text is None:
        form = JOURNEY if field == "transportation" else "[Name] in City"
        raise _unlike(number, line, f"'- {item[1]}: {form}'")
    if field == "attraction" and day[field].endswith(";") and text.endswith(";"):
        text = day[field] + text
    elif day[field] != "-":
        raise _unlike(number, line, f"one line for {item[1]}, this day has a second one")
    day[field] = text


def read_city(text: str) -> str | None:
    """The official text of a day's city; None for what is not in the layout."""
    if (exact := _exact(text)) is not None:
        return exact
    if text.startswith("in ") and text != "in ":
        return text.removeprefix("in ")
    return text if text.startswith("from ") and read_route(text) else None


def read_item(field: str, text: str) -> str | None:
    """The official text of one line's words; None for what is not in the layout. A sight is closed
    by a semicolon."""
    if (exact := _exact(text)) is not None:
        return exact
    if field == "transportation":
        return read_journey(text)
    place = _PLACE.fullmatch(text)
    return f"{place[1]}, {place[2]}{';' * (field == 'attraction')}" if place else None


def _exact(text: str) -> str | None:
    if not text.startswith('exactly "'):
        return None
    try:
        exact = json.loads(text.removeprefix("exactly "))
    except ValueError:
        return None
    return exact if isinstance(exact, str) else None


def _unlike(number: int, line: str, expected: str) -> UnreadableItinerary:
    shown = line if line.isprintable() else ascii(line)[1:-1]
    shown = shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"
    return UnreadableItinerary(f"line {number}: expected {expected}; found '{shown}'")

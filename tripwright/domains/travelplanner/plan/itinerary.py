"""Itineraries in words of one printed layout (row S2): a plan as a text for travellers, such a text
as a plan, or a problem that quotes the line and says what was expected.

    Day 1 (2022-03-01): from St. Home to Aston
    - Travel: Flight [F12] from St. Home to Aston | Departure: 08:00 | Arrival: 09:00
    - Dinner: [Grill A] in Aston
    - Stay: [Inn, the old one] in Aston

    Day 2 (2022-03-02): in Aston
    - See: [Old Tower] in Aston
    - See: [Lake] in Aston

What a day does not name is "-". Lines before the first day are a title. A journey is a flight, or a
way by road:

    Flight [F12] from A to B | Departure: 08:00 | Arrival: 09:00
    Flight Number: F12, from A to B, Departure Time: 08:00, Arrival Time: 09:00

    Self-driving from A to B | Duration: 5h 40m | Distance: 600 km | Cost: $30
    Self-driving, from A to B, duration: 5h 40m, distance: 600 km, cost: 30

`parse_itinerary` reads what `render_itinerary` writes and nothing else; free wordings are the
formatter's (`plan/formatter.py`), which asks a model. Writing loses nothing: every piece is written
the readable way and read again at once. What would come back changed (a name over two lines, a city
with a comma, a train) is written as `exactly "…"`, the official text in JSON quotes, so that the
promise holds for every text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.plan.parse import CLOSE, OPEN, extract_answer
from tripwright.domains.travelplanner.query import Query, request_line

# ---- a journey ↔ the official transportation text


_FLIGHT = re.compile(
    r"Flight Number: ([^,]*), (from .+?)(?:, Departure Time: ([^,]+))?(?:, Arrival Time: ([^,]+))?"
    r"(?:, duration: ([^,]+), distance: ([^|]+?), cost: (\d+))?"
)
_ROAD = re.compile(
    r"([A-Z][\w-]+), (from .+?)(?:, duration: (.+?))?(?:, distance: (.+?))?(?:, cost: (.+))?"
)
_HEAD = re.compile(r"(?:Flight \[([^\[\]]*)\]|([A-Z][\w-]+)) (from .+)")
# what the itinerary calls a detail → what the official format does; the last three of a flight only
# stand together
FLIGHT_DETAILS = {
    "Departure": "Departure Time",
    "Arrival": "Arrival Time",
    "Duration": "duration",
    "Distance": "distance",
    "Fare per person": "cost",
}
ROAD_DETAILS = {"Duration": "duration", "Distance": "distance", "Cost": "cost"}
MONEY = ("Fare per person", "Cost")
JOURNEY = (
    "Flight [F12] from A to B | Departure: 08:00 | Arrival: 09:00, or Taxi from A to B | Cost: $30"
)


def read_route(text: str) -> tuple[str, str] | None:
    """'from A to B', 'A to B' or 'A → B', and nothing else."""
    route = " ".join(text.split())
    match = re.fullmatch(r"(?:from )?(.+?)(?: to | ?(?:→|->|–>) ?)(.+)", route, re.IGNORECASE)
    if not match or re.search(r" to |→|->", match[2]) or re.search(r"[|,;\[\]]", route):
        return None
    return match[1], match[2]


def read_journey(text: str) -> str | None:
    """The official text; None for what is not in this form."""
    head, *segments = text.split(" | ")
    start = _HEAD.fullmatch(head)
    if start is None or read_route(start[3]) is None:
        return None
    names = ROAD_DETAILS if start[1] is None else FLIGHT_DETAILS
    details = dict(segment.split(": ", 1) for segment in segments if ": " in segment)
    if len(details) < len(segments) or list(details) != [name for name in names if name in details]:
        return None
    way = start[2] if start[1] is None else f"Flight Number: {start[1]}"
    claims = [
        f"{names[name]}: {value.removeprefix('$') if name in MONEY else value}"
        for name, value in details.items()
    ]
    return ", ".join([f"{way}, {start[3]}", *claims])


def written_journey(official: str) -> str | None:
    """The other way; None for a text that is not in the official form."""
    if match := _FLIGHT.fullmatch(official):
        number, route, *values = match.groups()
        return _written(f"Flight [{number}] {route}", FLIGHT_DETAILS, values)
    if match := _ROAD.fullmatch(official):
        mode, route, *values = match.groups()
        return _written(f"{mode} {route}", ROAD_DETAILS, values)
    return None


def _written(head: str, names: Mapping[str, str], values: list[str | None]) -> str:
    claims = [
        f"{name}: {'$' if name in MONEY else ''}{value}"
        for name, value in zip(names, values, strict=True)
        if value
    ]
    return " | ".join([head, *claims])


# ---- reading


LABELS = {
    "transportation": "Travel",
    "breakfast": "Breakfast",
    "attraction": "See",
    "lunch": "Lunch",
    "dinner": "Dinner",
    "accommodation": "Stay",
}
_FIELD_OF = {label: field for field, label in LABELS.items()}
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


def parse_itinerary(text: str) -> FormattedPlan:
    """Never raises. Of a response with an <answer> block, the last block is read."""
    if OPEN in text or CLOSE in text:
        answer = extract_answer(text)
        if answer is None:
            return FormattedPlan(None, f"the last {OPEN} block is not complete")
        text = answer
    lines = text.replace("\r\n", "\n").split("\n")
    if len(text) > LONGEST_TEXT or len(lines) > MOST_LINES:
        size = f"{len(text):,} characters and {len(lines):,} lines"
        most = f"at most {LONGEST_TEXT:,} and {MOST_LINES}"
        return FormattedPlan(None, f"an itinerary of {size} is not read ({most})")
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
    if item is None or item[1] not in _FIELD_OF:
        names = ", ".join(_FIELD_OF)
        raise _unlike(number, line, f"a day, or '- Label: …' with one of the labels {names}")
    field = _FIELD_OF[item[1]]
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


# ---- writing


_FIELDS = {"days", "current_city", *LABELS}


def render_itinerary(query: Query, plan: Sequence[dict[str, Any]]) -> str:
    """Raises ValueError for a plan that is not in the official format (eight texts a day); padding
    at the end is left out."""
    days = list(plan)
    while days and not days[-1]:
        days.pop()
    if not days:
        raise ValueError("a plan without days cannot be written as an itinerary")
    lines = [request_line(query)]
    for number, day in enumerate(days, start=1):
        lines += _day(number, day, query)
    return "\n".join(lines) + "\n"


def _day(number: int, day: dict[str, Any], query: Query) -> list[str]:
    if not isinstance(day, dict) or set(day) != _FIELDS or day["days"] != number:
        raise ValueError(f"day {number} does not have the fields of the official format")
    for key in LABELS | {"current_city": ""}:
        if not isinstance(day[key], str):
            raise ValueError(f"day {number}: '{key}' is not text")
    date = query.date[number - 1] if number <= len(query.date) else ""
    dated = f" ({date})" if re.fullmatch(r"\d{4}-\d\d-\d\d", date) else ""
    lines = ["", f"Day {number}{dated}: {_city(day['current_city'])}"]
    for key, label in LABELS.items():
        if (text := day[key]) != "-":
            one = [_readable(key, text) or _exactly(text)]
            pieces = _sights(text) if key == "attraction" else one
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


# ---- an empty plan for a person

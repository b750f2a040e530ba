"""Plans as text: a plan as an itinerary for travellers (row S2), and a text as a plan, or a problem
that quotes the line and says what was expected.

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
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.plan.parse import (
    CLOSE,
    INCOMPLETE,
    OPEN,
    extract_answer,
    without_fence,
)
from tripwright.domains.travelplanner.query import Query, read_literal, request_line
from tripwright.errors import NotJson, read_json

# ---- a journey ↔ the official transportation text


# what the itinerary calls a detail → what the official format does, in order
FLIGHT_DETAILS = {
    "Departure": "Departure Time",
    "Arrival": "Arrival Time",
    "Duration": "duration",
    "Distance": "distance",
    "Fare per person": "cost",
}
ROAD_DETAILS = {"Duration": "duration", "Distance": "distance", "Cost": "cost"}
JOURNEY = (
    "Flight [F12] from A to B | Departure: 08:00 | Arrival: 09:00, or Taxi from A to B | Cost: $30"
)
_ROUTE = re.compile(r"from ([^|,;\[\]]+?) to ([^|,;\[\]]+)")
_HEAD = re.compile(r"(?:Flight \[([^\[\]]*)\]|([A-Z][\w-]+)) (from .+)")
_CLAIM = re.compile(rf", ({'|'.join(FLIGHT_DETAILS.values())}): ")


def read_route(text: str) -> tuple[str, str] | None:
    """'from A to B', and nothing else."""
    match = _ROUTE.fullmatch(text)
    return (match[1], match[2]) if match and " to " not in match[2] else None


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
        f"{names[name]}: {value.removeprefix('$') if names[name] == 'cost' else value}"
        for name, value in details.items()
    ]
    return ", ".join([f"{way}, {start[3]}", *claims])


def written_journey(official: str) -> str:
    """The other way; of a text that is not in the official form, something that is not read back
    as it was."""
    head, *claims = _CLAIM.split(official)
    way, _, route = head.partition(", ")
    number = way.removeprefix("Flight Number: ")
    names = ROAD_DETAILS if number == way else FLIGHT_DETAILS
    label_of = {claim: label for label, claim in names.items()}
    details = [
        f"{label_of.get(claim)}: {'$' if claim == 'cost' else ''}{value}"
        for claim, value in zip(claims[::2], claims[1::2], strict=True)
    ]
    return " | ".join([f"{way if number == way else f'Flight [{number}]'} {route}", *details])


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
LONGEST_TEXT = 16_000  # characters: a longer text is not read
SHOWN = 100  # characters of a quoted line
NO_DAY = "no line begins a day: expected 'Day 1: in City'"
OR_ELSE = ", or 'Day 1:' and a line 'Current City: City'; free words need 'format --model'"

# of TravelPlanner's own prompts: how a line begins → the field that it gives
OWN_LABELS = {field.replace("_", " ").title(): field for field in ("current_city", *LABELS)}
_OWN_DAY = re.compile(r"Day (\d{1,4}):")

_DAY = re.compile(r"Day (\d{1,4})(?: \(\d{4}-\d{2}-\d{2}\))?: (.+)")
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
    answer = extract_answer(text)
    if answer is None:
        return FormattedPlan(None, INCOMPLETE)
    if len(answer) > LONGEST_TEXT:
        size = f"{len(answer):,} characters is not read (at most {LONGEST_TEXT:,})"
        return FormattedPlan(None, f"an itinerary of {size}")
    return _formatted(_days, answer)


def plan_of_text(text: str) -> FormattedPlan:
    """Of a text in a file of plans, as people have them: a list of days as JSON or as a Python
    literal, alone, in a fence or in an <answer> block; a line "Day 1:" and then one for each field
    ("Current City: Aston"), as TravelPlanner's own prompts show plans; or an itinerary. Never
    raises."""
    if (listed := _list_of_days(extract_answer(text) or text)) is not None:
        return FormattedPlan(listed)
    has_own_days = any(_OWN_DAY.fullmatch(line.strip()) for line in text.splitlines())
    read = _formatted(_own_days, text) if has_own_days else parse_itinerary(text)
    return FormattedPlan(None, NO_DAY + OR_ELSE) if read.problem == NO_DAY else read


def _formatted(read: Callable[[Iterable[str]], list[dict[str, Any]]], text: str) -> FormattedPlan:
    try:
        return FormattedPlan(read(map(str.strip, text.replace("\r\n", "\n").split("\n"))))
    except UnreadableItinerary as problem:
        return FormattedPlan(None, str(problem))


def _list_of_days(text: str) -> list[Any] | None:
    """The list of a text that is nothing else, or of its one fence."""
    parts = text.split("```")
    body = without_fence(f"```{parts[1]}```", "python") if len(parts) == 3 else text
    if not body.lstrip().startswith("["):
        return None
    try:
        days = read_json(body.encode("utf-8", "surrogatepass"), keeps_repeated=True)
    except NotJson:
        try:
            days = read_literal(body.strip())
        except ValueError:
            return None
    return days if isinstance(days, list) else None


def _own_days(lines: Iterable[str]) -> list[dict[str, Any]]:
    days: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if day := _OWN_DAY.fullmatch(line):
            days.append({"days": _next_day(days, number, line, day[1])})
        elif days and line:
            label, _, text = line.partition(":")
            field = OWN_LABELS.get(label)
            if field is None or field in days[-1]:
                raise _unlike(number, line, f"each of {', '.join(OWN_LABELS)} once a day")
            days[-1][field] = text.strip()
    return days


def _next_day(days: Sequence[Any], number: int, line: str, said: str) -> int:
    if int(said) != len(days) + 1:
        raise _unlike(number, line, f"day {len(days) + 1}")
    return len(days) + 1


def _days(lines: Iterable[str]) -> list[dict[str, Any]]:
    days: list[dict[str, Any]] = []
    for number, line in enumerate(lines, start=1):
        if day := _DAY.fullmatch(line):
            day_number = _next_day(days, number, line, day[1])
            city = read_item("current_city", day[2])
            if city is None:
                raise _unlike(number, line, "'Day 1: in City' or 'Day 1: from City to City'")
            rest = dict.fromkeys(LABELS, "-")
            days.append({"days": day_number, "current_city": city, **rest})
        elif days and line:
            _add(days[-1], number, line)
    if not days:
        raise UnreadableItinerary(NO_DAY)
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


def read_item(field: str, text: str) -> str | None:
    """The official text of a field's words; None for what is not in the layout. A sight is closed
    by a semicolon."""
    if text.startswith('exactly "'):
        try:
            return str(json.loads(text.removeprefix("exactly ")))
        except ValueError:
            pass
    if field == "current_city":
        city = text.removeprefix("in ")
        return (city or None) if city != text else text if read_route(text) else None
    if field == "transportation":
        return read_journey(text)
    place = _PLACE.fullmatch(text)
    return f"{place[1]}, {place[2]}{';' * (field == 'attraction')}" if place else None


def _unlike(number: int, line: str, expected: str) -> UnreadableItinerary:
    shown = line if line.isprintable() else ascii(line)[1:-1]
    shown = shown if len(shown) <= SHOWN else shown[: SHOWN - 1] + "…"
    return UnreadableItinerary(f"line {number}: expected {expected}; found '{shown}'")


# ---- writing


def render_itinerary(query: Query, plan: Sequence[dict[str, Any]]) -> str:
    """`plan` in the official format: each day with its seven texts."""
    lines = [request_line(query)]
    for number, day in enumerate(plan, start=1):
        dated = "".join(f" ({date})" for date in query.date[number - 1 : number])
        lines += ["", f"Day {number}{dated}: {_written('current_city', day['current_city'])}"]
        for field, label in LABELS.items():
            pieces = [text] if (text := day[field]) != "-" else []
            if field == "attraction" and text.endswith(";"):
                pieces = [f"{sight};" for sight in text[:-1].split(";")]
            lines += [f"- {label}: {_written(field, piece)}" for piece in pieces]
    return "\n".join(lines) + "\n"


def _written(field: str, text: str) -> str:
    """The readable form, if reading that gives `text` back; else `text` in quotes."""
    if field == "current_city":
        forms = [text, f"in {text}"]
    elif field == "transportation":
        forms = [written_journey(text)]
    else:
        name, _, city = text.removesuffix(";").rpartition(", ")
        forms = [f"[{name}] in {city}"]
    for form in forms:
        # an answer's tag would make the itinerary look like a response with an answer block
        is_line = form.isprintable() and form == form.strip()
        is_line = is_line and OPEN not in form and CLOSE not in form
        if is_line and read_item(field, form) == text:
            return form
    quoted = json.dumps(text, ensure_ascii=not text.isprintable())
    return "exactly " + (
        quoted.replace("<", "\\u003c") if OPEN in text or CLOSE in text else quoted
    )

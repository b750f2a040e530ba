"""A text of a traveller's agent → a plan, or a problem that quotes the line which could not be
read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.plan.itinerary.days import (
    ItineraryDay,
    official_plan,
    quoting,
)
from tripwright.domains.travelplanner.plan.itinerary.headings import (
    day_heading,
    is_closing,
    read_heading,
    without_tables,
)
from tripwright.domains.travelplanner.plan.itinerary.lines import (
    names_a_mode,
    read_line,
    split_label,
)
from tripwright.domains.travelplanner.plan.itinerary.travel import (
    UnreadableItinerary,
    read_journey,
    read_route,
)
from tripwright.domains.travelplanner.plan.parse import CLOSE, OPEN, extract_answer
from tripwright.domains.travelplanner.plan.plan import CityOf
from tripwright.domains.travelplanner.query import Query

# characters, lines, days: beyond these nothing is read
LONGEST_TEXT, LONGEST_LINE, MOST_LINES, MOST_DAYS = 16_000, 1_000, 400, 30

_Line = tuple[int, str]  # its number in the text, from 1, and the line


@dataclass(frozen=True)
class FormattedPlan:
    """A plan in the official format, or why there is none. `unscored`: our side failed (a dead
    endpoint); nothing is said of the text."""

    plan: list[dict[str, Any]] | None
    problem: str | None = None
    unscored: bool = False


def parse_itinerary(
    text: str, query: Query | None = None, city_of: CityOf | None = None
) -> FormattedPlan:
    """Never raises: what cannot be read is a problem. Of a response with an <answer> block, the
    last block is read.

    `query` tells where the trip starts and, with `city_of` (see trip.plan), places without a city
    are looked up in a world.
    """
    if OPEN in text or CLOSE in text:
        answer = extract_answer(text)
        if answer is None:
            return FormattedPlan(None, f"the last {OPEN} block is not complete")
        text = answer
    if len(text) > LONGEST_TEXT:
        return FormattedPlan(
            None, f"an itinerary of {len(text):,} characters is not read (at most {LONGEST_TEXT:,})"
        )
    try:
        days = _days(text, query)
        return FormattedPlan(
            official_plan(days, query.org if query else _first_origin(days), city_of)
        )
    except UnreadableItinerary as problem:
        return FormattedPlan(None, str(problem))


def _first_origin(days: list[ItineraryDay]) -> str | None:
    line = days[0].only("travel")
    return line[1].journey.origin if line and line[1].journey else None


def _days(text: str, query: Query | None) -> list[ItineraryDay]:
    lines = [
        (number, line)
        for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1)
        if line.strip()
    ]
    if len(lines) > MOST_LINES:
        raise UnreadableItinerary(
            f"an itinerary of {len(lines):,} lines is not read (at most {MOST_LINES})"
        )
    for number, line in lines:
        if len(line) > LONGEST_LINE:
            raise quoting(
                f"line {number} has {len(line):,} characters (at most {LONGEST_LINE:,})", line
            )
    lines = list(without_tables(lines))
    cities = _cities(lines, query)
    days: list[ItineraryDay] = []
    closed, pending = False, ""
    for number, line in lines:
        heading = day_heading(line)
        # a cost summary may count the days again
        if heading and (not closed or heading[0] == len(days) + 1):
            days.append(_opened(heading, len(days) + 1, line, cities))
            closed, pending = False, ""
        elif days and not closed and not (closed := is_closing(line)):
            pending = _add(days[-1], number, line, pending, cities)
    if not days:
        raise UnreadableItinerary("no line begins a day: expected 'Day 1', 'Day 2', …")
    return days


def _opened(heading: tuple[int, str], due: int, line: str, cities: set[str]) -> ItineraryDay:
    number, rest = heading
    if number != due or number > MOST_DAYS:
        raise quoting(f"expected day {due}, found day {number}", line)
    try:
        return ItineraryDay(number, read_heading(rest, cities), line)
    except UnreadableItinerary as problem:
        raise quoting(f"day {number} {problem}", line) from None


def _add(day: ItineraryDay, number: int, line: str, pending: str, cities: set[str]) -> str:
    """Adds what the line says to the day. A label on a line of its own ('Attractions:') is
    returned: it holds for the lines below."""
    try:
        label, body = split_label(line)
        if label and not body.strip("*_ "):
            return label
        item = read_line(label or pending, body, cities)
    except UnreadableItinerary as problem:
        raise quoting(f"line {number} {problem}", line) from None
    if item.kind not in ("nothing", "heading"):
        day.items.append((line, item))
    return "" if label else pending


def _cities(lines: list[_Line], query: Query | None) -> set[str]:
    """The cities of the request, the journeys and the headings: by these 'Name, City' is told from
    a name with a comma in it."""
    cities = {query.org, query.dest} if query else set()
    for _, line in lines:
        heading = day_heading(line)
        if heading and (route := read_route(heading[1].strip(" :-–—()"))):
            cities |= set(route)
        elif not heading and names_a_mode(line):
            try:
                journey = read_journey(line)
            except UnreadableItinerary:
                continue
            cities |= {journey.origin, journey.destination}
    return cities

"""Where the days of an itinerary begin and end, and what a day's heading says about cities; tables
become lines.

A heading is a title in free words ('Day 2: March 20 - Explore Appleton'), so it may name a city or
none; what is neither a city that can be told nor words that name none is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from tripwright.domains.travelplanner.plan.itinerary.names import exact_text
from tripwright.domains.travelplanner.plan.itinerary.travel import (
    UnreadableItinerary,
    plain,
    read_route,
)
from tripwright.domains.travelplanner.plan.plan import bare_city


@dataclass(frozen=True)
class Heading:
    """`exact` is the official text of the day's city; at most one field is set."""

    exact: str | None = None
    route: tuple[str, str] | None = None
    to: str | None = None
    city: str | None = None


_DAY = re.compile(r"[\W_]*Day\s+(\d{1,3})(?![\w]|[-–]\d)[ *_]*(.*)", re.IGNORECASE)
_OWN = re.compile(r"(?:\(\d{4}-\d{2}-\d{2}\))?: (?:in (.+)|(exactly \".*))")
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_DATE = re.compile(
    rf"\d{{4}}-\d{{2}}-\d{{2}}|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?(?:,?"
    rf" \d{{4}})?\b|\b\d{{1,2}}(?:st|nd|rd|th)? {_MONTH}(?: \d{{4}})?"
    r"|\b\d{1,2}/\d{1,2}(?:/\d{2,4})?\b|\b(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?\b,?"
)
_TO = re.compile(
    r"(?:travel|return|back|drive|fly|flight|taxi|head|transfer|depart|departure|journey|go)(?:ing)?(?:"
    r" trip| home| back)? (?:to|for) (.+)",
    re.IGNORECASE,
)
_IN = re.compile(
    r"(?:explor(?:e|ing)|discover(?:ing)?|(?:full |a |another )?day in|stay(?:ing)?"
    r" in|in|sightseeing in|exploration of|arriv\w+ in) (.+)",
    re.IGNORECASE,
)
_PROPER = re.compile(
    r"[^\W\d_a-z][\w.'’-]*(?:[ ](?:of|de|la|the|[^\W\d_a-z][\w.'’-]*)){0,4}(?:\(\w[\w ]*\))?"
)
_NEUTRAL = re.compile(
    r"(?:travel\w*|return\w*|depart\w*|arriv\w*|home|day|days|full|explor\w*|sightseeing|city|tour\w*|free|relax\w*|rest|leisure|and|the|a|to|"
    r"back|trip|journey|final|last|first|morning|adventure|highlights?|museums?|culture|local|attractions?|check|in|out|[&,/+-])",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?:(?:trip|travel|overall|final|total|estimated|key|important|additional|grand|approximate)\s+)*(?:budget|costs?|expenses?|highlights?|"
    r"summary|notes?|tips?|breakdown|recommendations?|total|remarks?|constraints?)\b[^.!?]{0,60}|(?:enjoy|safe"
    r" travels|have a|let me know|"
    r"this (?:plan|itinerary)|all (?:costs|prices))\b.*",
    re.IGNORECASE,
)


def day_heading(line: str) -> tuple[int, str] | None:
    """(number, the rest of the line) of a line that begins a day."""
    match = _DAY.match(line)
    return (int(match[1]), match[2].rstrip()) if match else None


def is_closing(line: str) -> bool:
    """'Budget Summary', '**Key Highlights:**': what follows is about the trip, not part of a
    day."""
    return bool(_CLOSING.fullmatch(plain(line).strip(" #*_:")))


def read_heading(rest: str, cities: Collection[str]) -> Heading:
    own = _OWN.fullmatch(rest.strip())
    if own and own[1] and _PROPER.fullmatch(own[1]):
        return Heading(exact=own[1])
    if own and own[2]:
        return Heading(exact=exact_text(own[2]))
    heading = _without_date(rest)
    if not heading or all(_NEUTRAL.fullmatch(word) for word in heading.split()):
        return Heading()
    if re.match(r"(?:travel )?from ", heading, re.IGNORECASE) and (
        route := read_route(re.sub(r"^travel ", "", heading, flags=re.IGNORECASE))
    ):
        return Heading(route=route)
    to, city = (_city_after(pattern, heading, cities) for pattern in (_TO, _IN))
    if to or city:
        return Heading(to=to, city=None if to else city)
    cities_named = _known_cities(heading, cities)
    route = read_route(heading)
    if route and bare_city(route[0]) in cities_named and bare_city(route[1]) in cities_named:
        return Heading(route=route)
    if len(cities_named) == 1:
        return Heading(city=cities_named.pop())
    raise UnreadableItinerary("has a heading that does not tell the day's city")


def _city_after(words: re.Pattern[str], heading: str, cities: Collection[str]) -> str | None:
    match = words.fullmatch(heading)
    return (
        match[1]
        if match and (_PROPER.fullmatch(match[1]) or bare_city(match[1]) in cities)
        else None
    )


def _without_date(rest: str) -> str:
    heading = _DATE.sub(" ", plain(rest).replace("*", ""))
    heading = re.sub(r"\(\s*\)", " ", heading).strip(" :–—-,|#")
    if heading.startswith("(") and heading.find(")") == len(heading) - 1:
        heading = heading[1:-1]
    return " ".join(heading.strip(" :–—-,|").split())


def _known_cities(text: str, cities: Collection[str]) -> set[str]:
    """Longest first, so that 'New York City' does not also name York."""
    matches = set()
    for city in sorted({bare_city(each) for each in cities}, key=len, reverse=True):
        pattern = re.compile(rf"(?<!\w){re.escape(city)}(?!\w)")
        if city and pattern.search(text):
            matches.add(city)
            text = pattern.sub(" ", text)
    return matches


def without_tables(lines: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Markdown tables as lines: a row per day becomes a heading and labelled lines, a row of
    another table one line."""
    header: list[str] | None = None
    for number, line in lines:
        if not (
            line.lstrip().startswith("|") and line.rstrip().endswith("|") and line.count("|") > 2
        ):
            header = None
            yield number, line
            continue
        cells = [cell.strip() for cell in line.strip()[1:-1].split("|")]
        if all(re.fullmatch(r":?-+:?", cell) for cell in cells):
            continue
        if header is None:
            header = [plain(cell) for cell in cells]
        elif header[0].lower() == "day":
            day = re.search(r"\d+", cells[0])
            yield number, f"Day {day[0]}" if day else line
            yield from (
                (number, f"{label}: {cell}")
                for label, cell in zip(header[1:], cells[1:], strict=False)
                if cell
            )
            yield from ((number, cell) for cell in cells[len(header) :])
        else:
            yield number, " | ".join([f"{cells[0].rstrip(':')}: {cells[1]}", *cells[2:]])

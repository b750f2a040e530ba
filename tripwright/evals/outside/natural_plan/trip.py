"""Natural Plan's trip planning: which cities, for how many days each, in which order.

`official` is the published scorer's reading, line by line, with what it overlooks: a draft in a
thought counts as much as the answer, the parse ends at the first span that ends on the day which a
line of the answer gave as the total, and cities after the golden ones do not matter. A stay is the
days from one flight to the next, both counted.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from tripwright.agent.reasoning import without_reasoning

Stay = tuple[str, int]  # city, days
Flight = tuple[str, str, str]  # day, from, to

_SPAN = re.compile(r"(?<!\d)\d+-\d+")
_DAYS = re.compile(r"Days? (\d+-\d+)")
_DAY = re.compile(r"Day (\d+)")
_WAY = re.compile(r"(?=from (\w+) to (\w+))")
_TOTAL = re.compile(r"European cities for (\d+) days")


def official(answer: str, example: Mapping[str, Any]) -> bool:
    """Raises what the official code raises: ValueError at a number of more digits than Python
    reads."""
    wanted = golden(example)
    found = stays(answer.split("\n"))
    return bool(wanted) and found[: len(wanted)] == wanted


def robust(answer: str, example: Mapping[str, Any]) -> bool:
    """Without reasoning; the last plan that can be read; the same cities and days, no more and no
    fewer. What follows the last day may repeat the plan's flights and days, and adds none."""
    wanted = golden(example)
    # the day of a flight belongs to both of its cities
    total_days = sum(days for _, days in wanted) - len(wanted) + 1
    for lines in reversed(plans(without_reasoning(answer))):
        try:
            read = _read(lines, total_days)
            found = read.stays
        except ValueError:
            continue
        if found:
            return found == wanted and not _goes_on(read, lines)
    return False


def can_be_scored(example: Mapping[str, Any]) -> bool:
    """Raises ValueError where cities and durations do not go together."""
    return bool(golden(example))


def golden(example: Mapping[str, Any]) -> list[Stay]:
    """From `cities` "A**B" and `durations` "3**4"."""
    cities = [city for city in example["cities"].split("**") if city]
    days = [int(each) for each in example["durations"].split("**") if each]
    return list(zip(cities, days, strict=True))


def stays(lines: Sequence[str], total_days: int | None = None) -> list[Stay]:
    """What the lines say, [] where no span of days or no flight is among them. `total_days` is
    known, or the lines' own to say."""
    return _read(lines, total_days).stays


class _Plan(NamedTuple):
    """What was read of some lines: the first span of days of a line, the last flight of a line (its
    day, from, to). `end` is the number of the line with the span that ended the trip, or of all
    lines."""

    days: list[str]
    flights: list[Flight]
    end: int

    @property
    def stays(self) -> list[Stay]:
        flight_days = [int(day) for day, _, _ in self.flights]
        if not self.days or not self.flights:
            return []
        cities = [self.flights[0][1], *(to for _, _, to in self.flights)]
        turns = [1, *flight_days, int(self.days[-1].split("-")[1])]
        return [(city, turns[i + 1] - turns[i] + 1) for i, city in enumerate(cities)]


def _read(lines: Sequence[str], total_days: int | None) -> _Plan:
    days: list[str] = []
    flights: list[Flight] = []
    for number, line in enumerate(lines):
        if said := _TOTAL.findall(line):
            total_days = int(said[0])
        if spans := _SPAN.findall(line):
            days.append(spans[0])
            if int(spans[0].split("-")[1]) == total_days:
                return _Plan(days, flights, number)
        if flight := _flight(line):
            flights.append(flight)
    return _Plan(days, flights, len(lines))


def _flight(line: str) -> Flight | None:
    r"""What `.*Day (\d+).*from (\w+) to (\w+)` finds: the last way, and the last day before it.
    Written as one pattern, a line of a model that loops takes hours."""
    way = _last(_WAY.finditer(line))
    day = _last(_DAY.finditer(line, 0, way.start())) if way else None
    return (day[1], way[1], way[2]) if way and day else None


def _last(found: Iterable[re.Match[str]]) -> re.Match[str] | None:
    return next(iter(deque(found, maxlen=1)), None)


def _goes_on(read: _Plan, lines: Sequence[str]) -> bool:
    """Whether the lines from the trip's last on name a flight or days that the plan before them has
    not."""
    rest = lines[read.end :]
    known = {span for line in lines[: read.end] for span in _SPAN.findall(line)} | {read.days[-1]}
    flights = {flight for line in rest if (flight := _flight(line))}
    return not flights <= set(read.flights) or any(
        span not in known for line in rest for span in _DAYS.findall(line)
    )


def plans(text: str) -> list[list[str]]:
    """The lines of each plan in the text: one begins wherever a line says for how many days the
    trip is, or `SOLUTION:`."""
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        if _TOTAL.search(line) or "SOLUTION:" in line:
            found.append([])
        found[-1].append(line)
    return found

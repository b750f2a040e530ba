"""What the clocks say at both ends of a flight: learned from known arrivals, else from the state
and the place on the map.

The subtle things: Arizona, Hawaii and the Caribbean islands keep standard time, so that a shift
learned on one side of the second Sunday of March differs by an hour on the other; and a state is
believed only where the map leaves it within an hour, because tables name the wrong one of two
cities with one name.
"""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from tripwright.world.geography import Position, utc_offset_hours

Route = tuple[str, str]


class Clock(NamedTuple):
    utc_minutes: int  # standard time
    saves_daylight: bool = True


_STATES_BY_OFFSET = {
    -5: (
        "Connecticut,Delaware,District of"
        " Columbia,Georgia,Maine,Maryland,Massachusetts,Michigan,New Hampshire,New Jersey,New"
        " York,North Carolina,Ohio,Pennsylvania,Rhode Island,South Carolina,Vermont,Virginia,West"
        " Virginia"
    ),
    -6: (
        "Alabama,Arkansas,Illinois,Iowa,Louisiana,Minnesota,Mississippi,Missouri,North"
        " Dakota,Oklahoma,Wisconsin"
    ),
    -7: "Arizona,Colorado,Montana,New Mexico,Utah,Wyoming",
    -8: "California,Nevada,Oregon,Washington",
    -9: "Alaska",
    -10: "Hawaii",
}
STATE_OFFSETS = {
    state: offset for offset, states in _STATES_BY_OFFSET.items() for state in states.split(",")
}
# Two zones: the longitude between them, the offset west of it and the one east of it.
SPLIT_STATES = {
    "Florida": (-85.0, -6, -5),
    "Indiana": (-87.5, -6, -5),
    "Kentucky": (-86.0, -6, -5),
    "Tennessee": (-85.4, -6, -5),
    "Texas": (-105.0, -7, -6),
    "Kansas": (-101.5, -7, -6),
    "Nebraska": (-101.2, -7, -6),
    "South Dakota": (-100.6, -7, -6),
}
IDAHO_NORTH = 45.5  # degrees: north of it the state keeps Pacific time
TROPIC = 23.4  # degrees north: south of it nobody under the United States' flag saves daylight


def clock_of(state: str | None, place: Position | None) -> Clock | None:
    """The clock of a place in the United States; None where neither its state nor the map says."""
    by_map = utc_offset_hours(place) if place else None
    by_state = _state_offset(state or "", place)
    if by_state is not None and (by_map is None or abs(by_state - by_map) <= 1):
        return Clock(60 * by_state, state not in ("Arizona", "Hawaii"))
    return None if place is None or by_map is None else Clock(60 * by_map, place.latitude > TROPIC)


def _state_offset(state: str, place: Position | None) -> int | None:
    if state == "Idaho":
        return -8 if place and place.latitude > IDAHO_NORTH else -7
    if state in SPLIT_STATES:
        border, west, east = SPLIT_STATES[state]
        return west if place and place.longitude < border else east
    return STATE_OFFSETS.get(state)


@cache
def saving_minutes(date: str) -> int:
    """60 from the second Sunday of March until the first Sunday of November, the rule since 2007;
    else 0."""
    day = datetime.date.fromisoformat(date)
    return 60 if _sunday(day.year, 3, 2) <= day < _sunday(day.year, 11, 1) else 0


def _sunday(year: int, month: int, which: int) -> datetime.date:
    first = datetime.date(year, month, 1)
    return first + datetime.timedelta(days=(6 - first.weekday()) % 7 + 7 * (which - 1))


class Clocks:
    """Minutes by which the clock at the destination is ahead of the one at the origin.

    `observed`: of known flights, the shift (arrival − departure − duration, minutes) by route and
    date, counted. `clocks`: what state and map say of a city. A route that is known, either way,
    keeps what its flights show; cities that known routes join keep the differences that those show,
    and of the rest of their clocks what most of these cities' states and places say.
    """

    def __init__(
        self, observed: Mapping[tuple[str, str, str], Counter[int]], clocks: Mapping[str, Clock]
    ):
        self._saves = {city: clock.saves_daylight for city, clock in clocks.items()}
        counts: dict[Route, Counter[int]] = defaultdict(Counter)
        for (origin, destination, date), shifts in observed.items():
            summer_minutes = self._saved(origin, destination, date)
            for shift, flights in shifts.items():
                counts[origin, destination][shift - summer_minutes] += flights
                counts[destination, origin][summer_minutes - shift] += flights
        # The most frequent shift, and of equally frequent ones the smaller.
        self._of_route = {
            route: min(shifts, key=lambda s: (-shifts[s], abs(s), s))
            for route, shifts in counts.items()
        }
        self._offsets = {city: clock.utc_minutes for city, clock in clocks.items()}
        self._offsets.update(self._joined(clocks))

    def _saved(self, origin: str, destination: str, date: str) -> int:
        return saving_minutes(date) * (
            self._saves.get(destination, True) - self._saves.get(origin, True)
        )

    def _joined(self, clocks: Mapping[str, Clock]) -> dict[str, int]:
        """Offsets of the cities that known routes join, group by group."""
        neighbours: dict[str, list[str]] = defaultdict(list)
        for origin, destination in self._of_route:
            neighbours[origin].append(destination)
        offsets: dict[str, int] = {}
        for start in sorted(neighbours, key=lambda city: (-len(neighbours[city]), city)):
            if start in offsets:
                continue
            group, waiting = {start: 0}, [start]
            while waiting:
                city = waiting.pop(0)
                for other in neighbours[city]:
                    if other not in group:
                        group[other] = group[city] + self._of_route[city, other]
                        waiting.append(other)
            votes = Counter(
                clocks[city].utc_minutes - ahead
                for city, ahead in sorted(group.items())
                if city in clocks
            )
            if votes:
                start_offset = votes.most_common(1)[0][0]
                offsets.update((city, start_offset + ahead) for city, ahead in group.items())
        return offsets

    def shift_minutes(self, origin: str, destination: str, date: str) -> int:
        """0 where nothing says where the cities lie."""
        shift = self._of_route.get((origin, destination))
        if shift is None:
            a, b = self._offsets.get(origin), self._offsets.get(destination)
            shift = b - a if a is not None and b is not None else None
        return 0 if shift is None else shift + self._saved(origin, destination, date)

"""Where cities lie, how far apart, and what the clocks say at both ends of a flight.

Arizona, Hawaii and the Caribbean islands keep standard time, so that a shift learned on one side of
the second Sunday of March differs by an hour on the other. A state is believed only where the map
leaves it within an hour, because tables name the wrong one of two cities with one name.

The cities of imported tables lie where their sights are, unless roads or flights contradict it:
tables mix up cities of one name, and the sights of "Washington" are then in Seattle. A map distance
can hardly exceed the road, nor be a fraction of it, and flights fly great circles. A city whose
sights fail this, and one without any, is put where its roads or flights to the other cities meet;
where these do not meet in one place, its position stays unknown."""

from __future__ import annotations

import datetime
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache
from statistics import median
from typing import NamedTuple

EARTH_RADIUS_KM = 6371.0
KM_PER_MILE = 1.609344


class Position(NamedTuple):
    latitude: float  # degrees north
    longitude: float  # degrees east


def position_at(latitude: str, longitude: str) -> Position | None:
    """What the cells of a table say; None where that is nowhere on the map."""
    try:
        position = Position(float(latitude), float(longitude))
    except ValueError:
        return None
    return position if abs(position.latitude) <= 85 and abs(position.longitude) <= 180 else None


def middle_of(sights: Iterable[tuple[str, str]]) -> Position | None:
    """The median of those with a position; None where none has."""
    positions = [at for sight in sights if (at := position_at(*sight)) is not None]
    return Position(*map(median, zip(*positions, strict=True))) if positions else None


def great_circle_km(a: Position, b: Position) -> float:
    """The haversine formula."""
    latitude_a, latitude_b = math.radians(a.latitude), math.radians(b.latitude)
    north = math.sin((latitude_b - latitude_a) / 2) ** 2
    east = math.sin(math.radians(b.longitude - a.longitude) / 2) ** 2
    square = north + math.cos(latitude_a) * math.cos(latitude_b) * east
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(min(1.0, square)))


# degrees east: west of each the clocks are an hour behind
ZONE_EDGES = (-67.5, -85.5, -101.0, -114.0, -130.0, -150.5)


def utc_offset_hours(place: Position) -> int:
    """The offset of the time zone that most places of the United States at this longitude keep in
    March (daylight saving apart)."""
    return -4 - sum(place.longitude <= edge for edge in ZONE_EDGES)


def clock(minutes: float) -> str:
    """Minutes after midnight as HH:MM, past midnight on the next day's clock."""
    return f"{int(minutes) // 60 % 24:02d}:{int(minutes) % 60:02d}"


def hours_minutes(minutes: float) -> str:
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} hours {rest} minutes"


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


MAP_PER_ROAD = (0.5, 1.0)  # of a road that its two ends bear out
# of a city's roads: at most 0.14 in the real tables, but 0.54 to 0.95 where two cities of a name
# are mixed up
MOST_CONTRADICTED = 0.6
AIR_PER_ROAD = 0.84  # where the tables have no road between cities with sights
FLIGHT_TOLERANCE = (60.0, 0.1)  # miles, and share of the length: airports lie outside of cities
MOST_ANCHORS = 40  # the nearest are the surest
FEWEST_ANCHORS = 3  # two circles meet in two places
MISFIT = 0.12  # median relative error at which circles do not meet
STEPS = (4.0, 2.0, 1.0, 0.5, 0.25, 0.12, 0.06, 0.03)  # degrees

Anchors = list[tuple[float, Position]]  # (kilometres as the crow flies, position)


def locate(
    sights: Mapping[str, Position],
    road_km: Mapping[Route, float | None],
    air_miles: Mapping[Route, float],
) -> dict[str, Position]:
    """City → position, for the cities where one can be told. `air_miles`: mean length of known
    flights by route."""
    roads = _ways(road_km)
    flights = _ways({route: miles * KM_PER_MILE for route, miles in air_miles.items()})
    placed = {
        city: place
        for city, place in sights.items()
        if not _off_the_roads(place, roads[city], sights)
    }
    astray = _astray(placed, roads, flights)
    for city in astray:
        del placed[city]
    ratio = _air_per_road(placed, roads)
    positions = dict(placed)
    for city in sorted({*roads, *flights} - placed.keys()):
        flown = [(km, placed[other]) for other, km in flights[city] if other in placed]
        driven = [(km * ratio, placed[other]) for other, km in roads[city] if other in placed]
        if city in astray:
            driven = []  # its roads agree with the sights that its flights contradict
        place = _meeting_point(flown) or _meeting_point(driven)
        if place and not any(_contradicts(place, anchor, km) for km, anchor in flown):
            positions[city] = place
    return positions


def _ways(lengths: Mapping[Route, float | None]) -> dict[str, list[tuple[str, float]]]:
    """City → (other city, km), of both directions."""
    neighbours: dict[str, list[tuple[str, float]]] = defaultdict(list)
    for (a, b), km in lengths.items():
        if km and a != b:
            neighbours[a].append((b, km))
            neighbours[b].append((a, km))
    return neighbours


def _off_the_roads(
    place: Position, roads: Iterable[tuple[str, float]], sights: Mapping[str, Position]
) -> bool:
    ratios = [great_circle_km(place, sights[other]) / km for other, km in roads if other in sights]
    contradicted = sum(not MAP_PER_ROAD[0] <= ratio <= MAP_PER_ROAD[1] for ratio in ratios)
    return contradicted > MOST_CONTRADICTED * len(ratios)


def _astray(
    placed: Mapping[str, Position],
    roads: Mapping[str, list[tuple[str, float]]],
    flights: Mapping[str, list[tuple[str, float]]],
) -> set[str]:
    """The fewest cities without which no known flight contradicts the map; of two that contradict
    each other, the one with fewer roads."""
    left = {city for city in placed if city in flights}

    def contradicted(city: str) -> tuple[float, int, str]:
        checked = [
            _contradicts(placed[city], placed[other], km)
            for other, km in flights[city]
            if other in left
        ]
        return sum(checked) / max(1, len(checked)), -len(roads.get(city, ())), city

    while left and (worst := max(map(contradicted, left)))[0] > 0:
        left.remove(worst[2])
    return {city for city in placed if city in flights} - left


def _contradicts(a: Position, b: Position, km: float) -> bool:
    miles, share = FLIGHT_TOLERANCE
    return abs(great_circle_km(a, b) - km) > miles * KM_PER_MILE + share * km


def _air_per_road(
    placed: Mapping[str, Position], roads: Mapping[str, list[tuple[str, float]]]
) -> float:
    ratios = [
        great_circle_km(place, placed[other]) / km
        for city, place in placed.items()
        for other, km in roads.get(city, ())
        if other in placed
    ]
    return median(ratios) if ratios else AIR_PER_ROAD


def _meeting_point(anchors: Anchors) -> Position | None:
    """Where circles of these radii meet: from the best of their centres, in steps downhill."""
    anchors = sorted(anchors)[:MOST_ANCHORS]
    if len({place for _, place in anchors}) < FEWEST_ANCHORS:
        return None

    def misfit(place: Position) -> float:
        """Sum of relative errors, in which one wrong road counts little."""
        return sum(min(1.0, abs(great_circle_km(place, anchor) / km - 1)) for km, anchor in anchors)

    best, place = min((misfit(anchor), anchor) for _, anchor in anchors)
    for step in STEPS:
        moved = True
        while moved:
            moved = False
            for north, east in ((step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)):
                candidate = Position(place.latitude + north, place.longitude + east)
                if abs(candidate.latitude) < 90 and (error := misfit(candidate)) < best:
                    place, best, moved = candidate, error, True
    errors = [abs(great_circle_km(place, anchor) / km - 1) for km, anchor in anchors]
    return place if median(errors) <= MISFIT else None

"""Roads and flights between the cities of a generated world. Distances obey the sphere; prices and
durations obey the distances.

Each pair of cities has its own dice, so that a change to one route changes no other.
"""

from __future__ import annotations

import datetime
import math
import random
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from tripwright.world.generator.city_tables import draw
from tripwright.world.generator.scales import Air, Scale
from tripwright.world.geography import (
    KM_PER_MILE,
    Position,
    clock,
    great_circle_km,
    hours_minutes,
    utc_offset_hours,
)
from tripwright.world.records import Texts

ROAD_DETOUR = 1.18  # road km per straight km: the median of the real table; so are the speeds below
SHORTEST_KM = 40.0
Pair = tuple[int, int]  # indices of two cities


@dataclass(frozen=True)
class Map:
    """The cities of a world in the order of its tables."""

    names: Sequence[str]
    states: Sequence[str]
    positions: Sequence[Position]
    key: str  # names the world: all dice are made from it

    def km(self, a: int, b: int) -> float:
        return max(SHORTEST_KM, great_circle_km(self.positions[a], self.positions[b]))

    def dice(self, what: str, a: int, b: int, both_ways: bool = False) -> random.Random:
        return random.Random(
            f"{self.key}/{what}/{min(a, b)}/{max(a, b)}"
            if both_ways
            else f"{self.key}/{what}/{a}/{b}"
        )


def listed_pairs(cities: Map, pair_count: int | None, rng: random.Random) -> list[Pair]:
    """The ordered pairs of the road table, sorted. With a number wanted: those within a state, then
    whole states as seen from one city."""
    count = len(cities.names)
    everything = [(a, b) for a in range(count) for b in range(count) if a != b]
    if pair_count is None:
        return everything
    pairs = {(a, b) for a, b in everything if cities.states[a] == cities.states[b]}
    by_state: dict[str, list[int]] = {}
    for city, state in enumerate(cities.states):
        by_state.setdefault(state, []).append(city)
    blocks = [
        (city, state) for city in range(count) for state in by_state if state != cities.states[city]
    ]
    rng.shuffle(blocks)
    for city, state in blocks:
        for other in by_state[state]:
            if len(pairs) < pair_count:
                pairs |= {(city, other), (other, city)}
    return sorted(pairs)


def roads(cities: Map, pairs: Sequence[Pair], roadless: float, rows: int | None) -> Iterator[Texts]:
    """(origin, destination, duration, distance), as the official table has them: a pair without a
    road is listed, its values are not.

    `rows` beyond the pairs repeat pairs, as rows of the official table do.
    """
    for index in range(len(pairs) if rows is None else rows):
        a, b = pairs[index] if index < len(pairs) else pairs[(index * 7919) % len(pairs)]
        if cities.dice("road", a, b, both_ways=True).random() < roadless:
            yield cities.names[a], cities.names[b], "", ""
            continue
        km = cities.km(a, b) * ROAD_DETOUR * cities.dice("way", a, b).uniform(0.97, 1.06)
        kmh = 111 - 19 * math.exp(-km / 450)
        yield (
            cities.names[a],
            cities.names[b],
            road_duration(60 * km / kmh),
            f"{round(km):,} km" if km >= 100 else f"{km:.1f} km",
        )


def road_duration(minutes: float) -> str:
    """In the words of the official table: "45 mins", "2 hours 1 min", "1 day 3 hours"."""
    days, rest = divmod(round(minutes), 24 * 60)
    hours, minutes_left = divmod(rest, 60)
    if days:
        return f"{_some(days, 'day')} {_some(hours, 'hour')}"
    return (
        f"{_some(hours, 'hour')} {_some(minutes_left, 'min')}"
        if hours
        else _some(minutes_left, "min")
    )


def _some(count: int, word: str) -> str:
    return f"{count} {word}" if count == 1 else f"{count} {word}s"


@dataclass(frozen=True)
class Timetable:
    """How many flights every route has on every day."""

    pairs: Sequence[Pair]  # the served ones, sorted
    dates: Sequence[str]
    counts: array[int]  # [route * days + day]
    number_digits: int  # of a flight's number
    first_number: int


def timetable(cities: Map, size: Scale, pairs: Sequence[Pair], rng: random.Random) -> Timetable:
    """Draws the counts; where the scale asks for an exact number of flights, busy days give or take
    one until it is met."""
    first = datetime.date.fromisoformat(size.first_date)
    days = [first + datetime.timedelta(days=i) for i in range(size.days)]
    served, counts = [], array("H")
    for a, b in pairs:
        dice = cities.dice("service", a, b, both_ways=True)
        km = cities.km(a, b)
        unserved = next(share for up_to, share in size.air.unserved if km <= up_to)
        if dice.random() >= unserved:
            served.append((a, b))
            counts.extend(_daily_counts(size.air, days, dice, cities.dice("days", a, b)))
    if size.flights is not None:
        _meet(counts, size.flights, rng)
    digits = max(5, len(str(2 * sum(counts))))
    return Timetable(
        served, [day.isoformat() for day in days], counts, digits, rng.randrange(10 ** (digits - 1))
    )


def _daily_counts(
    air: Air, days: Sequence[datetime.date], route: random.Random, dice: random.Random
) -> list[int]:
    if air.drawn_for == "day":
        return [int(draw(air.per_day, dice)) for _ in days]
    mean = draw(air.per_day, route)
    return [max(1, round(mean * _season(day) + dice.gauss(0, 0.3 + 0.1 * mean))) for day in days]


def _season(day: datetime.date) -> float:
    """More on Fridays and Sundays than on Saturdays, more in July than in January."""
    weekday = (1.0, 0.97, 0.98, 1.02, 1.06, 0.88, 1.04)[day.weekday()]
    return weekday * (1 - 0.08 * math.cos(2 * math.pi * (day.timetuple().tm_yday - 15) / 365))


def _meet(counts: array[int], total: int, rng: random.Random) -> None:
    """In place. Every count keeps at least one flight, so that no route loses a day."""
    scale = total / max(1, sum(counts))
    for index, count in enumerate(counts):
        counts[index] = max(1, round(count * scale))
    excess = sum(counts) - total
    while excess:
        index = rng.randrange(len(counts))
        if excess < 0 or counts[index] > 2:
            step = -1 if excess > 0 else 1
            counts[index] += step
            excess += step


def flights(cities: Map, air: Air, table: Timetable) -> Iterator[Texts]:
    """All flights by route and day, in the field order of `Flight`."""
    days, smallest = len(table.dates), 10 ** (table.number_digits - 1)
    low, high = air.usd_per_km
    number = table.first_number
    for route, (a, b) in enumerate(table.pairs):
        dice = cities.dice("flights", a, b).random
        km, origin, destination = cities.km(a, b), cities.names[a], cities.names[b]
        miles = f"{round(km / KM_PER_MILE)}.0"
        shift = 60 * (utc_offset_hours(cities.positions[b]) - utc_offset_hours(cities.positions[a]))
        least_minutes = (40 + km * 0.0735) * (0.91 + 0.08 * dice())
        for day, date in enumerate(table.dates):
            season = _price_season(date) if air.seasons else 1.0
            for _ in range(table.counts[route * days + day]):
                departure = 300 + int(dice() * 1020)
                minutes = int(least_minutes * (1 + 0.1 * dice()))
                price = int((air.fixed_usd + km * (low + (high - low) * dice())) * season)
                number = (number + _STRIDE) % (9 * smallest)
                times = (
                    _CLOCK[departure],
                    _CLOCK[(departure + minutes + shift) % 1440],
                    _DURATION[minutes],
                )
                yield f"F{smallest + number}", str(price), *times, date, origin, destination, miles


_CLOCK = tuple(clock(minute) for minute in range(24 * 60))
_DURATION = tuple(hours_minutes(minutes, "minutes") for minutes in range(48 * 60))
_STRIDE = 7_368_787  # prime to 9 × 10ⁿ: running numbers are spread over all numbers, none twice


@cache
def _price_season(date: str) -> float:
    day = datetime.date.fromisoformat(date)
    return (1.05 if day.weekday() in (4, 6) else 0.98) * (
        1 - 0.1 * math.cos(2 * math.pi * (day.timetuple().tm_yday - 15) / 365)
    )

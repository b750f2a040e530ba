"""Flights for the searches that an imported world does not know, drawn so that nothing in an answer tells them from the known ones.

Every law is learned from the known rows at hand: whether a route is served and how often (from routes of about its length; the known
rows show that a route is served on all days or on none, and both ways or neither), price per mile, departure times, durations, gaps
between the numbers. Known searches stay as they are, and a known route keeps its habits on the days that were not known.
Filled are the pairs of the road table, which is what the benchmark's trips use; any other pair stays unknown.

What is not hidden: flight numbers must be unique, and a full month needs more numbers than lie between the known ones, so that some
filled flights carry numbers outside that range. A number inside it is still a filled one in all but one of a few hundred cases.
"""

from __future__ import annotations

import datetime
import random
import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median, pstdev

from tripwright.errors import UserError
from tripwright.world.geography import KM_PER_MILE, Position, clock, great_circle_km, hours_minutes, utc_offset_hours
from tripwright.world.records import Texts

NEIGHBOURS = 40  # known routes of about the same length, among which a route's habits are drawn
DAILY_SPREAD = 0.12  # of a route's flights per day, from the known routes that were searched on several days
SPARE_NUMBERS = 1.15  # numbers per flight, so that the gaps between numbers can be kept

Search = tuple[str, str, str]  # origin, destination, date
Route = tuple[str, str]


@dataclass(frozen=True)
class Habits:
    """One known route: its length, and its mean number of flights on a day (0: not served)."""

    miles: float
    flights_per_day: float


def fill_flights(
    known: Sequence[Texts],
    covered: Sequence[Search],
    road_km: Mapping[Route, float | None],
    positions: Mapping[str, Position],
    seed: int,
) -> tuple[Iterator[Texts], tuple[str, str]]:
    """(known and generated flights by route and day, the first and last day that is now known for every pair of `road_km`).

    `road_km`: the pairs to fill, with the length of their road or None. Raises UserError where the known rows are too few to learn from.
    """
    model = _Model(known, covered, road_km, positions)
    rng = random.Random(f"tripwright-fill-{seed}")
    first, last = (pick(date for _, _, date in covered) for pick in (min, max))
    dates = _days(first, last)
    plan = list(_counts(model, road_km, dates, rng))
    numbers = _Numbers(model, sum(count for *_, count in plan), rng)
    return _rows(model, plan, numbers, rng), (first, last)


def _rows(model: _Model, plan: Sequence[tuple[str, str, str, int]], numbers: _Numbers, rng: random.Random) -> Iterator[Texts]:
    for origin, destination, date, count in plan:
        known = model.known.get((origin, destination, date))
        yield from known or _flights(model, numbers, (origin, destination, date), count, rng)


def _days(first: str, last: str) -> list[str]:
    start, end = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    return [(start + datetime.timedelta(days=i)).isoformat() for i in range((end - start).days + 1)]


class _Model:
    """What the known rows teach. Times in minutes, distances in miles."""

    def __init__(
        self, known: Sequence[Texts], covered: Sequence[Search], road_km: Mapping[Route, float | None], positions: Mapping[str, Position]
    ):
        self.positions = positions
        self.known: dict[Search, list[Texts]] = defaultdict(list)
        for row in known:
            self.known[row[6], row[7], row[5]].append(row)
        if len(self.known) < 20 or len(covered) - len(self.known) < 20:
            raise UserError(
                f"Flights can be filled from at least 20 known searches with flights and 20 without; found {len(self.known)} and "
                f"{len(covered) - len(self.known)} in flights_coverage.json."
            )
        self.covered = set(covered)
        self._road_km = road_km
        self.known_miles: dict[Route, list[float]] = {}
        for origin, destination, _ in self.known:
            self.known_miles[origin, destination] = [float(row[8]) for row in self._of_route(origin, destination)]
        ratios = [fmean(miles) * KM_PER_MILE / km for route, miles in self.known_miles.items() if (km := road_km.get(route))]
        self._air_per_road = median(ratios) if ratios else 0.85
        self._learn_routes()
        self._learn_flights()

    def _of_route(self, origin: str, destination: str) -> list[Texts]:
        return [row for (a, b, _), rows in self.known.items() if (a, b) == (origin, destination) for row in rows]

    def miles(self, route: Route) -> float | None:
        """From known flights either way, else from the road, else from the map; None where nothing says."""
        for way in (route, route[::-1]):
            if way in self.known_miles:
                return fmean(self.known_miles[way])
        for way in (route, route[::-1]):
            if km := self._road_km.get(way):
                return km / KM_PER_MILE * self._air_per_road
        a, b = (self.positions.get(city) for city in route)
        return great_circle_km(a, b) / KM_PER_MILE if a and b else None

    def _learn_routes(self) -> None:
        per_day: dict[Route, list[int]] = defaultdict(list)
        for origin, destination, date in sorted(self.covered):
            per_day[origin, destination].append(len(self.known.get((origin, destination, date), ())))
        self.habits: dict[Route, Habits] = {}
        for route, counts in per_day.items():
            if (miles := self.miles(route)) is not None:
                self.habits[route] = Habits(miles, fmean(counts))
        self._by_length = sorted(self.habits.values(), key=lambda habits: (habits.miles, habits.flights_per_day))
        served = [len(set(miles)) > 1 for miles in self.known_miles.values()]
        self.several_airports = fmean(served)

    def _learn_flights(self) -> None:
        rows = [row for found in self.known.values() for row in found]
        miles = [float(row[8]) for row in rows]
        minutes = [_minutes(row[4]) for row in rows]
        mean_miles, mean_minutes = fmean(miles), fmean(minutes)
        slope = sum((x - mean_miles) * (y - mean_minutes) for x, y in zip(miles, minutes, strict=True))
        self.minutes_per_mile = slope / max(1.0, sum((x - mean_miles) ** 2 for x in miles))
        self.minutes_on_ground = mean_minutes - self.minutes_per_mile * mean_miles
        self.usd_per_mile = sorted(float(row[1]) / max(1.0, float(row[8])) for row in rows)
        self.departures = sorted(_clock_minutes(row[2]) for row in rows)
        expected = [self.expected_minutes(x) for x in miles]
        self.minutes_spread = pstdev(y - e for y, e in zip(minutes, expected, strict=True))
        self.numbers = sorted(_digits(row[0]) for row in rows)
        self.number_prefix = rows[0][0].rstrip("0123456789")
        by_search = [sorted(_digits(row[0]) for row in found) for found in self.known.values()]
        self.gaps = sorted(b - a for numbers in by_search for a, b in zip(numbers, numbers[1:], strict=False)) or [1]

    def expected_minutes(self, miles: float) -> float:
        return self.minutes_on_ground + self.minutes_per_mile * miles

    def draw_habits(self, miles: float, rng: random.Random) -> Habits:
        """The habits of one of the known routes nearest in length."""
        nearest = bisect_left(self._by_length, miles, key=lambda habits: habits.miles)
        low = max(0, min(nearest - NEIGHBOURS // 2, len(self._by_length) - NEIGHBOURS))
        return self._by_length[rng.randrange(low, min(low + NEIGHBOURS, len(self._by_length)))]


def _counts(
    model: _Model, road_km: Mapping[Route, float | None], dates: list[str], rng: random.Random
) -> Iterator[tuple[str, str, str, int]]:
    """(origin, destination, date, flights) for every search with flights: the known ones as known, the others by the route's habits."""
    drawn: dict[Route, float] = {}
    for route in road_km:
        if route not in drawn:
            mean = _flights_per_day(model, route, rng)
            drawn[route], drawn[route[::-1]] = mean, mean
        habits = model.habits.get(route)
        mean = habits.flights_per_day if habits is not None else drawn[route]
        for date in dates:
            if (*route, date) in model.covered:
                count = len(model.known.get((*route, date), ()))
            else:
                count = max(1, round(rng.gauss(mean, 0.4 + DAILY_SPREAD * mean))) if mean > 0 else 0
            if count:
                yield *route, date, count


def _flights_per_day(model: _Model, route: Route, rng: random.Random) -> float:
    """Of both directions: as known of either, else drawn; 0 where nobody knows how far it is."""
    for way in (route, route[::-1]):
        if way in model.habits:
            return model.habits[way].flights_per_day
    miles = model.miles(route)
    return 0.0 if miles is None else model.draw_habits(miles, rng).flights_per_day


def _flights(model: _Model, numbers: _Numbers, search: Search, count: int, rng: random.Random) -> list[Texts]:
    origin, destination, date = search
    known_lengths = model.known_miles.get((origin, destination))
    own = random.Random(f"{origin}>{destination}")  # what belongs to the route and not to the day
    base = model.miles((origin, destination)) or 1.0
    lengths = known_lengths or [base, *([base + own.uniform(-9, 9)] if own.random() < model.several_airports else [])]
    habit_minutes = own.gauss(0, 0.7 * model.minutes_spread)
    a, b = model.positions.get(origin), model.positions.get(destination)
    shift = 60 * (utc_offset_hours(b) - utc_offset_hours(a)) if a and b else 0
    rows: list[Texts] = []
    for number in numbers.draw(count):
        miles = max(1.0, round(rng.choice(lengths)))
        minutes = max(20, round(model.expected_minutes(miles) + habit_minutes + rng.gauss(0, 0.7 * model.minutes_spread)))
        left = round(_quantile(model.departures, rng.random()))
        price = int(miles * _quantile(model.usd_per_mile, rng.random()))
        times = clock(left), clock(left + minutes + shift), hours_minutes(minutes, "minutes")
        rows.append((f"{model.number_prefix}{number}", str(price), *times, date, origin, destination, f"{miles:.1f}"))
    return rows


class _Numbers:
    """Unused flight numbers, with gaps within a search like the known ones', in ascending order as the known table has them."""

    def __init__(self, model: _Model, needed: int, rng: random.Random):
        low, high = model.numbers[0], model.numbers[-1] + 1
        missing = int(needed * SPARE_NUMBERS) + 1000 - (high - low)
        self._low = max(1, low - max(0, missing) // 2)
        self._size = max(high, self._low + int(needed * SPARE_NUMBERS) + 1000) - self._low
        self._taken = bytearray(self._size)
        for number in model.numbers:
            self._taken[number - self._low] = 1
        self._gaps, self._rng = model.gaps, rng

    def draw(self, count: int) -> list[int]:
        at = self._rng.randrange(self._size)
        found = []
        for _ in range(count):
            at = free if (free := self._taken.find(0, at)) >= 0 else self._taken.find(0)
            self._taken[at] = 1
            found.append(self._low + at)
            at = (at + max(1, round(_quantile(self._gaps, self._rng.random())))) % self._size
        return sorted(found)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the (interpolated) sample lies."""
    position = share * (len(ordered) - 1)
    low = int(position)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (position - low)


def _digits(number: str) -> int:
    found = re.search(r"\d+$", number)
    if found is None:
        raise UserError(f"Flights can be filled where flight numbers end in digits, like F3490076; found '{number}'.")
    return int(found.group())


def _minutes(duration: str) -> int:
    found = re.fullmatch(r"(\d+) hours? (\d+) minutes?", duration)
    if found is None:
        raise UserError(f"Flights can be filled where durations read like '2 hours 5 minutes'; found '{duration}'.")
    return int(found.group(1)) * 60 + int(found.group(2))


def _clock_minutes(time: str) -> int:
    hours, minutes = time.split(":")[:2]
    return int(hours) * 60 + int(minutes)

"""Flights for the searches that an imported world does not know, drawn so that nothing in an answer
tells them from the known ones.

Every law is learned from the known rows at hand (`FlightModel`): whether a route is served and how
often (from routes of about its length; the known rows show that a route is served on all days or on
none, and both ways or neither), price per mile, departure times, durations, clocks, gaps between
the numbers. Known searches stay as they are. A route that is known on one day must look the same on
the days that are generated, so its own lengths, clock and habitual duration come before what routes
like it show; the other way of a known route counts as known. Filled are the pairs of the road
table, which is what the benchmark's trips use; any other pair stays unknown.

What is not hidden: flight numbers must be unique, and a full month needs more numbers than lie
between the known ones, so that some filled flights carry numbers outside that range. A number
inside it is still a filled one in all but one of a few hundred cases."""

from __future__ import annotations

import datetime
import random
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import cos, radians, sqrt
from statistics import fmean, median, pstdev

from tripwright.errors import UserError
from tripwright.world import geography
from tripwright.world.records import Texts

NEIGHBOURS = 40  # known routes of about the same length, among which a route's habits are drawn
FEWEST_SEARCHES = 20  # with flights, and as many without
MILES_PER_DEGREE = 69.1  # of longitude at the equator
# eastward between neighbouring time zones at the latitudes of the United States
MILES_PER_HOUR_OF_CLOCK = 800.0

Search = tuple[str, str, str]  # origin, destination, date
Route = tuple[str, str]


@dataclass(frozen=True)
class Habits:
    """One known route: its length, and its mean number of flights on a day (0: not served)."""

    miles: float
    flights_per_day: float


@dataclass(frozen=True)
class Surroundings:
    """What the other tables say about the cities. `road_km`: the listed pairs, with the length of
    their road or None."""

    road_km: Mapping[Route, float | None]
    sights: Mapping[str, geography.Position]
    states: Mapping[str, str]


class FlightModel:
    """Times in minutes, distances in miles, money in USD. Raises UserError where the known rows are
    too few or cannot be read."""

    def __init__(self, flights: Sequence[Texts], covered: Sequence[Search], around: Surroundings):
        self.known: dict[Search, list[Texts]] = defaultdict(list)
        of_route: dict[Route, list[Texts]] = defaultdict(list)
        for row in flights:
            self.known[row[6], row[7], row[5]].append(row)
            of_route[row[6], row[7]].append(row)
        if len(self.known) < FEWEST_SEARCHES or len(covered) - len(self.known) < FEWEST_SEARCHES:
            raise UserError(
                f"Flights can be filled from at least {FEWEST_SEARCHES} known searches with flights"
                f" and {FEWEST_SEARCHES} without; found {len(self.known)} and"
                f" {len(covered) - len(self.known)} in flights_coverage.json."
            )
        self.covered = set(covered)
        self._road_km = around.road_km
        self.known_miles = {
            route: [float(row[8]) for row in rows] for route, rows in of_route.items()
        }
        self._positions = geography.locate(
            around.sights,
            around.road_km,
            {route: fmean(miles) for route, miles in self.known_miles.items()},
        )
        ratios = [
            fmean(miles) * geography.KM_PER_MILE / km
            for route, miles in self.known_miles.items()
            if (km := self._road_km.get(route))
        ]
        self._air_per_road = median(ratios) if ratios else 0.85
        self._learn_routes()
        self._learn_clocks(around)
        self._learn_durations(of_route)
        self._learn_flights(flights)

    def miles(self, route: Route) -> float | None:
        """From known flights either way, else from the map, else from the road; None where nothing
        says."""
        if lengths := self.known_lengths(route):
            return fmean(lengths)
        a, b = (self._positions.get(city) for city in route)
        if a and b:
            return geography.great_circle_km(a, b) / geography.KM_PER_MILE
        for way in (route, route[::-1]):
            if km := self._road_km.get(way):
                return km / geography.KM_PER_MILE * self._air_per_road
        return None

    def known_lengths(self, route: Route) -> list[float]:
        """Of the route's known flights, else of those the other way."""
        return self.known_miles.get(route) or self.known_miles.get(route[::-1]) or []

    def _learn_routes(self) -> None:
        per_day: dict[Route, list[int]] = defaultdict(list)
        for origin, destination, date in sorted(self.covered):
            per_day[origin, destination].append(
                len(self.known.get((origin, destination, date), ()))
            )
        self.habits: dict[Route, Habits] = {}
        for route, counts in per_day.items():
            if (miles := self.miles(route)) is not None:
                self.habits[route] = Habits(miles, fmean(counts))
        self._by_length = sorted(
            self.habits.values(), key=lambda habits: (habits.miles, habits.flights_per_day)
        )
        self.several_airports = fmean(len(set(miles)) > 1 for miles in self.known_miles.values())

    def _learn_clocks(self, around: Surroundings) -> None:
        observed: dict[Search, Counter[int]] = {}
        for search, rows in self.known.items():
            ahead = (
                minutes_of_clock(row[3]) - minutes_of_clock(row[2]) - minutes_of_duration(row[4])
                for row in rows
            )
            observed[search] = Counter((minutes + 720) % 1440 - 720 for minutes in ahead)
        # a city that is not where its sights are may not be in that state, either
        astray = around.sights.keys() - self._positions.keys()
        cities = {city for route in [*around.road_km, *self.known_miles] for city in route}
        clocks = {
            city: geography.clock_of(
                None if city in astray else around.states.get(city), self._positions.get(city)
            )
            for city in sorted(cities)
        }
        self.clocks = geography.Clocks(
            observed, {city: told for city, told in clocks.items() if told is not None}
        )

    def east_miles(self, route: Route, date: str) -> float:
        """How far east the destination lies of the origin; winds make flights to the west longer.
        From the clocks where no map says."""
        a, b = (self._positions.get(city) for city in route)
        if a and b:
            degrees = (b.longitude - a.longitude + 180) % 360 - 180
            return degrees * cos(radians((a.latitude + b.latitude) / 2)) * MILES_PER_DEGREE
        return self.clocks.shift_minutes(*route, date) / 60 * MILES_PER_HOUR_OF_CLOCK

    def _learn_durations(self, of_route: Mapping[Route, list[Texts]]) -> None:
        """Least squares: ground time, minutes per mile, minutes per mile to the east; then what is
        a route's own and what a flight's."""
        rows = [
            (route, float(row[8]), self.east_miles(route, row[5]), row)
            for route, flights in of_route.items()
            for row in flights
        ]
        minutes = [minutes_of_duration(row[4]) for *_, row in rows]
        self._duration = _plane([(miles, east) for _, miles, east, _ in rows], minutes)
        beyond: dict[Route, list[float]] = defaultdict(list)
        for (route, miles, east, _), flights in zip(rows, minutes, strict=True):
            beyond[route].append(flights - self.expected_minutes(miles, east))
        within = [value - fmean(values) for values in beyond.values() for value in values]
        spread = pstdev([value for values in beyond.values() for value in values])
        several = sum(len(values) - 1 for values in beyond.values())
        self.flight_spread = (
            sqrt(sum(value * value for value in within) / several) if several else spread
        )
        self.route_spread = sqrt(max(0.0, spread**2 - self.flight_spread**2))
        self._beyond = beyond

    def expected_minutes(self, miles: float, east_miles: float) -> float:
        ground, per_mile, per_mile_east = self._duration
        return ground + per_mile * miles + per_mile_east * max(-miles, min(east_miles, miles))

    def habit_minutes(self, route: Route, draw: random.Random) -> float:
        """By how much the route's flights take longer than such flights do: as known (the fewer
        flights, the less sure), else drawn."""
        delays = self._beyond.get(route) or self._beyond.get(route[::-1])
        if not delays:
            return draw.gauss(0, self.route_spread)
        noise = (self.flight_spread / max(1e-6, self.route_spread)) ** 2
        return float(sum(delays) / (len(delays) + noise))

    def _learn_flights(self, rows: Sequence[Texts]) -> None:
        self.usd_per_mile = sorted(float(row[1]) / max(1.0, float(row[8])) for row in rows)
        self.departures = sorted(minutes_of_clock(row[2]) for row in rows)
        self.numbers = sorted(_digits(row[0]) for row in rows)
        self.number_prefix = rows[0][0].rstrip("0123456789")
        by_search = [sorted(_digits(row[0]) for row in flights) for flights in self.known.values()]
        self.gaps = sorted(
            b - a for numbers in by_search for a, b in zip(numbers, numbers[1:], strict=False)
        ) or [1]

    def draw_habits(self, miles: float, rng: random.Random) -> Habits:
        """The habits of one of the known routes nearest in length."""
        nearest = bisect_left(self._by_length, miles, key=lambda habits: habits.miles)
        low = max(0, min(nearest - NEIGHBOURS // 2, len(self._by_length) - NEIGHBOURS))
        return self._by_length[rng.randrange(low, min(low + NEIGHBOURS, len(self._by_length)))]


def _plane(
    points: Sequence[tuple[float, float]], heights: Sequence[float]
) -> tuple[float, float, float]:
    """(at the origin, per x, per y) by least squares; a direction in which the points do not differ
    gets no slope."""
    import numpy as np  # when flights are filled: help pages load this module

    at, mean = np.array(points), fmean(heights)
    slopes, *_ = np.linalg.lstsq(at - at.mean(axis=0), np.array(heights) - mean)
    slope_x, slope_y = map(float, slopes)
    return mean - float(slopes @ at.mean(axis=0)), slope_x, slope_y


def _numbers_in(text: str, form: str, condition: str) -> list[int]:
    match = re.fullmatch(form, text, re.DOTALL)
    if match is None:
        raise UserError(f"Flights can be filled where {condition}; found '{text}'.")
    return list(map(int, match.groups()))


def _digits(number: str) -> int:
    return _numbers_in(number, ".*?([0-9]+)", "flight numbers end in digits, like F3490076")[0]


def minutes_of_duration(duration: str) -> int:
    """Of '2 hours 5 minutes'."""
    form = "([0-9]+) hours? ([0-9]+) minutes?"
    hours, minutes = _numbers_in(duration, form, "durations read like '2 hours 5 minutes'")
    return hours * 60 + minutes


def minutes_of_clock(time: str) -> int:
    """After midnight, of '08:05' or '8:05:00'."""
    form = "([0-9]{1,2}):([0-9]{2})(?::[0-9]{2})?"
    hours, minutes = _numbers_in(time, form, "departures and arrivals read like '08:05'")
    return hours * 60 + minutes


# of a route's flights per day, from the known routes that were searched on several days
DAILY_SPREAD = 0.12
SPARE_NUMBERS = 1.15  # numbers per flight, so that the gaps between numbers can be kept


def fill_flights(
    flights: Sequence[Texts], covered: Sequence[Search], around: Surroundings, seed: int
) -> tuple[Iterator[Texts], tuple[str, str]]:
    """(known and generated flights by route and day, the first and last day that is now known for
    every pair of `around.road_km`).

    Raises UserError where the known rows are too few to learn from.
    """
    model = FlightModel(flights, covered, around)
    rng = random.Random(f"tripwright-fill-{seed}")
    first, last = (pick(date for _, _, date in covered) for pick in (min, max))
    dates = _days(first, last)
    plan = list(_counts(model, around.road_km, dates, rng))
    numbers = _Numbers(model, sum(count for *_, count in plan), rng)
    rows = (
        row
        for origin, destination, date, count in plan
        for row in model.known.get((origin, destination, date))
        or _flights(model, numbers, (origin, destination, date), count, rng)
    )
    return rows, (first, last)


def _days(first: str, last: str) -> list[str]:
    start, end = datetime.date.fromisoformat(first), datetime.date.fromisoformat(last)
    return [(start + datetime.timedelta(days=i)).isoformat() for i in range((end - start).days + 1)]


def _counts(
    model: FlightModel, road_km: Mapping[Route, float | None], dates: list[str], rng: random.Random
) -> Iterator[tuple[str, str, str, int]]:
    """(origin, destination, date, flights) for every search with flights: the known ones as known,
    the others by the route's habits."""
    means: dict[Route, float] = {}
    for route in road_km:
        if route not in means:
            mean = _flights_per_day(model, route, rng)
            means[route], means[route[::-1]] = mean, mean
        habits = model.habits.get(route)
        mean = habits.flights_per_day if habits is not None else means[route]
        for date in dates:
            if (*route, date) in model.covered:
                count = len(model.known.get((*route, date), ()))
            else:
                count = max(1, round(rng.gauss(mean, 0.4 + DAILY_SPREAD * mean))) if mean > 0 else 0
            if count:
                yield *route, date, count


def _flights_per_day(model: FlightModel, route: Route, rng: random.Random) -> float:
    """Of both directions: as known of either, else drawn; 0 where nobody knows how far it is."""
    for way in (route, route[::-1]):
        if way in model.habits:
            return model.habits[way].flights_per_day
    miles = model.miles(route)
    return 0.0 if miles is None else model.draw_habits(miles, rng).flights_per_day


def _flights(
    model: FlightModel, numbers: _Numbers, search: Search, count: int, rng: random.Random
) -> list[Texts]:
    origin, destination, date = search
    route = (origin, destination)
    # draws what belongs to the two cities and not to the day
    pair = random.Random(">".join(sorted(route)))
    base = model.miles(route) or 1.0
    lengths = model.known_lengths(route) or [
        base,
        *([base + pair.uniform(-9, 9)] if pair.random() < model.several_airports else []),
    ]
    habit_minutes = model.habit_minutes(route, pair)
    east = model.east_miles(route, date)
    shift = model.clocks.shift_minutes(*search)
    rows: list[Texts] = []
    for number in numbers.draw(count):
        miles = max(1.0, round(rng.choice(lengths)))
        usual = model.expected_minutes(miles, east) + habit_minutes
        minutes = max(20, round(usual + rng.gauss(0, model.flight_spread)))
        departure = round(_quantile(model.departures, rng.random()))
        price = int(miles * _quantile(model.usd_per_mile, rng.random()))
        arrival = geography.clock(departure + minutes + shift)
        times = geography.clock(departure), arrival, geography.hours_minutes(minutes)
        rows.append(
            (
                f"{model.number_prefix}{number}",
                str(price),
                *times,
                date,
                origin,
                destination,
                f"{miles:.1f}",
            )
        )
    return rows


class _Numbers:
    """Unused flight numbers, with gaps within a search like the known ones', in ascending order as
    the known table has them."""

    def __init__(self, model: FlightModel, count: int, rng: random.Random):
        low, high = model.numbers[0], model.numbers[-1] + 1
        shortfall = int(count * SPARE_NUMBERS) + 1000 - (high - low)
        self._low = max(1, low - max(0, shortfall) // 2)
        self._size = max(high, self._low + int(count * SPARE_NUMBERS) + 1000) - self._low
        self._taken = bytearray(self._size)
        for number in model.numbers:
            self._taken[number - self._low] = 1
        self._gaps, self._rng = model.gaps, rng

    def draw(self, count: int) -> list[int]:
        at = self._rng.randrange(self._size)
        numbers = []
        for _ in range(count):
            at = free if (free := self._taken.find(0, at)) >= 0 else self._taken.find(0)
            self._taken[at] = 1
            numbers.append(self._low + at)
            at = (at + max(1, round(_quantile(self._gaps, self._rng.random())))) % self._size
        return sorted(numbers)


def _quantile(ordered: Sequence[float], share: float) -> float:
    """The value below which `share` of the (interpolated) sample lies."""
    position = share * (len(ordered) - 1)
    low = int(position)
    return ordered[low] + (ordered[min(low + 1, len(ordered) - 1)] - ordered[low]) * (
        position - low
    )

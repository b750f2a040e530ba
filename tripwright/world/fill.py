"""Flights for the searches that an imported world does not know, drawn so that nothing in an answer
tells them from the known ones.

Every law is learned from the known rows at hand (see `flight_model.py`): whether a route is served
and how often (from routes of about its length; the known rows show that a route is served on all
days or on none, and both ways or neither), price per mile, departure times, durations, clocks (see
`clocks.py`), gaps between the numbers. Known searches stay as they are, and a known route keeps its
habits on the days that were not known. Filled are the pairs of the road table, which is what the
benchmark's trips use; any other pair stays unknown.

What is not hidden: flight numbers must be unique, and a full month needs more numbers than lie
between the known ones, so that some filled flights carry numbers outside that range. A number
inside it is still a filled one in all but one of a few hundred cases.
"""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator, Mapping, Sequence

from tripwright.world.flight_model import FlightModel, Route, Search, Surroundings
from tripwright.world.geography import clock, hours_minutes
from tripwright.world.records import Texts

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
    return _rows(model, plan, numbers, rng), (first, last)


def _rows(
    model: FlightModel,
    plan: Sequence[tuple[str, str, str, int]],
    numbers: _Numbers,
    rng: random.Random,
) -> Iterator[Texts]:
    for origin, destination, date, count in plan:
        flights_known = model.known.get((origin, destination, date))
        yield from flights_known or _flights(
            model, numbers, (origin, destination, date), count, rng
        )


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
        times = (
            clock(departure),
            clock(departure + minutes + shift),
            hours_minutes(minutes, "minutes"),
        )
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

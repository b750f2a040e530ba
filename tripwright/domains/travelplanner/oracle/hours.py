"""The exact planner by the clock: given the cities and nights of a trip, the cheapest legs and
meals for which there is time.

A trip's bound takes every leg at its least price. Where that leg leaves no time for what the trip
needs, a dearer one may. So the bounds order the trips, and this finds what the first ones truly
cost. A state behind a leg is what the next day must know: when it begins, what is left of the
evening, and what is eaten and seen on the day of arrival.

Under the strict rules each meal and sight takes half an hour in the city where the traveller then
is, and a night half an hour between two days. Livable days besides have a meal wherever they leave
an hour at its usual time, away from home, at most 16 hours between the first thing and the last,
and something in each of them. Written without looking at the judge's code, as the other options.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from tripwright.domains.travelplanner.oracle.options import (
    MEALS,
    Leg,
    Meals,
    Problem,
    Stay,
    cents,
    check_time,
    flight_legs,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import duration_minutes
from tripwright.world.store import World

DAY, HALF = 24 * 60, 30
USUAL = ((6 * 60, 10 * 60), (11 * 60, 14 * 60), (17 * 60, 21 * 60))  # when each meal is had
AWAKE = 16 * 60  # minutes, the longest livable day
LONGEST_ROAD = 8 * 60  # minutes, where one can fly
# after midnight: a landing by then leaves an hour for breakfast, so every full day has its meals.
# No flight of the tables lands so late.
LATEST_LANDING = DAY + 9 * 60

Where = tuple[str | None, str | None, str | None]  # of the three meals: "before", "after" the leg


class TimedLeg(NamedTuple):
    """A leg by the clock: `leaves` of a flight, in minutes after midnight; a road leaves when it
    suits. `taken` is from leaving to landing, by the clocks of the two cities."""

    leg: Leg
    leaves: int | None
    taken: int

    @property
    def lands(self) -> int:
        return (self.leaves or 0) + self.taken


class TravelDay(NamedTuple):
    """What a day of travel holds beside the leg: where each meal is had, and a sight on a day that
    would else hold nothing."""

    where: Where
    sight: str | None = None

    @classmethod
    def with_meals(cls, before: int, after: int) -> TravelDay:
        """Breakfast first before the leg, dinner first behind it."""
        first, second, third = (
            "before" if meal < before else "after" if meal >= len(MEALS) - after else None
            for meal in range(len(MEALS))
        )
        return cls((first, second, third))

    def count(self, side: str) -> int:
        return self.where.count(side)

    def things(self, side: str) -> int:
        return self.where.count(side) + (self.sight == side)


def way_of(leg: Leg) -> TimedLeg | None:
    """None for a leg whose hours cannot be read."""
    taken = duration_minutes(leg.duration)
    if leg.flight is None or taken is None:
        return None if taken is None else TimedLeg(leg, None, taken)
    leaves, lands = _minute(leg.flight.departure_time), _minute(leg.flight.arrival_time)
    if leaves is None or lands is None:
        return None
    by_clock = (lands - leaves) % DAY
    # the clocks of two cities are less than half a day apart
    days = min((-1, 0, 1), key=lambda day: abs(by_clock + day * DAY - taken))
    way = TimedLeg(leg, leaves, by_clock + days * DAY)
    return way if way.lands <= LATEST_LANDING else None


def _minute(clock: str) -> int | None:
    hour, colon, minute = clock.partition(":")
    if not colon or not (hour + minute).isdecimal():
        return None
    return 60 * int(hour) + int(minute)


# ---- one day of travel


class Moment(NamedTuple):
    """When a traveller is free: minutes of the day that are gone when yesterday's leg lands, and
    minutes that yesterday's evening left for the night, as far as it needs them."""

    since: int = 0
    evening: int = HALF


RESTED = Moment()


def after_leg(way: TimedLeg, moment: Moment, day: TravelDay) -> Moment | None:
    """The next morning; None where the day has no time for what it holds, or the night before."""
    before, after = HALF * day.things("before"), HALF * day.things("after")
    missing = HALF - moment.evening  # of the night
    if way.leaves is None:
        left = DAY - moment.since - missing - before - way.taken - after
        return None if left < 0 else Moment(0, min(HALF, left))
    if way.leaves < moment.since + missing + before or (after and way.lands + after > DAY):
        return None
    return Moment(max(0, way.lands - DAY), max(0, min(HALF, DAY - way.lands - after)))


def is_livable(way: TimedLeg, since: int, day: TravelDay, home_sides: Collection[str]) -> bool:
    """Whether the leg can leave at a minute that suits all. `home_sides` are "before" where it
    leaves from home, "after" where it goes home."""
    before, after = HALF * day.things("before"), HALF * day.things("after")
    first = since + before if way.leaves is None else way.leaves
    last = DAY - way.taken - after if way.leaves is None else way.leaves
    begin, end = DAY, 0  # the latest first meal, the earliest end of a last one
    for where, (opens, closes) in zip(day.where, USUAL, strict=True):
        there = max(opens, since)
        if where == "before":
            if there + HALF > closes:
                return False
            first, begin = max(first, there + HALF), min(begin, closes - HALF)
        elif where == "after":
            last, end = min(last, closes - HALF - way.taken), max(end, opens + HALF)
        else:
            if "after" not in home_sides:
                first = max(first, closes - 59 - way.taken)
            if "before" not in home_sides and closes - there >= 60:
                last = min(last, there + 59)
    if way.taken + before + after > AWAKE or not before + after:
        return False
    first, last = max(first, end - AWAKE + before), min(last, begin + AWAKE - after - way.taken)
    return first <= last


SIDES = ("before", "after")
EXTRA_MEALS = [
    TravelDay.with_meals(before, after) for before in range(4) for after in range(4 - before)
]
LIVABLE_DAYS = [
    *map(TravelDay, itertools.product((None, *SIDES), (None, *SIDES), (None, *SIDES))),
    *(TravelDay((None, None, None), side) for side in SIDES),
]


def party_cents(leg: Leg) -> int:
    return cents(leg.party_cost_usd)


class TimedProblem(Problem):
    """One query in one world, with the hours of its legs; `livable`: under those rules."""

    def __init__(
        self, query: Query, world: World, comfortable: bool = False, livable: bool = False
    ):
        super().__init__(query, world, comfortable)
        self.livable = livable
        self.ways, self._least = cache(self._ways), cache(self._least_with_meals)

    @property
    def most_meals(self) -> int:
        return super().most_meals + (2 * len(MEALS) if self.livable else 0)

    def _ways(self, origin: str, destination: str, day: int, driving: bool) -> list[TimedLeg]:
        """Those whose hours are known, cheapest first."""
        roads = self._road(origin, destination)
        if driving:
            legs = [roads["self-driving"]] if "self-driving" in roads else []
        else:
            date = self.query.date[day]
            legs = list(flight_legs(self.query, self.world, origin, destination, date))
            if "taxi" in roads and not (self.comfortable and legs):
                legs.append(roads["taxi"])
        ways = filter(None, map(way_of, sorted(legs, key=party_cents)))
        return [way for way in ways if not (self.livable and self._is_too_long(way, day))]

    def _is_too_long(self, way: TimedLeg, day: int) -> bool:
        leg = way.leg
        if leg.flight or way.taken <= LONGEST_ROAD:
            return False
        flies = self.query.local_constraint.transportation != "no flight"
        date = self.query.date[day]
        return flies and bool(self.world.flights(leg.origin, leg.destination, date))

    def least_leg_cents(self, origin: str, destination: str, day: int, driving: bool) -> int | None:
        if not self.livable:
            return super().least_leg_cents(origin, destination, day, driving)
        return self._least(origin, destination, day, driving)

    def _least_with_meals(
        self, origin: str, destination: str, day: int, driving: bool
    ) -> int | None:
        """The meals of the day at the price of the cheapest restaurants."""
        party = self.query.party_size
        prices = [party * self.cents_with_legs(city) for city in (origin, destination)]
        costs = (
            party_cents(way.leg)
            + sum(held.count(side) * price for side, price in zip(SIDES, prices, strict=True))
            for way in self.ways(origin, destination, day, driving)
            for held in self.days_of(way, 0)
        )
        return min(costs, default=None)

    def cents_with_legs(self, city: str) -> int:
        """The cheapest restaurant under livable rules; no bound may count such a meal twice."""
        rows = self.meals(city)[0] if self.livable else []
        return cents(rows[0].average_cost_usd) if rows else 0

    def menus(self, city: str, count: int) -> Meals:
        """Of exactly so many different restaurants; at home nobody eats out."""
        if city == self.query.org:
            return {0: (0, ())}
        counts = self.meals(city)[1]
        return counts[count] if count < len(counts) else {}

    def days_of(self, way: TimedLeg, since: int) -> list[TravelDay]:
        """What a day with this leg may hold, one for as many meals and sights on either side.
        Without wanted cuisines nobody eats more than must be."""
        ends, home = (way.leg.origin, way.leg.destination), self.query.org
        home_sides = [side for side, city in zip(SIDES, ends, strict=True) if city == home]
        days: dict[tuple[int, ...], TravelDay] = {}
        for day in LIVABLE_DAYS if self.livable else EXTRA_MEALS[: None if self.wanted else 1]:
            if any(map(day.count, home_sides)):
                continue
            if not self.livable or is_livable(way, since, day, home_sides):
                days.setdefault((*map(day.count, SIDES), *map(day.things, SIDES)), day)
        if self.wanted:
            return list(days.values())
        return [
            day
            for key, day in days.items()
            if not any(other != key and all(map(int.__le__, other, key)) for other in days)
        ]


# ---- all legs of a trip


@dataclass(frozen=True)
class Timed:
    """What a trip truly costs: its legs, its days of travel, and for each city the restaurants (by
    index), as many as the trip has meals there."""

    cost_cents: int
    legs: tuple[Leg, ...] = ()
    days: tuple[TravelDay, ...] = ()
    meals: tuple[tuple[int, ...], ...] = ()


Arrival = tuple[Moment, int, int]  # and meals and sights of the day of arrival


def timed_trip(
    problem: TimedProblem, driving: bool, visits: Sequence[tuple[str, int, Stay]]
) -> Timed | None:
    """The cheapest such trip that has the time. `visits` are (city, nights, stay); None where none
    has."""
    home, day = problem.query.org, 0
    least: dict[Arrival, dict[int, Timed]] = {(RESTED, 0, 0): {0: Timed(0)}}
    stops = [(home, 0, 0)]
    stops += [(city, n, n * cents(stay.night_cost_usd)) for city, n, stay in visits]
    following = [*(city for city, _, _ in visits), home]
    for (here, nights, stay_cents), there in zip(stops, following, strict=True):
        check_time()
        day += nights
        ahead: dict[Arrival, dict[int, Timed]] = {}
        for (moment, meals, sights), trips in least.items():
            moment = moment if nights == 1 else RESTED
            for way in problem.ways(here, there, day, driving):
                for held in problem.days_of(way, moment.since):
                    landed = after_leg(way, moment, held)
                    seen = sights + max(0, nights - 1) + (held.sight == "before")
                    if landed is None or seen > len(problem.sights(here)):
                        continue
                    arrival = (landed, held.count("after"), int(held.sight == "after"))
                    eaten = meals + len(MEALS) * (nights - 1) + held.count("before")
                    cost_cents = stay_cents + party_cents(way.leg)
                    known = ahead.setdefault(arrival, {})
                    for mask, trip in trips.items():
                        for more, (price, menu) in problem.menus(here, eaten).items():
                            total = trip.cost_cents + cost_cents + price * problem.query.party_size
                            if mask | more in known and total >= known[mask | more].cost_cents:
                                continue
                            served = trip.meals if here == home else (*trip.meals, menu)
                            legs, days = (*trip.legs, way.leg), (*trip.days, held)
                            known[mask | more] = Timed(total, legs, days, served)
        least = ahead
    everything = (1 << len(problem.wanted)) - 1
    found = [trips[everything] for trips in least.values() if everything in trips]
    return min(found, key=lambda trip: trip.cost_cents, default=None)


def has_time(legs: Sequence[Leg], days: Sequence[TravelDay], nights: Sequence[int]) -> bool:
    """Whether these legs leave time for these days; `nights` are those before each leg."""
    moment: Moment | None = RESTED
    for leg, day, slept in zip(legs, days, nights, strict=True):
        way = way_of(leg)
        moment = RESTED if moment is None or slept != 1 else moment
        moment = RESTED if way is None else after_leg(way, moment, day)
        if moment is None:
            return False
    return True

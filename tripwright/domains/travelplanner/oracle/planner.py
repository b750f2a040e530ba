"""The exact planner: the cheapest plan for a query in a world, by decomposition.

Given the order of cities and the nights spent in each, cost is a sum of parts that do not touch
each other: the legs (one choice between driving everywhere and flights/taxis, because the two may
not be mixed), the cheapest fitting stay per city, and meals, which touch only through the cuisines
they cover together. The parts are made in `options.py`.

Trips come best first. `Bounds` say what finishing a trip costs at least, from every city and day. A
layered graph: after the k-th city, in which city, on which day, with which cuisines still to be
eaten. The backward pass is exact but for one thing: it lets a trip come back to a city it visited
before the last one. So a bound is nearly always the true cost, and where no city would repeat it is
exactly that. Legs inside a state are the many look-ups. One is made only if the cheapest trip
through it, with every such leg before it taken as free, stays within `limit_cents`.

The search extends the unfinished trip whose bound is least; a bound is never above the true cost,
so a finished trip that comes up is the cheapest that is left. Of trips with the same cost, the
further advanced and then the first in the world's order of cities comes up first.

What a plan contains: transport and the night's stay on travel days; three distinct meals and one
attraction on full days; further meals on travel days only where a wanted cuisine needs them. That
is the least the rules ask for, hence the cheapest.

A bound takes every leg at its least price. Where that leg leaves no time for what the trip needs, a
dearer one may. So the bounds order the trips, and `timed_trip` finds what the first ones truly
cost. Under the strict rules each meal and sight takes half an hour in the city where the traveller
then is, and a night half an hour between two days. Livable days besides have a meal wherever they
leave an hour at its usual time, away from home, at most 16 hours between the first thing and the
last, and something in each of them. Written without looking at the judge's code, as the options.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from operator import le
from typing import Any, Literal, NamedTuple

from tripwright.domains.travelplanner.oracle.options import (
    DAY,
    LATEST_LANDING,
    MEALS,
    Leg,
    Meals,
    Problem,
    Stay,
    cents,
    check_time,
    city_pool,
    why_unplannable,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import Restaurant
from tripwright.world.store import World

# ---- one day of travel


HALF = 30  # minutes that a meal, a sight and a night take
USUAL = ((6 * 60, 10 * 60), (11 * 60, 14 * 60), (17 * 60, 21 * 60))  # when each meal is had
AWAKE = 16 * 60  # minutes, the longest livable day
EARLY = 5 * 60  # nobody drives off before that for a sight
SIDES = ("before", "after")  # of the leg
# On which side each of MEALS is had, and a sight, on a day that would else hold nothing. Of days
# with as many meals on either side the first has dinner first behind the leg, and breakfast before.
TravelDay = tuple[str | None, ...]
_MEALS_HAD = itertools.product(("after", None, "before"), repeat=len(MEALS))
_DAYS = [(*reversed(sides), None) for sides in _MEALS_HAD]
_DAYS += [(None, None, None, side) for side in SIDES]


def meals_had(day: TravelDay, side: str) -> int:
    return day[: len(MEALS)].count(side)


def travel_days(problem: Problem, leg: Leg, since: int, until: int) -> Sequence[TravelDay]:
    """What a day with this leg may hold, one for as many meals and sights on either side; without
    wanted cuisines nobody eats or sees more than must be. It begins between these two minutes, when
    yesterday's leg lands, or at 0."""
    home, lenient = problem.query.org, problem.lenient if problem.livable else None
    home_sides = leg.origin == home, leg.destination == home
    hungry = bool(problem.wanted) or problem.missed_cents(1) > 0
    return _travel_days(leg.hours, since, until, home_sides, lenient, hungry)


@lru_cache(1 << 16)
def _travel_days(
    hours: tuple[int | None, int],
    since: int,
    until: int,
    home_sides: tuple[bool, bool],
    lenient: int | None,
    hungry: bool,
) -> list[TravelDay]:
    at_home = {side for side, is_home in zip(SIDES, home_sides, strict=True) if is_home}
    days: dict[tuple[int, ...], TravelDay] = {}
    for day in _DAYS:
        if at_home & {*day[:-1]}:
            continue
        if (
            not day[-1]
            if lenient is None
            else _is_livable(hours, since, until, home_sides, day, lenient)
        ):
            counts = tuple(held.count(side) for held in (day[:-1], day[-1:]) for side in SIDES)
            days.setdefault(counts, day)
    if lenient == 2 and not days:
        days[()] = (None,) * (len(MEALS) + 1)
    found = [
        day
        for counts, day in days.items()
        if hungry or not any(each != counts and all(map(le, each, counts)) for each in days)
    ]
    return sorted(found, key=lambda day: day[-1] in at_home)  # better a sight away than at home


def _is_livable(
    hours: tuple[int | None, int],
    since: int,
    until: int,
    home_sides: tuple[bool, bool],
    day: TravelDay,
    lenient: int,
) -> bool:
    """Whether the leg can leave at a minute that suits all."""
    (leaves, taken), awake = hours, DAY if lenient else AWAKE
    before, after = (HALF * day.count(side) for side in SIDES)
    first, last = (since + before, DAY - taken - after) if leaves is None else (leaves, leaves)
    begin, end = DAY, 0  # the latest first meal, the earliest end of a last one
    for side, (opens, closes) in zip(day, USUAL, strict=False):
        if side == "before":
            first, begin = max(first, opens + HALF, since + HALF), min(begin, closes - HALF)
        elif side == "after":
            last, end = min(last, closes - HALF - taken), max(end, opens + HALF)
        elif lenient < 2:
            if not home_sides[1]:
                first = max(first, closes - 59 - taken)
            if not home_sides[0]:
                last = min(last, max(opens, until) + 59)
    if lenient and day[-1] == "before":  # nobody sees sights at night
        first = max(first, USUAL[0][0] + HALF)
    elif lenient and day[-1] == "after":
        last = min(last, USUAL[-1][1] - HALF - taken)
        first = first if leaves is not None else max(first, EARLY)
    first, last = max(first, end - awake + before), min(last, begin + awake - after - taken)
    return first <= last and 0 < before + after <= awake - taken


def next_morning(leg: Leg, morning: int, day: TravelDay) -> int | None:
    """When the day behind this one can begin, if this one can at `morning`: the leg has landed, and
    half a night is over. None where this day has no time for what it holds. In minutes after
    midnight."""
    leaves, taken = leg.hours
    first = morning + HALF * day.count("before")
    end = (first if leaves is None else leaves) + taken + HALF * day.count("after")
    if leaves is not None and leaves < first:
        return None
    if end > DAY and (leaves is None or "after" in day):
        return None
    return max(0, end + HALF - DAY)


def least_livable_cents(
    problem: Problem, origin: str, destination: str, day: int, driving: bool
) -> int | None:
    """What a leg costs at the least, with the meals of its day in the cheapest restaurants."""
    party = problem.query.party_size
    prices = [party * problem.cents_with_legs(city) for city in (origin, destination)]
    costs = (
        problem.leg_cents(leg)
        + sum(meals_had(held, side) * price for side, price in zip(SIDES, prices, strict=True))
        for leg in problem.legs(origin, destination, day, driving)
        for held in travel_days(problem, leg, 0, LATEST_LANDING if day else 0)
    )
    return min(costs, default=None)


# ---- bounds


NEVER = 1 << 60  # cents; more than any trip
Row = list[int]  # cents by the set of cuisines still to be eaten, as a mask


class Bounds:
    """For one transport family. Cities are indices into `problem.cities`."""

    def __init__(self, problem: Problem, driving: bool, limit_cents: int = NEVER):
        self.problem, self.driving, self.limit_cents = problem, driving, limit_cents
        self.count = len(problem.cities)
        self.all_cuisines = (1 << len(problem.wanted)) - 1
        self.first = [self._leg_cents(problem.query.org, city, 0) for city in problem.cities]
        self.last = [
            self._leg_cents(city, problem.query.org, problem.nights) for city in problem.cities
        ]
        self.leg_cents = cache(
            lambda here, there, day: self._leg_cents(
                problem.cities[here], problem.cities[there], day
            )
        )
        self._before = self._cheapest_before()
        # by cities done: (city, day) → row
        self.to_leave: list[dict[tuple[int, int], Row]] = [{} for _ in range(problem.visits + 1)]
        self.to_arrive: list[dict[tuple[int, int], Row]] = [{} for _ in range(problem.visits)]
        self._work_backwards()

    def _leg_cents(self, origin: str, destination: str, day: int) -> int:
        if self.problem.livable:
            least = least_livable_cents(self.problem, origin, destination, day, self.driving)
            return NEVER if least is None else least
        leg = self.problem.leg(origin, destination, day, self.driving)
        return NEVER if leg is None else self.problem.leg_cents(leg)

    def lengths(self, visited: int, day: int) -> Iterator[int]:
        """How many nights the next city may have, so that the cities after it can use up the
        rest."""
        check_time()
        ahead, left = self.problem.visits - visited - 1, self.problem.nights - day
        for nights in self.problem.lengths:
            if ahead <= left - nights <= ahead * self.problem.lengths[-1]:
                yield nights

    def _cheapest_before(self) -> list[dict[tuple[int, int], int]]:
        """By cities done: (city, day) → the least a trip can have cost on leaving that city, legs
        inside the state taken as free."""
        least: list[dict[tuple[int, int], int]] = [{}]
        free = {0: 0}  # day → the least, over all cities
        for visited in range(self.problem.visits):
            here: dict[tuple[int, int], int] = {}
            for city in range(self.count):
                for day, before in free.items():
                    arrived = self.first[city] if visited == 0 else before
                    for nights in self.lengths(visited, day):
                        floor = self._floor(city, nights)
                        key = (city, day + nights)
                        if arrived + floor < here.get(key, NEVER):
                            here[key] = arrived + floor
            free = {}
            for (_, day), value in here.items():
                free[day] = min(value, free.get(day, NEVER))
            least.append(here)
        return least

    def _floor(self, city: int, nights: int) -> int:
        offer = self.problem.offer(self.problem.cities[city], nights)
        return NEVER if offer is None else offer.stay_cents[0] + offer.meals[0][1]

    def _work_backwards(self) -> None:
        visits, nights = self.problem.visits, self.problem.nights
        for city in range(self.count):
            if self.last[city] < NEVER:
                self.to_leave[visits][city, nights] = [self.last[city]] + [
                    NEVER
                ] * self.all_cuisines
        for visited in range(visits - 1, -1, -1):
            days = {day for _, day in self._before[visited]} if visited else {0}
            for city in range(self.count):
                for day in days:
                    row = self._stay_row(visited, city, day)
                    if row[0] < NEVER:
                        self.to_arrive[visited][city, day] = row
            if visited:
                for city, day in self._before[visited]:
                    row = self._leave_row(visited, city, day)
                    if row[0] < NEVER:
                        self.to_leave[visited][city, day] = row

    def _stay_row(self, visited: int, city: int, day: int) -> Row:
        row = [NEVER] * (self.all_cuisines + 1)
        for nights in self.lengths(visited, day):
            after = self.to_leave[visited + 1].get((city, day + nights))
            offer = self.problem.offer(self.problem.cities[city], nights) if after else None
            if after is None or offer is None:
                continue
            stay = offer.stay_cents[0]
            for mask, meals, _ in offer.meals:
                here, rest = stay + meals, ~mask
                for cuisines in range(self.all_cuisines + 1):
                    cost = here + after[cuisines & rest]
                    if cost < row[cuisines]:
                        row[cuisines] = cost
        return row

    def _leave_row(self, visited: int, city: int, day: int) -> Row:
        row = [NEVER] * (self.all_cuisines + 1)
        check_time()
        room = self.limit_cents - self._before[visited][city, day]
        arriving = self.to_arrive[visited]
        for other in range(self.count):
            after = arriving.get((other, day))
            if after is None or other == city or after[0] > room:
                continue
            leg = self.leg_cents(city, other, day)
            if leg < NEVER:
                row = [min(cost, leg + more) for cost, more in zip(row, after, strict=True)]
        return row


# ---- trips in order of cost


class Visit(NamedTuple):
    city: int  # index into `problem.cities`
    nights: int
    stay: int  # index into the offer's stays


Costs = tuple[tuple[int, int], ...]  # (cuisines still to be eaten, the least cents so far)
Node = tuple[int, int, tuple[Visit, ...], int, Costs]  # bound, −cities done, visits, day, costs


def cheapest_trips(
    bounds: Bounds, other_stays: bool = False
) -> Iterator[tuple[int, tuple[Visit, ...]]]:
    """(cents, visits) of every trip within the bounds' limit, cheapest first; without `other_stays`
    only those in the cheapest fitting stays."""
    problem = bounds.problem
    heap = list(_extensions(bounds, (0, 0, (), 0, ((bounds.all_cuisines, 0),))))
    heapq.heapify(heap)
    while heap:
        check_time()
        node = heapq.heappop(heap)
        bound, _, visits, _, _ = node
        if other_stays and (sibling := _next_stay(problem, node)) is not None:
            heapq.heappush(heap, sibling)
        if len(visits) == problem.visits:
            yield bound, visits
            continue
        for extended in _extensions(bounds, node):
            heapq.heappush(heap, extended)


def _extensions(bounds: Bounds, node: Node) -> Iterator[Node]:
    """The trip with one more city, in its cheapest stay."""
    _, _, visits, day, costs = node
    visited_count = len(visits)
    visited = {visit.city for visit in visits}
    for city, arrival_day in bounds.to_arrive[visited_count]:
        if arrival_day != day or city in visited:
            continue
        after = bounds.to_arrive[visited_count][city, day]
        leg = NEVER
        if visited_count == 0:
            leg = bounds.first[city]
        elif min(cost + after[mask] for mask, cost in costs) <= bounds.limit_cents:
            leg = bounds.leg_cents(visits[-1].city, city, day)
        if leg >= NEVER:
            continue
        for nights in bounds.lengths(visited_count, day):
            extended = _stayed(bounds, node, leg, Visit(city, nights, 0))
            if extended is not None:
                yield extended


def _stayed(bounds: Bounds, node: Node, leg: int, visit: Visit) -> Node | None:
    """The trip after one more stay; None where it cannot be finished within the limit."""
    _, _, visits, day, costs = node
    offer = bounds.problem.offer(bounds.problem.cities[visit.city], visit.nights)
    day += visit.nights
    rest = bounds.to_leave[len(visits) + 1].get((visit.city, day))
    if offer is None or rest is None:
        return None
    least: dict[int, int] = {}
    base = leg + offer.stay_cents[visit.stay]
    for mask_before, cost in costs:
        for mask, meals, _ in offer.meals:
            missing_mask, total = mask_before & ~mask, cost + base + meals
            if total < least.get(missing_mask, NEVER):
                least[missing_mask] = total
    bound = min(total + rest[missing_mask] for missing_mask, total in least.items())
    if bound > bounds.limit_cents or bound >= NEVER:
        return None
    return bound, -len(visits) - 1, (*visits, visit), day, tuple(least.items())


def _next_stay(problem: Problem, node: Node) -> Node | None:
    """The same trip in the next dearer stay of its last city. It may exceed the limit: what is
    asked for ends before that matters."""
    bound, progress, visits, day, costs = node
    last = visits[-1]
    offer = problem.offer(problem.cities[last.city], last.nights)
    assert offer is not None
    if last.stay + 1 == len(offer.stays):
        return None
    more = offer.stay_cents[last.stay + 1] - offer.stay_cents[last.stay]
    visits = (*visits[:-1], last._replace(stay=last.stay + 1))
    return bound + more, progress, visits, day, tuple((mask, cost + more) for mask, cost in costs)


# ---- all legs of a trip


class Stop(NamedTuple):
    city: str
    nights: int
    stay_cents: int
    meals: Mapping[int, Meals]  # by their number


class Move(NamedTuple):
    """What leads from one stop to the next. `menu`: all meals in the city that is left, as indices
    of restaurants."""

    menu: tuple[int, ...]
    leg: Leg
    day: TravelDay


Trip = tuple[int, tuple[Move, ...]]  # and its cost in cents
# what the next day must know: when it can begin, and the meals and sights that the city has already
# had; and how many sights home has
Arrival = tuple[int, int, int, int]


def timed_trip(problem: Problem, driving: bool, stops: Sequence[Stop]) -> Trip | None:
    """The cheapest trip by these stops, from home and to home, that has the time; None where none
    has."""
    home, date = problem.query.org, 0
    least: dict[Arrival, dict[int, Trip]] = {(0, 0, 0, 0): {0: (0, ())}}
    for here, there in itertools.pairwise(stops):
        check_time()
        date, full_days = date + here.nights, max(0, here.nights - 1)
        city_of: dict[str | None, str] = {"before": here.city, "after": there.city}
        ahead: dict[Arrival, dict[int, Trip]] = {}
        for (morning, meals, sights, home_sights), trips in least.items():
            morning = morning if here.nights == 1 else 0
            since = max(0, morning - HALF)
            for leg in problem.legs(here.city, there.city, date, driving):
                cost = here.stay_cents + problem.leg_cents(leg)
                mornings = set[int | None]()
                for day in travel_days(problem, leg, since, since):
                    missed = problem.missed_cents(day[: len(MEALS)].count(None))
                    mornings.add(ready := next_morning(leg, morning, day))
                    eaten = meals + len(MEALS) * full_days + meals_had(day, "before")
                    menus = here.meals.get(eaten)
                    seen = sights + full_days + (day[-1] == "before")
                    seen_at_home = home_sights + (city_of.get(day[-1]) == home)
                    if ready is None or not menus:
                        continue
                    if seen and seen > len(problem.sights(here.city)):
                        continue
                    if seen_at_home and seen_at_home > len(problem.sights(home)):
                        continue
                    had = meals_had(day, "after"), int(day[-1] == "after")
                    known = ahead.setdefault((ready, *had, seen_at_home), {})
                    for mask, (before, steps) in trips.items():
                        for more, (price, menu) in menus.items():
                            total = before + cost + missed + price * problem.query.party_size
                            both = mask | more
                            if both not in known or total < known[both][0]:
                                known[both] = total, (*steps, Move(menu, leg, day))
                if mornings == {0} and not problem.livable:
                    break  # a dearer leg leaves no more time
        least = ahead
    everything = (1 << len(problem.wanted)) - 1
    found = [trips[everything] for trips in least.values() if everything in trips]
    return min(found, key=lambda trip: trip[0], default=None)


# ---- the answer, and as a plan in Planner-R1's schema


@dataclass(frozen=True)
class CityChoice:
    city: str
    nights: int
    stay: Stay
    # the first 3 × (nights − 1) are for the full days, the rest for the days of arrival and
    # departure
    meals: tuple[Restaurant, ...]
    attractions: tuple[str, ...]  # one per full day


@dataclass(frozen=True)
class Solution:
    """`cost_usd` is for the whole party; None with `why` where there is no plan."""

    cost_usd: float | None = None
    cities: tuple[CityChoice, ...] = ()
    legs: tuple[Leg, ...] = ()
    # by leg, what the day holds beside it, a sight by its name; (): nothing
    travel: tuple[TravelDay, ...] = ()
    why: str | None = None
    comfortable: bool = False  # sought among the comfortable plans only


def plan_days(query: Query, solution: Solution) -> list[dict[str, Any]]:
    """The plan in Planner-R1's schema, as plain JSON."""
    days: list[dict[str, Any]] = []
    here, left_over = query.org, iter(list[str]())  # the meals that the last city has still to give
    nothing: TravelDay = (None,) * (len(MEALS) + 1)
    travel = solution.travel or [nothing] * len(solution.legs)
    for leg, stop, (*sides, sight) in zip(
        solution.legs, [*solution.cities, None], travel, strict=True
    ):
        there, stay = (stop.city, stop.stay.accommodation.name) if stop else (query.org, "-")
        names = iter([row.name for row in stop.meals] if stop else [])
        sights = stop.attractions if stop else ()
        meals = [list(itertools.islice(names, len(MEALS))) for _ in sights]
        day = _day(len(days) + 1, {"from": here, "to": there}, leg_record(leg), stay)
        for meal, side in zip(reversed(MEALS), reversed(sides), strict=True):
            if side:
                # on a day of travel a bare name means a place where the day ends
                day[meal] = next(names) if side == "after" else f"{next(left_over)}, {here}"
        days.append(day | ({"attraction": [sight]} if sight else {}))
        for of_day, name in zip(meals, sights, strict=True):
            day = _day(len(days) + 1, there, "-", stay)
            days.append(day | {"attraction": [name]} | dict(zip(MEALS, of_day, strict=True)))
        here, left_over = there, names
    return days


def _day(number: int, city: Any, transportation: Any, accommodation: str) -> dict[str, Any]:
    return {
        "days": number,
        "city": city,
        "transportation": transportation,
        "attraction": "-",
        "accommodation": accommodation,
        **dict.fromkeys(MEALS, "-"),
    }


def leg_record(leg: Leg) -> dict[str, Any]:
    """The leg in Planner-R1's schema: `cost` is US dollars per person (flight) or per vehicle."""
    record: dict[str, Any] = {"mode": leg.mode, "from": leg.origin, "to": leg.destination}
    record |= {"duration": leg.duration, "distance": leg.distance, "cost": int(leg.cost_usd)}
    if (flight := leg.flight) is not None:
        record["flight_number"] = flight.number
        record["departure_time"] = flight.departure_time
        record["arrival_time"] = flight.arrival_time
    return record


# ---- the planner


def bill(query: Query, plan: Solution) -> tuple[float, float, float]:
    """US dollars for transport, stays and meals of all."""
    legs = sum(leg.party_cost_usd for leg in plan.legs)
    nights = sum(choice.stay.night_cost_usd * choice.nights for choice in plan.cities)
    meals = sum(row.average_cost_usd for choice in plan.cities for row in choice.meals)
    return legs, nights, meals * query.party_size


def solve(
    query: Query,
    world: World,
    comfortable: bool = False,
    livable: bool = False,
    comfort_usd: float = 0.0,
    lenient: Literal[0, 1, 2] = 0,
) -> Solution:
    """The cheapest plan within the rules, whatever the budget (compare `cost_usd` with it), or
    the first reason found why there is none.

    `comfortable`: the cheapest among the plans a traveller would call normal: one room holds the
    whole party, and no taxi from city to city where one can fly. It may cost more, or not exist.
    `livable`: the cheapest that the livable rules accept. `comfort_usd` and `lenient`: those of
    `Problem`; with the first the plan need not be the cheapest.
    """
    if why := why_unplannable(query, world):
        return Solution(why=why, comfortable=comfortable)
    problem = Problem(query, world, comfortable, livable, comfort_usd, lenient)
    if not (best := k_cheapest(problem, 1)):
        why = _why_infeasible(problem)
        return Solution(why=why, comfortable=comfortable)
    return (
        replace(best[0], cost_usd=round(sum(bill(query, best[0])), 2)) if comfort_usd else best[0]
    )


def within_budget(query: Query, world: World, driving: bool) -> Iterator[Solution]:
    """Every trip that keeps the rules and the budget, driving all the way or never, cheapest first:
    one for each order of cities and nights in them, in the cheapest stays."""
    problem = Problem(query, world)
    if why_unplannable(query, world) is None and _may(problem, driving):
        yield from _solutions(problem, driving, _limit_cents(query))


def has_plan(query: Query, world: World) -> bool:
    """Whether any plan keeps the rules, the wishes and the budget; driving is tried first, as it is
    quick to try."""
    return any(next(within_budget(query, world, driving), None) for driving in (True, False))


def k_best(query: Query, world: World, k: int, livable: bool = False) -> list[Solution]:
    """The `k` cheapest different plans, cheapest first; fewer where there are no more. The first is
    that of `solve`.

    Two plans are different if the order of cities, the nights in one of them, the stay in one of
    them or the transport family (driving all the way, or flights and taxis) is. Each has the
    cheapest legs and meals for these. Exact: no different plan that is left out costs less than the
    last one given.
    """
    if k < 1 or why_unplannable(query, world):
        return []
    return k_cheapest(Problem(query, world, livable=livable), k)


def k_cheapest(problem: Problem, k: int) -> list[Solution]:
    """The `k` cheapest, over both families; at the same cost driving comes first.

    Driving needs no flights looked up, and what it costs at the most then bounds the search among
    flights.
    """
    limit_cents, solutions = NEVER - 1, list[Solution]()
    for driving in (True, False):
        if _may(problem, driving):
            found = _solutions(problem, driving, limit_cents, other_stays=k > 1)
            solutions.extend(itertools.islice(found, k))
        if len(solutions) >= k:
            limit_cents = cents(solutions[k - 1].cost_usd or 0)
    return sorted(solutions, key=lambda solution: solution.cost_usd or 0)[:k]


def _solutions(
    problem: Problem, driving: bool, limit_cents: int, other_stays: bool = False
) -> Iterator[Solution]:
    """Every trip within the limit for which there is time, cheapest first. Its bound is nearly
    always what it costs; one that costs more waits until no bound is below that."""
    waiting: list[tuple[int, int, Solution]] = []
    trips = cheapest_trips(Bounds(problem, driving, limit_cents), other_stays)
    for number, (bound_cents, visits) in enumerate(trips):
        if bound_cents > limit_cents:
            break
        while waiting and waiting[0][0] < bound_cents:
            yield heapq.heappop(waiting)[-1]
        solution = _solution(problem, driving, bound_cents, visits)
        if solution is not None and (cost := cents(solution.cost_usd or 0)) <= limit_cents:
            heapq.heappush(waiting, (cost, number, solution))
        while waiting and waiting[0][0] <= bound_cents:
            yield heapq.heappop(waiting)[-1]
    while waiting:
        yield heapq.heappop(waiting)[-1]


def _limit_cents(query: Query) -> int:
    # 100 × 19.99 is a little below 1999
    return math.floor(min(max(-1, 100 * query.budget + 1e-6), NEVER - 1))


def _may(problem: Problem, driving: bool) -> bool:
    return len(problem.cities) >= problem.visits and not (
        driving and problem.query.local_constraint.transportation == "no self-driving"
    )


def _solution(
    problem: Problem, driving: bool, bound_cents: int, visits: tuple[Visit, ...]
) -> Solution | None:
    """The trip at what it truly costs; None where there is no time for it. Under the strict rules
    there nearly always is at its bound, so the meals that may make the bound are tried first."""
    home, party = Stop(problem.query.org, 0, 0, {0: {0: (0, ())}}), problem.query.party_size
    stays, stops = list[Stay](), list[Stop]()
    for visit in visits:
        city = problem.cities[visit.city]
        offer = problem.offer(city, visit.nights)
        assert offer is not None
        stays.append(offer.stays[visit.stay])
        menus: dict[int, Meals] = {}
        for mask, price, menu in offer.meals:
            menus.setdefault(len(menu), {})[mask] = price // party, menu
        stops.append(Stop(city, visit.nights, offer.stay_cents[visit.stay], menus))
    found = None if problem.livable else timed_trip(problem, driving, [home, *stops, home])
    if found is None or found[0] > bound_cents:
        stops = [
            stop._replace(meals=dict(enumerate(problem.meals(stop.city)[1]))) for stop in stops
        ]
        found = timed_trip(problem, driving, [home, *stops, home])
    if found is None:
        return None
    cost_cents, steps = found
    choices, travel = list[CityChoice](), list[TravelDay]()
    seen = {home.city: 0} | {stop.city: stop.nights - 1 for stop in stops}
    for stop, stay, step, after in zip(stops, stays, steps[1:], [*stops[1:], home], strict=True):
        rows, names = problem.meals(stop.city)[0], problem.sights(stop.city)
        meals = tuple(rows[i] for i in step.menu)
        if len(problem.wanted) > len(MEALS):
            # the day of departure may have some of them: those whose name the next city has not
            there = {row.name.strip() for row in problem.world.restaurants(after.city)}
            meals = tuple(sorted(meals, key=lambda row: row.name.strip() not in there))
        choices.append(CityChoice(stop.city, stop.nights, stay, meals, names[: stop.nights - 1]))
    for _, leg, (*sides, side) in steps:
        sight = None
        if side:
            city = leg.origin if side == "before" else leg.destination
            sight = f"{problem.sights(city)[seen[city]]}, {city}"
            seen[city] += 1
        travel.append((*sides, sight))
    return Solution(
        cost_cents / 100,
        tuple(choices),
        tuple(step.leg for step in steps),
        tuple(travel),
        comfortable=problem.comfortable,
    )


def _why_infeasible(problem: Problem) -> str:
    query = problem.query
    pool = city_pool(query, problem.world)
    if len(problem.cities) < problem.visits:
        reasons = [
            why
            for city in pool
            if city not in problem.cities and (why := problem.why_not(city, problem.lengths[-1]))
        ]
        if query.days <= 3 and reasons:
            return reasons[0]
        few = (
            f"{len(problem.cities)} of {len(pool)} cities of {query.dest} can be stayed in,"
            f" {problem.visits} are asked for"
        )
        return f"{few}: {reasons[0]}" if reasons else f"{few}."
    if problem.wanted:
        wishes = query.local_constraint.model_copy(update={"cuisine": None})
        without = query.model_copy(update={"local_constraint": wishes})
        easier = Problem(without, problem.world, problem.comfortable, problem.livable)
        if k_cheapest(easier, 1):
            return "no reachable choice of cities serves every wanted cuisine."
    ways = f"from {query.org} to {query.dest} and back"
    days = " and days that the livable rules accept" if problem.livable else ""
    return (
        f"no order of cities has transport on these dates ({ways}) with a fitting stay for the"
        f" nights between{days}."
    )

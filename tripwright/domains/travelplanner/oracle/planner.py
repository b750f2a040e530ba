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
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.oracle.hours import (
    SIDES,
    TimedProblem,
    TravelDay,
    has_time,
    timed_trip,
)
from tripwright.domains.travelplanner.oracle.options import (
    MEALS,
    Leg,
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
        self.leg_cents = cache(self._inner_leg_cents)
        self._days = self._reachable_days()
        self._before = self._cheapest_before()
        # by cities done: (city, day) → row
        self.to_leave: list[dict[tuple[int, int], Row]] = [{} for _ in range(problem.visits + 1)]
        self.to_arrive: list[dict[tuple[int, int], Row]] = [{} for _ in range(problem.visits)]
        self._work_backwards()

    def _inner_leg_cents(self, origin: int, destination: int, day: int) -> int:
        cities = self.problem.cities
        return self._leg_cents(cities[origin], cities[destination], day)

    def _leg_cents(self, origin: str, destination: str, day: int) -> int:
        least = self.problem.least_leg_cents(origin, destination, day, self.driving)
        return NEVER if least is None else least

    def lengths(self, visited: int, day: int) -> Iterator[int]:
        """How many nights the next city may have, so that the cities after it can use up the
        rest."""
        check_time()
        for nights in self.problem.lengths:
            if day + nights in self._days[visited + 1]:
                yield nights

    def _reachable_days(self) -> list[set[int]]:
        """By cities done: the days on which a trip may leave the last of them and still end in
        time."""
        problem = self.problem
        shortest, longest = problem.lengths[0], problem.lengths[-1]
        days = []
        for visited in range(problem.visits + 1):
            ahead = problem.visits - visited
            least = max(visited * shortest, problem.nights - ahead * longest)
            days.append(
                set(range(least, min(visited * longest, problem.nights - ahead * shortest) + 1))
            )
        return days

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
            for city in range(self.count):
                for day in self._days[visited]:
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


class PricedTrip(NamedTuple):
    cost_cents: int
    driving: bool
    visits: tuple[Visit, ...]


def cheapest_trips(bounds: Bounds, other_stays: bool = False) -> Iterator[PricedTrip]:
    """Every trip within the bounds' limit, cheapest first; without `other_stays` only those in the
    cheapest fitting stays."""
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
            yield PricedTrip(bound, bounds.driving, visits)
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


def meals_of(problem: Problem, visits: tuple[Visit, ...]) -> list[tuple[int, ...]]:
    """For each city the restaurants (by index) that together serve every wanted cuisine at the
    least cost."""
    states: dict[int, tuple[int, tuple[tuple[int, ...], ...]]] = {0: (0, ())}
    for visit in visits:
        offer = problem.offer(problem.cities[visit.city], visit.nights)
        assert offer is not None
        merged: dict[int, tuple[int, tuple[tuple[int, ...], ...]]] = {}
        for eaten, (cost, indices) in states.items():
            for mask, meals, more_indices in offer.meals:
                key, total = eaten | mask, cost + meals
                if key not in merged or total < merged[key][0]:
                    merged[key] = total, (*indices, more_indices)
        states = merged
    return list(states[(1 << len(problem.wanted)) - 1][1])


# ---- the answer, and as a plan in Planner-R1's schema


class SolveStatus(StrEnum):
    OPTIMAL = "optimal"  # proved the cheapest
    FEASIBLE = "feasible"  # a plan, without that proof
    INFEASIBLE = "infeasible"  # proved that there is none


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

    status: SolveStatus
    cost_usd: float | None = None
    cities: tuple[CityChoice, ...] = ()
    legs: tuple[Leg, ...] = ()
    # what is done on the day of each leg, by field; (): the meals that full days leave over
    travel: tuple[dict[str, Any], ...] = ()
    why: str | None = None
    comfortable: bool = False  # sought among the comfortable plans only


def plan_days(query: Query, solution: Solution) -> list[dict[str, Any]]:
    """The plan in Planner-R1's schema, as plain JSON."""
    days: list[dict[str, Any]] = []
    here = query.org
    travel: Sequence[Mapping[str, Any]] = solution.travel or [
        # from breakfast on, and from dinner back
        dict([*zip(MEALS, before, strict=False), *zip(reversed(MEALS), after, strict=False)])
        for before, after in _extra_meals(solution.cities)
    ]
    for choice, leg, held in zip(solution.cities, solution.legs, travel, strict=False):
        stay = choice.stay.accommodation.name
        arrival = _day(len(days) + 1, {"from": here, "to": choice.city}, leg_record(leg), stay)
        days.append({**arrival, **held})
        for i in range(choice.nights - 1):
            day = _day(len(days) + 1, choice.city, "-", stay)
            day["attraction"] = [choice.attractions[i]]
            names = (row.name for row in choice.meals[3 * i : 3 * i + 3])
            day.update(zip(MEALS, names, strict=True))
            days.append(day)
        here = choice.city
    home = {"from": here, "to": query.org}
    last = _day(len(days) + 1, home, leg_record(solution.legs[-1]), "-")
    return [*days, {**last, **travel[-1]}]


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


def solve(query: Query, world: World, comfortable: bool = False, livable: bool = False) -> Solution:
    """The cheapest plan within the rules, whatever the budget (compare `cost_usd` with it), or
    INFEASIBLE with the first reason found.

    `comfortable`: the cheapest among the plans a traveller would call normal: one room holds the
    whole party, and no taxi from city to city where one can fly. It may cost more, or not exist.
    `livable`: the cheapest that the livable rules accept.
    """
    if why := why_unplannable(query, world):
        return Solution(SolveStatus.INFEASIBLE, why=why, comfortable=comfortable)
    problem = TimedProblem(query, world, comfortable, livable)
    if not (best := k_cheapest(problem, 1)):
        why = _why_infeasible(problem)
        return Solution(SolveStatus.INFEASIBLE, why=why, comfortable=comfortable)
    return replace(best[0], status=SolveStatus.OPTIMAL)


def within_budget(query: Query, world: World, driving: bool) -> Iterator[Solution]:
    """Every trip that keeps the rules and the budget, driving all the way or never, cheapest first:
    one for each order of cities and nights in them, in the cheapest stays."""
    problem = TimedProblem(query, world)
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
    solutions = k_cheapest(TimedProblem(query, world, livable=livable), k)
    return [replace(solutions[0], status=SolveStatus.OPTIMAL), *solutions[1:]] if solutions else []


def k_cheapest(problem: TimedProblem, k: int) -> list[Solution]:
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
    problem: TimedProblem, driving: bool, limit_cents: int, other_stays: bool = False
) -> Iterator[Solution]:
    """Every trip within the limit for which there is time, cheapest first. Its bound is nearly
    always what it costs; one that costs more waits until no bound is below that."""
    waiting: list[tuple[int, int, Solution]] = []
    trips = cheapest_trips(Bounds(problem, driving, limit_cents), other_stays)
    for number, trip in enumerate(trips):
        if trip.cost_cents > limit_cents:
            break
        while waiting and waiting[0][0] < trip.cost_cents:
            yield heapq.heappop(waiting)[-1]
        solution = None if problem.livable else _solution(problem, trip)
        solution = solution or _timed_solution(problem, trip)
        if solution is not None and (cost := cents(solution.cost_usd or 0)) <= limit_cents:
            heapq.heappush(waiting, (cost, number, solution))
        while waiting and waiting[0][0] <= trip.cost_cents:
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


def _solution(problem: TimedProblem, trip: PricedTrip) -> Solution | None:
    """The trip at its bound: each leg at its least price, meals on days of travel where a wanted
    cuisine needs them; None where that leaves too little time."""
    cities = [problem.cities[visit.city] for visit in trip.visits]
    stops = [problem.query.org, *cities, problem.query.org]
    nights = [0, *(visit.nights for visit in trip.visits)]
    legs = [
        problem.leg(here, there, day, trip.driving)
        for here, there, day in zip(
            stops[:-1], stops[1:], itertools.accumulate(nights), strict=True
        )
    ]
    taken = tuple(leg for leg in legs if leg is not None)
    choices, menus = [], meals_of(problem, trip.visits)
    for city, visit, indices, following in zip(cities, trip.visits, menus, stops[2:], strict=True):
        meals = _meals_in_order(problem, city, visit.nights, indices, following)
        choices.append(_choice(problem, visit, meals))
    held = _extra_meals(choices)
    days = [TravelDay.with_meals(len(before), len(after)) for before, after in held]
    if not has_time(taken, days, nights):
        return None
    cost_usd, is_comfortable = trip.cost_cents / 100, problem.comfortable
    return Solution(
        SolveStatus.FEASIBLE, cost_usd, tuple(choices), taken, comfortable=is_comfortable
    )


def _extra_meals(choices: Sequence[CityChoice]) -> list[tuple[list[str], list[str]]]:
    """Meals beyond those of full days, by name, before and behind each leg: those of the city that
    is left first. What finds no place on the day of arrival waits until its city is left in turn.
    """
    days, before = list[tuple[list[str], list[str]]](), list[str]()
    for extra in [*([row.name for row in c.meals[3 * c.nights - 3 :]] for c in choices), []]:
        after = extra[: len(MEALS) - len(before)]
        days.append((before, after))
        before = extra[len(after) :]
    return days


def _timed_solution(problem: TimedProblem, trip: PricedTrip) -> Solution | None:
    """The trip at what it truly costs; None where there is no time for it."""
    choices = [_choice(problem, visit, ()) for visit in trip.visits]
    visits = [(choice.city, choice.nights, choice.stay) for choice in choices]
    if (timed := timed_trip(problem, trip.driving, visits)) is None:
        return None
    home, world = problem.query.org, problem.world
    stops = [home, *(choice.city for choice in choices), home]
    sights = {
        choice.city: list(problem.sights(choice.city)[choice.nights - 1 :]) for choice in choices
    }
    sights[home] = list(problem.sights(home))
    names: dict[str, list[Restaurant]] = {
        choice.city: [problem.meals(choice.city)[0][i] for i in menu]
        for choice, menu in zip(choices, timed.meals, strict=True)
    }
    held: list[dict[str, Any]] = []
    for day, *ends in zip(timed.days, stops[:-1], stops[1:], strict=True):
        here, there = ends
        namesakes = {row.name.strip() for row in world.restaurants(there)}
        namesakes |= {row.name.strip() for row in world.attractions(there)}

        def said(name: str, side: str, here: str = here, namesakes: set[str] = namesakes) -> str:
            """On a day of travel a bare name means a place where the day ends."""
            return f"{name}, {here}" if side == "before" and name.strip() in namesakes else name

        entry: dict[str, Any] = {}
        for side, city in zip(SIDES, ends, strict=True):
            if day.sight == side:
                entry["attraction"] = [said(sights[city].pop(0), side)]
            for meal, where in zip(MEALS, day.where, strict=True):
                if where == side:
                    entry[meal] = said(names[city].pop().name, side)
        held.append(entry)
    choices = [replace(choice, meals=tuple(names[choice.city])) for choice in choices]
    cost_usd, is_comfortable = timed.cost_cents / 100, problem.comfortable
    return Solution(
        SolveStatus.FEASIBLE,
        cost_usd,
        tuple(choices),
        timed.legs,
        tuple(held),
        None,
        is_comfortable,
    )


def _choice(problem: Problem, visit: Visit, meals: tuple[Restaurant, ...]) -> CityChoice:
    city, nights = problem.cities[visit.city], visit.nights
    offer = problem.offer(city, nights)
    assert offer is not None
    sights = problem.sights(city)[: nights - 1]
    return CityChoice(city, nights, offer.stays[visit.stay], meals, sights)


def _meals_in_order(
    problem: Problem, city: str, nights: int, indices: tuple[int, ...], following: str
) -> tuple[Restaurant, ...]:
    """Cheapest first, unless some may have to wait for the day of departure, on which a name means
    its namesake in `following`."""
    meals = tuple(problem.meals(city)[0][i] for i in indices)
    if len(meals) <= len(MEALS) * nights and len(problem.wanted) <= len(MEALS):
        return meals
    there = {row.name.strip() for row in problem.world.restaurants(following)}
    return tuple(sorted(meals, key=lambda row: row.name.strip() not in there))


def _why_infeasible(problem: TimedProblem) -> str:
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
        easier = TimedProblem(without, problem.world, problem.comfortable, problem.livable)
        if k_cheapest(easier, 1):
            return "no reachable choice of cities serves every wanted cuisine."
    ways = f"from {query.org} to {query.dest} and back"
    days = " and days that the livable rules accept" if problem.livable else ""
    return (
        f"no order of cities has transport on these dates ({ways}) with a fitting stay for the"
        f" nights between{days}."
    )

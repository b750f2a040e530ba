"""The exact planner: the cheapest plan for a query in a world, by decomposition.

Given the order of cities and the nights spent in each, cost is a sum of parts that do not touch
each other: the legs (one choice between driving everywhere and flights/taxis, because the two may
not be mixed), the cheapest fitting stay per city, and meals, which touch only through the cuisines
they cover together. The parts are made in `options.py` and `problem.py`; `bounds.py` and
`search.py` find the best order and nights.

What a plan contains: transport and the night's stay on travel days; three distinct meals and one
attraction on full days; further meals on travel days only where a wanted cuisine needs them. That
is the least the rules ask for, hence the cheapest.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

from tripwright.domains.travelplanner.oracle.bounds import NEVER, Bounds
from tripwright.domains.travelplanner.oracle.options import MEALS, Leg
from tripwright.domains.travelplanner.oracle.problem import (
    Problem,
    Splits,
    city_pool,
    why_unplannable,
)
from tripwright.domains.travelplanner.oracle.search import PricedTrip, cheapest_trips, meals_of
from tripwright.domains.travelplanner.oracle.solution import (
    CityChoice,
    Solution,
    SolveStatus,
    leg_record,
    plan_days,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import Restaurant
from tripwright.world.store import World

__all__ = [
    "CityChoice",
    "Solution",
    "SolveStatus",
    "first_within_budget",
    "k_best",
    "leg_record",
    "plan_days",
    "solve",
]


def solve(
    query: Query, world: World, comfortable: bool = False, splits: Splits = "all"
) -> Solution:
    """The cheapest plan within the rules, whatever the budget (compare `cost_usd` with it), or
    INFEASIBLE with the first reason found.

    `comfortable`: the cheapest among the plans a traveller would call normal: one room holds the
    whole party, and no taxi from city to city where one can fly. It may cost more, or not exist.
    `splits`: "all" ways to spend the nights, or only "equal" ones (no city has two nights more than
        another).
    """
    if why := why_unplannable(query, world):
        return Solution(SolveStatus.INFEASIBLE, why=why, comfortable=comfortable)
    problem = Problem(query, world, comfortable, splits)
    best = next(_trips(problem, 1), None)
    if best is None:
        return Solution(
            SolveStatus.INFEASIBLE, why=_why_infeasible(problem), comfortable=comfortable
        )
    return _solution(problem, best, SolveStatus.OPTIMAL)


def first_within_budget(query: Query, world: World) -> Solution:
    """Some plan that keeps the rules and the budget, found fast: FEASIBLE, seldom far above the
    cheapest. INFEASIBLE where none does.

    It tries what is quick to try first, driving before flights and flights over equal nights before
    all others, and stops at the first that will do.
    """
    if why := why_unplannable(query, world):
        return Solution(SolveStatus.INFEASIBLE, why=why)
    # 100 × 19.99 is a little below 1999
    limit_cents = math.floor(min(max(-1, 100 * query.budget + 1e-6), NEVER - 1))
    anyhow, equally = Problem(query, world), Problem(query, world, splits="equal")
    for problem, driving in ((anyhow, True), (equally, False), (anyhow, False)):
        if _may(problem, driving) and (
            trip := next(cheapest_trips(problem, Bounds(problem, driving, limit_cents)), None)
        ):
            return _solution(problem, trip, SolveStatus.FEASIBLE)
    return Solution(
        SolveStatus.INFEASIBLE, why=f"no plan within the rules costs at most ${query.budget:,}."
    )


def k_best(
    query: Query, world: World, k: int, comfortable: bool = False, splits: Splits = "all"
) -> list[Solution]:
    """The `k` cheapest different plans, cheapest first; fewer where there are no more. The first is
    that of `solve`.

    Two plans are different if the order of cities, the nights in one of them, the stay in one of
    them or the transport family (driving all the way, or flights and taxis) is. Each has the
    cheapest legs and meals for these. Exact: no different plan that is left out costs less than the
    last one given.
    """
    if k < 1 or why_unplannable(query, world):
        return []
    problem = Problem(query, world, comfortable, splits)
    return [
        _solution(problem, trip, SolveStatus.OPTIMAL if i == 0 else SolveStatus.FEASIBLE)
        for i, trip in enumerate(_trips(problem, k))
    ]


def _trips(problem: Problem, k: int) -> Iterator[PricedTrip]:
    """The `k` cheapest, over both families; at the same cost driving comes first.

    Driving needs no flights looked up, and what it costs at the most then bounds the search among
    flights.
    """
    limit_cents, trips = NEVER - 1, list[PricedTrip]()
    for driving in (True, False):
        if _may(problem, driving):
            trips += itertools.takewhile(
                lambda trip, limit=limit_cents: trip.cost_cents <= limit,  # type: ignore[misc]
                itertools.islice(
                    cheapest_trips(
                        problem, Bounds(problem, driving, limit_cents), other_stays=k > 1
                    ),
                    k,
                ),
            )
        if len(trips) >= k:
            limit_cents = trips[k - 1].cost_cents
    trips.sort(key=lambda trip: (trip.cost_cents, not trip.driving))
    yield from trips[:k]


def _may(problem: Problem, driving: bool) -> bool:
    return len(problem.cities) >= problem.visits and not (
        driving and problem.query.local_constraint.transportation == "no self-driving"
    )


def _solution(problem: Problem, trip: PricedTrip, status: SolveStatus) -> Solution:
    cities = [problem.cities[visit.city] for visit in trip.visits]
    stops = [problem.query.org, *cities, problem.query.org]
    days = [0, *itertools.accumulate(visit.nights for visit in trip.visits)]
    legs = [
        problem.leg(here, there, day, trip.driving)
        for here, there, day in zip(stops[:-1], stops[1:], days, strict=True)
    ]
    choices = []
    for city, visit, indices, following in zip(
        cities, trip.visits, meals_of(problem, trip.visits), stops[2:], strict=True
    ):
        offer = problem.offer(city, visit.nights)
        assert offer is not None
        meals = _meals_in_order(problem, city, visit.nights, indices, following)
        choices.append(
            CityChoice(
                city,
                visit.nights,
                offer.stays[visit.stay],
                meals,
                problem.sights(city)[: visit.nights - 1],
            )
        )
    taken_legs: tuple[Leg, ...] = tuple(leg for leg in legs if leg is not None)
    return Solution(
        status, trip.cost_cents / 100, tuple(choices), taken_legs, comfortable=problem.comfortable
    )


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
        if next(_trips(Problem(without, problem.world, problem.comfortable), 1), None) is not None:
            return "no reachable choice of cities serves every wanted cuisine."
    ways = f"from {query.org} to {query.dest} and back"
    return (
        f"no order of cities has transport on these dates ({ways}) with a fitting stay for the"
        " nights between."
    )

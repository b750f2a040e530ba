"""Trips of one transport family in order of cost: best first, by the bounds of
`bounds.py`.

A trip is an order of cities, the nights and the stay in each; its legs and meals are the cheapest
for these. The search extends the unfinished trip whose bound is least; a bound is never above the
true cost, so a finished trip that comes up is the cheapest that is left. Of trips with the same
cost, the further advanced and then the first in the world's order of cities comes up first.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import NamedTuple

from tripwright.domains.travelplanner.oracle.bounds import NEVER, Bounds
from tripwright.domains.travelplanner.oracle.patience import check_time
from tripwright.domains.travelplanner.oracle.problem import Problem


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


def cheapest_trips(
    problem: Problem, bounds: Bounds, other_stays: bool = False
) -> Iterator[PricedTrip]:
    """Every trip within the bounds' limit, cheapest first; without `other_stays` only those in the
    cheapest fitting stays."""
    heap: list[Node] = []
    for node in _extensions(problem, bounds, (0, 0, (), 0, ((bounds.all_cuisines, 0),))):
        heapq.heappush(heap, node)
    while heap:
        check_time()
        node = heapq.heappop(heap)
        bound, _, visits, _, _ = node
        if other_stays and (sibling := _next_stay(problem, node)) is not None:
            heapq.heappush(heap, sibling)
        if len(visits) == problem.visits:
            yield PricedTrip(bound, bounds.driving, visits)
            continue
        for extended in _extensions(problem, bounds, node):
            heapq.heappush(heap, extended)


def _extensions(problem: Problem, bounds: Bounds, node: Node) -> Iterator[Node]:
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
            extended = _stayed(
                problem, bounds, costs, leg, Visit(city, nights, 0), visited_count + 1, day + nights
            )
            if extended is not None:
                bound, more = extended
                yield (
                    bound,
                    -visited_count - 1,
                    (*visits, Visit(city, nights, 0)),
                    day + nights,
                    more,
                )


def _stayed(
    problem: Problem,
    bounds: Bounds,
    costs: Costs,
    leg: int,
    visit: Visit,
    visited_count: int,
    day: int,
) -> tuple[int, Costs] | None:
    """(bound on the whole trip, costs so far) after a stay; None where the trip cannot be finished
    within the limit."""
    offer = problem.offer(problem.cities[visit.city], visit.nights)
    rest = bounds.to_leave[visited_count].get((visit.city, day))
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
    return (bound, tuple(least.items())) if bound <= bounds.limit_cents and bound < NEVER else None


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
    return (
        bound + more,
        progress,
        visits,
        day,
        tuple((mask, cost + more) for mask, cost in costs),
    )


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

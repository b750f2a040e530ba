"""Why there is no trip over the cities that were looked at, in words that claim no more than the
answers have shown."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from tripwright.domains.travelplanner.expert.routes import Routes, Trip, TripRoute, route_splits
from tripwright.domains.travelplanner.query import Query

MOST_NAMED = 3  # dead ends that are named one by one


def dead_ends(routes: Routes, cities: Sequence[str]) -> str:
    """What ends every line of thought over these cities: the dead ends that end most of them first,
    then what the cheapest rest costs."""
    query = routes.query
    count = query.visiting_city_number
    if len(query.date) != query.days:
        return f"the request is for {query.days} days and gives {len(query.date)} dates"
    if not route_splits(query):
        return (
            f"{query.days} days are too few for a trip to {count}"
            f" {'city' if count == 1 else 'cities'}"
        )
    if len(cities) < count:
        number = "1 city" if len(cities) == 1 else f"{len(cities)} cities"
        return f"the trip is to {count} cities, and I found {number} to go to for {query.dest}"
    reasons: Counter[str] = Counter()
    costs: list[float] = []
    for route in _routes(query, routes, cities):
        why = _obstacle(routes, route)
        if isinstance(why, str):
            reasons[why] += 1
        else:
            costs.append(why)
    clauses = [why for why, _ in reasons.most_common(MOST_NAMED)]
    if len(reasons) > MOST_NAMED:
        clauses.append(f"{len(reasons) - MOST_NAMED} more ways end like these")
    if costs:
        what = "every other trip" if reasons else "the cheapest trip"
        clauses.append(
            f"{what} comes to ${min(costs):,.0f} or more, and the budget is ${query.budget:,}"
        )
    return "; ".join(clauses)


def _obstacle(routes: Routes, route: TripRoute) -> str | float:
    """A dead end in words, or what the trip costs at the least, in US dollars."""
    outlook = routes.outlook(route)
    if outlook.lower_usd > routes.query.budget:
        return outlook.lower_usd
    if outlook.dead is not None or outlook.unknown:
        return outlook.dead or "I have not asked for all of it"
    trip = routes.trip(outlook, at_any_cost=True)
    return trip.cost_usd if isinstance(trip, Trip) else trip


def _routes(query: Query, routes: Routes, cities: Sequence[str]) -> Iterator[TripRoute]:
    for order in itertools.permutations(cities, query.visiting_city_number):
        for nights in route_splits(query):
            for family in routes.families:
                yield TripRoute(order, nights, family)

"""Lines of thought: an order of cities, the nights in each, and a way of travelling. Which are
still possible, which is a trip already.

Only cities under consideration are combined. What is not known yet counts as nothing for the
question whether the budget can be kept, and as the average of what was seen for the question what
to follow next: so nothing possible is thrown away, and unlikely ways come late.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from tripwright.domains.travelplanner.expert.meals import MealRows, cheapest_together
from tripwright.domains.travelplanner.expert.observations import Row, Search
from tripwright.domains.travelplanner.expert.parts import Family, Parts, TripPart
from tripwright.domains.travelplanner.oracle.options import night_splits
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.wording import listed


class TripRoute(NamedTuple):
    cities: tuple[str, ...]
    nights: tuple[int, ...]
    family: Family


@dataclass(frozen=True)
class Outlook:
    """A route as far as it is known: `unknown` must be asked, `better` might make it cheaper."""

    route: TripRoute
    cost_usd: float
    lower_usd: float
    unknown: tuple[Search, ...]
    better: tuple[Search, ...]
    dead: str | None = None


@dataclass(frozen=True)
class Trip:
    """A route whose every part was seen. The first 3 × (nights − 1) meals of a city are for its
    full days, the rest for the arrival."""

    route: TripRoute
    cost_usd: float
    legs: tuple[TripPart, ...]
    stays: tuple[Row, ...]
    meals: tuple[MealRows, ...]
    sights: tuple[tuple[str, ...], ...]


class Routes:
    def __init__(self, query: Query, parts: Parts):
        self.query, self.parts = query, parts
        wish = query.local_constraint.transportation
        self.families: tuple[Family, ...] = (
            ("flying",) if wish == "no self-driving" else ("driving", "flying")
        )

    def leg_searches(self, route: TripRoute) -> Iterator[tuple[str, str, str]]:
        """(origin, destination, date) of each leg"""
        stops = (self.query.org, *route.cities, self.query.org)
        days = (0, *itertools.accumulate(route.nights))
        for origin, destination, day in zip(stops[:-1], stops[1:], days, strict=True):
            yield origin, destination, self.query.date[day]

    def outlook(self, route: TripRoute) -> Outlook:
        """In the order in which a traveller would ask: what does not depend on the day comes before
        the flights that do."""
        together: list[TripPart] = []
        dead: str | None = None
        for part in self._parts(route):
            together.append(part)
            if part.dead:
                dead = part.dead
                break
        cost, lower = (
            sum(part.cost_usd for part in together),
            sum(part.lower_usd for part in together),
        )
        if dead is None and lower > self.query.budget:
            dead = (
                f"the trip comes to at least ${lower:,.0f}, and the budget is"
                f" ${self.query.budget:,}"
            )
        unknown = tuple(dict.fromkeys(part.unknown for part in together if part.unknown))
        better = tuple(dict.fromkeys(part.better for part in together if part.better))
        return Outlook(route, cost, lower, unknown, better, dead)

    def _parts(self, route: TripRoute) -> Iterator[TripPart]:
        parts, places = self.parts, list(zip(route.cities, route.nights, strict=True))
        first, *onward = self.leg_searches(route)
        yield parts.leg(*first, route.family)
        for part in (parts.stay, parts.meals):
            for city, nights in places:
                yield part(city, nights)
        for leg in onward:
            yield parts.leg(*leg, route.family)
        for city, nights in places:
            yield parts.sights(city, nights)

    def trip(self, outlook: Outlook, at_any_cost: bool = False) -> Trip | str:
        """The trip that a route without unknowns is; in words, why it is none."""
        route, parts = outlook.route, self.parts
        places = list(zip(route.cities, route.nights, strict=True))
        meals = cheapest_together(
            [parts.menus(city, nights) for city, nights in places], parts.wanted
        )
        if meals is None:
            return f"the restaurants there do not serve {listed(parts.wanted)} between them"
        legs = tuple(parts.leg(*leg, route.family) for leg in self.leg_searches(route))
        stays = [parts.stay(city, nights) for city, nights in places]
        fixed = sum(part.cost_usd for part in (*legs, *stays))
        cost = fixed + meals[0] * self.query.party_size
        if cost > self.query.budget and not at_any_cost:
            return f"the trip comes to ${cost:,.0f}, and the budget is ${self.query.budget:,}"
        sights = tuple(tuple(parts.sight_names(city)[: nights - 1]) for city, nights in places)
        return Trip(
            route,
            cost,
            legs,
            tuple(stay.row for stay in stays if stay.row is not None),
            meals[1],
            sights,
        )

    def estimate(self, outlook: Outlook, usual: dict[str, float]) -> float:
        """With the usual cost of what is not known yet."""
        return outlook.cost_usd + sum(usual.get(kind(search), 0.0) for search in outlook.unknown)

    def usual_costs(self) -> dict[str, float]:
        """Kind of search → the mean cost of what such searches have shown, for the party: a leg,
        the nights in a city, its meals."""
        parts, query = self.parts, self.query
        nights = max(1, (query.days - 1) // query.visiting_city_number)
        costs: dict[str, list[float]] = {}
        for search, result in parts.observations.all():
            prices = (
                [float(row["price_usd"]) * query.party_size for row in result.rows]
                if search.tool == "search_flights"
                else []
            )
            if search.tool == "search_ground_transportation":
                prices = [parts.road_usd(row, search.arguments["mode"]) for row in result.rows]
            elif search.tool in ("search_accommodations", "search_restaurants"):
                part = (parts.stay if search.tool == "search_accommodations" else parts.meals)(
                    search.arguments["city"], nights
                )
                prices = [part.cost_usd] if part.dead is None and part.unknown is None else []
            if prices:
                costs.setdefault(kind(search), []).append(min(prices))
        return {each: sum(prices) / len(prices) for each, prices in costs.items()}


def kind(search: Search) -> str:
    """Tool, and way of travelling where it has several."""
    return search.tool + search.arguments.get("mode", "")


def imbalance(route: TripRoute) -> int:
    return max(route.nights) - min(route.nights)


def route_splits(query: Query) -> tuple[tuple[int, ...], ...]:
    """All ways to spend the nights of a trip in its cities, at least one in each; none where they
    do not suffice."""
    cities = query.visiting_city_number
    return night_splits(query.days - 1, cities) if cities <= query.days - 1 else ()

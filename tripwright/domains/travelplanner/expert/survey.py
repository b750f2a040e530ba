"""Which line of thought to follow: a glance at every route, made of parts that are each looked at
once after every answer."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tripwright.domains.travelplanner.expert.observations import Search
from tripwright.domains.travelplanner.expert.parts import Family, TripPart
from tripwright.domains.travelplanner.expert.routes import (
    Outlook,
    Routes,
    Trip,
    TripRoute,
    imbalance,
    kind,
    route_splits,
)

ROAD, SIGHTS = "search_ground_transportation", "search_attractions"


class Glance(NamedTuple):
    """Of one part or of a whole route. `likely_usd` counts what is unknown at its usual cost;
    `doubts` are legs that hardly exist."""

    likely_usd: float = 0.0
    cost_usd: float = 0.0
    lower_usd: float = 0.0
    unknown: int = 0
    doubts: int = 0


class SurveyResult(NamedTuple):
    """The best trip among the routes that are wholly known; without one, the route to follow, and
    whether it is likely to become one."""

    trip: Trip | None = None
    hope: Outlook | None = None
    is_likely: bool = False


class Survey:
    def __init__(self, routes: Routes):
        self.routes, self.query, self.parts = routes, routes.query, routes.parts
        self._version = -1
        self._legs: dict[tuple[str, str, str, Family], Glance | None] = {}
        self._places: dict[tuple[str, int], Glance | None] = {}
        self._usual: dict[str, float] = {}
        self._refused: set[tuple[str, frozenset[str]]] = set()

    def look(self, cities: Sequence[str], pursued: TripRoute | None) -> SurveyResult:
        self._refresh()
        trips: list[tuple[Glance, TripRoute]] = []
        hopes: list[tuple[Glance, TripRoute]] = []
        for glance, route in self._routes(cities):
            (hopes if glance.unknown else trips).append((glance, route))
        for glance, route in sorted(trips, key=lambda each: (imbalance(each[1]), each[0].cost_usd)):
            outlook = self.routes.outlook(route)
            trip = self.routes.trip(outlook)
            if isinstance(trip, Trip):
                return SurveyResult(trip)
            if outlook.better:
                hopes.append((glance, route))
        if not hopes:
            return SurveyResult()
        glance, route = min(hopes, key=lambda each: self._unlikely(each[0], each[1], pursued))
        is_likely = not glance.doubts and glance.likely_usd <= self.query.budget
        return SurveyResult(None, self.routes.outlook(route), is_likely)

    def rival(self, cities: Sequence[str], trip: Trip, most: int) -> Outlook | None:
        """The route that promises the cheapest trip: cheaper than this one by what such parts have
        cost so far, with nights no less even, and settled by `most` further searches. None where
        there is no such route."""
        self._refresh()
        uneven, rivals = imbalance(trip.route), []
        for glance, route in self._routes(cities):
            if (
                glance.unknown
                and not glance.doubts
                and glance.likely_usd < trip.cost_usd
                and imbalance(route) <= uneven
            ):
                rivals.append((glance.likely_usd, route))
        for _, route in sorted(rivals):
            outlook = self.routes.outlook(route)
            if len(outlook.unknown) <= most and all(
                kind(search) in self._usual or search.tool == SIGHTS for search in outlook.unknown
            ):
                return outlook
        return None

    def cheaper_parts(self, trip: Trip) -> list[Search]:
        """Searches that could make this very trip cheaper: a taxi instead of a flight, the next
        page of a list."""
        dearest = max((leg.cost_usd for leg in trip.legs if leg.mode == "flight"), default=0.0)
        return [
            search
            for search in self.routes.outlook(trip.route).better
            if not self.is_doubtful(search)
            and (search.tool != ROAD or self._usual.get(kind(search), 0.0) < dearest)
        ]

    def is_doubtful(self, search: Search) -> bool:
        """Whether the same kind of search has found nothing between the same two cities already, on
        another day or the other way."""
        return _between(search) in self._refused

    def _unlikely(
        self, glance: Glance, route: TripRoute, pursued: TripRoute | None
    ) -> tuple[float, ...]:
        """Smallest first: keeps the budget as far as one can tell; needs no way that seems not to
        exist; goes on with what was begun; lacks little; even nights; cheap."""
        over = max(0.0, glance.likely_usd - self.query.budget)
        is_new = pursued is not None and (pursued.cities, pursued.family) != (
            route.cities,
            route.family,
        )
        return over, glance.doubts, is_new, glance.unknown, imbalance(route), glance.cost_usd

    def _routes(self, cities: Sequence[str]) -> Iterable[tuple[Glance, TripRoute]]:
        """Those that are not dead."""
        query, count = self.query, self.query.visiting_city_number
        for order in itertools.permutations(cities, count):
            stops = (query.org, *order, query.org)
            for nights in route_splits(query):
                places = [self._place(city, n) for city, n in zip(order, nights, strict=True)]
                if None in places:
                    continue
                dates = [query.date[day] for day in (0, *itertools.accumulate(nights))]
                for family in self.routes.families:
                    legs = [
                        self._leg(*leg, family)
                        for leg in zip(stops[:-1], stops[1:], dates, strict=True)
                    ]
                    together = [part for part in (*places, *legs) if part is not None]
                    if len(together) < len(places) + len(legs):
                        continue
                    glance = _sum(together)
                    if glance.lower_usd <= query.budget:
                        yield glance, TripRoute(order, nights, family)

    def _refresh(self) -> None:
        if self._version != self.parts.observations.version:
            self._version, self._legs, self._places = self.parts.observations.version, {}, {}
            self._usual = self.routes.usual_costs()
            self._refused = {
                _between(search)
                for search, result in self.parts.observations.all()
                if not result.rows and not result.is_open
            }

    def _leg(self, origin: str, destination: str, date: str, family: Family) -> Glance | None:
        key = origin, destination, date, family
        if key not in self._legs:
            self._legs[key] = self._glance(self.parts.leg(*key))
        return self._legs[key]

    def _place(self, city: str, nights: int) -> Glance | None:
        key = city, nights
        if key not in self._places:
            glances = [
                self._glance(part(city, nights))
                for part in (self.parts.stay, self.parts.meals, self.parts.sights)
            ]
            alive = [glance for glance in glances if glance is not None]
            self._places[key] = _sum(alive) if len(alive) == len(glances) else None
        return self._places[key]

    def _glance(self, part: TripPart) -> Glance | None:
        if part.dead:
            return None
        if part.unknown is None:
            return Glance(part.cost_usd, part.cost_usd, part.lower_usd)
        return Glance(
            self._usual.get(kind(part.unknown), 0.0),
            unknown=1,
            doubts=int(self.is_doubtful(part.unknown)),
        )


def _sum(parts: Iterable[Glance]) -> Glance:
    likely, cost, lower, unknown, doubts = map(sum, zip(*parts, strict=True))
    return Glance(likely, cost, lower, int(unknown), int(doubts))


def _between(search: Search) -> tuple[str, frozenset[str]]:
    """The same for both ways and for every day; a search in a city is no way at all."""
    return search.tool, frozenset(
        search.arguments.get(end, str(search)) for end in ("origin", "destination")
    )

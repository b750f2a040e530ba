"""What the parts of a trip can cost, as far as has been seen: a leg, the nights in a city, its
meals, its sights.

A part is known (it has a cost), unknown (a search would tell), or dead (all that there is was seen,
and nothing fits), with the reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Literal, NamedTuple, TypeVar, cast

from tripwright.domains.travelplanner.expert.meals import Menus, menus
from tripwright.domains.travelplanner.expert.observations import (
    Observations,
    Row,
    Search,
    SearchResult,
)
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.official import (
    FORBIDDING_RULE,
    REQUIRED_ROOM,
    SEATS,
    is_wanted_room,
)
from tripwright.errors import counted

Kind = TypeVar("Kind")
Family = Literal["driving", "flying"]  # by own car all the way, or by plane and taxi


class TripPart(NamedTuple):
    """Costs are in US dollars for the whole party; `lower_usd` is what it may fall to if `better`
    were asked."""

    cost_usd: float = 0.0
    lower_usd: float = 0.0
    unknown: Search | None = None
    better: Search | None = None
    dead: str | None = None
    row: Row | None = None
    mode: str = ""


class Parts:
    """Memo over what was seen; it forgets with every new answer."""

    def __init__(self, query: Query, observations: Observations):
        self.query, self.observations = query, observations
        self.wanted = tuple(dict.fromkeys(query.local_constraint.cuisine or ()))
        self._version = -1
        self._memo: dict[Hashable, object] = {}

    def leg(self, origin: str, destination: str, date: str, family: Family) -> TripPart:
        return self._remembered(
            ("leg", origin, destination, date, family),
            lambda: self._leg(origin, destination, date, family),
        )

    def stay(self, city: str, nights: int) -> TripPart:
        return self._remembered(("stay", city, nights), lambda: self._stay(city, nights))

    def meals(self, city: str, nights: int) -> TripPart:
        return self._remembered(("meals", city, nights), lambda: self._meals(city, nights))

    def sights(self, city: str, nights: int) -> TripPart:
        return self._remembered(("sights", city, nights), lambda: self._sights(city, nights))

    def menus(self, city: str, nights: int) -> Menus:
        least = len(MEALS) * (nights - 1)
        most = least + (len(MEALS) if self.wanted else 0)
        rows = self.restaurants(city)
        return self._remembered(
            ("menus", city, nights), lambda: menus(rows, self.wanted, least, most)
        )

    def restaurants(self, city: str) -> list[Row]:
        return usable(self.observations.of(Search.of("search_restaurants", city=city)).rows)

    def sight_names(self, city: str) -> list[str]:
        rows = self.observations.of(Search.of("search_attractions", city=city)).rows
        return [row["name"] for row in _distinct(rows) if ";" not in row["name"]]

    def _remembered(self, key: Hashable, make: Callable[[], Kind]) -> Kind:
        if self._version != self.observations.version:
            self._version, self._memo = self.observations.version, {}
        if key not in self._memo:
            self._memo[key] = make()
        return cast(Kind, self._memo[key])

    def _leg(self, origin: str, destination: str, date: str, family: Family) -> TripPart:
        if family == "driving":
            return self._road(origin, destination, "self-driving")
        taxi = self._road(origin, destination, "taxi")
        if self.query.local_constraint.transportation == "no flight":
            return taxi
        search = Search.of("search_flights", origin=origin, destination=destination, date=date)
        result = self.observations.of(search)
        fares = [row for row in result.rows if row["number"].strip()]
        if not fares:
            if result.is_open:
                return TripPart(unknown=search)
            if taxi.dead:
                fact = f"there is no flight from {origin} to {destination} on {date}"
                why = _why_nothing(
                    result, f"the flights from {origin} to {destination} on {date}", fact
                )
                return TripPart(dead=f"{why}, and {taxi.dead}")
            return taxi
        cheapest = min(fares, key=lambda row: float(row["price_usd"]))
        cost = cheapest["price_usd"] * self.query.party_size
        if taxi.row is not None and taxi.cost_usd < cost:
            return taxi
        better = search if result.is_open else taxi.unknown
        return TripPart(cost, 0.0 if better else cost, better=better, row=cheapest, mode="flight")

    def _road(
        self, origin: str, destination: str, mode: Literal["self-driving", "taxi"]
    ) -> TripPart:
        search = Search.of(
            "search_ground_transportation", origin=origin, destination=destination, mode=mode
        )
        result = self.observations.of(search)
        if result.rows:
            row = result.rows[0]
            cost = self.road_usd(row, mode)
            return TripPart(cost, cost, row=row, mode=mode)
        if result.is_open:
            return TripPart(unknown=search)
        way = "drive" if mode == "self-driving" else "take a taxi"
        fact = f"one cannot {way} from {origin} to {destination}"
        return TripPart(
            dead=_why_nothing(result, f"the ways to {way} from {origin} to {destination}", fact)
        )

    def road_usd(self, row: Row, mode: str) -> float:
        return float(row["cost_usd"] * math.ceil(self.query.party_size / SEATS[mode]))

    def _stay(self, city: str, nights: int) -> TripPart:
        search = Search.of("search_accommodations", city=city)
        result = self.observations.of(search)
        fitting = [row for row in usable(result.rows) if self.fits(row)]
        long_enough = [row for row in fitting if row["minimum_nights"] <= nights]
        if not long_enough:
            if result.is_open:
                return TripPart(unknown=search)
            return TripPart(
                dead=_why_nothing(
                    result, f"all places to stay in {city}", self._no_stay(city, nights, fitting)
                )
            )
        best = min(long_enough, key=self.night_usd)
        cost = nights * self.night_usd(best)
        return TripPart(
            cost,
            0.0 if result.is_open else cost,
            better=search if result.is_open else None,
            row=best,
        )

    def fits(self, row: Row) -> bool:
        """The wishes for a room; one that no table knows is kept by none."""
        rule, room = self.query.local_constraint.house_rule, self.query.local_constraint.room_type
        if rule is not None and (
            rule not in FORBIDDING_RULE or FORBIDDING_RULE[rule] in row["house_rules"]
        ):
            return False
        is_known = room is None or room in REQUIRED_ROOM or room == "not shared room"
        return (
            is_known
            and (room is None or is_wanted_room(room, row["room_type"]))
            and row["maximum_occupancy"] > 0
        )

    def rooms(self, row: Row) -> int:
        return math.ceil(self.query.party_size / int(row["maximum_occupancy"]))

    def night_usd(self, row: Row) -> float:
        return float(row["price_usd"]) * self.rooms(row)

    def _no_stay(self, city: str, nights: int, fitting: Sequence[Row]) -> str:
        if fitting:
            least = min(row["minimum_nights"] for row in fitting)
            return (
                f"what would suit in {city} is let for {least:g} nights or more, and the plan has"
                f" {counted(nights, 'night')} there"
            )
        room, rule = self.query.local_constraint.room_type, self.query.local_constraint.house_rule
        thing = {"not shared room": "room that is not shared", None: "place to stay"}.get(
            room, room
        )
        return f"no {thing} in {city} allows {rule}" if rule else f"there is no {thing} in {city}"

    def _meals(self, city: str, nights: int) -> TripPart:
        least = len(MEALS) * (nights - 1)
        if not least and not self.wanted:
            return TripPart()
        search = Search.of("search_restaurants", city=city)
        result = self.observations.of(search)
        rows = self.restaurants(city)
        if not self.observations.is_asked(search) or (len(rows) < least and result.is_open):
            return TripPart(unknown=search)
        if len(rows) < least:
            fact = (
                f"{city} has {len(rows)} restaurants to choose from, too few for {least} different"
                " meals"
            )
            return TripPart(dead=_why_nothing(result, f"all restaurants of {city}", fact))
        costs = sorted(float(row["average_cost_usd"]) for row in rows)
        cost = sum(costs[:least]) * self.query.party_size
        return TripPart(
            cost, 0.0 if result.is_open else cost, better=search if result.is_open else None
        )

    def _sights(self, city: str, nights: int) -> TripPart:
        if nights == 1:
            return TripPart()
        search = Search.of("search_attractions", city=city)
        result: SearchResult = self.observations.of(search)
        if len(self.sight_names(city)) >= nights - 1:
            return TripPart()
        if result.is_open:
            return TripPart(unknown=search)
        fact = (
            f"{city} has too few sights for"
            f" {'its full day' if nights == 2 else f'its {nights - 1} full days'}"
        )
        return TripPart(dead=_why_nothing(result, f"all sights of {city}", fact))


def usable(rows: Sequence[Row]) -> list[Row]:
    """Those whose name means one row alone, also to who looks names up by a part of them."""
    return [
        row
        for row in _distinct(rows)
        if sum(row["name"].strip() in other["name"] for other in rows) == 1
    ]


def _distinct(rows: Sequence[Row]) -> list[Row]:
    """One row for each name, however it is spelt, that can stand in a plan."""
    row_of_name: dict[str, Row] = {}
    for row in rows:
        name = row["name"].strip()
        if name not in ("", "-") and "\n" not in name and "\r" not in name:
            row_of_name.setdefault(" ".join(name.split()).casefold(), row)
    return list(row_of_name.values())


def _why_nothing(result: SearchResult, what: str, fact: str) -> str:
    """`fact` holds only where the tool has told all that it has: what it cannot tell, or what came
    broken, is not known."""
    if result.lost:
        return f"I could not read {what}"
    return fact if result.is_known else f"{what} are not known"

"""Finding in the world what a plan names: by substring, first row of the city, as the official
rules do (row T3).

`Lookup` answers for one plan, whose texts several rules ask for: each is read and looked up once,
and forgotten with the plan. `city_lookup` is the callback with which `plan.plan` translates
Planner-R1's format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripwright.domains.travelplanner.plan.plan import CityOf, PlaceKind
from tripwright.domains.travelplanner.rules.text import before_parenthesis, from_to, name_and_city
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World


class Lookup:
    """The official look-ups for one plan. What is not text raises TypeError, as there."""

    def __init__(self, world: World):
        self.world = world
        self._routes: dict[str, list[Any]] = {}
        self._restaurants: dict[str, tuple[str, Restaurant | None]] = {}
        self._stays: dict[str, list[Accommodation]] = {}
        self._flights: dict[str, list[Flight]] = {}

    def route_of_day(self, current_city: Any) -> list[str]:
        """[A, B] for 'from A to B', else [city]; states in parentheses dropped. 'from' without 'to'
        raises TypeError."""
        if current_city.__class__ is str and (route_before := self._routes.get(current_city)):
            return route_before
        if "from" in current_city:
            origin, destination = from_to(current_city)
            route = [before_parenthesis(origin), before_parenthesis(destination)]
        else:
            route = [before_parenthesis(current_city)]
        self._routes[current_city] = route
        return route

    def restaurant(self, text: Any) -> Restaurant | None:
        return self._restaurant(text)[1]

    def city_of_meal(self, text: Any) -> str:
        return self._restaurant(text)[0]

    def _restaurant(self, text: Any) -> tuple[str, Restaurant | None]:
        if text not in self._restaurants:
            name, city = name_and_city(text)
            row = next(
                (row for row in _of_city(self.world, "restaurant", city) if name in row.name), None
            )
            self._restaurants[text] = city, row
        return self._restaurants[text]

    def stays(self, text: Any) -> list[Accommodation]:
        """Every row that matches, in file order: minimum nights count how many there are."""
        if text not in self._stays:
            name, city = name_and_city(text)
            self._stays[text] = [
                row for row in _of_city(self.world, "accommodation", city) if name in row.name
            ]
        return self._stays[text]

    def stay(self, text: Any) -> Accommodation | None:
        rows = self.stays(text)
        return rows[0] if rows else None

    def has_attraction(self, text: Any) -> bool:
        name, city = name_and_city(text)
        return any(name in row.name for row in _of_city(self.world, "attraction", city))

    def flights_numbered(self, number: str) -> list[Flight]:
        if number not in self._flights:
            self._flights[number] = flights_numbered(self.world, number)
        return self._flights[number]


def flights_numbered(world: World, number: str) -> list[Flight]:
    try:
        return world.flights_numbered(number)
    except UnicodeEncodeError:
        # half a surrogate pair: no table holds it, and SQLite refuses to be asked
        return []


def road_cost_usd(world: World, origin: str, destination: str, mode: str) -> int | None:
    """Per vehicle: 1 dollar a km by taxi, 0.05 by own car, rounded down. None: no row, no data, or
    more than a day of driving."""
    row = world.ground(before_parenthesis(origin), before_parenthesis(destination))
    if row is None or not row.duration or not row.distance or "day" in row.duration:
        return None
    km = float(row.distance.replace("km", "").replace(",", ""))
    return int(km * 0.05) if mode == "self-driving" else int(km)


def city_lookup(world: World) -> CityOf:
    """(kind, name, cities) → the first of the cities that has a place of exactly this name, None if
    none has."""

    def city_of(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
        # some names of the tables have blanks around them, which no plan can show
        name = name.strip()
        for city in cities:
            if any(
                row.name.strip() == name
                for row in _of_city(world, kind, before_parenthesis(city).strip())
            ):
                return city
        return None

    return city_of


def _of_city(world: World, kind: PlaceKind, city: str) -> list[Any]:
    if kind == "restaurant":
        return world.restaurants(city)
    return world.attractions(city) if kind == "attraction" else world.accommodations(city)

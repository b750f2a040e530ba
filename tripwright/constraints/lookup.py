"""Finding in the world what a plan names: by substring, first row of the city, as the official rules do (row T3).

`city_lookup` and `flight_lookup` are the callbacks with which `trip.plan` translates between the two plan formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripwright.constraints.text import before_parenthesis, name_and_city
from tripwright.trip.plan import CityOf, FlightDetails, PlaceKind
from tripwright.world.store import Accommodation, Flight, Restaurant, World


def first_restaurant(world: World, said: Any) -> Restaurant | None:
    name, city = name_and_city(said)
    return next((row for row in _of_city(world, "restaurant", city) if name in row.name), None)


def accommodations_named(world: World, said: Any) -> list[Accommodation]:
    name, city = name_and_city(said)
    return [row for row in _of_city(world, "accommodation", city) if name in row.name]


def first_accommodation(world: World, said: Any) -> Accommodation | None:
    name, city = name_and_city(said)
    return next((row for row in _of_city(world, "accommodation", city) if name in row.name), None)


def has_attraction(world: World, said: Any) -> bool:
    name, city = name_and_city(said)
    return any(name in row.name for row in _of_city(world, "attraction", city))


def flights_numbered(world: World, number: str) -> list[Flight]:
    try:
        return world.flights_numbered(number)
    except UnicodeEncodeError:  # half a surrogate pair: no table holds it, and SQLite refuses to be asked
        return []


def road_cost_usd(world: World, origin: str, destination: str, mode: str) -> int | None:
    """Per vehicle: 1 dollar a km by taxi, 0.05 by own car, rounded down. None: no row, no data, or more than a day of driving."""
    row = world.ground(before_parenthesis(origin), before_parenthesis(destination))
    if row is None or not row.duration or not row.distance or "day" in row.duration:
        return None
    km = float(row.distance.replace("km", "").replace(",", ""))
    return int(km * 0.05) if mode == "self-driving" else int(km)


def city_lookup(world: World) -> CityOf:
    """(kind, name, cities) → the first of the cities that has a place of exactly this name, None if none has."""

    def city_of(kind: PlaceKind, name: str, cities: Sequence[str]) -> str | None:
        for city in cities:
            if any(row.name == name for row in _of_city(world, kind, before_parenthesis(city).strip())):
                return city
        return None

    return city_of


def flight_lookup(world: World) -> FlightDetails:
    """Flight number → (duration, distance, cost per person) of its first row."""

    def details(number: str) -> tuple[str, str, int] | None:
        rows = flights_numbered(world, number)
        return (rows[0].duration, f"{rows[0].distance_miles:g} miles", int(rows[0].price_usd)) if rows else None

    return details


def _of_city(world: World, kind: PlaceKind, city: str) -> list[Any]:
    try:
        if kind == "restaurant":
            return world.restaurants(city)
        return world.attractions(city) if kind == "attraction" else world.accommodations(city)
    except UnicodeEncodeError:
        return []

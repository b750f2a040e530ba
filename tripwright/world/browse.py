"""Lists what is in a world, for people: cities, routes, flights and the tables of a city, with
filters. Not for agents: they have tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tripwright.errors import UserError, named
from tripwright.world.records import Accommodation, Attraction, Ground, Restaurant
from tripwright.world.store import World

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Filters:
    """None: not asked for. Texts match exactly, except `word`, which may be any part of any value,
    in any case."""

    state: str | None = None
    city: str | None = None
    origin: str | None = None
    destination: str | None = None
    date: str | None = None
    word: str | None = None


@dataclass(frozen=True)
class Listing:
    columns: tuple[str, ...]
    filters: tuple[str, ...]  # the names of the filters that apply
    rows: Callable[[World, Filters], Iterator[Row]]


def browse(world: World, what: str, filters: Filters) -> tuple[tuple[str, ...], Iterator[Row]]:
    """(column names, rows in the order of the tables). Raises UserError for a list, a filter or a
    place that there is not."""
    listing = named("list", what, LISTINGS)
    options = (*listing.filters, "word")
    for name, value in vars(filters).items():
        if value is not None and name not in options:
            accepted = ", ".join(f"--{each}" for each in options)
            raise UserError(
                f"--{name} does not apply to {what}. The filters of {what} are {accepted}."
            )
    for city in (filters.city, filters.origin, filters.destination):
        if city is not None and city not in world.cities:
            raise UserError(
                f"World '{world.name}' has no city '{city}'. 'world browse DIR cities --word"
                f" {city[:3]}' lists names like it."
            )
    if filters.state is not None and filters.state not in world.states:
        raise UserError(
            f"World '{world.name}' has no state '{filters.state}'. Its states:"
            f" {', '.join(sorted(world.states))}."
        )
    word = (filters.word or "").casefold()
    rows = listing.rows(world, filters)
    return listing.columns, (
        row for row in rows if any(word in str(value).casefold() for value in row)
    )


def unknown_searches(world: World, what: str, filters: Filters) -> tuple[int, int]:
    """Of the flight searches that a list of flights is made of: (those outside the world's records,
    all)."""
    origin, date = filters.origin, filters.date
    if what != "flights" or world.flights_complete or origin is None or date is None:
        return 0, 0
    destinations = [filters.destination] if filters.destination is not None else world.cities
    answers = [world.flights(origin, to, date) for to in destinations if to != origin]
    return answers.count(None), len(answers)


def _cities_of(world: World, filters: Filters) -> list[str]:
    if filters.city is not None:
        return [filters.city]
    return list(world.cities) if filters.state is None else world.states[filters.state]


def _cities(world: World, filters: Filters) -> Iterator[Row]:
    for city in _cities_of(world, filters):
        tables = world.accommodations(city), world.restaurants(city), world.attractions(city)
        yield city, world.cities[city], *(len(rows) for rows in tables)


def _of_cities(
    rows_of: Callable[[World, str], list[Any]],
) -> Callable[[World, Filters], Iterator[Row]]:
    return lambda world, filters: (
        row for city in _cities_of(world, filters) for row in rows_of(world, city)
    )


def _routes(world: World, filters: Filters) -> Iterator[Row]:
    """Pairs with flights, on one day if a date is given, with the road beside them."""
    for origin, destination in world.routes(filters.origin):
        if filters.destination not in (None, destination):
            continue
        dates = [filters.date] if filters.date else world.dates
        by_day = [found for date in dates if (found := world.flights(origin, destination, date))]
        if by_day:
            road = world.ground(origin, destination)
            prices = [flight.price_usd for flights in by_day for flight in flights]
            way = (road.distance, road.duration) if road else ("", "")
            yield origin, destination, len(by_day), len(prices), min(prices), max(prices), *way


def _flights(world: World, filters: Filters) -> Iterator[Row]:
    if filters.origin is None or filters.date is None:
        raise UserError("Which flights? Give --origin and --date, and --destination for one route.")
    for _, destination in world.routes(filters.origin):
        if filters.destination in (None, destination):
            yield from world.flights(filters.origin, destination, filters.date) or ()


def _roads(world: World, filters: Filters) -> Iterator[Row]:
    if filters.origin is None and filters.destination is None:
        raise UserError("Which roads? Give --origin, --destination or both.")
    for origin in [filters.origin] if filters.origin else world.cities:
        for destination in [filters.destination] if filters.destination else world.cities:
            if road := world.ground(origin, destination):
                yield road


_ROUTE, _PLACE = ("origin", "destination"), ("state", "city")
LISTINGS = {
    "cities": Listing(("city", "state", "hotels", "restaurants", "attractions"), _PLACE, _cities),
    "routes": Listing(
        (*_ROUTE, "days", "flights", "min_usd", "max_usd", "road", "road_time"),
        (*_ROUTE, "date"),
        _routes,
    ),
    "flights": Listing(
        ("number", "price_usd", "departure", "arrival", "duration", "date", *_ROUTE, "miles"),
        (*_ROUTE, "date"),
        _flights,
    ),
    "roads": Listing(Ground._fields, _ROUTE, _roads),
    "hotels": Listing(Accommodation._fields, _PLACE, _of_cities(World.accommodations)),
    "restaurants": Listing(Restaurant._fields, _PLACE, _of_cities(World.restaurants)),
    "attractions": Listing(Attraction._fields, _PLACE, _of_cities(World.attractions)),
}

"""Lists what is in a world, for people: cities, routes, flights and the tables of a city, with
filters. Not for agents: they have tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tripwright.errors import UserError
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
    max_usd: float | None = None
    room: str | None = None
    party_size: int | None = None
    nights: int | None = None


@dataclass(frozen=True)
class Listing:
    columns: tuple[str, ...]
    filters: tuple[str, ...]  # the names of the filters that apply
    rows: Callable[[World, Filters], Iterator[Row]]
    usd: str | None = None  # the column that `max_usd` bounds


def browse(world: World, what: str, filters: Filters) -> tuple[tuple[str, ...], Iterator[Row]]:
    """(column names, rows in the order of the tables). Raises UserError for a list, a filter or a
    place that there is not."""
    if what not in LISTINGS:
        raise UserError(f"No list of '{what}'. There are: {', '.join(LISTINGS)}.")
    listing = LISTINGS[what]
    options = {*listing.filters, "word", *(("max_usd",) if listing.usd else ())}
    for name, value in vars(filters).items():
        if value is not None and name not in options:
            accepted = ", ".join(option(name) for name in vars(filters) if name in options)
            raise UserError(
                f"{option(name)} does not apply to {what}. The filters of {what} are {accepted}."
            )
    _check_places(world, filters)
    return listing.columns, (
        row for row in listing.rows(world, filters) if _passes(row, listing, filters)
    )


def option(name: str) -> str:
    """How the command line spells a filter."""
    return "--" + name.replace("_", "-")


def _check_places(world: World, filters: Filters) -> None:
    for name in (filters.city, filters.origin, filters.destination):
        if name is not None and name not in world.cities:
            raise UserError(
                f"World '{world.name}' has no city '{name}'. 'world browse DIR cities --word"
                f" {name[:3]}' lists names like it."
            )
    if filters.state is not None and filters.state not in world.states:
        raise UserError(
            f"World '{world.name}' has no state '{filters.state}'. Its states:"
            f" {', '.join(sorted(world.states))}."
        )


def _passes(row: Row, listing: Listing, filters: Filters) -> bool:
    if filters.word is not None and not any(
        filters.word.casefold() in str(value).casefold() for value in row
    ):
        return False
    return (
        filters.max_usd is None
        or listing.usd is None
        or row[listing.columns.index(listing.usd)] <= filters.max_usd
    )


def _cities_of(world: World, filters: Filters) -> list[str]:
    if filters.city is not None:
        return [filters.city]
    return list(world.cities) if filters.state is None else world.states[filters.state]


def _cities(world: World, filters: Filters) -> Iterator[Row]:
    for city in _cities_of(world, filters):
        tables = world.accommodations(city), world.restaurants(city), world.attractions(city)
        yield city, world.cities[city], *(len(rows) for rows in tables)


def _states(world: World, filters: Filters) -> Iterator[Row]:
    for state, cities in world.states.items():
        yield state, len(cities), ", ".join(cities)


def _routes(world: World, filters: Filters) -> Iterator[Row]:
    """Pairs with flights, on one day if a date is given, with the road beside them."""
    for origin, destination in world.routes(filters.origin):
        if filters.destination not in (None, destination):
            continue
        dates = [filters.date] if filters.date else world.dates
        flights_by_day = [
            flights for date in dates if (flights := world.flights(origin, destination, date))
        ]
        if flights_by_day:
            road = world.ground(origin, destination)
            prices = [flight.price_usd for flights in flights_by_day for flight in flights]
            yield (
                origin,
                destination,
                len(flights_by_day),
                len(prices),
                min(prices),
                max(prices),
                road.distance if road else "",
                _duration(road),
            )


def _duration(road: Any) -> str:
    return road.duration if road else ""


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


def _hotels(world: World, filters: Filters) -> Iterator[Row]:
    for city in _cities_of(world, filters):
        for stay in world.accommodations(city):
            if (
                (filters.room is None or filters.room.casefold() in stay.room_type.casefold())
                and (filters.party_size is None or stay.maximum_occupancy >= filters.party_size)
                and (filters.nights is None or stay.minimum_nights <= filters.nights)
            ):
                yield stay


LISTINGS = {
    "cities": Listing(
        ("city", "state", "hotels", "restaurants", "attractions"), ("state", "city"), _cities
    ),
    "states": Listing(("state", "cities", "names"), (), _states),
    "routes": Listing(
        ("origin", "destination", "days", "flights", "min_usd", "max_usd", "road", "road_time"),
        ("origin", "destination", "date"),
        _routes,
        usd="min_usd",
    ),
    "flights": Listing(
        (
            "number",
            "price_usd",
            "departure",
            "arrival",
            "duration",
            "date",
            "origin",
            "destination",
            "miles",
        ),
        ("origin", "destination", "date"),
        _flights,
        usd="price_usd",
    ),
    "roads": Listing(
        ("origin", "destination", "duration", "distance"), ("origin", "destination"), _roads
    ),
    "hotels": Listing(
        (
            "name",
            "room_type",
            "price_usd",
            "minimum_nights",
            "rating",
            "house_rules",
            "maximum_occupancy",
            "city",
        ),
        ("state", "city", "room", "party_size", "nights"),
        _hotels,
        usd="price_usd",
    ),
    "restaurants": Listing(
        ("name", "city", "cuisines", "average_cost_usd", "rating"),
        ("state", "city"),
        lambda world, filters: (
            row for city in _cities_of(world, filters) for row in world.restaurants(city)
        ),
        usd="average_cost_usd",
    ),
    "attractions": Listing(
        ("name", "latitude", "longitude", "address", "phone", "website", "city"),
        ("state", "city"),
        lambda world, filters: (
            row for city in _cities_of(world, filters) for row in world.attractions(city)
        ),
    ),
}

"""Worlds and requests by hand: a test says of a row what it is about, and the rest stands here."""

from collections.abc import Iterable, Mapping
from typing import Any

from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.scoring.lines import official_plan
from tripwright.world.records import Texts, WorldTables
from tripwright.world.store import World

DATES = [f"2022-03-{day:02}" for day in range(1, 15)]
HOUR = ("08:00", "09:00", "1 hours 0 minutes")


def flight(
    number: str,
    origin: str,
    destination: str,
    usd: object = 100,
    date: str = DATES[0],
    times: tuple[str, str, str] = HOUR,
    miles: str = "106",
) -> Texts:
    return (number, str(usd), *times, date, origin, destination, miles)


def meal(name: str, city: str, cuisines: str = "Tea", usd: object = 10) -> Texts:
    return (name, city, cuisines, str(usd), "4.0")


def sight(name: str, city: str) -> Texts:
    return (name, "1", "2", "x", "1", "x", city)


def stay(
    name: str,
    city: str,
    usd: object = 50,
    room: str = "Private room",
    nights: object = 1,
    rules: str = "No pets",
    people: object = 2,
) -> Texts:
    return (name, room, str(usd), str(nights), "4", rules, str(people), city)


def made_tables(
    cities: Mapping[str, str],
    flights: Iterable[Texts] = (),
    roads: Iterable[Texts] = (),
    meals: Iterable[Texts] = (),
    sights: Iterable[Texts] = (),
    stays: Iterable[Texts] = (),
    **more: Any,
) -> WorldTables:
    """`cities`: to their states; `roads`: origin, destination, duration, distance."""
    rows = map(list, (flights, roads, meals, sights, stays))
    return WorldTables([*cities.items()], *rows, **more)


def made_world(cities: Mapping[str, str], *rows: Iterable[Texts], **more: Any) -> World:
    """Of the rows of `made_tables`."""
    return World.in_memory(made_tables(cities, *rows, **more))


def trip(**fields: Any) -> Query:
    """Of three days from Homer to Aston, unless these fields say otherwise."""
    days = fields.get("days", 3)
    asked = {"org": "Homer", "dest": "Aston", "days": days, "visiting_city_number": 1}
    asked |= {"date": DATES[:days], "people_number": 2, "budget": 5000, "query": "?"}
    return Query.model_validate(asked | fields)


def official(query: Query, solution: Solution, world: World) -> list[dict[str, Any]]:
    """The plan of a solution as rules read it."""
    return _official(plan_days(query, solution), world)


def proven(query: Query, world: World) -> list[dict[str, Any]]:
    """The plan that a made request brings with it, as rules read it."""
    return _official(query.record()["oracle"]["plan"], world)


def _official(plan: list[dict[str, Any]], world: World) -> list[dict[str, Any]]:
    read, problem = official_plan(plan, city_lookup(world))
    assert read is not None, problem
    return read

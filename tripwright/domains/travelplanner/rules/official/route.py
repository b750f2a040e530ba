"""Where the official rules see a trip go (row T3): the route, and how many cities it visits. Bug
for bug, like `commonsense`."""

from __future__ import annotations

from itertools import groupby
from typing import Any

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import PASS, failed
from tripwright.domains.travelplanner.rules.lookup import Lookup
from tripwright.verdict import Result

Days = list[Any]  # the plan's days within the query's length, official format
CITY = "current_city"


def is_reasonable_visiting_city(query: Query, days: Days, lookup: Lookup) -> Result:
    route: list[str] = []
    for number, day in enumerate(days, start=1):
        cities = lookup.route_of_day(day[CITY])
        if number == 1 and len(cities) == 2 and cities[0] != query.org:
            return failed(
                f"The first day's city should be {query.org}.",
                1,
                CITY,
                cities[0],
                f"a start from {query.org}",
            )
        route += cities
    if route[0] != route[-1]:
        return failed(
            "The trip should be a closed circle.",
            None,
            CITY,
            _path(route),
            "a trip that ends where it began",
        )
    if not _is_valid_sequence(route):
        requirement = (
            "a trip that stays in every city it comes to, leaves it by name and does not come back"
            " to it"
        )
        return failed("The city sequence is invalid.", None, CITY, _path(route), requirement)
    cities_of_world = lookup.world.cities
    for index, city in enumerate(route):
        if city not in cities_of_world:
            return failed(f"{city} is not a valid city.", None, CITY, city, "a city of this world")
        if 0 < index < len(route) - 1 and query.days > 3 and cities_of_world[city] != query.dest:
            return failed(
                f"{city} is not in {query.dest}.",
                None,
                CITY,
                f"{city} in {cities_of_world[city]}",
                f"cities in {query.dest}",
            )
    return PASS


def _path(route: list[str]) -> str:
    return " – ".join(city for city, _ in groupby(route))


def _is_valid_sequence(route: list[str]) -> bool:
    """Between the ends every stay has at least two entries (arrive, leave) and no city is returned
    to."""
    if len(route) < 3:
        return False
    last, start, visited = len(route) - 1, 0, set()
    for city, run in groupby(route):
        length = len(list(run))
        if city in visited and start not in (0, last):
            return False
        if length == 1 and 0 < start < last:
            return False
        visited.add(city)
        start += length
    return True


def wrong_city_count(query: Query, days: Days, lookup: Lookup) -> Result | None:
    """What completeness asks of the route; None where the number of cities is right."""
    message, requirement = (
        "Invalid City Number",
        f"{query.visiting_city_number} to visit, from {query.org}",
    )
    visited: set[str] = set()
    for number, day in enumerate(days, start=1):
        cities = lookup.route_of_day(day[CITY])
        if number == 1 and len(cities) == 2 and cities[0] != query.org:
            return failed(message, 1, CITY, f"a start from {cities[0]}", requirement)
        visited.update(cities)
    visited.discard(query.org)
    if len(visited) == query.visiting_city_number:
        return None
    return failed(message, None, CITY, f"{len(visited)}: {', '.join(sorted(visited))}", requirement)

"""The eight commonsense constraints of TravelPlanner (row T3), as its own evaluator decides them: bug for bug, crash for crash.

Read this beside the strict rules, which close the holes kept open here: on a day without travel "within the city" compares with the
*letters* of the city's name, the last attraction is not looked at, unknown words for transport are not checked, None counts as given.
Days beyond the query's length are ignored by every rule. Exceptions are part of the semantics: a malformed day raises here exactly
what it raises in the official code, and `evaluate.judge` turns it into a failed verdict. Messages keep the official spelling.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from tripwright.constraints.lookup import (
    accommodations_named,
    first_accommodation,
    first_restaurant,
    flights_numbered,
    has_attraction,
    road_cost_usd,
)
from tripwright.constraints.text import attraction_pieces, before_parenthesis, filled, from_to, travel_mode
from tripwright.trip.plan import MEALS
from tripwright.trip.query import Query
from tripwright.world.store import World

Result = tuple[bool | None, str | None]  # passed, message
Days = list[Any]  # the plan's days within the query's length, official format
PASS: Result = (True, None)
UNUSED_DAY = "You don't need to fill in the information for this or later days."


def route_of_day(current_city: Any) -> list[str]:
    """[A, B] for 'from A to B', else [city]; states in parentheses dropped. 'from' without 'to' raises TypeError."""
    if "from" in current_city:
        origin, destination = from_to(current_city)
        return [before_parenthesis(origin), before_parenthesis(destination)]
    return [before_parenthesis(current_city)]


def is_reasonable_visiting_city(query: Query, days: Days, world: World) -> Result:
    route: list[str] = []
    for number, day in enumerate(days):
        cities = route_of_day(day["current_city"])
        if number == 0 and len(cities) == 2 and cities[0] != query.org:
            return False, f"The first day's city should be {query.org}."
        route += cities
    if route[0] != route[-1]:
        return False, "The trip should be a closed circle."
    if not _is_valid_sequence(route):
        return False, "The city sequence is invalid."
    for index, city in enumerate(route):
        if city not in world.cities:
            return False, f"{city} is not a valid city."
        if 0 < index < len(route) - 1 and query.days > 3 and world.cities[city] != query.dest:
            return False, f"{city} is not in {query.dest}."
    return PASS


def _is_valid_sequence(route: list[str]) -> bool:
    """Between the ends every stay has at least two entries (arrive, leave) and no city is returned to."""
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


def is_valid_restaurants(query: Query, days: Days, world: World) -> Result:
    seen: list[Any] = []
    for number, day in enumerate(days, start=1):
        for meal in MEALS:
            if meal in day and filled(day[meal]):
                if day[meal] in seen:
                    named = f" {day[meal]}" if meal == "lunch" else ""  # only this message of the three names it
                    return False, f"The restaurant in day {number} {meal}{named} is repeated."
                seen.append(day[meal])
    return PASS


def is_valid_attractions(query: Query, days: Days, world: World) -> Result:
    seen: set[str] = set()
    for number, day in enumerate(days, start=1):
        if "attraction" in day and filled(day["attraction"]):
            for piece in attraction_pieces(day["attraction"]):
                if piece in seen:
                    return False, f"The attraction '{piece}' in day {number} is repeated."
                seen.add(piece)
    return PASS


def is_valid_accommodation(query: Query, days: Days, world: World) -> Result:
    """Minimum nights, for names that mean exactly one row; a run is broken by any other spelling."""
    stays: list[Any] = []
    for day in days:
        if "accommodation" not in day:
            return False, "No Accommodation Info."
        stays.append(day["accommodation"])
    for stay, run in groupby(stays):
        nights = len(list(run))
        if stay not in ("-", ""):
            rows = accommodations_named(world, stay)
            if len(rows) == 1 and nights < rows[0].minimum_nights:
                return False, f"The accommodation {stay} do not obey the minumum nights rule."
    return PASS


def is_valid_transportation(query: Query, days: Days, world: World) -> Result:
    if not filled(days[0]["transportation"]):
        return False, "The transportation in day 1 should not be empty."
    modes = {travel_mode(day["transportation"]) for day in days if "transportation" in day and filled(day["transportation"])}
    if "Self-driving" in modes and modes & {"Flight", "Taxi"}:
        return False, "The transportation is conflicting."
    return PASS


def is_valid_information_in_current_city(query: Query, days: Days, world: World) -> Result:
    for number, day in enumerate(days, start=1):
        route = route_of_day(day["current_city"])
        cities = route if len(route) == 2 else list(route[0])  # the official bug: on a stay day, the letters of its name
        if "transportation" in day and filled(day["transportation"]) and not all(city in day["transportation"] for city in cities):
            return False, f"The transportation in day {number} is invalid city choice."
        for meal in MEALS:
            if meal in day and filled(day[meal]) and not any(city in day[meal] for city in cities):
                return False, f"The {meal} in day {number} is invalid city choice."
        if "attraction" in day and filled(day["attraction"]):
            for piece in attraction_pieces(day["attraction"]):
                if not any(city in piece for city in cities):
                    return False, f"The attraction in day {number} is invalid city choice."
        if "accommodation" in day and filled(day["accommodation"]) and cities[-1] not in day["accommodation"]:
            return False, f"The accommodation in day {number} is invalid city choice."
    return PASS


def is_valid_information_in_sandbox(query: Query, days: Days, world: World) -> Result:
    for number, day in enumerate(days, start=1):
        if filled(day["transportation"]):
            invalid = _invalid_transport(day, number, world)
            if invalid:
                return False, f"The {invalid} in day {number} is invalid in the sandbox."
        for meal in MEALS:
            if meal in day and filled(day[meal]) and first_restaurant(world, day[meal]) is None:
                return False, f"The {meal} in day {number} is invalid in the sandbox."
        if "attraction" in day and filled(day["attraction"]):
            for piece in attraction_pieces(day["attraction"]):
                if not has_attraction(world, piece):
                    return False, f"The attraction {piece} in day {number} is invalid in the sandbox."
        if "accommodation" in day and filled(day["accommodation"]) and first_accommodation(world, day["accommodation"]) is None:
            return False, f"The accommodation in day {number} is invalid in the sandbox."
    return PASS


def travel_route(day: Any) -> tuple[str, str] | tuple[None, None]:
    """(A, B) of the transportation text, else of the current city."""
    route = from_to(day["transportation"])
    return route if route[0] is not None else from_to(day["current_city"])


def _invalid_transport(day: Any, number: int, world: World) -> str | None:
    """What is not in the tables, or None. Words other than flight number, self-driving and taxi are not looked up at all."""
    said = day["transportation"]
    origin, destination = travel_route(day)
    lowered = said.lower()
    if "flight number" in lowered:
        if origin is None or destination is None:
            raise ValueError(f"The transportation {said} in day {number} can not be parsed.")
        route = (before_parenthesis(origin), before_parenthesis(destination))
        found = any((row.origin, row.destination) == route for row in flights_numbered(world, flight_number(said)))
        return None if found else "flight number"
    mode = "self-driving" if "self-driving" in lowered else "taxi" if "taxi" in lowered else None
    if mode is None:
        return None
    return mode if road_cost_usd(world, origin or "-", destination or "-", mode) is None else None


def flight_number(said: str) -> str:
    """Between the exact label and the next comma; a label of other case or spacing raises IndexError."""
    return said.split("Flight Number: ")[1].split(",")[0]


def is_not_absent(query: Query, days: Days, world: World) -> Result:
    used = sum(1 for day in days if day != {} and day["current_city"] != UNUSED_DAY)
    if used != query.days:
        return False, "Invalid Days"
    if not _has_right_city_count(query, days):
        return False, "Invalid City Number"
    given = 0
    for number, day in enumerate(days, start=1):
        problem = _absent(day, number, query.days)
        if problem:
            return False, problem
        given += sum(1 for value in day.values() if filled(value))
    if given / (6 * query.days) < 0.5:
        return False, "The absent information is more than 50%."
    return PASS


def _has_right_city_count(query: Query, days: Days) -> bool:
    visited: set[str] = set()
    for number, day in enumerate(days):
        cities = route_of_day(day["current_city"])
        if number == 0 and len(cities) == 2 and cities[0] != query.org:
            return False
        visited.update(cities)
    return len(visited - {query.org}) == query.visiting_city_number


def _absent(day: Any, number: int, last: int) -> str | None:
    """Only '' and '-' are absent here: None, [] and False pass."""
    for key in ("transportation", *MEALS, "attraction", "accommodation"):
        if key not in day:
            return f"No {key.capitalize()} Info."
    city, absent = day["current_city"], ("", "-")
    if ("from " in city or "to " in city) and day["transportation"] in absent:
        return f"No transportation in day {number} is not allowed."
    if "from " not in city and " to " not in city and day["attraction"] in absent:
        return f"No attaction in day {number} is not allowed."
    if number != last and day["accommodation"] in absent:
        return f"No accommodation in day {number} is not allowed."
    if "from " not in city and any(day[meal] in absent for meal in MEALS):
        return f"No meal in day {number} is not allowed."
    return None


CHECKS: tuple[tuple[str, Callable[[Query, Days, World], Result]], ...] = (
    ("is_reasonable_visiting_city", is_reasonable_visiting_city),
    ("is_valid_restaurants", is_valid_restaurants),
    ("is_valid_attractions", is_valid_attractions),
    ("is_valid_accommodation", is_valid_accommodation),
    ("is_valid_transportation", is_valid_transportation),
    ("is_valid_information_in_current_city", is_valid_information_in_current_city),
    ("is_valid_information_in_sandbox", is_valid_information_in_sandbox),
    ("is_not_absent", is_not_absent),
)

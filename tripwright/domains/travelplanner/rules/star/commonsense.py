"""STAR's eight commonsense constraints. Two are the official ones, and the route is but for
texts that cannot be read.

They run in STAR's order, so that a plan that makes STAR's code raise ends here with the same kind
of exception; a malformed day raises what it raises there. Days beyond the query's length are
ignored by every rule. Messages and evidence are ours.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import PASS, failed
from tripwright.domains.travelplanner.rules.official import route
from tripwright.domains.travelplanner.rules.official.commonsense import (
    is_valid_attractions,
    is_valid_restaurants,
)
from tripwright.domains.travelplanner.rules.official.completeness import FIELDS, UNUSED_DAY
from tripwright.domains.travelplanner.rules.official.route import CITY, Days
from tripwright.domains.travelplanner.rules.official.sandbox import NEEDED, travel_route
from tripwright.domains.travelplanner.rules.star.lookup import (
    FLIGHT_LABEL,
    StarLookup,
    flight_number,
    mode_of,
)
from tripwright.domains.travelplanner.rules.text import attraction_pieces, filled
from tripwright.verdict import Result

# the order decides what comes first: a place not found, or an exception
MEALS_AS_LOOKED_UP = ("lunch", "dinner", "breakfast")


def is_not_absent(query: Query, days: Days, lookup: StarLookup) -> Result:
    day_count = sum(1 for day in days if day and day.get(CITY) and day[CITY] != UNUSED_DAY)
    if day_count != query.days:
        return failed(
            "The number of days is wrong.",
            None,
            None,
            f"{day_count} days with a city",
            f"{query.days} days",
        )
    if wrong := _wrong_city_count(query, days, lookup):
        return wrong
    entries = 0
    for number, day in enumerate(days, start=1):
        field = _absent(day, number, query.days)
        if field:
            return failed(
                f"The {field} in day {number} is absent.", number, field, "", f"an entry '{field}'"
            )
        entries += sum(1 for value in day.values() if filled(value))
    if entries / (6 * query.days) < 0.5:
        text = f"{entries} of {6 * query.days} entries"
        return failed(
            "More than half of the information is absent.",
            None,
            None,
            text,
            "half of the entries filled in",
        )
    return PASS


def _wrong_city_count(query: Query, days: Days, lookup: StarLookup) -> Result | None:
    """A city that cannot be read ('from A' without 'to') counts as one."""
    message, requirement = (
        "The number of cities is wrong.",
        f"{query.visiting_city_number} to visit, from {query.org}",
    )
    visited: set[Any] = set()
    for number, day in enumerate(days, start=1):
        cities = lookup.route_of_day(day[CITY])
        if number == 1 and len(cities) == 2 and cities[0] != query.org:
            return failed(message, 1, CITY, day[CITY], requirement)
        visited.update(cities)
    visited.discard(query.org)
    if len(visited) == query.visiting_city_number:
        return None
    return failed(message, None, CITY, f"{len(visited)} cities", requirement)


def _absent(day: Any, number: int, last: int) -> str | None:
    """The first field that must be filled and is not. Only '' and '-' are absent here: None, [] and
    False pass."""
    city = day[CITY]
    for field in FIELDS:
        if field not in day:
            return field
        if day[field] not in ("", "-"):
            continue
        if field == "transportation":
            required = "from " in city or "to " in city
        elif field == "accommodation":
            required = number < last
        else:
            required = "from " not in city
        if required:
            return field
    return None


def is_valid_information_in_sandbox(query: Query, days: Days, lookup: StarLookup) -> Result:
    for number, day in enumerate(days, start=1):
        requirement, field, text = _not_in_the_tables(day, lookup)
        if requirement:
            return failed(
                f"The {field} in day {number} is not in the sandbox.",
                number,
                field,
                text,
                requirement,
            )
    return PASS


def _not_in_the_tables(day: Any, lookup: StarLookup) -> tuple[str | None, str, Any]:
    """What would have to be there instead (None: all is), in which field, and what it says."""
    if filled(day.get("transportation")) and (requirement := _missing_transport(day, lookup)):
        return requirement, "transportation", day["transportation"]
    for meal in MEALS_AS_LOOKED_UP:
        if filled(day.get(meal)) and lookup.restaurant(day[meal]) is None:
            return NEEDED, meal, day[meal]
    if filled(day.get("attraction")):
        for piece in attraction_pieces(day["attraction"]):
            if not lookup.has_attraction(piece):
                return NEEDED, "attraction", piece
    if filled(day.get("accommodation")) and not lookup.stays(day["accommodation"]):
        return NEEDED, "accommodation", day["accommodation"]
    return None, "", None


def _missing_transport(day: Any, lookup: StarLookup) -> str | None:
    text, leg = day["transportation"], travel_route(day)
    mode = mode_of(text)
    if mode == "flight":
        number = flight_number(text)
        is_listed = number is not None and any(
            (row.origin, row.destination) == leg for row in lookup.flights_numbered(number)
        )
        return None if is_listed else f"'{FLIGHT_LABEL}' and a number of this route"
    return (
        None
        if lookup.vehicle_usd(leg[0], leg[1], mode) is not None
        else "a road between the two cities, in less than a day"
    )


def is_valid_accommodation(query: Query, days: Days, lookup: StarLookup) -> Result:
    """Minimum nights, for names that mean exactly one row; a run is broken by any other
    spelling."""
    for number, day in enumerate(days, start=1):
        if "accommodation" not in day:
            return failed(
                f"No accommodation in day {number}.",
                number,
                "accommodation",
                "",
                "an entry 'accommodation'",
            )
    first = 1
    for stay, run in groupby(day["accommodation"] for day in days):
        nights = len(list(run))
        if filled(stay):
            rows = lookup.stays(stay)
            if len(rows) == 1 and nights < rows[0].minimum_nights:
                message = f"The nights from day {first} on are too few for this accommodation."
                requirement = f"at least {rows[0].minimum_nights:g} nights in a row"
                return failed(message, first, "accommodation", f"{nights} in {stay}", requirement)
        first += nights
    return PASS


def is_reasonable_visiting_city(query: Query, days: Days, lookup: StarLookup) -> Result:
    first = lookup.route_of_day(days[0][CITY])
    if len(first) == 1 or first[0] == query.org:
        unread = [
            number
            for number, day in enumerate(days, start=1)
            if None in lookup.route_of_day(day[CITY])
        ]
        if unread:
            message = f"The city in day {unread[0]} cannot be read."
            return failed(
                message, unread[0], CITY, days[unread[0] - 1][CITY], "a city, or 'from A to B'"
            )
    return route.is_reasonable_visiting_city(query, days, lookup)


def is_valid_transportation(query: Query, days: Days, lookup: StarLookup) -> Result:
    if not filled(days[0]["transportation"]):
        message = "The transportation in day 1 should not be empty."
        return failed(
            message, 1, "transportation", days[0]["transportation"], "a way to leave home"
        )
    modes = {mode_of(day["transportation"]) for day in days if filled(day.get("transportation"))}
    if "self-driving" in modes and len(modes) > 1:
        modes_text, requirement = (
            ", ".join(sorted(modes)),
            "self-driving all the way, or not at all",
        )
        return failed(
            "The transportation is conflicting.", None, "transportation", modes_text, requirement
        )
    return PASS


def is_valid_information_in_current_city(query: Query, days: Days, lookup: StarLookup) -> Result:
    """On a stay day the transportation must be '-': an empty one does not name the city, and None
    raises."""
    for number, day in enumerate(days, start=1):
        cities = lookup.route_of_day(day.get(CITY, ""))
        field, text = _out_of_city(day, cities)
        if field:
            requirement = f"something in {' or '.join(cities)}"
            return failed(
                f"The {field} in day {number} is not in the day's city.",
                number,
                field,
                text,
                requirement,
            )
    return PASS


def _out_of_city(day: Any, cities: list[Any]) -> tuple[str, Any]:
    first, last = cities[0], cities[-1]  # the same on a stay day
    text = day.get("transportation", "-")
    if text != "-" and not (first in text and last in text):
        return "transportation", text
    for meal in MEALS:
        text = day.get(meal)
        if filled(text) and not (first in text or last in text):
            return meal, text
    if filled(day.get("attraction")):
        for piece in attraction_pieces(day["attraction"]):
            if not (first in piece or last in piece):
                return "attraction", piece
    if filled(day.get("accommodation")) and last not in day["accommodation"]:
        return "accommodation", day["accommodation"]
    return "", None


CHECKS: tuple[tuple[str, Callable[[Query, Days, StarLookup], Result]], ...] = (
    ("is_not_absent", is_not_absent),
    ("is_valid_information_in_sandbox", is_valid_information_in_sandbox),
    ("is_valid_restaurants", is_valid_restaurants),
    ("is_valid_attractions", is_valid_attractions),
    ("is_valid_accommodation", is_valid_accommodation),
    ("is_reasonable_visiting_city", is_reasonable_visiting_city),
    ("is_valid_transportation", is_valid_transportation),
    ("is_valid_information_in_current_city", is_valid_information_in_current_city),
)

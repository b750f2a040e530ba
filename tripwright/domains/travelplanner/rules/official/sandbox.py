"""Is everything a plan names in the tables? The official check against made-up places and transport
(row T3), bug for bug.

Its holes: words for transport that it does not know are not looked up, a flight's date and the last
attraction are not looked at.
"""

from __future__ import annotations

from typing import Any

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import PASS, failed
from tripwright.domains.travelplanner.rules.lookup import Lookup, road_cost_usd
from tripwright.domains.travelplanner.rules.official.route import CITY, Days
from tripwright.domains.travelplanner.rules.text import (
    attraction_pieces,
    before_parenthesis,
    filled,
    from_to,
)
from tripwright.verdict import Result

NEEDED = "a place in this world's tables, as 'Name, City'"


def is_valid_information_in_sandbox(query: Query, days: Days, lookup: Lookup) -> Result:
    for number, day in enumerate(days, start=1):
        if filled(day["transportation"]):
            problem = _invalid_transport(day, number, lookup)
            if problem:
                message = f"The {problem} in day {number} is invalid in the sandbox."
                requirement = (
                    "a flight number of this route"
                    if problem == "flight number"
                    else "a road between the two cities, in less than a day"
                )
                return failed(message, number, "transportation", day["transportation"], requirement)
        for meal in MEALS:
            if meal in day and filled(day[meal]) and lookup.restaurant(day[meal]) is None:
                return failed(
                    f"The {meal} in day {number} is invalid in the sandbox.",
                    number,
                    meal,
                    day[meal],
                    NEEDED,
                )
        if "attraction" in day and filled(day["attraction"]):
            for piece in attraction_pieces(day["attraction"]):
                if not lookup.has_attraction(piece):
                    message = f"The attraction {piece} in day {number} is invalid in the sandbox."
                    return failed(message, number, "attraction", piece, NEEDED)
        if (
            "accommodation" in day
            and filled(day["accommodation"])
            and not lookup.stays(day["accommodation"])
        ):
            message = f"The accommodation in day {number} is invalid in the sandbox."
            return failed(message, number, "accommodation", day["accommodation"], NEEDED)
    return PASS


def travel_route(day: Any) -> tuple[str, str] | tuple[None, None]:
    """(A, B) of the transportation text, else of the current city."""
    route = from_to(day["transportation"])
    return route if route[0] is not None else from_to(day[CITY])


def _invalid_transport(day: Any, number: int, lookup: Lookup) -> str | None:
    """What is not in the tables, or None. Words other than flight number, self-driving and taxi are
    not looked up at all."""
    text = day["transportation"]
    origin, destination = travel_route(day)
    lowered = text.lower()
    if "flight number" in lowered:
        if origin is None or destination is None:
            raise ValueError(f"The transportation {text} in day {number} can not be parsed.")
        route = (before_parenthesis(origin), before_parenthesis(destination))
        is_listed = any(
            (row.origin, row.destination) == route
            for row in lookup.flights_numbered(flight_number(text))
        )
        return None if is_listed else "flight number"
    mode = "self-driving" if "self-driving" in lowered else "taxi" if "taxi" in lowered else None
    if mode is None:
        return None
    return (
        mode
        if road_cost_usd(lookup.world, origin or "-", destination or "-", mode) is None
        else None
    )


def flight_number(text: str) -> str:
    """Between the exact label and the next comma; a label of other case or spacing raises
    IndexError."""
    return text.split("Flight Number: ")[1].split(",")[0]

"""The eight commonsense constraints of TravelPlanner (row T3), as its own evaluator decides them:
bug for bug, crash for crash.

Read this beside the strict rules, which close the holes kept open here: on a day without travel
"within the city" compares with the *letters* of the city's name, the last attraction is not looked
at, unknown words for transport are not checked, None counts as given. Days beyond the query's
length are ignored by every rule. Exceptions are part of the semantics: a malformed day raises here
exactly what it raises in the official code, and `evaluate.judge` turns it into a failed verdict.
Messages keep the official spelling; the evidence beside them is ours. Three of the eight have files
of their own: `route`, `sandbox` and `completeness`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby
from typing import Any

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import PASS, failed
from tripwright.domains.travelplanner.rules.lookup import Lookup
from tripwright.domains.travelplanner.rules.official.completeness import is_not_absent
from tripwright.domains.travelplanner.rules.official.route import (
    CITY,
    Days,
    is_reasonable_visiting_city,
)
from tripwright.domains.travelplanner.rules.official.sandbox import is_valid_information_in_sandbox
from tripwright.domains.travelplanner.rules.text import attraction_pieces, filled, travel_mode
from tripwright.verdict import Result


def is_valid_restaurants(query: Query, days: Days, lookup: Lookup) -> Result:
    meals: list[Any] = []
    for number, day in enumerate(days, start=1):
        for meal in MEALS:
            if meal in day and filled(day[meal]):
                if day[meal] in meals:
                    # only this message of the three names it
                    name = f" {day[meal]}" if meal == "lunch" else ""
                    message = f"The restaurant in day {number} {meal}{name} is repeated."
                    return failed(message, number, meal, day[meal], "a restaurant not yet visited")
                meals.append(day[meal])
    return PASS


def is_valid_attractions(query: Query, days: Days, lookup: Lookup) -> Result:
    sights: set[str] = set()
    for number, day in enumerate(days, start=1):
        if "attraction" in day and filled(day["attraction"]):
            for piece in attraction_pieces(day["attraction"]):
                if piece in sights:
                    message = f"The attraction '{piece}' in day {number} is repeated."
                    return failed(
                        message, number, "attraction", piece, "an attraction not yet visited"
                    )
                sights.add(piece)
    return PASS


def is_valid_accommodation(query: Query, days: Days, lookup: Lookup) -> Result:
    """Minimum nights, for names that mean exactly one row; a run is broken by any other
    spelling."""
    stays: list[Any] = []
    for number, day in enumerate(days, start=1):
        if "accommodation" not in day:
            return failed(
                "No Accommodation Info.", number, "accommodation", "", "an entry 'accommodation'"
            )
        stays.append(day["accommodation"])
    first = 1
    for stay, run in groupby(stays):
        nights = len(list(run))
        if stay not in ("-", ""):
            rows = lookup.stays(stay)
            if len(rows) == 1 and nights < rows[0].minimum_nights:
                message = f"The accommodation {stay} do not obey the minumum nights rule."
                requirement = f"at least {rows[0].minimum_nights:g} nights in a row"
                return failed(message, first, "accommodation", f"{nights} in {stay}", requirement)
        first += nights
    return PASS


def is_valid_transportation(query: Query, days: Days, lookup: Lookup) -> Result:
    if not filled(days[0]["transportation"]):
        text = days[0]["transportation"]
        return failed(
            "The transportation in day 1 should not be empty.",
            1,
            "transportation",
            text,
            "a way to leave home",
        )
    modes = {
        travel_mode(day["transportation"])
        for day in days
        if "transportation" in day and filled(day["transportation"])
    }
    if "Self-driving" in modes and modes & {"Flight", "Taxi"}:
        modes_text = ", ".join(sorted(mode for mode in modes if mode))
        return failed(
            "The transportation is conflicting.",
            None,
            "transportation",
            modes_text,
            "self-driving all the way, or not at all",
        )
    return PASS


def is_valid_information_in_current_city(query: Query, days: Days, lookup: Lookup) -> Result:
    for number, day in enumerate(days, start=1):
        route = lookup.route_of_day(day[CITY])
        # the official bug: on a stay day, the letters of its name
        cities = route if len(route) == 2 else route[0]
        field = _out_of_city(day, cities)
        if field:
            return failed(
                f"The {field} in day {number} is invalid city choice.",
                number,
                field,
                day[field],
                f"something in {' or '.join(route)}",
            )
    return PASS


def _out_of_city(day: Any, cities: list[str] | str) -> str | None:
    if "transportation" in day and filled(day["transportation"]):
        for city in cities:
            if city not in day["transportation"]:
                return "transportation"
    for meal in MEALS:
        if meal in day and filled(day[meal]) and not _mentions_any(day[meal], cities):
            return meal
    if "attraction" in day and filled(day["attraction"]):
        for piece in attraction_pieces(day["attraction"]):
            if not _mentions_any(piece, cities):
                return "attraction"
    if (
        "accommodation" in day
        and filled(day["accommodation"])
        and cities[-1] not in day["accommodation"]
    ):
        return "accommodation"
    return None


def _mentions_any(text: Any, cities: list[str] | str) -> bool:
    for city in cities:  # noqa: SIM110 (any() over a generator takes thrice as long, and most of the time goes here)
        if city in text:
            return True
    return False


CHECKS: tuple[tuple[str, Callable[[Query, Days, Lookup], Result]], ...] = (
    ("is_reasonable_visiting_city", is_reasonable_visiting_city),
    ("is_valid_restaurants", is_valid_restaurants),
    ("is_valid_attractions", is_valid_attractions),
    ("is_valid_accommodation", is_valid_accommodation),
    ("is_valid_transportation", is_valid_transportation),
    ("is_valid_information_in_current_city", is_valid_information_in_current_city),
    ("is_valid_information_in_sandbox", is_valid_information_in_sandbox),
    ("is_not_absent", is_not_absent),
)

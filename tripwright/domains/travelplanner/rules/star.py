"""STAR's variant of the official rules, on which its agents were trained and validated.

Against the official rules it closes "any word escapes" (every transportation has a mode, must be in
the tables, and is paid for: "flight" wins, then "taxi", and any other word means driving), the
letters bug on stay days, and the days "from X to X"; it drops no state in parentheses, so
"Aston(Westland)" is no city of any table. Each meal at home is skipped singly, a forbidden way to
travel is found by its mode instead of by a spelling, and an empty wish is no wish. It leaves open
what the official rules leave open elsewhere: None counts as given, a 3-day trip may go anywhere,
names match by substring, the last attraction and the flight's date are not looked at. STAR's switch
that forgives a missing breakfast is off by default and has no counterpart here. One thing is ours:
a wish in words that no rule knows fails, where STAR's code would let every plan pass.

The checks run in STAR's order, so that a plan that makes STAR's code raise ends here with the same
kind of exception: STAR's evaluator stops there, here the verdict says which kind, and the plan
fails. Messages and evidence are ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules import official
from tripwright.domains.travelplanner.rules.facts import NOT_ASKED, PASS, Cost, failed
from tripwright.domains.travelplanner.rules.lookup import (
    Lookup,
    attraction_pieces,
    filled,
    from_to,
    road_cost_usd,
)
from tripwright.domains.travelplanner.rules.official import (
    CITY,
    FIELDS,
    FLIGHT_LABEL,
    FORBIDDEN_MODE,
    FORBIDDING_RULE,
    NEEDED,
    ROOMS,
    SEATS,
    UNUSED_DAY,
    Days,
    Mode,
    StagedRules,
    is_valid_attractions,
    is_valid_restaurants,
    tasted_words,
    travel_route,
)
from tripwright.verdict import Result
from tripwright.world.records import Accommodation, Restaurant

# ---- reading and looking up


class StarLookup(Lookup):
    """STAR's look-ups for one plan. No table has a city with a parenthesis, so a text with one
    after its last comma finds nothing."""

    def route_of_day(self, current_city: Any) -> list[Any]:
        """[A, B] for 'from A to B' ([None, None] where it cannot be read), else the text as it
        is."""
        if "from" not in current_city:
            return [current_city]
        if current_city not in self._routes:
            origin, destination = from_to(current_city)
            self._routes[current_city] = [origin, destination]
        return self._routes[current_city]

    def stays(self, text: Any) -> list[Accommodation]:
        if text not in self._stays and _is_with_state(text):
            self._stays[text] = []
        return super().stays(text)

    def has_attraction(self, text: Any) -> bool:
        return not _is_with_state(text) and super().has_attraction(text)

    def _restaurant(self, text: Any) -> tuple[str, Restaurant | None]:
        if text not in self._restaurants and _is_with_state(text):
            self._restaurants[text] = text.rpartition(",")[2].strip(), None
        return super()._restaurant(text)

    def vehicle_usd(self, origin: str | None, destination: str | None, mode: Mode) -> int | None:
        """The price per vehicle; None for a road that is not in the table, has no data, or takes
        more than a day."""
        if origin is None or destination is None or "(" in origin + destination:
            return None
        return road_cost_usd(self.world, origin, destination, mode)


def mode_of(text: Any) -> Mode:
    """Of a filled transportation."""
    lowered = text.lower()
    if "flight" in lowered:
        return "flight"
    return "taxi" if "taxi" in lowered else "self-driving"


def flight_number(text: str) -> str | None:
    """Between the exact label and the next comma; None without the label."""
    pieces = text.split(FLIGHT_LABEL)
    return pieces[1].split(",")[0] if len(pieces) > 1 else None


def _is_with_state(text: Any) -> bool:
    if not isinstance(text, str):
        return False
    _, comma, city = text.rpartition(",")
    return bool(comma) and "(" in city


# ---- commonsense


# the order decides what comes first: a place not found, or an exception
MEALS_AS_LOOKED_UP = ("lunch", "dinner", "breakfast")


def is_not_absent(query: Query, days: Days, lookup: StarLookup) -> Result:
    day_count = sum(1 for day in days if day and day.get(CITY) and day[CITY] != UNUSED_DAY)
    if day_count != query.days:
        message, found = "The number of days is wrong.", f"{day_count} days with a city"
        return failed(message, None, None, found, f"{query.days} days")
    if wrong := _wrong_city_count(query, days, lookup):
        return wrong
    for number, day in enumerate(days, start=1):
        if field := _absent(day, number, query.days):
            message = f"The {field} in day {number} is absent."
            return failed(message, number, field, "", f"an entry '{field}'")
    return official.half_filled(query, days, "More than half of the information is absent.")


def _wrong_city_count(query: Query, days: Days, lookup: StarLookup) -> Result | None:
    """A city that cannot be read ('from A' without 'to') counts as one."""
    message = "The number of cities is wrong."
    requirement = f"{query.visiting_city_number} to visit, from {query.org}"
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
            message = f"The {field} in day {number} is not in the sandbox."
            return failed(message, number, field, text, requirement)
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
    if lookup.vehicle_usd(leg[0], leg[1], mode) is not None:
        return None
    return "a road between the two cities, in less than a day"


def is_valid_accommodation(query: Query, days: Days, lookup: StarLookup) -> Result:
    def message(first: int, stay: Any) -> str:
        return f"The nights from day {first} on are too few for this accommodation."

    def missing(number: int) -> str:
        return f"No accommodation in day {number}."

    return official.too_few_nights(days, lookup, filled, message, missing)


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
    return official.is_reasonable_visiting_city(query, days, lookup)


def is_valid_transportation(query: Query, days: Days, lookup: StarLookup) -> Result:
    return official.conflicting(days, mode_of, "self-driving")


def is_valid_information_in_current_city(query: Query, days: Days, lookup: StarLookup) -> Result:
    """On a stay day the transportation must be '-': an empty one does not name the city, and None
    raises."""
    for number, day in enumerate(days, start=1):
        cities = lookup.route_of_day(day.get(CITY, ""))
        field, text = _out_of_city(day, cities)
        if field:
            message = f"The {field} in day {number} is not in the day's city."
            return failed(message, number, field, text, f"something in {' or '.join(cities)}")
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


CHECKS = (
    is_not_absent,
    is_valid_information_in_sandbox,
    is_valid_restaurants,
    is_valid_attractions,
    is_valid_accommodation,
    is_reasonable_visiting_city,
    is_valid_transportation,
    is_valid_information_in_current_city,
)


# ---- what the traveller asked for, and the budget


def valid_cuisine(query: Query, days: Days, lookup: StarLookup) -> Result:
    cuisines = query.local_constraint.cuisine
    if not cuisines:
        return NOT_ASKED
    tasted: set[str] = set()
    for day in days:
        for meal in MEALS:
            if filled(day.get(meal)) and lookup.city_of_meal(day[meal]) != query.org:
                row = lookup.restaurant(day[meal])
                tasted.update(
                    cuisine for cuisine in cuisines if row is not None and cuisine in row.cuisines
                )
    lacking = ", ".join(cuisine for cuisine in dict.fromkeys(cuisines) if cuisine not in tasted)
    if not lacking:
        return PASS
    message = f"No meal away from home is {lacking}."
    needed = f"meals away from home that are {lacking}"
    return failed(message, None, None, tasted_words(tasted), needed)


def valid_room_rule(query: Query, days: Days, lookup: StarLookup) -> Result:
    rule = query.local_constraint.house_rule
    if not rule:
        return NOT_ASKED
    if rule not in FORBIDDING_RULE:
        return _unknown(rule, FORBIDDING_RULE)
    return official.valid_room_rule(query, days, lookup)


def valid_transportation(query: Query, days: Days, lookup: StarLookup) -> Result:
    wish = query.local_constraint.transportation
    if not wish:
        return NOT_ASKED
    if wish not in FORBIDDEN_MODE:
        return _unknown(wish, FORBIDDEN_MODE)
    for number, day in enumerate(days, start=1):
        text = day.get("transportation")
        if filled(text) and (mode := mode_of(text)) == FORBIDDEN_MODE[wish]:
            message = f"The transportation in day {number} is {mode}."
            return failed(message, number, "transportation", text, wish)
    return PASS


def valid_room_type(query: Query, days: Days, lookup: StarLookup) -> Result:
    wish = query.local_constraint.room_type
    if not wish:
        return NOT_ASKED
    return official.valid_room_type(query, days, lookup) if wish in ROOMS else _unknown(wish, ROOMS)


def _unknown(wish: str, vocabulary: Iterable[str]) -> Result:
    needed = f"a wish among: {', '.join(vocabulary)}"
    return failed(f"The wish '{wish}' is unknown.", None, None, wish, needed)


def _transport_cost(day: Any, number: int, party_size: int, lookup: StarLookup) -> Iterator[Cost]:
    origin, destination = travel_route(day)
    mode = mode_of(day["transportation"])
    route = f"from {origin} to {destination}"
    if mode == "flight":
        rows = lookup.flights_numbered(flight_number(day["transportation"]) or "")
        # the gate on the sandbox rule lets only numbers through that have rows
        usd, count = rows[0].price_usd, party_size
        route = f"{rows[0].number} {route}"
    else:
        road_usd = lookup.vehicle_usd(origin, destination, mode)
        if road_usd is None:
            raise TypeError("a road without a known cost has no price")  # shut out by the same gate
        usd, count = road_usd, math.ceil(party_size / SEATS[mode])
    yield Cost(number, mode, route, usd, count)


WISHES = (valid_cuisine, valid_room_rule, valid_transportation, valid_room_type)


# ---- the verdict


STAR = StagedRules("star", StarLookup, CHECKS, WISHES, _transport_cost)

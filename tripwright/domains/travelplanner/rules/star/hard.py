"""STAR's five hard constraints: what the traveller asked for, and the budget.

Against the official ones: each meal at home is skipped singly, a forbidden way to travel is found
by its mode instead of by a spelling, and an empty wish is no wish. One thing is ours: a wish in
words that no rule knows fails, where STAR's code would let every plan pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import NOT_ASKED, PASS, Cost, failed
from tripwright.domains.travelplanner.rules.official import hard
from tripwright.domains.travelplanner.rules.official.route import Days
from tripwright.domains.travelplanner.rules.official.sandbox import travel_route
from tripwright.domains.travelplanner.rules.star.lookup import (
    Mode,
    StarLookup,
    flight_number,
    mode_of,
)
from tripwright.domains.travelplanner.rules.text import filled
from tripwright.verdict import Result

FORBIDDEN_MODE: dict[str, Mode] = {"no flight": "flight", "no self-driving": "self-driving"}
ROOMS = ("not shared room", *hard.REQUIRED_ROOM)


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
    cuisines_text = f"only {', '.join(sorted(tasted))}" if tasted else "none of the wanted cuisines"
    return failed(
        f"No meal away from home is {lacking}.",
        None,
        None,
        cuisines_text,
        f"meals away from home that are {lacking}",
    )


def valid_room_rule(query: Query, days: Days, lookup: StarLookup) -> Result:
    rule = query.local_constraint.house_rule
    if not rule:
        return NOT_ASKED
    return (
        hard.valid_room_rule(query, days, lookup)
        if rule in hard.FORBIDDING_RULE
        else _unknown(rule, hard.FORBIDDING_RULE)
    )


def valid_transportation(query: Query, days: Days, lookup: StarLookup) -> Result:
    wish = query.local_constraint.transportation
    if not wish:
        return NOT_ASKED
    if wish not in FORBIDDEN_MODE:
        return _unknown(wish, FORBIDDEN_MODE)
    for number, day in enumerate(days, start=1):
        text = day.get("transportation")
        if filled(text) and mode_of(text) == FORBIDDEN_MODE[wish]:
            return failed(
                f"The transportation in day {number} is {FORBIDDEN_MODE[wish]}.",
                number,
                "transportation",
                text,
                wish,
            )
    return PASS


def valid_room_type(query: Query, days: Days, lookup: StarLookup) -> Result:
    wish = query.local_constraint.room_type
    if not wish:
        return NOT_ASKED
    return hard.valid_room_type(query, days, lookup) if wish in ROOMS else _unknown(wish, ROOMS)


def _unknown(wish: str, vocabulary: Iterable[str]) -> Result:
    return failed(
        f"The wish '{wish}' is unknown.", None, None, wish, f"a wish among: {', '.join(vocabulary)}"
    )


def costs_of(query: Query, days: Days, lookup: StarLookup) -> Iterator[Cost]:
    """What STAR charges the whole party, in the order in which it adds it up. Prices are those of
    the first row that matches."""
    party_size = query.people_number
    for number, day in enumerate(days, start=1):
        if filled(day.get("transportation")):
            yield from _transport_cost(day, number, party_size, lookup)
        for meal in MEALS:
            if filled(day.get(meal)) and (row := lookup.restaurant(day[meal])):
                yield Cost(number, meal, row.name, row.average_cost_usd, party_size)
        if filled(day["accommodation"]) and (stay := lookup.stay(day["accommodation"])):
            yield Cost(
                number,
                "accommodation",
                stay.name,
                stay.price_usd,
                math.ceil(party_size / stay.maximum_occupancy),
            )


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
        road_usd, count = (
            lookup.vehicle_usd(origin, destination, mode),
            math.ceil(party_size / hard.SEATS[mode]),
        )
        if road_usd is None:
            raise TypeError("a road without a known cost has no price")  # shut out by the same gate
        usd = road_usd
    yield Cost(number, mode, route, usd, count)


WISHES: tuple[tuple[str, Callable[[Query, Days, StarLookup], Result]], ...] = (
    ("valid_cuisine", valid_cuisine),
    ("valid_room_rule", valid_room_rule),
    ("valid_transportation", valid_transportation),
    ("valid_room_type", valid_room_type),
)

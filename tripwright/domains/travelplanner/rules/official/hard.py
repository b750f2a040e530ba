"""The five hard constraints of TravelPlanner (row T3), as its own evaluator decides them: what the
traveller asked for, and the budget.

They are reached only by plans whose information is complete and found in the world
(`evaluate.judge`). None means the traveller did not ask. Prices come from the first row that
matches, the flight's price from its number alone, and unknown words for transport cost
nothing: the strict rules differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import NOT_ASKED, PASS, Cost, CostKind, failed
from tripwright.domains.travelplanner.rules.lookup import Lookup, road_cost_usd
from tripwright.domains.travelplanner.rules.official.route import Days
from tripwright.domains.travelplanner.rules.official.sandbox import flight_number, travel_route
from tripwright.domains.travelplanner.rules.text import filled
from tripwright.verdict import Result

FORBIDDING_RULE = {
    "smoking": "No smoking",
    "parties": "No parties",
    "children under 10": "No children under 10",
    "visitors": "No visitors",
    "pets": "No pets",
}
REQUIRED_ROOM = {
    "shared room": "Shared room",
    "private room": "Private room",
    "entire room": "Entire home/apt",
}
SEATS = {"self-driving": 5, "taxi": 4}  # per vehicle


def valid_cuisine(query: Query, days: Days, lookup: Lookup) -> Result:
    """Every wanted cuisine at some meal away from home. A meal at home ends its whole day (the
    official `continue`)."""
    cuisines = query.local_constraint.cuisine
    if not cuisines:
        return NOT_ASKED
    tasted: set[str] = set()
    for day in days:
        for meal in MEALS:
            if not filled(day[meal]):
                continue
            if lookup.city_of_meal(day[meal]) == query.org:
                break
            row = lookup.restaurant(day[meal])
            if row is not None:
                tasted.update(cuisine for cuisine in cuisines if cuisine in row.cuisines)
    if len(tasted) == len(cuisines):
        return PASS
    for cuisine in cuisines:
        if cuisine not in tasted:
            cuisines_text = (
                f"only {', '.join(sorted(tasted))}" if tasted else "none of the wanted cuisines"
            )
            return failed(
                f"The cuisine {cuisine} is not satisfied.",
                None,
                None,
                cuisines_text,
                f"a meal away from home that is {cuisine}",
            )
    raise TypeError(
        "a cuisine is asked for twice: the official code returns nothing and fails on that"
    )


def valid_room_rule(query: Query, days: Days, lookup: Lookup) -> Result:
    rule = query.local_constraint.house_rule
    if rule is None:
        return NOT_ASKED
    forbidding = FORBIDDING_RULE.get(rule)
    for number, day in enumerate(days, start=1):
        if filled(day["accommodation"]):
            row = lookup.stay(day["accommodation"])
            if row is not None and forbidding is not None and forbidding in row.house_rules:
                text = f"{row.name}: {row.house_rules}"
                return failed(
                    f"The house rule should be {rule}.",
                    number,
                    "accommodation",
                    text,
                    f"a place that allows {rule}",
                )
    return PASS


def valid_transportation(query: Query, days: Days, lookup: Lookup) -> Result:
    """Case-sensitive, unlike modes and costs."""
    wish = query.local_constraint.transportation
    if wish is None:
        return NOT_ASKED
    forbidden = {"no flight": "Flight", "no self-driving": "Self-driving"}.get(wish)
    for number, day in enumerate(days, start=1):
        if (
            filled(day["transportation"])
            and forbidden is not None
            and forbidden in day["transportation"]
        ):
            return failed(
                f"The transportation should not be {wish}.",
                number,
                "transportation",
                day["transportation"],
                wish,
            )
    return PASS


def valid_room_type(query: Query, days: Days, lookup: Lookup) -> Result:
    wish = query.local_constraint.room_type
    if wish is None:
        return NOT_ASKED
    for number, day in enumerate(days, start=1):
        if filled(day["accommodation"]):
            row = lookup.stay(day["accommodation"])
            if row is not None and not is_wanted_room(wish, row.room_type):
                text = f"{row.name}: {row.room_type}"
                return failed(
                    f"The room type should be {wish}.", number, "accommodation", text, wish
                )
    return PASS


def is_wanted_room(wish: str, room_type: str) -> bool:
    """Unknown wishes are met by every room."""
    if wish == "not shared room":
        return room_type != "Shared room"
    return wish not in REQUIRED_ROOM or room_type == REQUIRED_ROOM[wish]


def costs_of(query: Query, days: Days, lookup: Lookup) -> Iterator[Cost]:
    """What the official rules charge the whole party, in the order in which they add it up."""
    party_size = query.people_number
    for number, day in enumerate(days, start=1):
        if filled(day["transportation"]):
            yield from _transport_cost(day, number, party_size, lookup)
        for meal in MEALS:
            if filled(day[meal]):
                restaurant = lookup.restaurant(day[meal])
                if restaurant is not None:
                    yield Cost(
                        number, meal, restaurant.name, restaurant.average_cost_usd, party_size
                    )
        if filled(day["accommodation"]):
            stay = lookup.stay(day["accommodation"])
            if stay is not None:
                yield Cost(
                    number,
                    "accommodation",
                    stay.name,
                    stay.price_usd,
                    math.ceil(party_size / stay.maximum_occupancy),
                )


def _transport_cost(day: Any, number: int, party_size: int, lookup: Lookup) -> Iterator[Cost]:
    origin, destination = travel_route(day)
    if origin is None or destination is None:
        return
    text = day["transportation"]
    lowered = text.lower()
    route = f"from {origin} to {destination}"
    if "flight number" in lowered:
        rows = lookup.flights_numbered(flight_number(text))
        if rows:
            yield Cost(number, "flight", f"{rows[0].number} {route}", rows[0].price_usd, party_size)
    elif "self-driving" in lowered or "taxi" in lowered:
        mode: CostKind = "self-driving" if "self-driving" in lowered else "taxi"
        per_vehicle_usd = road_cost_usd(lookup.world, origin, destination, mode)
        if per_vehicle_usd is None:
            # shut out by the gate on the sandbox rule
            raise TypeError("a road without a known cost has no price")
        yield Cost(number, mode, route, per_vehicle_usd, math.ceil(party_size / SEATS[mode]))


def total_usd(costs: Sequence[Cost]) -> float:
    return sum(cost.total_usd for cost in costs)


def valid_cost(query: Query, costs: Sequence[Cost]) -> Result:
    """The official rule gives no message, so this one has evidence only."""
    total = total_usd(costs)
    if total <= query.budget:
        return PASS
    return failed(
        None, None, None, f"${total:,.2f} for the whole party", f"at most ${query.budget:,}"
    )


WISHES: tuple[tuple[str, Callable[[Query, Days, Lookup], Result]], ...] = (
    ("valid_cuisine", valid_cuisine),
    ("valid_room_rule", valid_room_rule),
    ("valid_transportation", valid_transportation),
    ("valid_room_type", valid_room_type),
)

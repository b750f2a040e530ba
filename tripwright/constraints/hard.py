"""The five hard constraints of TravelPlanner (row T3), as its own evaluator decides them: what the traveller asked for, and the budget.

They are reached only by plans whose information is complete and found in the world (`evaluate.judge`). None means the traveller did
not ask. Prices come from the first row that matches, the flight's price from its number alone, and unknown words for transport cost
nothing: the strict rules differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from tripwright.constraints.commonsense import PASS, Days, Result, flight_number, travel_route
from tripwright.constraints.lookup import first_accommodation, first_restaurant, flights_numbered, road_cost_usd
from tripwright.constraints.text import filled, name_and_city
from tripwright.trip.plan import MEALS
from tripwright.trip.query import Query
from tripwright.world.store import World

NOT_ASKED: Result = (None, None)
FORBIDDING_RULE = {
    "smoking": "No smoking",
    "parties": "No parties",
    "children under 10": "No children under 10",
    "visitors": "No visitors",
    "pets": "No pets",
}
REQUIRED_ROOM = {"shared room": "Shared room", "private room": "Private room", "entire room": "Entire home/apt"}
SEATS = {"self-driving": 5, "taxi": 4}  # per vehicle


def valid_cuisine(query: Query, days: Days, world: World) -> Result:
    """Every wanted cuisine at some meal away from home. A meal at home ends its whole day (the official `continue`)."""
    wanted = query.local_constraint.cuisine
    if not wanted:
        return NOT_ASKED
    tasted: set[str] = set()
    for day in days:
        for meal in MEALS:
            if not filled(day[meal]):
                continue
            if name_and_city(day[meal])[1] == query.org:
                break
            row = first_restaurant(world, day[meal])
            if row is not None:
                tasted.update(cuisine for cuisine in wanted if cuisine in row.cuisines)
    if len(tasted) == len(wanted):
        return PASS
    for cuisine in wanted:
        if cuisine not in tasted:
            return False, f"The cuisine {cuisine} is not satisfied."
    raise TypeError("a cuisine is asked for twice: the official code returns nothing and fails on that")


def valid_room_rule(query: Query, days: Days, world: World) -> Result:
    rule = query.local_constraint.house_rule
    if rule is None:
        return NOT_ASKED
    forbidding = FORBIDDING_RULE.get(rule)
    for day in days:
        if filled(day["accommodation"]):
            row = first_accommodation(world, day["accommodation"])
            if row is not None and forbidding is not None and forbidding in row.house_rules:
                return False, f"The house rule should be {rule}."
    return PASS


def valid_transportation(query: Query, days: Days, world: World) -> Result:
    """Case-sensitive, unlike modes and costs."""
    wish = query.local_constraint.transportation
    if wish is None:
        return NOT_ASKED
    forbidden = {"no flight": "Flight", "no self-driving": "Self-driving"}.get(wish)
    for day in days:
        if filled(day["transportation"]) and forbidden is not None and forbidden in day["transportation"]:
            return False, f"The transportation should not be {wish}."
    return PASS


def valid_room_type(query: Query, days: Days, world: World) -> Result:
    wish = query.local_constraint.room_type
    if wish is None:
        return NOT_ASKED
    for day in days:
        if filled(day["accommodation"]):
            row = first_accommodation(world, day["accommodation"])
            if row is not None and not _is_wanted_room(wish, row.room_type):
                return False, f"The room type should be {wish}."
    return PASS


def _is_wanted_room(wish: str, room_type: str) -> bool:
    if wish == "not shared room":
        return room_type != "Shared room"
    return wish not in REQUIRED_ROOM or room_type == REQUIRED_ROOM[wish]


def total_cost_usd(query: Query, days: Days, world: World) -> float:
    """What the official rules charge the whole party."""
    party_size = query.people_number
    total: float = 0
    for day in days:
        if filled(day["transportation"]):
            total += _transport_cost_usd(day, party_size, world)
        for meal in MEALS:
            if filled(day[meal]):
                restaurant = first_restaurant(world, day[meal])
                total += restaurant.average_cost_usd * party_size if restaurant is not None else 0
        if filled(day["accommodation"]):
            stay = first_accommodation(world, day["accommodation"])
            total += stay.price_usd * math.ceil(party_size / stay.maximum_occupancy) if stay is not None else 0
    return total


def _transport_cost_usd(day: dict[str, str], party_size: int, world: World) -> float:
    origin, destination = travel_route(day)
    if origin is None or destination is None:
        return 0
    said = day["transportation"]
    lowered = said.lower()
    if "flight number" in lowered:
        rows = flights_numbered(world, flight_number(said))
        return rows[0].price_usd * party_size if rows else 0
    mode = "self-driving" if "self-driving" in lowered else "taxi" if "taxi" in lowered else None
    if mode is None:
        return 0
    per_vehicle_usd = road_cost_usd(world, origin, destination, mode)
    if per_vehicle_usd is None:
        raise TypeError("a road without a known cost has no price")  # shut out by the gate on the sandbox rule
    return per_vehicle_usd * math.ceil(party_size / SEATS[mode])


WISHES: tuple[tuple[str, Callable[[Query, Days, World], Result]], ...] = (
    ("valid_cuisine", valid_cuisine),
    ("valid_room_rule", valid_room_rule),
    ("valid_transportation", valid_transportation),
    ("valid_room_type", valid_room_type),
)

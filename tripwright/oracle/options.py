"""What each city and leg offers to one query: the parts that the planner combines (row B2).

Written from the benchmark's rules, without looking at the judge's code (law 1): tests make the two agree. Where a name is ambiguous
under the official substring look-up, or would not survive its text format, the option is left out, so that a plan built from
these options means the same under every rule set.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tripwright.trip.query import Query
from tripwright.world.records import Accommodation, Attraction, Flight, Ground, Restaurant
from tripwright.world.store import World

FORBIDDEN_BY_RULE = {
    "smoking": "No smoking",
    "parties": "No parties",
    "children under 10": "No children under 10",
    "visitors": "No visitors",
    "pets": "No pets",
}
ROOM_TYPES = {
    "shared room": {"Shared room"},
    "private room": {"Private room"},
    "entire room": {"Entire home/apt"},
    "not shared room": {"Private room", "Entire home/apt"},
}
SELF_DRIVING_USD_PER_KM, TAXI_USD_PER_KM = 0.05, 1.0
SEATS = {"self-driving": 5, "taxi": 4}
MEALS = ("breakfast", "lunch", "dinner")


@dataclass(frozen=True)
class Leg:
    """One way of getting from one city to the next. `cost_usd` is per person (flight) or per vehicle; `party_cost_usd` is for everyone."""

    mode: str
    origin: str
    destination: str
    duration: str
    distance: str
    cost_usd: float
    party_cost_usd: float
    flight: Flight | None = None


@dataclass(frozen=True)
class Stay:
    accommodation: Accommodation
    rooms: int
    night_cost_usd: float  # all rooms


def road_km(ground: Ground | None) -> float | None:
    """Length of a usable road connection; None where there is none, or it takes a day or more (the official rule)."""
    if ground is None or not ground.duration or not ground.distance or "day" in ground.duration:
        return None
    return float(re.sub(r"[^\d.]", "", ground.distance.replace("km", "")))


def road_legs(query: Query, world: World, origin: str, destination: str) -> list[Leg]:
    """Self-driving and taxi, as far as the query allows them."""
    ground = world.ground(origin, destination)
    km = road_km(ground)
    if km is None or ground is None:
        return []
    legs = []
    for mode, per_km in (("self-driving", SELF_DRIVING_USD_PER_KM), ("taxi", TAXI_USD_PER_KM)):
        if mode == "self-driving" and query.local_constraint.transportation == "no self-driving":
            continue
        cost = int(km * per_km)
        vehicles = math.ceil(query.party_size / SEATS[mode])
        legs.append(Leg(mode, origin, destination, ground.duration, ground.distance, cost, cost * vehicles))
    return legs


def flight_leg(query: Query, world: World, origin: str, destination: str, date: str) -> Leg | None:
    """The cheapest known flight of that day, if the query allows flying."""
    if query.local_constraint.transportation == "no flight":
        return None
    flights = sorted(world.flights(origin, destination, date) or [], key=lambda f: f.price_usd)
    for flight in flights:
        if world.flights_numbered(flight.number)[0].price_usd == flight.price_usd:  # the official price is that of the number's first row
            miles = f"{flight.distance_miles:g} miles"
            return Leg("flight", origin, destination, flight.duration, miles, flight.price_usd, flight.price_usd * query.party_size, flight)
    return None


def stays(query: Query, world: World, city: str) -> list[Stay]:
    """Accommodations that keep every stated preference, cheapest for this party first. Minimum nights are left to the planner."""
    rows = world.accommodations(city)
    rule, room = query.local_constraint.house_rule, query.local_constraint.room_type
    forbidden = FORBIDDEN_BY_RULE[rule] if rule else None
    found = []
    for row in rows:
        if not _finds_only_itself(row.name, rows):
            continue
        if (forbidden and forbidden in row.house_rules) or (room and row.room_type not in ROOM_TYPES[room]):
            continue
        rooms = math.ceil(query.party_size / row.maximum_occupancy)
        found.append(Stay(row, rooms, rooms * row.price_usd))
    return sorted(found, key=lambda stay: stay.night_cost_usd)


def restaurants(world: World, city: str) -> list[Restaurant]:
    """Restaurants whose name finds exactly themselves, cheapest first."""
    rows = world.restaurants(city)
    found = [row for row in rows if _finds_only_itself(row.name, rows)]
    return sorted(found, key=lambda row: row.average_cost_usd)


def attractions(world: World, city: str) -> list[Attraction]:
    """One row for each name that survives the plan's text, in file order."""
    named = {row.name.strip(): row for row in reversed(world.attractions(city)) if _is_plain(row.name) and ";" not in row.name}
    return [row for row in world.attractions(city) if named.get(row.name.strip()) is row]


def _finds_only_itself(name: str, rows: Sequence[Accommodation | Restaurant]) -> bool:
    """Under a look-up by substring that strips the blanks around a name (the tables have names that end with one)."""
    return _is_plain(name) and sum(name.strip() in other.name for other in rows) == 1


def _is_plain(name: str) -> bool:
    return name.strip() not in ("", "-") and "\n" not in name and "\r" not in name


def cuisine_mask(row: Restaurant, wanted: tuple[str, ...]) -> int:
    return sum(1 << i for i, cuisine in enumerate(wanted) if cuisine in row.cuisines)


def cheapest_meals(rows: list[Restaurant], wanted: tuple[str, ...], required: int, most: int) -> dict[int, tuple[float, tuple[int, ...]]]:
    """Cuisine mask → (cost per person, indices into `rows`): the cheapest set of distinct restaurants, `required` to `most` of them.

    Dynamic programme over rows with state (count, mask); a mask is kept only if no cheaper set covers it.
    """
    best: dict[tuple[int, int], tuple[float, tuple[int, ...]]] = {(0, 0): (0.0, ())}
    # Without a cuisine to reach, only the cheapest rows can matter; with one, also every row that serves it.
    useful = [i for i, row in enumerate(rows) if i < most or cuisine_mask(row, wanted)]
    for i in useful:
        mask = cuisine_mask(rows[i], wanted)
        for (count, covered), (cost, chosen) in list(best.items()):
            if count < most:
                key, value = (count + 1, covered | mask), (cost + rows[i].average_cost_usd, (*chosen, i))
                if key not in best or value[0] < best[key][0]:
                    best[key] = value
    found: dict[int, tuple[float, tuple[int, ...]]] = {}
    for (count, covered), value in best.items():
        if count >= required and (covered not in found or value[0] < found[covered][0]):
            found[covered] = value
    return found


@cache
def night_splits(nights: int, cities: int) -> tuple[tuple[int, ...], ...]:
    """All ways to spend `nights` over `cities` in order, at least one each; equal splits first."""
    if cities == 1:
        return ((nights,),)
    found = [(first, *rest) for first in range(1, nights - cities + 2) for rest in night_splits(nights - first, cities - 1)]
    return tuple(sorted(found, key=lambda split: (max(split) - min(split), split)))

"""What each city and leg offers to one query: the parts that the planner combines.

Written from the benchmark's rules, without looking at the judge's code: tests make the two
agree. The official rules look a name up as a substring and take the first row that has it; the
strict rules take the rows of exactly this name. An option is offered where both charge the same and
accept it, and left out where they do not or where its name would not survive the plan's text: a
plan of these options means the same, and costs the same, under both.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from tripwright.domains.travelplanner.oracle.patience import check_time
from tripwright.domains.travelplanner.query import Query
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
    """One way of getting from one city to the next. `cost_usd` is per person (flight) or per
    vehicle; `party_cost_usd` is for everyone."""

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
    # from this many nights on, the strict rules charge a cheaper row of the same name
    nights_below: float = math.inf

    def fits(self, nights: int) -> bool:
        return self.accommodation.minimum_nights <= nights < self.nights_below


def cents(usd: float) -> int:
    """Sums of whole cents are exact, so that equal plans cost the same in whatever order they are
    added up."""
    return round(100 * usd)


def road_km(ground: Ground | None) -> float | None:
    """Length of a usable road connection; None where there is none, or it takes a day or more (the
    official rule)."""
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
        legs.append(
            Leg(mode, origin, destination, ground.duration, ground.distance, cost, cost * vehicles)
        )
    return legs


def flight_leg(query: Query, world: World, origin: str, destination: str, date: str) -> Leg | None:
    """The cheapest known flight of that day, if the query allows flying."""
    if query.local_constraint.transportation == "no flight":
        return None
    flights = world.flights(origin, destination, date)
    if not flights:
        return None
    for flight in sorted(flights, key=lambda flight: flight.price_usd):
        if not _is_plain(flight.number) or "," in flight.number:
            continue
        # the official price is that of the number's first row
        if world.flights_numbered(flight.number)[0].price_usd == flight.price_usd:
            miles = f"{flight.distance_miles:g} miles"
            return Leg(
                "flight",
                origin,
                destination,
                flight.duration,
                miles,
                flight.price_usd,
                flight.price_usd * query.party_size,
                flight,
            )
    return None


def stays(query: Query, world: World, city: str) -> list[Stay]:
    """Accommodations that keep every stated preference, cheapest for this party first. Nights are
    left to the planner: see `Stay.fits`."""
    rows = world.accommodations(city)
    options = []
    for name in dict.fromkeys(row.name.strip() for row in rows if _is_plain(row.name)):
        first = next(row for row in rows if name in row.name)
        if not _keeps_wishes(query, first):
            continue
        charged = _night_cost_usd(query, first)
        fitting = [row for row in rows if row.name.strip() == name and _keeps_wishes(query, row)]
        same = [row for row in fitting if _night_cost_usd(query, row) == charged]
        if same:
            row = min(same, key=lambda row: row.minimum_nights)
            below = min(
                (row.minimum_nights for row in fitting if _night_cost_usd(query, row) < charged),
                default=math.inf,
            )
            options.append(Stay(row, _rooms(query, row), charged, below))
    return sorted(options, key=lambda stay: stay.night_cost_usd)


def _keeps_wishes(query: Query, row: Accommodation) -> bool:
    rule, room = query.local_constraint.house_rule, query.local_constraint.room_type
    return not (rule and FORBIDDEN_BY_RULE[rule] in row.house_rules) and not (
        room and row.room_type not in ROOM_TYPES[room]
    )


def _rooms(query: Query, row: Accommodation) -> int:
    return math.ceil(query.party_size / row.maximum_occupancy)


def _night_cost_usd(query: Query, row: Accommodation) -> float:
    return _rooms(query, row) * row.price_usd


def restaurants(world: World, city: str) -> list[Restaurant]:
    """Restaurants that mean the same under both look-ups, cheapest first."""
    rows = world.restaurants(city)
    options = []
    for name in dict.fromkeys(row.name.strip() for row in rows if _is_plain(row.name)):
        first = next(row for row in rows if name in row.name)
        exact = (
            first
            if first.name.strip() == name
            else next(row for row in rows if row.name.strip() == name)
        )
        if (first.average_cost_usd, first.cuisines) == (exact.average_cost_usd, exact.cuisines):
            options.append(exact)
    return sorted(options, key=lambda row: row.average_cost_usd)


def attractions(world: World, city: str) -> list[Attraction]:
    """One row for each place whose name survives the plan's text, in file order."""
    rows = world.attractions(city)
    return [rows[number] for number in sights_to_plan([row.name for row in rows])]


def sights_to_plan(names: Sequence[str]) -> list[int]:
    """The numbers of those that survive the plan's text, of each place the first."""
    number_of_place: dict[str, int] = {}
    for number, name in enumerate(names):
        if _is_plain(name) and ";" not in name:
            number_of_place.setdefault(_letters(name), number)
    return list(number_of_place.values())


def _letters(name: str) -> str:
    """The same for names that differ in signs, case or blanks alone: to a traveller, one place."""
    plain = unicodedata.normalize("NFKD", name).casefold()
    return "".join(c for c in plain if c.isalnum()) or name.strip()


def _is_plain(name: str) -> bool:
    return name.strip() not in ("", "-") and "\n" not in name and "\r" not in name


def cuisine_mask(row: Restaurant, cuisines: tuple[str, ...]) -> int:
    return sum(1 << i for i, cuisine in enumerate(cuisines) if cuisine in row.cuisines)


# cuisine mask → (cents per person, indices of the restaurants)
Meals = dict[int, tuple[int, tuple[int, ...]]]


def cheapest_meals(rows: list[Restaurant], cuisines: tuple[str, ...], most: int) -> list[Meals]:
    """For each number of meals from 0 to `most`: cuisine mask → the cheapest set of that many
    different restaurants.

    Dynamic programme over places with state (count, mask). A row that serves a wanted cuisine
    matters only as the cheapest of its mask, every other one only as one of the `most` cheapest.
    Rows that are one place to a traveller matter all, and one of them is taken.
    """
    masks = [cuisine_mask(row, cuisines) for row in rows]
    rows_of_place: dict[str, list[int]] = {}
    for i, row in enumerate(rows):
        rows_of_place.setdefault(_letters(row.name), []).append(i)
    alone = [i for place in rows_of_place.values() if len(place) == 1 for i in place]
    first_of_mask = {masks[i]: i for i in reversed(alone)}
    kept = {*alone[:most], *(i for mask, i in first_of_mask.items() if mask)}
    best: list[Meals] = [{0: (0, ())}, *({} for _ in range(most))]
    for place in rows_of_place.values():
        check_time()
        if len(place) == 1 and place[0] not in kept:
            continue
        for count in range(most - 1, -1, -1):
            above = best[count + 1]
            for i in place:
                price = cents(rows[i].average_cost_usd)
                for covered, (cost, indices) in best[count].items():
                    mask = covered | masks[i]
                    if mask not in above or cost + price < above[mask][0]:
                        above[mask] = cost + price, (*indices, i)
    return best


@cache
def night_splits(nights: int, cities: int) -> tuple[tuple[int, ...], ...]:
    """All ways to spend `nights` over `cities` in order, at least one each; equal splits first."""
    if cities == 1:
        return ((nights,),)
    splits = [
        (first, *rest)
        for first in range(1, nights - cities + 2)
        for rest in night_splits(nights - first, cities - 1)
    ]
    return tuple(sorted(splits, key=lambda split: (max(split) - min(split), split)))

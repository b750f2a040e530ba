"""The official budget of a request: statistics of prices, not the cost of a plan (row T2). It may
be too little for any plan at all.

Statistics: flights times 2, 3 or 4, hotels times 3, 5 or 7 and restaurants times 9, 15 or 21, for
trips of 3, 5 and 7 days, each by its lowest, average and highest price per person, room or meal.
Return flights and legs between cities are not in it. For 3 days the flights are those of any day
from the origin to the destination; for more, those to any city of the state on the trip's days.
"""

from __future__ import annotations

from collections.abc import Sequence

from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE, ROOM_TYPES
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World

TIMES = {3: (2, 3, 9), 5: (3, 5, 15), 7: (4, 7, 21)}  # days → flights, hotels, restaurants
SHARE = {"easy": 1.0, "medium": 0.75, "hard": 0.5}  # of the statistics for the whole party
FEWEST_FLIGHTS = {3: 2, 5: 10, 7: 10}  # on the first day, where driving oneself is not wanted
FARTHEST_DRIVE_MILES = 800  # where flying is not wanted


class NoBudget(ValueError):
    """The official sampler draws again: what is missing, in words."""


def official_budget(query: Query, world: World) -> int:
    """US dollars for the whole party, in hundreds. Raises NoBudget where the official sampler would
    reject the request."""
    low, average, high = price_statistics(query, world)
    persons = query.party_size * SHARE[str(query.level)]
    if query.days == 3:
        return _hundreds((average + low) / 2 * persons)
    if query.days == 5:
        return _hundreds(average * persons)
    return _hundreds(_hundreds((average + high) / 2) * persons)


def price_statistics(query: Query, world: World) -> tuple[float, float, float]:
    """(lowest, average, highest) in US dollars for one person: prices of this trip's flights,
    hotels and restaurants by `TIMES`."""
    cities = [query.dest] if query.days == 3 else world.states[query.dest]
    dates = world.dates if query.days == 3 else query.date
    flights = [
        flight
        for city in cities
        for date in dates
        for flight in world.flights(query.org, city, date) or []
    ]
    hotels = [row for city in cities for row in world.accommodations(city)]
    meals = [row for city in cities for row in world.restaurants(city)]
    if query.level != "easy":
        hotels = [row for row in hotels if row.maximum_occupancy >= query.party_size]
    if query.level == "hard":
        _check_flights(query, flights)
        hotels, meals = _wanted_hotels(query, hotels), _wanted_meals(query, meals)
    prices = (
        [flight.price_usd for flight in flights],
        [hotel.price_usd for hotel in hotels],
        [meal.average_cost_usd for meal in meals],
    )
    for rows, what in zip(prices, ("flights", "hotels", "restaurants"), strict=True):
        if not rows:
            raise NoBudget(f"official budget: no {what}")
    times = TIMES[query.days]

    def total(each: Sequence[float]) -> float:
        return sum(price * count for price, count in zip(each, times, strict=True))

    return (
        total([min(p) for p in prices]),
        total([sum(p) / len(p) for p in prices]),
        total([max(p) for p in prices]),
    )


def _check_flights(query: Query, flights: list[Flight]) -> None:
    wish, first_day = (
        query.local_constraint.transportation,
        sum(flight.date == query.date[0] for flight in flights),
    )
    if wish == "no self-driving" and first_day < FEWEST_FLIGHTS[query.days]:
        raise NoBudget("official budget: too few flights on the first day")
    if wish == "no flight" and (first_day < 2 or flights[0].distance_miles > FARTHEST_DRIVE_MILES):
        raise NoBudget("official budget: too far to drive")


def _wanted_hotels(query: Query, hotels: list[Accommodation]) -> list[Accommodation]:
    rule, room = query.local_constraint.house_rule, query.local_constraint.room_type
    if room:
        hotels = [row for row in hotels if row.room_type in ROOM_TYPES[room]]
    if rule:
        hotels = [row for row in hotels if FORBIDDEN_BY_RULE[rule] not in row.house_rules]
    if (room or rule) and len(hotels) < query.days:
        raise NoBudget("official budget: too few hotels that fit the wishes")
    return hotels


def _wanted_meals(query: Query, meals: list[Restaurant]) -> list[Restaurant]:
    cuisines = query.local_constraint.cuisine
    if not cuisines:
        return meals
    meals = [row for row in meals if any(cuisine in row.cuisines for cuisine in cuisines)]
    if len(meals) < query.days:
        raise NoBudget("official budget: too few restaurants of the wanted cuisines")
    return meals


def _hundreds(amount: float) -> int:
    return round(amount / 100) * 100

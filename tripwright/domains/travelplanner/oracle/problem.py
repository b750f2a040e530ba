"""One query in one world as numbers: what each city costs for so many nights, and each leg on each
day.

Costs are whole cents for the whole party. Everything is looked up when it is first asked for, and
kept as long as the problem is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from tripwright.domains.travelplanner.oracle.options import (
    FORBIDDEN_BY_RULE,
    MEALS,
    ROOM_TYPES,
    Leg,
    Meals,
    Stay,
    attractions,
    cents,
    cheapest_meals,
    flight_leg,
    restaurants,
    road_legs,
    stays,
)
from tripwright.domains.travelplanner.oracle.patience import check_time
from tripwright.domains.travelplanner.query import Query, why_outside
from tripwright.errors import counted
from tripwright.world.records import Restaurant
from tripwright.world.store import World

Splits = Literal["equal", "all"]
# so many extra meals always find a place on the days of travel: three on each, and one city has two
# of them
MOST_CUISINES = 9


def why_unplannable(query: Query, world: World) -> str | None:
    """Why a request cannot even be tried; words that are not known are refused, never ignored."""
    wishes, nights, cuisines = (
        query.local_constraint,
        query.days - 1,
        query.local_constraint.cuisine or [],
    )
    if query.org not in world.cities:
        return f"'{query.org}' is not a city in this world."
    if nights < query.visiting_city_number:
        has = (
            f"{counted(query.days, 'day')} {'has' if query.days == 1 else 'have'}"
            f" {counted(nights, 'night')}"
        )
        return (
            f"trips need as many nights as cities: {counted(query.visiting_city_number, 'city')}"
            f" asked for, {has}."
        )
    if query.dest not in (world.cities if query.days <= 3 else world.states):
        return (
            f"'{query.dest}' is not a destination in this world (a city for 3 days, a state for"
            " more)."
        )
    if query.dest == query.org and query.days <= 3:
        return f"the trip starts in {query.org} and goes to {query.org}."
    if len(query.date) != query.days:
        return (
            f"the request is for {counted(query.days, 'day')} and gives"
            f" {counted(len(query.date), 'date')}."
        )
    if outside := why_outside(query, world):
        return outside
    for kind, wish, vocabulary in (
        ("house rule", wishes.house_rule, FORBIDDEN_BY_RULE),
        ("room type", wishes.room_type, ROOM_TYPES),
        ("transportation", wishes.transportation, ("no flight", "no self-driving")),
    ):
        if wish is not None and wish not in vocabulary:
            return f"unknown {kind} '{wish}'; known are {', '.join(vocabulary)}."
    if len(set(cuisines)) < len(cuisines):
        return (
            f"a cuisine is asked for twice ({', '.join(cuisines)}), which the official rules cannot"
            " pass."
        )
    if len(cuisines) > MOST_CUISINES:
        return f"{len(cuisines)} cuisines are asked for; the planner tries up to {MOST_CUISINES}."
    return None


def city_pool(query: Query, world: World) -> list[str]:
    """The cities a plan may visit, in the world's order: one for up to three days, those of a state
    for more (row T2)."""
    if query.days <= 3:
        return [query.dest]
    return [
        city
        for city in world.states[query.dest]
        if city != query.org and world.cities[city] == query.dest
    ]


@dataclass(frozen=True)
class CityOffer:
    """One city for so many nights. `stays` is cheapest first; `meals` holds no set that a cheaper
    one covers."""

    stays: tuple[Stay, ...]
    stay_cents: tuple[int, ...]  # all nights
    # (cuisine mask, cents, restaurants by index), cheapest first
    meals: tuple[tuple[int, int, tuple[int, ...]], ...]


class Problem:
    def __init__(
        self, query: Query, world: World, comfortable: bool = False, splits: Splits = "all"
    ):
        self.query, self.world, self.comfortable = query, world, comfortable
        self.wanted = tuple(query.local_constraint.cuisine or ())
        self.visits, self.nights = query.visiting_city_number, query.days - 1
        each, more = divmod(self.nights, self.visits)
        longest = self.nights - self.visits + 1
        # Nights that one city may have.
        self.lengths = (
            range(1, longest + 1)
            if splits == "all" and self.visits > 1
            else range(each, each + 1 + bool(more))
        )
        self._stays: dict[str, list[Stay]] = {}
        self._meals: dict[str, tuple[list[Restaurant], list[Meals]]] = {}
        self._offers: dict[tuple[str, int], CityOffer | str] = {}
        self._sights: dict[str, tuple[str, ...]] = {}
        self._roads: dict[tuple[str, str], dict[str, Leg]] = {}
        self._legs: dict[tuple[str, str, int], Leg | None] = {}

    @cached_property
    def cities(self) -> list[str]:
        """The pool without the cities that fit for no number of nights."""
        pool = city_pool(self.query, self.world)
        return [
            city
            for city in pool
            if any(self.offer(city, nights) is not None for nights in self.lengths)
        ]

    def offer(self, city: str, nights: int) -> CityOffer | None:
        offer = self._offer(city, nights)
        return None if isinstance(offer, str) else offer

    def why_not(self, city: str, nights: int) -> str | None:
        """Why the city cannot be had for so many nights, in a sentence; None where it can."""
        offer = self._offer(city, nights)
        return offer if isinstance(offer, str) else None

    def _offer(self, city: str, nights: int) -> CityOffer | str:
        if (city, nights) not in self._offers:
            check_time()
            self._offers[city, nights] = self._made_offer(city, nights)
        return self._offers[city, nights]

    def _made_offer(self, city: str, nights: int) -> CityOffer | str:
        fitting = tuple(
            stay
            for stay in self.stays(city)
            if stay.fits(nights) and not (self.comfortable and stay.rooms > 1)
        )
        if not fitting:
            return (
                f"no stay in {city} keeps the stated preferences with at most {nights} minimum"
                " nights."
            )
        counts = self.meals(city)[1]
        required = len(MEALS) * (nights - 1)
        # Beside the required meals, at most one per wanted cuisine, and no more than its two days
        # of travel have.
        most = max(required, min(len(self.wanted), required + 2 * len(MEALS)))
        sets: dict[int, tuple[int, tuple[int, ...]]] = {}
        for meals in counts[required : most + 1]:
            for mask, value in meals.items():
                if mask not in sets or value[0] < sets[mask][0]:
                    sets[mask] = value
        if not sets:
            return f"{city} has too few restaurants for distinct meals."
        if len(self.sights(city)) < nights - 1:
            return f"{city} has too few attractions."
        night_cents = (cents(stay.accommodation.price_usd) * stay.rooms for stay in fitting)
        return CityOffer(
            fitting,
            tuple(night * nights for night in night_cents),
            _undominated(sets, self.query.party_size),
        )

    def stays(self, city: str) -> list[Stay]:
        if city not in self._stays:
            self._stays[city] = stays(self.query, self.world, city)
        return self._stays[city]

    def meals(self, city: str) -> tuple[list[Restaurant], list[Meals]]:
        if city not in self._meals:
            rows = restaurants(self.world, city)
            most = max(len(MEALS) * (self.lengths[-1] - 1), len(self.wanted))
            self._meals[city] = rows, cheapest_meals(rows, self.wanted, most)
        return self._meals[city]

    def sights(self, city: str) -> tuple[str, ...]:
        if city not in self._sights:
            self._sights[city] = tuple(row.name for row in attractions(self.world, city))
        return self._sights[city]

    def leg(self, origin: str, destination: str, day: int, driving: bool) -> Leg | None:
        """The cheapest way for the whole party on the day with this index: by own car, or by flight
        or taxi."""
        if driving:
            return self._road(origin, destination).get("self-driving")
        key = (origin, destination, day)
        if key not in self._legs:
            flight = flight_leg(self.query, self.world, origin, destination, self.query.date[day])
            taxi = self._road(origin, destination).get("taxi")
            if flight is None or taxi is None:
                self._legs[key] = flight or taxi
            else:
                self._legs[key] = (
                    flight
                    if self.comfortable or self.leg_cents(flight) <= self.leg_cents(taxi)
                    else taxi
                )
        return self._legs[key]

    def _road(self, origin: str, destination: str) -> dict[str, Leg]:
        if (origin, destination) not in self._roads:
            self._roads[origin, destination] = {
                leg.mode: leg for leg in road_legs(self.query, self.world, origin, destination)
            }
        return self._roads[origin, destination]

    def leg_cents(self, leg: Leg) -> int:
        """For the whole party. Road costs are whole dollars, a flight's price is per person."""
        return (
            cents(leg.cost_usd) * self.query.party_size if leg.flight else cents(leg.party_cost_usd)
        )


def _undominated(sets: Meals, party_size: int) -> tuple[tuple[int, int, tuple[int, ...]], ...]:
    menus: list[tuple[int, int, tuple[int, ...]]] = []
    for mask, (price, indices) in sorted(
        sets.items(), key=lambda item: (item[1][0], -item[0].bit_count(), item[0])
    ):
        if not any(mask & ~other == 0 for other, _, _ in menus):
            menus.append((mask, price * party_size, indices))
    return tuple(menus)

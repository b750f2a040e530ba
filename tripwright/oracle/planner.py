"""The exact planner (row B2): the cheapest plan for a query in a world, by decomposition.

Given the order of cities and the nights spent in each, cost is a sum of parts that do not touch each other: the legs (one choice
between driving everywhere and flights/taxis, because the two may not be mixed), the cheapest fitting stay per city, and meals,
which touch only through the cuisines they cover together. So: enumerate orders and splits, bound each from below, and combine.

What a plan contains: transport and the night's stay on travel days; three distinct meals and one attraction on full days; further
meals on arrival days only where a wanted cuisine needs them. That is the least the rules ask for, hence the cheapest.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tripwright.oracle.options import (
    FORBIDDEN_BY_RULE,
    MEALS,
    ROOM_TYPES,
    Leg,
    Stay,
    attractions,
    cheapest_meals,
    flight_leg,
    night_splits,
    restaurants,
    road_legs,
    stays,
)
from tripwright.trip.query import Query
from tripwright.world.records import Restaurant
from tripwright.world.store import World


class Status(StrEnum):
    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True)
class CityChoice:
    city: str
    nights: int
    stay: Stay
    meals: tuple[Restaurant, ...]  # the first 3 × (nights − 1) are for the full days, the rest for the arrival day
    attractions: tuple[str, ...]  # one per full day


@dataclass(frozen=True)
class Solution:
    status: Status
    cost_usd: float | None = None
    cities: tuple[CityChoice, ...] = ()
    legs: tuple[Leg, ...] = ()
    why: str | None = None
    comfortable: bool = False  # the cheapest among the comfortable plans only

    @property
    def family(self) -> str | None:
        return ("self-driving" if self.legs[0].mode == "self-driving" else "flight or taxi") if self.legs else None


def solve(query: Query, world: World, comfortable: bool = False) -> Solution:
    """The cheapest plan within the rules, whatever the budget (compare `cost_usd` with it), or INFEASIBLE with the first reason found.

    `comfortable`: the cheapest among the plans a traveller would call normal: one room holds the whole party, and no taxi from
    city to city where one can fly. It may cost more, or not exist.
    """
    if why := _unplannable(query, world):
        return Solution(Status.INFEASIBLE, why=why)
    problem = _CityProblem(query, world, comfortable)
    pool = [query.dest] if query.days == 3 else [c for c in world.states[query.dest] if c != query.org]
    bounded = sorted(_bounded(problem, pool), key=lambda plan: plan[0])
    if not bounded:
        return Solution(Status.INFEASIBLE, why=problem.reason or "no order of cities has transport, stays, meals and attractions together.")
    best: Solution | None = None
    for bound, order, split, legs in bounded:
        if best is not None and best.cost_usd is not None and bound >= best.cost_usd:
            break
        choice = _with_meals(problem, order, split, legs)
        if choice is not None and (best is None or best.cost_usd is None or (choice.cost_usd or 0) < best.cost_usd):
            best = choice
    return best or Solution(Status.INFEASIBLE, why="no reachable choice of cities serves every wanted cuisine.")


def _unplannable(query: Query, world: World) -> str | None:
    """Why a request cannot even be tried; words that are not known are refused, never ignored (law 3)."""
    wishes, nights = query.local_constraint, query.days - 1
    if query.org not in world.cities:
        return f"'{query.org}' is not a city in this world."
    if query.dest not in (world.cities if query.days == 3 else world.states):
        return f"'{query.dest}' is not a destination in this world (a city for 3 days, a state for more)."
    if len(query.date) != query.days:
        return f"the request is for {query.days} days and gives {len(query.date)} dates."
    if nights < query.visiting_city_number:
        return f"{query.visiting_city_number} cities need as many nights, {query.days} days have {nights}."
    for kind, wish, known in (
        ("house rule", wishes.house_rule, FORBIDDEN_BY_RULE),
        ("room type", wishes.room_type, ROOM_TYPES),
        ("transportation", wishes.transportation, ("no flight", "no self-driving")),
    ):
        if wish is not None and wish not in known:
            return f"unknown {kind} '{wish}'; known are {', '.join(known)}."
    return None


Bounded = tuple[float, tuple[str, ...], tuple[int, ...], tuple[Leg, ...]]


def _bounded(problem: _CityProblem, pool: list[str]) -> Iterator[Bounded]:
    """(lower bound, order, split, legs) for every order of cities, split of nights and transport family that can work."""
    query = problem.query
    longest = query.days - query.visiting_city_number  # nights in one city, with one night in each of the others
    pool = [city for city in pool if any(problem.floor(city, nights) is not None for nights in range(1, longest + 1))]
    for order in itertools.permutations(pool, query.visiting_city_number):
        for split in night_splits(query.days - 1, len(order)):
            floor = [problem.floor(city, nights) for city, nights in zip(order, split, strict=True)]
            if any(value is None for value in floor):
                continue
            parts = sum(value for value in floor if value is not None)
            for legs in problem.families(order, split):
                yield parts + sum(leg.party_cost_usd for leg in legs), order, split, legs


class _CityProblem:
    """Memo of everything about one query that does not depend on the order of cities."""

    def __init__(self, query: Query, world: World, comfortable: bool):
        self.query, self.world, self.comfortable = query, world, comfortable
        self.wanted = tuple(query.local_constraint.cuisine or ())
        self.reason: str | None = None
        self._stays: dict[str, list[Stay]] = {}
        self._meals: dict[tuple[str, int], tuple[list[Restaurant], dict[int, tuple[float, tuple[int, ...]]]]] = {}
        self._floors: dict[tuple[str, int], float | None] = {}
        self._roads: dict[tuple[str, str], list[Leg]] = {}
        self._flights: dict[tuple[str, str, str], Leg | None] = {}

    def stay(self, city: str, nights: int) -> Stay | None:
        if city not in self._stays:
            self._stays[city] = stays(self.query, self.world, city)
        for stay in self._stays[city]:
            if stay.accommodation.minimum_nights <= nights and not (self.comfortable and stay.rooms > 1):
                return stay
        return None

    def meals(self, city: str, nights: int) -> tuple[list[Restaurant], dict[int, tuple[float, tuple[int, ...]]]]:
        if (city, nights) not in self._meals:
            rows = restaurants(self.world, city)
            required = 3 * (nights - 1)
            most = required + (len(MEALS) if self.wanted else 0)
            self._meals[city, nights] = rows, cheapest_meals(rows, self.wanted, required, most)
        return self._meals[city, nights]

    def floor(self, city: str, nights: int) -> float | None:
        """The least this city can cost for that many nights; None where it cannot be done, with the reason kept."""
        key = (city, nights)
        if key not in self._floors:
            self._floors[key] = self._floor(city, nights)
        return self._floors[key]

    def _floor(self, city: str, nights: int) -> float | None:
        stay = self.stay(city, nights)
        meals = self.meals(city, nights)[1]
        if stay is None:
            self.reason = f"no stay in {city} keeps the stated preferences with at most {nights} minimum nights."
        elif not meals:
            self.reason = f"{city} has too few restaurants for distinct meals."
        elif len(attractions(self.world, city)) < nights - 1:
            self.reason = f"{city} has too few attractions."
        else:
            return stay.night_cost_usd * nights + min(cost for cost, _ in meals.values()) * self.query.party_size
        return None

    def families(self, order: tuple[str, ...], split: tuple[int, ...]) -> Iterator[tuple[Leg, ...]]:
        """The cheapest legs of each transport family: all self-driving, or flights and taxis."""
        stops = (self.query.org, *order, self.query.org)
        days = [0, *itertools.accumulate(split)]
        driving, other = [], []
        for origin, destination, day in zip(stops[:-1], stops[1:], days, strict=True):
            if (origin, destination) not in self._roads:
                self._roads[origin, destination] = road_legs(self.query, self.world, origin, destination)
            roads = self._roads[origin, destination]
            date = self.query.date[day]
            if (origin, destination, date) not in self._flights:
                self._flights[origin, destination, date] = flight_leg(self.query, self.world, origin, destination, date)
            flight = self._flights[origin, destination, date]
            driving.append(next((leg for leg in roads if leg.mode == "self-driving"), None))
            choices = [leg for leg in (flight, *roads) if leg and leg.mode != "self-driving"]
            if self.comfortable and flight:
                choices = [flight]
            other.append(min(choices, key=lambda leg: leg.party_cost_usd, default=None))
        possible = [tuple(leg for leg in family if leg) for family in (driving, other) if all(family)]
        if not possible:
            self.reason = f"no transport {' – '.join(stops)} on these dates."
        yield from possible


def _with_meals(problem: _CityProblem, order: tuple[str, ...], split: tuple[int, ...], legs: tuple[Leg, ...]) -> Solution | None:
    """The cheapest meals that cover every wanted cuisine together, and the whole plan's cost; None where they cannot be covered."""
    states: dict[int, tuple[float, tuple[tuple[int, ...], ...]]] = {0: (0.0, ())}
    for city, nights in zip(order, split, strict=True):
        merged: dict[int, tuple[float, tuple[tuple[int, ...], ...]]] = {}
        for (mask, (cost, chosen)), (here, (more, picked)) in itertools.product(states.items(), problem.meals(city, nights)[1].items()):
            total, key = cost + more, mask | here
            if key not in merged or total < merged[key][0]:
                merged[key] = total, (*chosen, picked)
        states = merged
    full = (1 << len(problem.wanted)) - 1
    if full not in states:
        return None
    meals_usd, picks = states[full]
    cities, stays_usd = [], 0.0
    for city, nights, picked in zip(order, split, picks, strict=True):
        stay = problem.stay(city, nights)
        assert stay is not None
        stays_usd += stay.night_cost_usd * nights
        rows = problem.meals(city, nights)[0]
        sights = tuple(row.name for row in attractions(problem.world, city)[: nights - 1])
        cities.append(CityChoice(city, nights, stay, tuple(rows[i] for i in picked), sights))
    cost = sum(leg.party_cost_usd for leg in legs) + stays_usd + meals_usd * problem.query.party_size
    return Solution(Status.OPTIMAL, cost, tuple(cities), legs, comfortable=problem.comfortable)


def plan_days(query: Query, solution: Solution) -> list[dict[str, Any]]:
    """The plan in P3's schema, as plain JSON."""
    days: list[dict[str, Any]] = []
    here = query.org
    for choice, leg in zip(solution.cities, solution.legs, strict=False):
        full_days = choice.nights - 1
        extra = [r.name for r in choice.meals[3 * full_days :]]
        arrival = _day(len(days) + 1, {"from": here, "to": choice.city}, leg_record(leg), choice.stay.accommodation.name)
        arrival.update(zip(reversed(MEALS), extra, strict=False))  # dinner first: one arrives before dinner rather than before breakfast
        days.append(arrival)
        for i in range(full_days):
            day = _day(len(days) + 1, choice.city, "-", choice.stay.accommodation.name)
            day["attraction"] = [choice.attractions[i]]
            day.update(zip(MEALS, (r.name for r in choice.meals[3 * i : 3 * i + 3]), strict=True))
            days.append(day)
        here = choice.city
    days.append(_day(len(days) + 1, {"from": here, "to": query.org}, leg_record(solution.legs[-1]), "-"))
    return days


def _day(number: int, city: Any, transportation: Any, accommodation: str) -> dict[str, Any]:
    return {
        "days": number,
        "city": city,
        "transportation": transportation,
        "attraction": "-",
        "accommodation": accommodation,
        **dict.fromkeys(MEALS, "-"),
    }


def leg_record(leg: Leg) -> dict[str, Any]:
    record: dict[str, Any] = {
        "mode": leg.mode,
        "from": leg.origin,
        "to": leg.destination,
        "duration": leg.duration,
        "distance": leg.distance,
        "cost": int(leg.cost_usd),
    }
    if leg.flight is not None:
        flight = leg.flight
        record.update(flight_number=flight.number, departure_time=flight.departure_time, arrival_time=flight.arrival_time)
    return record

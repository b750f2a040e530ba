"""Planner-R1's seven tools (row P1) over one world: what the agent may ask, and errors it can read
and act on.

Signature and docstring are the only definition of a tool: the JSON schemas shown to models and the
argument check are derived from them (`signatures.py`), and a face may put its own names and
descriptions in their place.
Tools return the world's typed records (a face turns them into text) or raise ToolError; they never
guess: cities and states are matched exactly, as in the official tools, and a near miss is answered
with the name that was probably meant.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeVar

from tripwright.domains.travelplanner.tools.calculator import evaluate
from tripwright.tools.answer import ToolError, quoted
from tripwright.tools.signatures import Core, known_date
from tripwright.world.records import (
    Accommodation,
    Attraction,
    Flight,
    Restaurant,
    did_you_mean,
    road_distance_km,
)
from tripwright.world.store import World

SELF_DRIVING_USD_PER_KM = 0.05  # per car, as the official tool prices it
TAXI_USD_PER_KM = 1.0  # per taxi


class Route(NamedTuple):
    """A road connection with the price of one vehicle."""

    mode: str
    origin: str
    destination: str
    duration: str
    distance: str
    cost_usd: int  # per car or taxi


class City(NamedTuple):
    city: str
    state: str


class CityList(NamedTuple):
    state: str
    cities: tuple[str, ...]

    @property
    def records(self) -> list[City]:
        return [City(city, self.state) for city in self.cities]


class Number(NamedTuple):
    value: int | float


Record = TypeVar("Record")


class TravelTools(Core):
    """The tools, bound to a world. The order of the methods is the order of Planner-R1's list and
    of the schemas."""

    _world: World

    def search_flights(self, origin: str, destination: str, date: str) -> list[Flight]:
        """Search the flights between two cities on one day. Prices are in US dollars per person.

        Args:
            origin: The city to fly from.
            destination: The city to fly to.
            date: The day of departure, YYYY-MM-DD.
        """
        self._known_city(origin)
        self._known_city(destination)
        known_date(date)
        flights = self._world.flights(origin, destination, date)
        if flights is None:
            unknown = (
                f"Flight search {origin} → {destination} on {date} is outside this world's records:"
                " unknown, not 'no flights'."
            )
            raise ToolError(unknown, "unknown_search")
        if not flights:
            raise ToolError(f"No flights from {origin} to {destination} on {date}.", "no_flights")
        return flights

    def search_accommodations(self, city: str) -> list[Accommodation]:
        """Search the places to stay in a city. Prices are in US dollars per room and night.

        Args:
            city: The city to stay in.
        """
        self._known_city(city)
        return _some(
            self._world.accommodations(city), "no_accommodations", f"No accommodations in {city}."
        )

    def search_restaurants(self, city: str) -> list[Restaurant]:
        """Search the restaurants of a city. Costs are in US dollars per person and meal.

        Args:
            city: The city to eat in.
        """
        self._known_city(city)
        return _some(self._world.restaurants(city), "no_restaurants", f"No restaurants in {city}.")

    def search_attractions(self, city: str) -> list[Attraction]:
        """Search the sights of a city.

        Args:
            city: The city to visit.
        """
        self._known_city(city)
        return _some(self._world.attractions(city), "no_attractions", f"No attractions in {city}.")

    def search_ground_transportation(
        self, origin: str, destination: str, mode: Literal["self-driving", "taxi"]
    ) -> Route:
        """Look up the road between two cities: duration, distance and the cost in US dollars of one
        car or one taxi.

        Args:
            origin: The city to start from.
            destination: The city to reach.
            mode: Drive a car oneself (up to 5 people) or take a taxi (up to 4 people).
        """
        self._known_city(origin)
        self._known_city(destination)
        ground = self._world.ground(origin, destination)
        # A drive of a day or more, or one without data, counts as no route at all (the official
        # rule).
        no_route = f"No valid {mode} route from {origin} to {destination}."
        if ground is None:
            raise ToolError(no_route, "no_road")
        distance_km = road_distance_km(ground.distance)
        if distance_km is None or not ground.duration:
            raise ToolError(no_route, "no_road_data")
        if "day" in ground.duration:
            raise ToolError(no_route, "road_over_a_day")
        usd_per_km = SELF_DRIVING_USD_PER_KM if mode == "self-driving" else TAXI_USD_PER_KM
        return Route(
            mode,
            origin,
            destination,
            ground.duration,
            ground.distance,
            int(distance_km * usd_per_km),
        )

    def get_cities(self, state: str) -> CityList:
        """List the cities of a state.

        Args:
            state: The name of the state.
        """
        cities = self._world.states.get(state)
        if cities is None:
            raise ToolError(_unknown("state", state, self._world.states), "unknown_state")
        return CityList(state, tuple(cities))

    def calculator(self, expression: str) -> Number:
        """Calculate an arithmetic expression.

        Args:
            expression: Numbers, brackets and + - * / // % **, for instance "2 * (89 + 120)".
        """
        return Number(evaluate(expression))

    def _known_city(self, city: str) -> None:
        cities = self._world.cities
        if city not in cities:
            hint = (
                f" It is a state: {self._name_of('get_cities')} lists its cities."
                if city in self._world.states
                else ""
            )
            raise ToolError(_unknown("city", city, cities, hint), "unknown_city")


def _some(rows: list[Record], kind: str, problem: str) -> list[Record]:
    if not rows:
        raise ToolError(problem, kind)
    return rows


def _unknown(kind: str, name: str, names: Iterable[str], hint: str = "") -> str:
    """For instance: Unknown city 'Bostn'. Did you mean 'Boston'?"""
    return f"Unknown {kind} {quoted(name)}.{hint or did_you_mean(name, names)}"

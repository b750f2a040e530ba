"""What an expert of several cities has asked, and the words for cities and ways in its notes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tripwright.domains.travelplanner.expert.turns import Turns
from tripwright.domains.travelplanner.expert.ways import leg_taken, way_cost, way_words
from tripwright.domains.travelplanner.expert.work import NONE, called
from tripwright.domains.travelplanner.oracle.options import Leg, Problem
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import Flight
from tripwright.world.store import World


class Asked:
    """What a trip needs is asked for anew, also where another has needed it: to know that nothing
    was asked yet is harder than to ask. `letters`: city → what it is called."""

    def __init__(self, query: Query, world: World, turns: Turns, letters: dict[str, str]):
        self.query, self.world, self.turns, self.letters = query, world, turns, letters
        self.problem = Problem(query, world, comfortable=True)
        self.may_fly = query.local_constraint.transportation != "no flight"

    def ask(self, tool: str, rows: Sequence[Any] = (), before: str = "", **arguments: str) -> None:
        """`before`: a sentence before the call."""
        if before:
            self.note(before)
        names = [row.number if isinstance(row, Flight) else row.name for row in rows]
        self.turns.call(tool, rows, names, **arguments)

    def note(self, sentence: str) -> None:
        self.turns.note += f"{sentence} "

    def leg(
        self, origin: str, destination: str, day: int, driving: bool, taxi: bool = True
    ) -> Leg | None:
        """The way of the day with this index, asked for. `taxi`: whether one will do where there is
        no flight."""
        leg = self.problem.leg(origin, destination, day, driving)
        ends = {"origin": origin, "destination": destination}
        before = f"From {self.lettered(origin)} to {self.lettered(destination)} on day {day + 1}."
        if driving:
            self.ask("search_ground_transportation", (), before, **ends, mode="self-driving")
            return leg
        if self.may_fly:
            flights = {**ends, "date": self.query.date[day]}
            self.ask("search_flights", self.world.flights(**flights) or (), before, **flights)
        if leg and leg.flight:
            return leg
        if taxi:
            self.ask("search_ground_transportation", (), before, **ends, mode="taxi")
        return leg if taxi else None

    # ---- in words

    def listed(self, cities: Iterable[str]) -> str:
        """By their letters."""
        return " ".join(self.letters[city] for city in cities) or NONE

    def lettered(self, city: str) -> str:
        return f"{self.letters[city]} {city}"

    def leg_taken(self, leg: Leg | None, origin: str, destination: str) -> str:
        here, there = self.letters[origin], self.letters[destination]
        if leg is None:
            return leg_taken(here, there, None)
        return leg_taken(here, called(there, destination), self.way(leg))

    def way(self, leg: Leg) -> str:
        name = leg.flight.number if leg.flight else leg.mode
        return way_words(leg.cost_usd, name, leg.duration, leg.distance)

    def way_cost(self, leg: Leg) -> str:
        return way_cost(self.query.party_size, leg.cost_usd, leg.mode)

"""Steps about ways, costs and the sum, as they stand in a note: read by writing what was shown.

A way is true where it was shown for that leg, on whatever day: which of them to take is the agent's
to choose. A cost is that of the ways, nights and meals last noted. Which of the costs go into the
sum is not checked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.expert.work import (
    BACK,
    COST,
    DEAR,
    GO,
    HOME,
    OK,
    leg_taken,
    meals_cost,
    nights_cost,
    way_cost,
    within_budget,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.tools.calculator import evaluate
from tripwright.tools.errors import ToolError
from tripwright.transcript import Rows, ToolCall

HEADS = (GO, BACK, COST)
Found = tuple[str, str, str]  # kind, said, expected


class ShownWay(NamedTuple):
    name: str  # a flight's number, "self-driving" or "taxi"
    cost_usd: float  # of a seat, or a car
    is_flight: bool


@dataclass
class WrittenWays:
    """What was shown of ways, and what the last sentences chose."""

    query: Query
    letter_of: Mapping[str, str] = field(default_factory=dict)  # city → what it is called
    _shown: dict[tuple[str, str], list[ShownWay]] = field(default_factory=dict)  # by the leg's ends
    _destination: str = ""  # of the last search
    # what the next cost is of: a city with its nights and their price, ways, prices of meals
    _stay: tuple[str, int, float] | None = None
    _taken: list[ShownWay | None] = field(default_factory=list)

    def look(self, call: ToolCall) -> None:
        """At what a search for a way has shown."""
        asked = call.arguments
        origin = str(asked.get("origin", asked.get("departure")))  # STAR's word
        self._destination = str(asked.get("destination"))
        ways = self._shown.setdefault((origin, self._destination), [])
        for row in call.rows.records() if call.rows else ():
            if row.get("number") and row.get("price_usd") is not None:
                ways.append(ShownWay(row["number"], row["price_usd"], True))
            elif row.get("cost_usd") is not None and "day" not in (row.get("duration") or "day"):
                ways.append(ShownWay(row.get("mode") or asked["mode"], row["cost_usd"], False))

    def stay_in(self, city: str, nights: int, price_usd: float) -> None:
        self._stay, self._taken = (city, nights, price_usd), []

    def read(self, head: str, said: str, meals_usd: Sequence[float]) -> Iterator[Found]:
        """`meals_usd`: what the meals cost that the note has chosen."""
        if head != COST:
            named = self._named(head)
            self._taken.append(named.get(said))
            several = said.split(", ")  # where no work is shown
            is_true = all(each in named for each in several)
            yield "way: choice", said, said if is_true else next(iter(named), "")
        elif meals_usd:
            yield "cost: term", said, meals_cost(self.query.party_size, meals_usd)
        elif self._stay is not None and self._taken:
            _, nights, price_usd = self._stay
            ways, people = [way for way in self._taken if way], self.query.party_size
            costs = [way_cost(people, way.cost_usd, way.name, way.is_flight) for way in ways]
            if len(costs) == len(self._taken):  # else nobody knows what it is of
                costs.insert(1, nights_cost(nights, price_usd))
                yield "cost: term", said, "+".join(costs)
            self._taken = []

    def _named(self, head: str) -> dict[str, ShownWay | None]:
        """By the words for them, to the city that was chosen or from it home. Where none was, a way
        has its own name alone."""
        if self._stay is None:
            return {way.name: way for ways in self._shown.values() for way in ways}
        city, named = self._stay[0], dict[str, ShownWay | None]()
        for (here, there), ways in self._shown.items():
            if (here, there) == (city, self.query.org) if head == BACK else there == city:
                named |= self._legs(here, there, ways)
        return named

    def _legs(
        self, here: str, there: str, ways: Sequence[ShownWay]
    ) -> Iterator[tuple[str, ShownWay | None]]:
        ends = self.letter_of.get(here, ""), self.letter_of.get(there, "")
        for way in ways:
            yield leg_taken(*ends, (way.name, way.cost_usd)), way
        if not ways:
            yield leg_taken(*ends, None), None

    def road(self, note: str) -> Iterator[Found]:
        """From home, asked for before a city is chosen: "home V no"."""
        said = note.partition(". ")[0].removesuffix(".")
        if self._stay is None and said.startswith(f"{HOME} "):
            ways = self._shown.get((self.query.org, self._destination), [])
            expected = next(iter(dict(self._legs(self.query.org, self._destination, ways))))
            yield "way: road", said, expected

    def sums(self, note: str, shown: Rows) -> Iterator[Found]:
        """Such as "1862 of 2,320 ok", of a calculator's answer or behind what is added up."""
        for sentence in note.removesuffix(".").split(". "):
            terms, _, said = sentence.rpartition(": ")
            if " of " not in said or said.rpartition(" ")[2] not in (OK, DEAR):
                continue
            try:
                total = evaluate(terms) if terms else _number(shown)
            except ToolError:  # these terms cannot be added up
                total = None
            expected = "" if total is None else within_budget(total, self.query.budget)
            yield "cost: sum", said, expected


def _number(shown: Rows) -> Any:
    values = [row[0] for row in shown.values if shown.kind == "Number"]
    return next(iter(values), None)

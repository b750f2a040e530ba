"""Steps about ways, costs and the sum, as they stand in a note: read by writing what was shown.

A way is true where it was shown for that leg, on whatever day: which of them to take is the agent's
to choose. A cost is that of the ways, nights and meals last noted. Which of the costs go into the
sum is not checked, nor the words by which a whole set of cities is given up ("No way.").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.expert.work import (
    BACK,
    COST,
    DEAR,
    GO,
    NO,
    OK,
    SELF_DRIVING,
    meals_cost,
    nights_cost,
    way_cost,
    way_taken,
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
    _shown: dict[tuple[str, str], list[ShownWay]] = field(default_factory=dict)  # by the leg's ends
    _destination: str = ""  # of the last search
    # what the next cost is of: a city with its nights and their price, ways, prices of meals
    _stay: tuple[str, int, float] | None = None
    _taken: list[ShownWay | None] = field(default_factory=list)

    def look(self, call: ToolCall) -> None:
        """At what a search for a way has shown."""
        ends = [str(value) for value in call.arguments.values()]
        self._destination = ends[1] if len(ends) > 1 else ""
        if call.rows is None or call.rows.kind not in ("Flight", "Route") or not self._destination:
            return
        ways = self._shown.setdefault((ends[0], ends[1]), [])
        for row in call.rows.records():
            if call.rows.kind == "Flight" and row.get("price_usd") is not None:
                ways.append(ShownWay(row["number"], row["price_usd"], True))
            elif row.get("cost_usd") is not None and "day" not in (row.get("duration") or "day"):
                ways.append(ShownWay(row.get("mode") or ends[-1], row["cost_usd"], False))

    def stay_in(self, city: str, nights: int, price_usd: float) -> None:
        self._stay, self._taken = (city, nights, price_usd), []

    def read(self, head: str, said: str, meals_usd: Sequence[float]) -> Iterator[Found]:
        """`meals_usd`: what the meals cost that the note has chosen."""
        if head != COST:
            ways = self._of_leg(head)
            named = {way_taken(way.name, way.cost_usd): way for way in ways}
            named |= {way.name: way for way in ways}
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

    def _of_leg(self, head: str) -> list[ShownWay]:
        """All that were shown, where no city was chosen before: then an answer comes before its
        note."""
        if self._stay is None:
            return [way for ways in self._shown.values() for way in ways]
        city = self._stay[0]
        if head == BACK:
            return self._shown.get((city, self.query.org), [])
        return [way for (_, to), ways in self._shown.items() if to == city for way in ways]

    def road(self, note: str, letter_of: dict[str, str]) -> Iterator[Found]:
        """Whether there is one from home, as "b no."."""
        said = note.partition(". ")[0].removesuffix(".")
        if said in {f"{letter} {judged}" for letter in letter_of.values() for judged in (OK, NO)}:
            ways = self._shown.get((self.query.org, self._destination), [])
            judged = OK if any(way.name == SELF_DRIVING for way in ways) else NO
            yield "way: road", said, f"{letter_of.get(self._destination, '')} {judged}"

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

"""The facts about a TravelPlanner plan: the constraints' names, what a trip costs, and one plan's
verdict under one set of rules."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

from tripwright.domains.travelplanner.query import Query
from tripwright.verdict import Evidence, Fact, Facts, Group, Result, Verdict, format_group

# names → as the benchmark's tables call them
COMMONSENSE = {
    "is_reasonable_visiting_city": "Reasonable city route",
    "is_valid_restaurants": "Diverse restaurants",
    "is_valid_attractions": "Diverse attractions",
    "is_valid_accommodation": "Minimum nights stay",
    "is_valid_transportation": "Non-conflicting transportation",
    "is_valid_information_in_current_city": "Within current city",
    "is_valid_information_in_sandbox": "Within sandbox",
    "is_not_absent": "Complete information",
}
HARD = {
    "valid_cuisine": "Cuisine",
    "valid_room_rule": "Room rule",
    "valid_transportation": "Transportation",
    "valid_room_type": "Room type",
    "valid_cost": "Budget",
}
COMMONSENSE_NAMES, HARD_NAMES, FACT_TITLES = tuple(COMMONSENSE), tuple(HARD), COMMONSENSE | HARD

GATES = ("is_not_absent", "is_valid_information_in_sandbox")
HARD_GATE = tuple(f"commonsense.{name}" for name in GATES)

CostKind = Literal[
    "flight", "self-driving", "taxi", "breakfast", "lunch", "dinner", "accommodation"
]


@dataclass(frozen=True)
class Cost:
    """One line of what a trip costs: `total_usd` = `unit_usd` × `count` (seats of a flight,
    vehicles, meals, rooms)."""

    day: int
    kind: CostKind
    what: str
    unit_usd: float
    count: int

    @property
    def total_usd(self) -> float:
        return self.unit_usd * self.count

    def record(self) -> dict[str, Any]:
        return {**vars(self), "total_usd": self.total_usd}


def total_usd(costs: Iterable[Cost]) -> float:
    return sum(cost.total_usd for cost in costs)


def opens_hard_gate(commonsense: Facts) -> bool:
    """Whether the plan is complete and everything that it names exists."""
    return all(commonsense[name].passed for name in GATES)


def all_passed(commonsense: Facts, hard: Facts) -> bool:
    return all(fact.passed for fact in commonsense.values()) and all(
        fact.passed is not False for fact in hard.values()
    )


PASS = Result(True)
NOT_ASKED = Result(None)


def failed(
    message: str | None, day: int | None, field: str | None, value: Any, requirement: str
) -> Result:
    return Result(False, message, (Evidence(day, field, shown(value), requirement),))


def shown(value: Any) -> str:
    """A piece of a plan in evidence: short, whatever it is. It is never called for what passes."""
    if isinstance(value, str):
        if value in ("", "-"):
            return "nothing"
        return (
            "blank text" if value.isspace() else value if len(value) <= 120 else f"{value[:117]}..."
        )
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        return str(value)
    kinds = {type(None): "null", bool: "true or false", dict: "an object", list: "a list"}
    return f"{kinds.get(type(value), 'a number')} instead of text"


@dataclass(frozen=True)
class PlanVerdict:
    """`commonsense` is None for an undelivered plan and where the rules crashed; `hard` also where
    its two gates are shut."""

    rules: str
    delivered: bool
    commonsense: Facts | None
    hard: Facts | None
    total_cost: float | None  # US dollars, whole party; known once the budget was judged
    error: str | None  # kind of the exception that the official code raises on this plan
    final: bool
    costs: tuple[Cost, ...] = ()  # what `total_cost` is made of, in the order of the plan

    @classmethod
    def undelivered(cls, rules: str, error: str | None = None) -> PlanVerdict:
        return cls(rules, False, None, None, None, error, False)

    def to_contract(self, line: int) -> dict[str, Any]:
        """One object of `score --json`."""
        groups: dict[str, Any] = {"commonsense": self.commonsense, "hard": self.hard}
        groups = {
            group: facts and {name: fact.record() for name, fact in facts.items()}
            for group, facts in groups.items()
        }
        return {
            "line": line,
            "final": self.final,
            "delivered": self.delivered,
            **groups,
            "total_cost": self.total_cost,
            "error": self.error,
            **({"costs": [cost.record() for cost in self.costs]} if self.costs else {}),
        }

    def facts(self) -> Facts:
        """Commonsense, then hard, of what was evaluated."""
        return {**(self.commonsense or {}), **(self.hard or {})}

    def failures(self) -> list[Fact]:
        return [fact for fact in self.facts().values() if fact.passed is False]

    def in_groups(self, asked_hard: tuple[str, ...], problem: str | None) -> Verdict:
        """The verdict of an episode. `asked_hard` are the hard constraints that the request
        carries; `problem` says why the answer is no plan."""
        details: dict[str, Any] = {"total_cost": self.total_cost}
        if self.costs:
            details["costs"] = [cost.record() for cost in self.costs]
        groups = (
            format_group(problem),
            Group("commonsense", COMMONSENSE_NAMES, self.commonsense, gate=("format",)),
            Group("hard", asked_hard, self.hard, gate=HARD_GATE),
        )
        return Verdict(self.rules, groups, self.final, self.delivered, self.error, details)


def applicable_hard(query: Query) -> tuple[str, ...]:
    """The hard constraints that a request carries, by name: each wish it states, and the budget.
    Their number, summed over requests, is TravelPlanner's denominator of hard micro rates."""
    wishes = query.local_constraint
    is_stated = {
        "valid_cuisine": bool(wishes.cuisine),
        "valid_room_rule": wishes.house_rule is not None,
        "valid_room_type": wishes.room_type is not None,
        "valid_transportation": wishes.transportation is not None,
        "valid_cost": True,
    }
    return tuple(name for name in HARD_NAMES if is_stated[name])


def fact_words(fact: Fact) -> str:
    """Its title, or the words of a name that an older version had."""
    return FACT_TITLES.get(fact.name, fact.name.replace("_", " ").capitalize())

"""The facts about a TravelPlanner plan: the constraints' names, what a trip costs, and one plan's
verdict under one set of rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from tripwright.verdict import Evidence, Fact, Facts, Group, Result, Verdict, format_group

COMMONSENSE_NAMES = (
    "is_reasonable_visiting_city",
    "is_valid_restaurants",
    "is_valid_attractions",
    "is_valid_accommodation",
    "is_valid_transportation",
    "is_valid_information_in_current_city",
    "is_valid_information_in_sandbox",
    "is_not_absent",
)
HARD_NAMES = (
    "valid_cuisine",
    "valid_room_rule",
    "valid_transportation",
    "valid_room_type",
    "valid_cost",
)
FACT_TITLES = {  # as the benchmark's tables call them
    "is_reasonable_visiting_city": "Reasonable city route",
    "is_valid_restaurants": "Diverse restaurants",
    "is_valid_attractions": "Diverse attractions",
    "is_valid_accommodation": "Minimum nights stay",
    "is_valid_transportation": "Non-conflicting transportation",
    "is_valid_information_in_current_city": "Within current city",
    "is_valid_information_in_sandbox": "Within sandbox",
    "is_not_absent": "Complete information",
    "valid_cuisine": "Cuisine",
    "valid_room_rule": "Room rule",
    "valid_transportation": "Transportation",
    "valid_room_type": "Room type",
    "valid_cost": "Budget",
}

HARD_GATE = ("commonsense.is_not_absent", "commonsense.is_valid_information_in_sandbox")

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
        record = {
            "day": self.day,
            "kind": self.kind,
            "what": self.what,
            "unit_usd": self.unit_usd,
            "count": self.count,
        }
        return record | {"total_usd": self.total_usd}


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

    @classmethod
    def from_contract(cls, record: dict[str, Any], rules: str) -> PlanVerdict:
        """The verdict that `to_contract` wrote."""
        groups: dict[str, Facts | None] = {}
        for group in ("commonsense", "hard"):
            facts = record[group]
            groups[group] = (
                None if facts is None else {n: Fact.from_record(n, f) for n, f in facts.items()}
            )
        costs = tuple(
            Cost(**{k: v for k, v in each.items() if k != "total_usd"})
            for each in record.get("costs", ())
        )
        return cls(
            rules,
            record["delivered"],
            groups["commonsense"],
            groups["hard"],
            record["total_cost"],
            record["error"],
            record["final"],
            costs,
        )

    def to_contract(self, line: int) -> dict[str, Any]:
        """One object of `score --json`."""
        return {
            "line": line,
            "final": self.final,
            "delivered": self.delivered,
            "commonsense": None
            if self.commonsense is None
            else {name: fact.record() for name, fact in self.commonsense.items()},
            "hard": None
            if self.hard is None
            else {name: fact.record() for name, fact in self.hard.items()},
            "total_cost": self.total_cost,
            "error": self.error,
            **({"costs": [cost.record() for cost in self.costs]} if self.costs else {}),
        }

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


def fact_words(fact: Fact) -> str:
    """Its title, or the words of a name that an older version had."""
    return FACT_TITLES.get(fact.name, fact.name.replace("_", " ").capitalize())

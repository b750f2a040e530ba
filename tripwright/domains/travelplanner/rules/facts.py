"""What judging yields: facts about a plan, never numbers to learn from (rewards weigh them elsewhere).

The subtle thing is the four states: not applicable (the traveller did not ask) is neither passed nor failed, and not evaluated (the
rule was never reached) is not "passed" either.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, NamedTuple

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
HARD_NAMES = ("valid_cuisine", "valid_room_rule", "valid_transportation", "valid_room_type", "valid_cost")

CostKind = Literal["flight", "self-driving", "taxi", "breakfast", "lunch", "dinner", "accommodation"]


class State(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not_applicable"
    NOT_EVALUATED = "not_evaluated"


@dataclass(frozen=True)
class Evidence:
    """Where a constraint is broken and why, in words a traveller understands. `day` counts from 1; None: the trip as a whole."""

    day: int | None
    field: str | None  # the key of the official plan format: "breakfast", "transportation", …
    found: str | None
    needed: str | None

    def record(self) -> dict[str, Any]:
        return {"day": self.day, "field": self.field, "found": self.found, "needed": self.needed}


@dataclass(frozen=True)
class Cost:
    """One line of what a trip costs: `total_usd` = `unit_usd` × `count` (seats of a flight, vehicles, meals, rooms)."""

    day: int
    kind: CostKind
    what: str
    unit_usd: float
    count: int

    @property
    def total_usd(self) -> float:
        return self.unit_usd * self.count

    def record(self) -> dict[str, Any]:
        said = {"day": self.day, "kind": self.kind, "what": self.what, "unit_usd": self.unit_usd, "count": self.count}
        return said | {"total_usd": self.total_usd}


class Result(NamedTuple):
    """What one rule finds. `passed` is None where it says nothing about the plan."""

    passed: bool | None
    message: str | None = None
    evidence: tuple[Evidence, ...] = ()


PASS = Result(True)
NOT_ASKED = Result(None)


def failed(message: str | None, day: int | None, field: str | None, found: Any, needed: str) -> Result:
    return Result(False, message, (Evidence(day, field, shown(found), needed),))


def shown(value: Any) -> str:
    """A piece of a plan in evidence: short, whatever it is. It is never called for what passes."""
    if isinstance(value, str):
        if value in ("", "-"):
            return "nothing"
        return "blank text" if value.isspace() else value if len(value) <= 120 else f"{value[:117]}..."
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9:
        return str(value)
    kinds = {type(None): "null", bool: "true or false", dict: "an object", list: "a list"}
    return f"{kinds.get(type(value), 'a number')} instead of text"


@dataclass(frozen=True)
class Fact:
    name: str
    state: State
    message: str | None = None
    evidence: tuple[Evidence, ...] = ()

    @property
    def passed(self) -> bool | None:
        """True or False; None where the rule says nothing about the plan."""
        return True if self.state is State.PASSED else False if self.state is State.FAILED else None

    def record(self) -> dict[str, Any]:
        record: dict[str, Any] = {"passed": self.passed, "state": str(self.state), "message": self.message}
        return record | {"evidence": [each.record() for each in self.evidence]} if self.evidence else record

    @classmethod
    def of(cls, name: str, result: Result) -> Fact:
        state = State.NOT_APPLICABLE if result.passed is None else State.PASSED if result.passed else State.FAILED
        return cls(name, state, result.message, result.evidence)

    @classmethod
    def from_record(cls, name: str, record: dict[str, Any]) -> Fact:
        return cls(name, State(record["state"]), record["message"], tuple(Evidence(**each) for each in record.get("evidence", ())))


Facts = dict[str, Fact]


@dataclass(frozen=True)
class Verdict:
    """`commonsense` is None for an undelivered plan and where the rules crashed; `hard` also where its two gates are shut."""

    rules: str
    delivered: bool
    commonsense: Facts | None
    hard: Facts | None
    total_cost: float | None  # US dollars, whole party; known once the budget was judged
    error: str | None  # kind of the exception that the official code raises on this plan
    final: bool
    costs: tuple[Cost, ...] = ()  # what `total_cost` is made of, in the order of the plan

    @classmethod
    def undelivered(cls, rules: str, error: str | None = None) -> Verdict:
        return cls(rules, False, None, None, None, error, False)

    @classmethod
    def from_contract(cls, record: dict[str, Any], rules: str) -> Verdict:
        """The verdict that `to_contract` wrote."""
        groups: dict[str, Facts | None] = {}
        for group in ("commonsense", "hard"):
            found = record[group]
            groups[group] = None if found is None else {n: Fact.from_record(n, f) for n, f in found.items()}
        costs = tuple(Cost(**{k: v for k, v in each.items() if k != "total_usd"}) for each in record.get("costs", ()))
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
            "commonsense": None if self.commonsense is None else {name: fact.record() for name, fact in self.commonsense.items()},
            "hard": None if self.hard is None else {name: fact.record() for name, fact in self.hard.items()},
            "total_cost": self.total_cost,
            "error": self.error,
            **({"costs": [cost.record() for cost in self.costs]} if self.costs else {}),
        }

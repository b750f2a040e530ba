"""The facts about a TravelPlanner plan: the constraints' names, what a trip costs, and what becomes
of both: a verdict in three groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from tripwright.domains.travelplanner.query import Query
from tripwright.verdict import (
    FORMAT,
    Evidence,
    Fact,
    Facts,
    Group,
    Result,
    State,
    Verdict,
    format_group,
)

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
LIVABLE = {
    "meals_at_their_hours": "Meals at their hours",
    "no_endless_day": "No day of more than 16 hours",
    "no_long_road": "No long road where one can fly",
    "no_empty_day": "No day without a meal or a sight",
}
COMMONSENSE_NAMES, HARD_NAMES, LIVABLE_NAMES = tuple(COMMONSENSE), tuple(HARD), tuple(LIVABLE)
FACT_TITLES = COMMONSENSE | HARD | LIVABLE

GATES = ("is_not_absent", "is_valid_information_in_sandbox")
HARD_GATE = tuple(f"commonsense.{name}" for name in GATES)

CostKind = Literal[
    "flight", "self-driving", "taxi", "breakfast", "lunch", "dinner", "accommodation"
]


class Cost(NamedTuple):
    """One line of what a trip costs: so many `units` (seats of a flight, vehicles, meals, rooms) at
    `unit_usd` each."""

    day: int
    kind: CostKind
    what: str
    unit_usd: float
    units: int

    def record(self) -> dict[str, Any]:
        return {
            "day": self.day,
            "kind": self.kind,
            "what": self.what,
            "unit_usd": self.unit_usd,
            "count": self.units,
            "total_usd": self.unit_usd * self.units,
        }


def total_usd(costs: Iterable[Cost]) -> float:
    return sum(cost.unit_usd * cost.units for cost in costs)


def opens_hard_gate(commonsense: Mapping[str, Fact]) -> bool:
    """Whether the plan is complete and everything that it names exists."""
    return all(commonsense[name].state is State.PASSED for name in GATES)


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


def plan_verdict(
    rules: str,
    asked: tuple[str, ...],
    commonsense: Facts | None = None,
    hard: Facts | None = None,
    costs: Sequence[Cost] | None = None,
    *,
    error: str | None = None,
    problem: str | None = None,
    delivered: bool = True,
    livable: Facts | None = None,
) -> Verdict:
    """A verdict in TravelPlanner's three groups, and a fourth under the livable rules. `asked` are
    the hard constraints that the request carries. `commonsense` is None for an undelivered plan and
    where the rules crashed (`error`); `hard` also where its two gates are shut, and `costs` where
    the budget was not judged. `problem` says why the answer is no plan.

    The details are `total_cost`, in US dollars for the whole party, and `costs`: what it is made
    of, as records in the order of the plan.
    """
    final = (
        problem is None
        and commonsense is not None
        and hard is not None
        and all(fact.state is State.PASSED for fact in commonsense.values())
        and all(fact.state in (State.PASSED, State.NOT_APPLICABLE) for fact in hard.values())
        and all(fact.state is State.PASSED for fact in (livable or {}).values())
    )
    details: dict[str, Any] = {"total_cost": None if costs is None else total_usd(costs)}
    if costs:
        details["costs"] = [cost.record() for cost in costs]
    groups: tuple[Group, ...] = (
        format_group(problem),
        Group("commonsense", COMMONSENSE_NAMES, commonsense, gate=(FORMAT,)),
        Group("hard", asked, hard, gate=HARD_GATE),
    )
    if rules == "livable":
        groups += (Group("livable", LIVABLE_NAMES, livable, gate=HARD_GATE),)
    return Verdict(rules, groups, final, delivered, error, details)


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

"""The judge: a query, a plan and a world → a verdict.

Under `official` rules it decides exactly as TravelPlanner's evaluator (row T3), including where that one crashes. Its stages:
commonsense (all eight; a crash here leaves nothing), then, if the plan is complete and found in the world, the five hard
constraints (a crash here keeps the commonsense facts). Only what a plan can cause is caught: a broken world file stays an exception.
"""

from __future__ import annotations

from typing import Any, Literal

from tripwright.constraints import commonsense, hard
from tripwright.constraints.commonsense import Days, Result
from tripwright.constraints.facts import Fact, Facts, State, Verdict
from tripwright.errors import UserError
from tripwright.trip.query import Query
from tripwright.world.store import World

Rules = Literal["official"]
RULES: tuple[str, ...] = ("official",)
PLANNED_RULES = ("star", "strict")

# Kinds of exception that a malformed plan or request raises in the official code.
PLAN_FAULTS = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


def check_rules(rules: str) -> None:
    if rules in PLANNED_RULES:
        raise UserError(f"Rules '{rules}' are not built yet. Available: {', '.join(RULES)}.")
    if rules not in RULES:
        raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(RULES)}.")


def judge(query: Query, plan: list[Any] | None, world: World, rules: Rules = "official") -> Verdict:
    """Facts about one plan in the official format. None and [] count as not delivered."""
    check_rules(rules)
    if not plan:
        return Verdict.undelivered(rules)
    try:
        days = plan[: query.days]
        facts = {name: _fact(name, check(query, days, world)) for name, check in commonsense.CHECKS}
    except PLAN_FAULTS as error:
        return Verdict(rules, True, None, None, None, type(error).__name__, False)
    if not (facts["is_not_absent"].passed and facts["is_valid_information_in_sandbox"].passed):
        return Verdict(rules, True, facts, None, None, None, False)
    try:
        hard_facts, total_cost = _hard_facts(query, days, world)
    except PLAN_FAULTS as error:
        return Verdict(rules, True, facts, None, None, type(error).__name__, False)
    final = all(fact.passed for fact in facts.values()) and all(fact.passed is not False for fact in hard_facts.values())
    return Verdict(rules, True, facts, hard_facts, total_cost, None, final)


def applicable_hard_count(query: Query) -> int:
    """How many hard constraints a request carries: the budget and each wish it states. Its sum is T4's hard micro denominator."""
    wishes = query.local_constraint
    return 1 + bool(wishes.cuisine) + sum(wish is not None for wish in (wishes.house_rule, wishes.room_type, wishes.transportation))


def _hard_facts(query: Query, days: Days, world: World) -> tuple[Facts, float]:
    facts = {name: _fact(name, check(query, days, world)) for name, check in hard.WISHES}
    total_cost = hard.total_cost_usd(query, days, world)
    facts["valid_cost"] = _fact("valid_cost", (total_cost <= query.budget, None))
    return facts, total_cost


def _fact(name: str, result: Result) -> Fact:
    passed, message = result
    state = State.NOT_APPLICABLE if passed is None else State.PASSED if passed else State.FAILED
    return Fact(name, state, message)

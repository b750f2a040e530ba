"""The judge under the official rules (row T3): exactly what TravelPlanner's evaluator decides, including where that one crashes.

Its stages: commonsense (all eight; a crash here leaves nothing), then, if the plan is complete and found in the world, the five hard
constraints (a crash here keeps the commonsense facts). Only what a plan can cause is caught: a broken world file stays an exception.
"""

from __future__ import annotations

from typing import Any

from tripwright.constraints import commonsense, hard
from tripwright.constraints.facts import Cost, Fact, Facts, Verdict
from tripwright.constraints.lookup import Found
from tripwright.constraints.route import Days
from tripwright.trip.query import Query
from tripwright.world.store import World

# Kinds of exception that a malformed plan or request raises in the official code.
PLAN_FAULTS = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


def judge_official(query: Query, plan: list[Any] | None, world: World) -> Verdict:
    rules = "official"
    if not plan:
        return Verdict.undelivered(rules)
    found = Found(world)
    try:
        days = plan[: query.days]
        facts = {name: Fact.of(name, check(query, days, found)) for name, check in commonsense.CHECKS}
    except PLAN_FAULTS as error:
        return Verdict(rules, True, None, None, None, type(error).__name__, False)
    if not (facts["is_not_absent"].passed and facts["is_valid_information_in_sandbox"].passed):
        return Verdict(rules, True, facts, None, None, None, False)
    try:
        hard_facts, costs = _hard_facts(query, days, found)
    except PLAN_FAULTS as error:
        return Verdict(rules, True, facts, None, None, type(error).__name__, False)
    final = all(fact.passed for fact in facts.values()) and all(fact.passed is not False for fact in hard_facts.values())
    return Verdict(rules, True, facts, hard_facts, hard.total_usd(costs), None, final, costs)


def _hard_facts(query: Query, days: Days, found: Found) -> tuple[Facts, tuple[Cost, ...]]:
    facts = {name: Fact.of(name, check(query, days, found)) for name, check in hard.WISHES}
    costs = tuple(hard.costs_of(query, days, found))
    facts["valid_cost"] = Fact.of("valid_cost", hard.valid_cost(query, costs))
    return facts, costs

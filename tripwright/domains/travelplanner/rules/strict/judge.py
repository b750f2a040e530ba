"""The judge under the strict rules: every known hole of the official ones is closed, and what
cannot be checked has failed.

Same names, same stages: eight commonsense rules, then, if the plan is complete and everything it
names exists, the five hard ones. A plan never crashes it. A rule that an empty plan would "pass"
because there is nothing to break is *not evaluated*, and that is no pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import Cost, PlanVerdict
from tripwright.domains.travelplanner.rules.official.hard import total_usd
from tripwright.domains.travelplanner.rules.strict import commonsense as strict_commonsense
from tripwright.domains.travelplanner.rules.strict import hard as strict_hard
from tripwright.domains.travelplanner.rules.strict.plan import StrictPlan, read_plan
from tripwright.verdict import Evidence, Fact, Facts, State
from tripwright.world.store import World

MOST_EVIDENCE = 20  # for one rule; the first is what counts


def judge_strict(query: Query, plan: Any, world: World) -> PlanVerdict:
    rules = "strict"
    if not plan:
        return PlanVerdict.undelivered(rules)
    strict_plan = read_plan(query, plan, world)
    facts = _commonsense(strict_plan)
    if not (facts["is_not_absent"].passed and facts["is_valid_information_in_sandbox"].passed):
        return PlanVerdict(rules, True, facts, None, None, None, False)
    costs = tuple(strict_hard.costs_of(strict_plan)) if query.people_number is not None else ()
    hard = _hard(strict_plan, costs)
    final = all(fact.passed for fact in facts.values()) and all(
        fact.passed is not False for fact in hard.values()
    )
    return PlanVerdict(
        rules, True, facts, hard, total_usd(costs) if costs else None, None, final, costs
    )


def _commonsense(plan: StrictPlan) -> Facts:
    facts = {name: _fact(name, check(plan)) for name, check in strict_commonsense.CHECKS}
    if not facts["is_not_absent"].passed:
        for name, fact in facts.items():
            if fact.passed and strict_commonsense.names_nothing(plan, name):
                facts[name] = Fact(
                    name, State.NOT_EVALUATED, "The plan says nothing that this could be asked of."
                )
    return facts


def _hard(plan: StrictPlan, costs: tuple[Cost, ...]) -> Facts:
    wishes = plan.query.local_constraint
    facts = {}
    for name, check, wish in strict_hard.WISHES:
        is_stated = getattr(wishes, wish) not in (None, [])
        facts[name] = _fact(name, check(plan)) if is_stated else Fact(name, State.NOT_APPLICABLE)
    facts["valid_cost"] = _fact("valid_cost", strict_hard.valid_cost(plan, costs))
    return facts


def _fact(name: str, check: Iterator[Evidence]) -> Fact:
    evidence = tuple(islice(check, MOST_EVIDENCE))
    return (
        Fact(name, State.FAILED, _sentence(evidence[0]), evidence)
        if evidence
        else Fact(name, State.PASSED)
    )


def _sentence(evidence: Evidence) -> str:
    where = ", ".join(
        str(part) for part in (evidence.day and f"day {evidence.day}", evidence.field) if part
    )
    return f"{where + ': ' if where else ''}found {evidence.found}; needed {evidence.needed}."

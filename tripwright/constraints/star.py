"""STAR's variant of the official rules (row S), on which its agents were trained and validated: a plan → facts.

Against the official rules it closes "any word escapes" (every transportation has a mode, must be in the tables, and is paid for), the
letters bug on stay days, and the days "from X to X"; it drops no state in parentheses. It leaves open what the official rules leave
open elsewhere: None counts as given, a 3-day trip may go anywhere, names match by substring, the last attraction and the flight's date
are not looked at. STAR's switch that forgives a missing breakfast is off by default and has no counterpart here.

STAR's evaluator stops where a malformed plan makes it raise. Here the verdict then says which kind of exception, and the plan fails.
"""

from __future__ import annotations

from typing import Any

from tripwright.constraints import star_hard
from tripwright.constraints.facts import COMMONSENSE_NAMES, Fact, Verdict
from tripwright.constraints.hard import total_usd, valid_cost
from tripwright.constraints.official import PLAN_FAULTS
from tripwright.constraints.star_commonsense import CHECKS
from tripwright.constraints.star_lookup import StarFound
from tripwright.trip.query import Query
from tripwright.world.store import World


def judge_star(query: Query, plan: list[Any] | None, world: World) -> Verdict:
    """Facts about one plan in the official format. None and [] count as not delivered."""
    rules = "star"
    if not plan:
        return Verdict.undelivered(rules)
    found = StarFound(world)
    try:
        days = plan[: query.days]
        checked = {name: Fact.of(name, check(query, days, found)) for name, check in CHECKS}
    except PLAN_FAULTS as error:
        return Verdict(rules, True, None, None, None, type(error).__name__, False)
    facts = {name: checked[name] for name in COMMONSENSE_NAMES}
    if not (facts["is_not_absent"].passed and facts["is_valid_information_in_sandbox"].passed):
        return Verdict(rules, True, facts, None, None, None, False)
    try:
        hard_facts = {name: Fact.of(name, check(query, days, found)) for name, check in star_hard.WISHES}
        costs = tuple(star_hard.costs_of(query, days, found))
        hard_facts["valid_cost"] = Fact.of("valid_cost", valid_cost(query, costs))
    except PLAN_FAULTS as error:
        return Verdict(rules, True, facts, None, None, type(error).__name__, False)
    final = all(fact.passed for fact in facts.values()) and all(fact.passed is not False for fact in hard_facts.values())
    return Verdict(rules, True, facts, hard_facts, total_usd(costs), None, final, costs)

"""The judge: a query, a plan and a world → a verdict, under one of four sets of rules.

`official` is TravelPlanner's evaluator bug for bug, for figures that others can compare; `star` is
STAR's variant of it; `strict` closes the holes of both and is what training and serving go by;
`livable` is strict and asks besides for days that somebody would live. `docs/judging.md` says what
each asks.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import applicable_hard, plan_verdict
from tripwright.domains.travelplanner.rules.official import OFFICIAL
from tripwright.domains.travelplanner.rules.star import STAR
from tripwright.domains.travelplanner.rules.strict import judge_livable, judge_strict
from tripwright.errors import UserError
from tripwright.verdict import Verdict
from tripwright.world.store import World

Rules = Literal["official", "star", "strict", "livable"]
RULES: tuple[str, ...] = ("strict", "star", "official", "livable")
# who reads a plan as rows, and its hours; the others go by its words
BY_ROWS = ("strict", "livable")
# counted up where a plan may get another verdict: strict reads the clock since version 2
VERSIONS = {"strict": 2}
_JUDGES = {
    "official": OFFICIAL.judge,
    "star": STAR.judge,
    "strict": judge_strict,
    "livable": judge_livable,
}


def check_rules(rules: str) -> Rules:
    """The same, as one of RULES. Raises UserError for any other."""
    if rules not in RULES:
        raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(RULES)}.")
    return cast(Rules, rules)


def judge(
    query: Query,
    plan: list[Any] | None,
    world: World,
    rules: str = "official",
    problem: str | None = None,
) -> Verdict:
    """The verdict on one plan in the official format. None and [] count as not delivered; `problem`
    says why an answer is no plan. Raises UserError for other rules than RULES."""
    judged = _JUDGES[check_rules(rules)]
    if not plan:
        return plan_verdict(rules, applicable_hard(query), problem=problem, delivered=False)
    return judged(query, plan, world)

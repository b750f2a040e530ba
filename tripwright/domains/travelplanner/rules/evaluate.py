"""The judge: a query, a plan and a world → a verdict, under one of three sets of rules.

`official` is TravelPlanner's evaluator bug for bug, for figures that others can compare; `star` is
STAR's variant of it; `strict` closes the holes of both and is what training and serving go by.
`docs/judging.md` says what each asks.
"""

from __future__ import annotations

from typing import Any, Literal, cast

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import HARD_NAMES, PlanVerdict
from tripwright.domains.travelplanner.rules.official.judge import judge_official
from tripwright.domains.travelplanner.rules.star.judge import judge_star
from tripwright.domains.travelplanner.rules.strict.judge import judge_strict
from tripwright.errors import UserError
from tripwright.world.store import World

Rules = Literal["official", "star", "strict"]
RULES: tuple[str, ...] = ("strict", "star", "official")


def check_rules(rules: str) -> Rules:
    """The same, as one of RULES. Raises UserError for any other."""
    if rules not in RULES:
        raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(RULES)}.")
    return cast(Rules, rules)


def judge(
    query: Query, plan: list[Any] | None, world: World, rules: Rules = "official"
) -> PlanVerdict:
    """Facts about one plan in the official format. None and [] count as not delivered."""
    check_rules(rules)
    if rules == "star":
        return judge_star(query, plan, world)
    if rules == "strict":
        return judge_strict(query, plan, world)
    return judge_official(query, plan, world)


def applicable_hard(query: Query) -> tuple[str, ...]:
    """The hard constraints that a request carries, by name: each wish it states, and the budget."""
    wishes = query.local_constraint
    is_stated = {
        "valid_cuisine": bool(wishes.cuisine),
        "valid_room_rule": wishes.house_rule is not None,
        "valid_room_type": wishes.room_type is not None,
        "valid_transportation": wishes.transportation is not None,
        "valid_cost": True,
    }
    return tuple(name for name in HARD_NAMES if is_stated[name])


def applicable_hard_count(query: Query) -> int:
    """How many hard constraints a request carries. Its sum is TravelPlanner's hard micro
    denominator."""
    return len(applicable_hard(query))

"""STAR's variant of the official rules, on which its agents were trained and validated: a
plan → facts.

Against the official rules it closes "any word escapes" (every transportation has a mode, must be in
the tables, and is paid for), the letters bug on stay days, and the days "from X to X"; it drops no
state in parentheses. It leaves open what the official rules leave open elsewhere: None counts as
given, a 3-day trip may go anywhere, names match by substring, the last attraction and the flight's
date are not looked at. STAR's switch that forgives a missing breakfast is off by default and has no
counterpart here.

STAR's evaluator stops where a malformed plan makes it raise. Here the verdict then says which kind
of exception, and the plan fails.
"""

from __future__ import annotations

from typing import Any

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import PlanVerdict
from tripwright.domains.travelplanner.rules.official.stages import StagedRules
from tripwright.domains.travelplanner.rules.star import commonsense as star_commonsense
from tripwright.domains.travelplanner.rules.star import hard as star_hard
from tripwright.domains.travelplanner.rules.star.lookup import StarLookup
from tripwright.world.store import World

STAR = StagedRules(
    "star", StarLookup, star_commonsense.CHECKS, star_hard.WISHES, star_hard.costs_of
)


def judge_star(query: Query, plan: list[Any] | None, world: World) -> PlanVerdict:
    """Facts about one plan in the official format. None and [] count as not delivered."""
    return STAR.judge(query, plan, world)

"""The judge under the official rules (row T3): exactly what TravelPlanner's evaluator decides,
including where that one crashes."""

from __future__ import annotations

from typing import Any

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.facts import PlanVerdict
from tripwright.domains.travelplanner.rules.lookup import Lookup
from tripwright.domains.travelplanner.rules.official import commonsense, hard
from tripwright.domains.travelplanner.rules.official.stages import StagedRules
from tripwright.world.store import World

OFFICIAL = StagedRules("official", Lookup, commonsense.CHECKS, hard.WISHES, hard.costs_of)


def judge_official(query: Query, plan: list[Any] | None, world: World) -> PlanVerdict:
    """Facts about one plan in the official format. None and [] count as not delivered."""
    return OFFICIAL.judge(query, plan, world)

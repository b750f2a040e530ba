"""One request solved, in the form that `solve --json` and the trip server give it."""

from __future__ import annotations

import time
from typing import Any

from tripwright.domains.travelplanner.expert import expert_solution
from tripwright.domains.travelplanner.oracle.explanation import usd
from tripwright.domains.travelplanner.oracle.planner import Solution, k_best, plan_days, solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.world.store import World


def solve_query(
    query: Query, world: World, cheapest: bool = False, k: int | None = None
) -> dict[str, Any]:
    """One object of `solve --json`, less its line number. `k`: adds `plans`, the k cheapest within
    the budget or as many as exist."""
    started = time.monotonic()
    solution = solve(query, world) if cheapest or k else expert_solution(query, world)
    plan, cost_usd, why = None, None, solution.why
    if solution.cost_usd is not None and solution.cost_usd > query.budget:
        why = (
            f"the cheapest plan costs ${solution.cost_usd:,.2f}, the budget is {usd(query.budget)}."
        )
    elif solution.cost_usd is not None:
        plan, cost_usd = _official(query, solution, world), solution.cost_usd
    status = "infeasible" if plan is None else "feasible" if solution.comfortable else "optimal"
    result: dict[str, Any] = {"status": status, "plan": plan, "cost_usd": cost_usd}
    if k:
        best = [
            each
            for each in k_best(query, world, k)
            if each.cost_usd is not None and each.cost_usd <= query.budget
        ]
        result["plans"] = [
            {"cost_usd": each.cost_usd, "plan": _official(query, each, world)} for each in best
        ]
    return {**result, "seconds": round(time.monotonic() - started, 4), "why": why}


def _official(query: Query, solution: Solution, world: World) -> list[dict[str, Any]] | None:
    days = parse_days(plan_days(query, solution)).days
    return to_official(days, city_lookup(world)) if days else None

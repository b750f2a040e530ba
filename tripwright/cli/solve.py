"""`tripwright solve`: exact plans, or the reason why there is none."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.agent.policies.expert import expert_solution
from tripwright.constraints.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.oracle.planner import plan_days
from tripwright.oracle.planner import solve as solve_exactly
from tripwright.trip.parse import parse_days
from tripwright.trip.plan import to_official
from tripwright.trip.query import Query, iter_queries
from tripwright.trip.render import render_plan
from tripwright.world.store import World


def solve(
    queries: Annotated[Path, typer.Argument(metavar="QUERIES.jsonl", help="Trip requests, one per line.")],
    world: Annotated[Path, typer.Option(help="World folder to plan in.")],
    cheapest: Annotated[bool, typer.Option("--cheapest", help="The proved cheapest plan, however uncomfortable.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per request instead of pages.")] = False,
) -> None:
    """Plan trips exactly: within every stated wish and the budget, or with the reason why no plan exists.

    Without --cheapest the plan is a comfortable one where the budget allows it (one room for the party, no taxi where one can fly):
    its status is then "feasible". "optimal" is the proved cheapest plan.

    Examples:
      tripwright solve queries.jsonl --world worlds/nano
      tripwright solve queries.jsonl --world worlds/real --cheapest --json > plans.jsonl
    """
    place = World.open(world)
    number, at_home = 0, 0
    for number, (_, query) in enumerate(iter_queries(queries), start=1):
        solved = solve_query(query, place, cheapest)
        typer.echo(json.dumps({"line": number, **solved}) if as_json else ("" if number == 1 else "\n") + page(query, solved))
        at_home += query.org in place.cities
    if not number:
        raise UserError(f"No queries in '{queries}'. Expected a JSONL file, one query record per line.")
    if not at_home:
        print(f"warning: no query of '{queries}' starts in a city of world '{place.name}': is it the right world?", file=sys.stderr)


def solve_query(query: Query, world: World, cheapest: bool = False) -> dict[str, Any]:
    """One object of `solve --json`, less its line number."""
    started = time.monotonic()
    solution = solve_exactly(query, world) if cheapest else expert_solution(query, world)
    plan, cost_usd, why = None, None, solution.why
    if solution.cost_usd is not None and solution.cost_usd > query.budget:
        why = f"the cheapest plan costs ${solution.cost_usd:,.2f}, the budget is ${query.budget:,}."
    elif solution.cost_usd is not None:
        days = parse_days(plan_days(query, solution)).days
        plan = to_official(days, city_lookup(world)) if days else None
        cost_usd = solution.cost_usd
    status = "infeasible" if plan is None else "feasible" if solution.comfortable else "optimal"
    return {"status": status, "plan": plan, "cost_usd": cost_usd, "seconds": round(time.monotonic() - started, 4), "why": why}


def page(query: Query, solved: dict[str, Any]) -> str:
    told = f"${solved['cost_usd']:,.2f}" if solved["plan"] else solved["why"]
    return f"{render_plan(query, solved['plan'])}\n{solved['status']}: {told}"

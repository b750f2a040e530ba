"""`tripwright solve`: exact plans, or the reason why there is none."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from tripwright.cli.options import Json, argument, flag, option
from tripwright.domains.domain import Solved
from tripwright.domains.travelplanner.plan_view import plan_view
from tripwright.domains.travelplanner.planning import PlannedRules, solve_query
from tripwright.domains.travelplanner.query import Query, read_queries, request_line
from tripwright.domains.travelplanner.verbs.show import plan_text
from tripwright.errors import printable
from tripwright.progress import StatusLine, terminal
from tripwright.world.store import World


def solve(  # long: most of it is help
    queries: Path = argument("Trip requests, one per line.", metavar="QUERIES.jsonl"),
    world: Path = option(..., "World folder to plan in."),
    cheapest: bool = flag("--cheapest", "The proved cheapest plan, however uncomfortable."),
    why: bool = flag(
        "--why",
        "Where there is no plan: which requirements conflict, and single changes that help.",
    ),
    k: int | None = option(
        None, "The K cheapest different plans within the budget.", "--k", metavar="K", min=1
    ),
    rules: PlannedRules = option("strict", "Rule set that the plans keep."),
    as_json: Json = False,
) -> None:
    """Plan trips exactly: within every stated wish and the budget, or with the reason why no plan
    exists.

    Without --cheapest the plan is a comfortable one where the budget allows it (one room for the
    party, no taxi where one can fly): its status is then "feasible". "optimal" is the proved
    cheapest plan. --k implies --cheapest, and so does --rules livable: a plan with a meal wherever
    a day leaves time for it, and no day of more than 16 hours.

    --why names requirements that cannot be met together, each of them needed for the conflict, says
    what the world offers, and lists single changes after which there is a plan (proved by solving
    the changed request), those that give up least first. It solves many relaxed requests: for one
    without a plan, to a state of 15 to 25 cities, it takes 2 to 4 seconds.

    Examples:
      tripwright solve queries.jsonl --world worlds/nano
      tripwright solve queries.jsonl --world worlds/nano --why
      tripwright solve queries.jsonl --world worlds/nano --k 3
      tripwright solve queries.jsonl --world worlds/nano --rules livable
      tripwright solve queries.jsonl --world worlds/real --cheapest --json > plans.jsonl
    """
    place = World.open(world)
    status = StatusLine()
    requests = read_queries(queries)  # all, before anything is printed
    at_home, unmet = 0, 0
    for number, query in enumerate(requests, start=1):
        solved = solve_query(query, place, cheapest, k, why, rules)
        unmet += solved["plan"] is None
        if as_json:
            typer.echo(json.dumps({"line": number, "query": query.record(), **solved}))
        else:
            typer.echo(("" if number == 1 else "\n") + page(query, solved))
        at_home += query.org in place.cities
        # on a terminal the plans themselves show how far it is
        if not terminal(sys.stdout).isatty():
            unsolved = f", {unmet:,} without a plan"
            status.count(number, len(requests), "requests solved", unsolved)
    status.end()
    if not at_home:
        nowhere = f"no query of '{queries}' starts in a city of world '{place.name}'"
        print(f"warning: {nowhere}: is it the right world?", file=sys.stderr)


def page(query: Query, solved: Solved) -> str:
    if solved["plan"] and "plans" in solved:
        return "\n\n".join(_numbered(query, solved["plans"]))
    heading = f"{plan_text(plan_view(query, solved['plan'], None))}\n{solved['status']}: "
    if explanation := solved.get("explanation"):
        return heading + "\n".join(_told(explanation, solved["changes"]))
    return heading + (f"${solved['cost_usd']:,.2f}" if solved["plan"] else printable(solved["why"]))


def _numbered(query: Query, plans: list[dict[str, Any]]) -> Iterator[str]:
    yield request_line(query)
    for number, each in enumerate(plans, start=1):
        # the request stands above all plans once
        _, days = plan_text(plan_view(query, each["plan"], None)).split("\n", 1)
        yield f"Plan {number} of {len(plans)}: ${each['cost_usd']:,.2f}\n{days}"


def _told(explanation: dict[str, Any], changes: list[dict[str, Any]]) -> Iterator[str]:
    """One line for each thing that is said, as the names of 25 cities can make it long."""
    for number, each in enumerate([explanation, *explanation.get("also", ())]):
        lead = "also infeasible: " if number else ""
        yield f"{lead}{printable(' and '.join(each['conflict']))}"
        yield from (f"  {printable(part)}" for part in each["words"].split("; "))
    if changes:
        yield "possible after any one of these:"
    elif not explanation.get("malformed"):
        yield "no single change is enough"
    for change in changes:
        then = f"the cheapest plan is then ${change['cost_usd']:,.2f}"
        yield f"  {printable(change['words'])} ({then})"

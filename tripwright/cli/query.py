"""`tripwright query`: make trip requests that a world can meet, and check given ones."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.solve import solve_query
from tripwright.constraints.evaluate import judge
from tripwright.constraints.facts import Verdict
from tripwright.constraints.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.files import write_atomically
from tripwright.oracle.planner import solve as solve_exactly
from tripwright.queries.sample import CITIES_VISITED, Mix, make_queries
from tripwright.trip.parse import parse_days
from tripwright.trip.plan import to_official
from tripwright.trip.query import Query, iter_queries
from tripwright.world.store import World

PROGRESS_S = 5.0


def make(
    world: Annotated[Path, typer.Option(help="World folder the requests are for.")],
    out: Annotated[Path, typer.Option(help="JSONL file to write.")],
    count: Annotated[int, typer.Option(help="How many.", min=1)] = 100,
    seed: Annotated[int, typer.Option(help="Equal seeds give equal requests.", min=0)] = 0,
    days: Annotated[str, typer.Option(help="Lengths of trip to draw from, out of 3, 5 and 7.")] = "3",
    levels: Annotated[str, typer.Option(help="Weights of easy, medium and hard.")] = "4:3:3",
    slack: Annotated[str, typer.Option(help="Range of the budget over the cost of a comfortable plan.")] = "1.05:1.3",
    as_json: Annotated[bool, typer.Option("--json", help="What was made as one JSON object.")] = False,
) -> None:
    """Make different trip requests, each proved to be possible within its budget; the proof's plan is in the record.

    Examples:
      tripwright query make --world worlds/nano --count 200 --seed 1 --out queries.jsonl
      tripwright query make --world worlds/nano --count 90 --days 3,5,7 --levels 1:1:1 --slack 1.1:1.5 --out mixed.jsonl
    """
    if out.is_dir():
        raise UserError(f"'{out}' is a folder. Name a JSONL file for --out.")
    mix = Mix(days=read_days(days), levels=read_levels(levels), slack=read_slack(slack))
    place = World.open(world)
    out.parent.mkdir(parents=True, exist_ok=True)  # a bad place for the file is said now, not after the work
    lines: list[str] = []
    made: Counter[str] = Counter()
    told = time.monotonic()
    for query in make_queries(place, count, seed, mix):
        lines.append(json.dumps(query.record(), ensure_ascii=False) + "\n")
        made[str(query.level)] += 1
        if time.monotonic() - told > PROGRESS_S:
            told = time.monotonic()
            print(f"{len(lines)}/{count} queries", file=sys.stderr)
    write_atomically(out, "".join(lines))
    if as_json:
        typer.echo(json.dumps({"out": str(out), "queries": len(lines), "levels": dict(made), "world": place.content_hash, "seed": seed}))
    else:
        typer.echo(f"{out}: {len(lines)} queries ({', '.join(f'{made[level]} {level}' for level in ('easy', 'medium', 'hard'))})")


def check(
    queries: Annotated[Path, typer.Argument(metavar="QUERIES.jsonl", help="Trip requests, one per line.")],
    world: Annotated[Path, typer.Option(help="World folder they are for.")],
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object per request and a summary.")] = False,
) -> None:
    """Check that every request can be met: solved again within its budget, and its stored plan (if any) passes the judge.

    The exit code is 1 if any request fails.

    Examples:
      tripwright query check queries.jsonl --world worlds/nano
    """
    place = World.open(world)
    checked = failed = 0
    for line, query in iter_queries(queries):
        problem = problem_with(query, place)
        checked, failed = checked + 1, failed + (problem is not None)
        if as_json:
            typer.echo(json.dumps({"line": line, "ok": problem is None, "problem": problem}))
        elif problem:
            typer.echo(f"{queries}:{line}: {problem}")
    if not checked:
        raise UserError(f"No queries in '{queries}'. Expected a JSONL file, one query record per line.")
    summary = {"kind": "summary", "queries": checked, "failed": failed}
    typer.echo(json.dumps(summary) if as_json else f"{checked - failed} of {checked} queries can be met")
    if failed:
        raise typer.Exit(1)


def problem_with(query: Query, world: World) -> str | None:
    """Why this request is not good, or None."""
    solved = solve_query(query, world, cheapest=True)
    if solved["plan"] is None:
        return f"cannot be met: {solved['why']}"
    verdict = judge(query, solved["plan"], world)
    if not verdict.final:
        return f"the exact planner's plan does not pass the judge: {_first_failure(verdict)}"
    proof = (query.model_extra or {}).get("oracle")
    return _problem_with_proof(query, proof, world) if proof is not None else None


def _problem_with_proof(query: Query, proof: Any, world: World) -> str | None:
    if not isinstance(proof, dict):
        return "field 'oracle' is not an object"
    stated, found = proof.get("cheapest_cost_usd"), solve_exactly(query, world).cost_usd
    if stated is not None and stated != found:
        return f"its stored cheapest cost is {stated}, the world's is {found}"
    stored = parse_days(proof.get("plan"))
    if stored.days is None:
        return f"its stored plan cannot be read: {stored.problem}"
    verdict = judge(query, to_official(stored.days, city_lookup(world)), world)
    return None if verdict.final else f"its stored plan does not pass the judge: {_first_failure(verdict)}"


def _first_failure(verdict: Verdict) -> str:
    for facts in (verdict.commonsense, verdict.hard):
        for fact in (facts or {}).values():
            if fact.passed is False:
                return f"{fact.name}{f' ({fact.message})' if fact.message else ''}"
    return verdict.error or "not delivered"


def read_days(text: str) -> tuple[int, ...]:
    try:
        days = tuple(int(part) for part in text.split(","))
    except ValueError:
        days = ()
    if not days or any(day not in CITIES_VISITED for day in days):
        raise UserError(f"--days '{text}' is not a list such as 3,5,7: trips take {', '.join(map(str, CITIES_VISITED))} days.")
    return days


def read_levels(text: str) -> tuple[int, int, int]:
    try:
        easy, medium, hard = (int(part) for part in text.split(":"))
    except ValueError:
        easy, medium, hard = -1, -1, -1
    if min(easy, medium, hard) < 0 or not any((easy, medium, hard)):
        raise UserError(f"--levels '{text}' are not three weights such as 4:3:3, for easy, medium and hard.")
    return easy, medium, hard


def read_slack(text: str) -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        low, high = 0.0, 0.0
    if not 1 <= low <= high < float("inf"):
        raise UserError(f"--slack '{text}' is not a range such as 1.05:1.3; it starts at 1 or above, so that every request can be met.")
    return low, high

"""`tripwright submission`: write the leaderboard's file, and check one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, Restart
from tripwright.domains.travelplanner.scoring.lines import QueryFile
from tripwright.domains.travelplanner.scoring.submission import SubmissionCheck, read_submission
from tripwright.errors import UserError, counted
from tripwright.files import check_new, make_parent, write_atomically
from tripwright.runs import transcripts_in
from tripwright.world.store import World

MOST_PROBLEMS = 20  # different ones, printed for people


def write(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN_OR_PLANS", help="Folder of a run, or a plans file as `score` reads it."
        ),
    ],
    queries: Annotated[Path, typer.Option(help="Requests of the split, in its order.")],
    out: Annotated[Path, typer.Option(help="The submission file to write.")],
    world: Annotated[
        Path | None,
        typer.Option(help="To convert plans in Planner-R1's schema.", show_default=False),
    ] = None,
    restart: Restart = False,
    as_json: Json = False,
) -> None:
    """Write a submission for the TravelPlanner leaderboard: official format, order of the split,
    null for a missing plan.

    Lines that answer none of the requests are named on stderr and left out; the exit code is then
    2.

    Examples:
      tripwright submission write runs/qwen3 --queries validation.jsonl --out submission.jsonl
      tripwright submission write plans.jsonl --queries test.jsonl --world worlds/real \\
        --out submission.jsonl
    """
    check_new(out, restart, inputs=(transcripts_in(source), queries))
    requests = QueryFile(queries)
    submission = read_submission(source, requests, World.open(world) if world else None)
    notes, count, plans = submission.notes, len(requests.records), len(submission.plans)
    if not plans:
        why = 'Expected {"query": …, "plan": …} per line, or the transcripts of a run.'
        if notes:
            why = f"{len(notes)} of its lines answer none of the queries; the first: {notes[0]}."
        raise UserError(f"No plan in '{source}'. {why}")
    make_parent(out)
    write_atomically(out, "".join(submission.lines()))
    if as_json:
        counts = {"queries": count, "plans": plans, "missing": count - plans}
        typer.echo(json.dumps({"out": str(out), **counts}))
    else:
        missing = f", {count - plans} null" if plans < count else ""
        typer.echo(f"{out}: {counted(plans, 'plan')} for {counted(count, 'request')}{missing}")
    for note in notes:
        typer.echo(f"{source}: {note}", err=True)
    if notes:
        raise UserError(f"{source}: {counted(len(notes), 'line')} gave no plan (named above).")


def check(
    submission: Annotated[Path, typer.Argument(metavar="FILE", help="The submission file.")],
    queries: Annotated[
        Path | None,
        typer.Option(
            help="Requests of the split, to check texts, order and number.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a submission's format: one line per problem, and exit code 1 if there is any.

    Only --queries tells whether all requests of the split are there.

    Examples:
      tripwright submission check submission.jsonl --queries validation.jsonl
    """
    found = SubmissionCheck(submission, QueryFile(queries) if queries else None)
    places = dict[str, list[int]]()  # problem → its lines
    problems = 0
    for line, problem in found.problems():
        problems += 1
        places.setdefault(problem, []).append(line)
        if as_json:
            typer.echo(json.dumps({"line": line, "problem": problem}))
    if as_json:
        summary = {"problems": problems, "requests": found.requests, "plans": found.plans}
        typer.echo(json.dumps({"kind": "summary", **summary}))
    else:
        for problem, (line, *more) in list(places.items())[:MOST_PROBLEMS]:
            again = f" (and in {counted(len(more), 'more line')})" if more else ""
            typer.echo(f"{submission}:{line}: {problem}{again}")
        if (rest := len(places) - MOST_PROBLEMS) > 0:
            typer.echo(f"… and {counted(rest, 'more problem')} (--json has every one)")
    if problems:
        raise typer.Exit(1)
    if not as_json:
        has = f"{counted(found.plans, 'plan')} for {counted(found.requests, 'request')}"
        typer.echo(f"{submission}: the format is right; {has}")

"""`tripwright query`: make trip requests that a world can meet, and check given ones."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import typer

from tripwright.cli.options import Json, argument, flag, option, read_levels
from tripwright.cli.table import print_figures
from tripwright.domains.travelplanner.queries.files import (
    PROBLEM_KINDS,
    QueryBatch,
    check_queries,
    excluded_keys,
    make_file,
)
from tripwright.domains.travelplanner.queries.sample import OFFICIAL_MIX, Mix
from tripwright.domains.travelplanner.queries.wording import Style
from tripwright.domains.travelplanner.query import asked_queries
from tripwright.domains.wording import LEVELS
from tripwright.errors import UserError
from tripwright.files import check_new
from tripwright.progress import StatusLine
from tripwright.world.store import World

TIGHT = (0.6, 0.95)  # the budget over the cheapest cost, where it is to be too little


@dataclass(frozen=True)
class QueryFlags:
    """What requests are made, how many, and where they go."""

    world: Path = option(..., "World folder the requests are for.")
    out: Path = option(..., "JSONL file to write.")
    count: int = option(100, "How many.", min=1)
    seed: int = option(0, "Equal seeds give equal files, with any number of workers.", min=0)
    elements: Literal["default", "official"] = option(
        "default", "How cities, days, party and wishes are drawn."
    )
    days: str | None = option(
        None, "Lengths of trip to draw from, of 3, 5, 7.  [default: 3; official: 3,5,7]"
    )
    levels: str | None = option(
        None, "Weights of easy, medium, hard.  [default: 4:3:3; official: 1:1:1]"
    )
    slack: str | None = option(
        None,
        "Range of the budget over the cost of the cheapest comfortable plan, if infeasible"
        " over the cheapest.  [default: 1.05:1.3; infeasible: 0.6:0.95]",
    )
    budget: Literal["slack", "official"] = option(
        "slack", "'official': price statistics, kept where a plan is proved within them."
    )
    keep: Literal["feasible", "infeasible"] = option(
        "feasible", "'infeasible': proved impossible, and labelled so."
    )
    style: Style | None = option(
        None,
        "The wording: 'plain', a few frames, or 'rich', thousands.  [default: plain;"
        " official: rich]",
    )
    not_in: list[Path] | None = option(
        None, "JSONL file whose trips are not to be repeated. May be given again."
    )
    workers: int | None = option(None, "Processes.  [default: one for each core]", min=1, max=256)
    restart: bool = flag("--restart", "Replace what is there.")


def make(
    settings: QueryFlags,
    as_json: Json = False,
) -> None:
    """Make different trip requests, each proved to be possible within its budget; the proof's plan
    is in the record.

    A plan is comfortable if one room holds the whole party and no taxi goes from city to city where
    one can fly. No two requests ask for the same trip: origin, destination, dates, people and
    wishes.

    Examples:
      tripwright query make --world worlds/nano --count 200 --seed 1 --out queries.jsonl
      tripwright query make --world worlds/nano --count 90 --days 3,5,7 --levels 1:1:1 \\
        --slack 1.1:1.5 --out mixed.jsonl
      tripwright query make --world worlds/real --count 1000 --elements official \\
        --budget official --not-in validation.jsonl --out q.jsonl
      tripwright query make --world worlds/nano --keep infeasible --out impossible.jsonl
    """
    mix, given = _mix(settings), settings.not_in or []
    check_new(settings.out, settings.restart, inputs=given)
    place, excluded = World.open(settings.world), excluded_keys(given)
    line = StatusLine(log_seconds=5)

    def report(batch: QueryBatch) -> None:
        often = ", ".join(f"{reason} {number}" for reason, number in batch.rejected.most_common(2))
        rejected = f", {batch.rejected.total()} rejected ({often or 'none'})"
        line.count(len(batch.records), settings.count, "requests", rejected)

    batch = make_file(
        place,
        settings.out,
        settings.count,
        settings.seed,
        mix,
        excluded=excluded,
        workers=settings.workers,
        report=report,
    )
    line.end()
    levels, days = (Counter(r[name] for r in batch.records) for name in ("level", "days"))
    summary = {
        "out": str(settings.out),
        "queries": len(batch.records),
        "levels": {level: levels[level] for level in LEVELS if levels[level]},
        "days": dict(sorted(days.items())),
        "seconds": round(line.seconds, 2),
        "rejected": dict(batch.rejected.most_common()),
        "world": place.content_hash,
        "seed": settings.seed,
    }
    print_figures(summary, as_json)


def _mix(flags: QueryFlags) -> Mix:
    if flags.budget == "official" and flags.slack is not None:
        raise UserError("--slack has no meaning with --budget official: leave one of them out.")
    mix = OFFICIAL_MIX if flags.elements == "official" else Mix()
    given: dict[str, Any] = {"slack": mix.slack if flags.keep == "feasible" else TIGHT}
    if flags.days is not None:
        given["days"] = _numbers("--days", flags.days, r"\d+(?:,\d+)*", int)
    if flags.levels is not None:
        given["levels"] = read_levels(flags.levels)
    if flags.slack is not None:
        given["slack"] = _numbers("--slack", flags.slack, r"[\d.]+:[\d.]+", float)
    style = flags.style or mix.style
    return replace(mix, budget=flags.budget, keep=flags.keep, style=style, **given)


def _numbers(flag: str, text: str, form: str, number: Callable[[str], float]) -> tuple[float, ...]:
    try:
        if re.fullmatch(form, text, re.ASCII):
            return tuple(map(number, re.split("[,:]", text)))
    except ValueError:  # 1.2.3
        pass
    raise UserError(f"{flag} '{text}' are not numbers such as --days 3,5,7 or --slack 1.05:1.3.")


def check(  # long: half of it is help and options
    queries: Path = argument("Trip requests, one per line.", metavar="QUERIES.jsonl"),
    world: Path = option(..., "World folder they are for."),
    workers: int | None = option(None, "Processes.  [default: one for each core]", min=1, max=256),
    as_json: Json = False,
) -> None:
    """Check every request: solved again, its stored proof and plan compared and judged, its text
    read back, repeats found.

    Kinds of problem: infeasible (no plan within the budget), wrong (the stored proof is not true,
    or its plan fails the official or the strict rules), ambiguous (the text alone does not give the
    fields), duplicate (an earlier line asks for the same trip). The exit code is 1 if any request
    has one.

    Examples:
      tripwright query check queries.jsonl --world worlds/nano
    """
    place = World.open(world)
    pairs = list(asked_queries(queries))
    kinds, status = Counter[str](), StatusLine(log_seconds=5)
    failed = impossible = 0
    labelled = {line for line, query in pairs if (query.model_extra or {}).get("feasible") is False}
    for number, (line, problems) in enumerate(check_queries(pairs, place, workers), start=1):
        own_kinds = {problem.kind for problem in problems}
        kinds.update(own_kinds)
        failed += bool(problems)
        impossible += not problems and line in labelled
        text = "; ".join(problem.text for problem in problems) or None
        if as_json:
            named = [kind for kind in PROBLEM_KINDS if kind in own_kinds]
            record = {"line": line, "ok": text is None, "kinds": named, "problem": text}
            typer.echo(json.dumps(record))
        elif text:
            typer.echo(f"{queries}:{line}: {text}")
        status.count(number, len(pairs), "requests checked", f", {failed} with problems")
    status.end()
    counts = {kind: kinds[kind] for kind in PROBLEM_KINDS}
    if as_json:
        typer.echo(json.dumps({"kind": "problems", **counts}))
        typer.echo(json.dumps({"kind": "summary", "queries": len(pairs), "failed": failed}))
    else:
        proved = f", {impossible} are proved impossible, as they say" if labelled else ""
        typer.echo(f"{len(pairs) - failed - impossible} of {len(pairs)} queries can be met{proved}")
        if failed:
            found = (f"{number} {kind}" for kind, number in counts.items() if number)
            typer.echo(f"problems: {', '.join(found)}")
    if failed:
        raise typer.Exit(1)

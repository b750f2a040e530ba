"""`tripwright query`: make trip requests that a world can meet, and check given ones."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.options import Json
from tripwright.cli.shares import read_levels
from tripwright.data.split import refuse_other_parts
from tripwright.domains.travelplanner.queries.check import KINDS, check_queries
from tripwright.domains.travelplanner.queries.make_elements import ELEMENT_KINDS, OFFICIAL_MIX
from tripwright.domains.travelplanner.queries.make_files import QueryBatch, make_files
from tripwright.domains.travelplanner.queries.make_item import LEVELS, QuerySettings
from tripwright.domains.travelplanner.queries.sample import CITIES_VISITED, Mix
from tripwright.domains.travelplanner.queries.splits import excluded_keys, read_splits
from tripwright.domains.travelplanner.query import iter_queries
from tripwright.errors import UserError, counted
from tripwright.files import check_new, write_atomically
from tripwright.progress import StatusLine
from tripwright.world.store import World

TIGHT = (0.6, 0.95)  # the budget over the cheapest cost, where it is to be too little


@dataclass(frozen=True, kw_only=True)
class QueryFlags:
    """What requests are made, how many, and where they go."""

    world: Annotated[Path, typer.Option(help="World folder the requests are for.")]
    out: Annotated[
        Path,
        typer.Option(help="JSONL file to write; with --splits a folder, one file for each split."),
    ]
    count: Annotated[int, typer.Option(help="How many, all splits together.", min=1)] = 100
    seed: Annotated[
        int, typer.Option(help="Equal seeds give equal files, with any number of workers.", min=0)
    ] = 0
    elements: Annotated[
        str,
        typer.Option(
            help="How cities, days, party and wishes are drawn: default, official or uniform."
        ),
    ] = "default"
    days: Annotated[
        str | None,
        typer.Option(
            help="Lengths of trip to draw from, of 3, 5, 7.  [default: 3; official: 3,5,7]"
        ),
    ] = None
    levels: Annotated[
        str | None,
        typer.Option(help="Weights of easy, medium, hard.  [default: 4:3:3; official: 1:1:1]"),
    ] = None
    slack: Annotated[
        str | None,
        typer.Option(
            help=(
                "Range of the budget over a proved cost.  [default: 1.05:1.3; infeasible: 0.6:0.95]"
            )
        ),
    ] = None
    over: Annotated[
        str, typer.Option(help="Which cost: of the cheapest comfortable plan, or the cheapest.")
    ] = "comfortable"
    budget: Annotated[
        str,
        typer.Option(
            help=(
                "'slack', or 'official': price statistics, kept where a plan is proved within them."
            )
        ),
    ] = "slack"
    keep: Annotated[
        str, typer.Option(help="'feasible', or 'infeasible': proved impossible, and labelled so.")
    ] = "feasible"
    style: Annotated[
        str | None,
        typer.Option(
            help=(
                "The wording: 'plain', a few frames, or 'rich', thousands.  [default: plain;"
                " official: rich]"
            )
        ),
    ] = None
    not_in: Annotated[
        list[Path] | None,
        typer.Option(help="JSONL file whose trips are not to be repeated. May be given again."),
    ] = None
    splits: Annotated[
        str | None, typer.Option(help="Names and shares, as train:0.8,validation:0.1,test:0.1.")
    ] = None
    workers: Annotated[
        int | None, typer.Option(help="Processes.  [default: one for each core]", min=1, max=256)
    ] = None
    restart: Annotated[
        bool, typer.Option("--restart", help="Replace what is there, finished or interrupted.")
    ] = False
    plot: Annotated[
        Path | None, typer.Option(help="SVG file to draw levels, budgets and slack in.")
    ] = None


def make(
    settings: QueryFlags,
    as_json: Json = False,
) -> None:
    """Make different trip requests, each proved to be possible within its budget; the proof's plan
    is in the record.

    A plan is comfortable if one room holds the whole party and no taxi goes from city to city where
    one can fly. No two requests ask for the same trip: origin, destination, dates, people and
    wishes. A run that was interrupted goes on where it stopped.

    Examples:
      tripwright query make --world worlds/nano --count 200 --seed 1 --out queries.jsonl
      tripwright query make --world worlds/nano --count 90 --days 3,5,7 --levels 1:1:1 \\
        --slack 1.1:1.5 --out mixed.jsonl
      tripwright query make --world worlds/real --count 1000 --elements official \\
        --budget official --not-in validation.jsonl --out q.jsonl
      tripwright query make --world worlds/nano --count 500 --splits train:0.8,test:0.2 \\
        --plot made.svg --out queries
      tripwright query make --world worlds/nano --keep infeasible --out impossible.jsonl
    """
    drawing = _drawing(settings)
    shares = read_splits(settings.splits) if settings.splits is not None else None
    _check_places(settings.out, shares, settings.plot, settings.restart, settings.not_in or ())
    place = World.open(settings.world)
    excluded = excluded_keys(settings.not_in or ())
    line = StatusLine(log_seconds=5)

    def report(batch: QueryBatch) -> None:
        rate = (len(batch.records) - batch.resumed) / max(line.seconds, 1e-9)
        often = ", ".join(f"{reason} {number}" for reason, number in batch.rejected.most_common(2))
        line.show(
            f"{len(batch.records)}/{settings.count} requests, {rate:.1f} a second,"
            f" {batch.rejected.total()} rejected ({often or 'none'})"
        )

    batch = make_files(
        place,
        settings.out,
        settings.count,
        drawing,
        splits=shares,
        excluded=excluded,
        workers=settings.workers,
        restart=settings.restart,
        report=report,
    )
    line.end()
    if settings.plot is not None:
        from tripwright.domains.travelplanner.verbs.query_plot import requests_svg

        write_atomically(settings.plot, requests_svg(batch.records))
    summary = {
        "out": str(settings.out),
        **_summary(batch, line.seconds),
        "world": place.content_hash,
        "seed": settings.seed,
    }
    typer.echo(json.dumps(summary) if as_json else _told(summary))


def _check_places(
    out: Path,
    shares: dict[str, float] | None,
    plot: Path | None,
    restart: bool,
    inputs: Sequence[Path],
) -> None:
    if shares is not None and out.exists() and not out.is_dir():
        raise UserError(f"'{out}' is a file. With --splits, --out names a folder.")
    places = [out] if shares is None else [out / f"{name}.jsonl" for name in shares]
    for path in places:
        check_new(path, restart, inputs=inputs)
    if shares is not None:
        refuse_other_parts(out, places)
    if plot is not None:
        check_new(plot, restart, "--plot", inputs)
    if plot is not None and not plot.parent.is_dir():
        raise UserError(
            f"--plot '{plot}' cannot be written: name an SVG file in a folder that exists."
        )


def _drawing(flags: QueryFlags) -> QuerySettings:
    seed, elements, days, levels = flags.seed, flags.elements, flags.days, flags.levels
    slack, over, budget, keep = flags.slack, flags.over, flags.budget, flags.keep
    style = flags.style or ("rich" if elements == "official" else "plain")
    for option, value, accepted in (
        ("--elements", elements, ELEMENT_KINDS),
        ("--over", over, ("comfortable", "cheapest")),
        ("--budget", budget, ("slack", "official")),
        ("--keep", keep, ("feasible", "infeasible")),
        ("--style", style, ("plain", "rich")),
    ):
        if value not in accepted:
            raise UserError(f"{option} '{value}' is none of {', '.join(accepted)}.")
    if budget == "official" and slack is not None:
        raise UserError("--slack has no meaning with --budget official: leave one of them out.")
    if keep == "infeasible" and over != "comfortable":
        raise UserError(
            "--over has no meaning with --keep infeasible, whose budgets go by the cheapest cost:"
            " leave one of them out."
        )
    mix = OFFICIAL_MIX if elements == "official" else Mix()
    usual = Mix().slack if keep == "feasible" else TIGHT
    return QuerySettings(
        seed=seed,
        elements=elements,  # type: ignore[arg-type]  # checked above, as the three below
        days=read_days(days) if days is not None else mix.days,
        levels=read_levels(levels) if levels is not None else mix.levels,
        slack=None if budget == "official" else usual if slack is None else read_slack(slack, keep),
        over=over,  # type: ignore[arg-type]
        keep=keep,  # type: ignore[arg-type]
        style=style,  # type: ignore[arg-type]
    )


def _summary(batch: QueryBatch, seconds: float) -> dict[str, Any]:
    records = batch.records
    new = len(records) - batch.resumed
    slacks = [
        record["oracle"]["slack"] for record in records if record["oracle"]["slack"] is not None
    ]
    return {
        "queries": len(records),
        "levels": {
            level: n
            for level in LEVELS
            if (n := sum(record["level"] == level for record in records))
        },
        "days": dict(sorted(Counter(record["days"] for record in records).items())),
        "files": batch.files,
        "resumed": batch.resumed,
        "seconds": round(seconds, 2),
        "per_second": round(new / max(seconds, 1e-9), 2),
        "rejected": dict(batch.rejected.most_common()),
        "budget_usd": {
            level: _spread([r["budget"] for r in records if r["level"] == level])
            for level in LEVELS
        },
        "slack": _spread(slacks),
    }


def _spread(values: list[float]) -> dict[str, float] | None:
    """Smallest, median and largest; None of nothing."""
    return (
        {"low": min(values), "median": statistics.median(values), "high": max(values)}
        if values
        else None
    )


def _told(summary: dict[str, Any]) -> str:
    levels = ", ".join(f"{summary['levels'].get(level, 0)} {level}" for level in LEVELS)
    resumed = f", {summary['resumed']} of them before" if summary["resumed"] else ""
    lines = [
        f"{summary['out']}: {counted(summary['queries'], 'query')} ({levels}{resumed}),"
        f" {summary['per_second']:g} a second"
    ]
    if len(summary["files"]) > 1:
        lines += [f"  {path}: {number}" for path, number in summary["files"].items()]
    for level, spread in summary["budget_usd"].items():
        if spread:
            lines.append(
                f"  {level} budgets: ${spread['low']:,} to ${spread['high']:,}, half up to"
                f" ${spread['median']:,.0f}"
            )
    if spread := summary["slack"]:
        lines.append(
            f"  budget over cheapest cost: {spread['low']:.2f} to {spread['high']:.2f}, half up to"
            f" {spread['median']:.2f}"
        )
    total = sum(summary["rejected"].values())
    lines.append(f"  {total} drafts rejected" + ":" * bool(total))
    lines += [f"    {number:>6} {reason}" for reason, number in summary["rejected"].items()]
    return "\n".join(lines)


def check(  # long: half of it is help and options
    queries: Annotated[
        Path, typer.Argument(metavar="QUERIES.jsonl", help="Trip requests, one per line.")
    ],
    world: Annotated[Path, typer.Option(help="World folder they are for.")],
    workers: Annotated[
        int | None, typer.Option(help="Processes.  [default: one for each core]", min=1, max=256)
    ] = None,
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
    pairs = list(iter_queries(queries))
    if not pairs:
        raise UserError(f"No queries in '{queries}'. Expected one query record per line.")
    kinds: Counter[str] = Counter()
    status, failed, impossible = StatusLine(log_seconds=5), 0, 0
    labelled = {line for line, query in pairs if (query.model_extra or {}).get("feasible") is False}
    for number, (line, problems) in enumerate(check_queries(pairs, place, workers), start=1):
        own_kinds = {problem.kind for problem in problems}
        kinds.update(own_kinds)
        failed += bool(problems)
        impossible += not problems and line in labelled
        problem_text = "; ".join(problem.text for problem in problems) or None
        if as_json:
            typer.echo(
                json.dumps(
                    {
                        "line": line,
                        "ok": problem_text is None,
                        "kinds": [kind for kind in KINDS if kind in own_kinds],
                        "problem": problem_text,
                    }
                )
            )
        elif problem_text:
            typer.echo(f"{queries}:{line}: {problem_text}")
        status.show(
            f"{number}/{len(pairs)} requests checked, {number / max(status.seconds, 1e-9):.1f} a"
            f" second, {failed} with problems"
        )
    status.end()
    counts = {kind: kinds[kind] for kind in KINDS}
    if as_json:
        typer.echo(json.dumps({"kind": "problems", **counts}))
        typer.echo(json.dumps({"kind": "summary", "queries": len(pairs), "failed": failed}))
    else:
        proved = f", {impossible} are proved impossible, as they say" if labelled else ""
        typer.echo(f"{len(pairs) - failed - impossible} of {len(pairs)} queries can be met{proved}")
        if failed:
            typer.echo(
                "problems: "
                + ", ".join(f"{number} {kind}" for kind, number in counts.items() if number)
            )
    if failed:
        raise typer.Exit(1)


def read_days(text: str) -> tuple[int, ...]:
    try:
        days = tuple(int(part) for part in text.split(","))
    except ValueError:
        days = ()
    if not days or any(day not in CITIES_VISITED for day in days):
        raise UserError(
            f"--days '{text}' is not a list such as 3,5,7: trips take"
            f" {', '.join(map(str, CITIES_VISITED))} days."
        )
    return days


def read_slack(text: str, keep: str = "feasible") -> tuple[float, float]:
    try:
        low, high = (float(part) for part in text.split(":"))
    except ValueError:
        low, high = 0.0, 0.0
    if keep == "feasible" and not 1 <= low <= high < float("inf"):
        raise UserError(
            f"--slack '{text}' is not a range such as 1.05:1.3; it starts at 1 or above, so that"
            " every request can be met."
        )
    if keep == "infeasible" and not 0 < low <= high < 1:
        raise UserError(
            f"--slack '{text}' is not a range such as 0.6:0.95; with --keep infeasible it stays"
            " above 0 and below 1."
        )
    return low, high

"""`tripwright power`: how many queries it takes to see a difference."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.compare_tables import aligned
from tripwright.errors import UserError
from tripwright.evals.comparison_record import compare_folders
from tripwright.evals.power import (
    MOST_EXACT,
    Scatter,
    independent_discordance,
    most_discordance,
    paired_power,
    paired_queries_exact,
    unpaired_queries,
)

SHOWN_DISCORDANCES = (0.1, 0.2, 0.3)


def power(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[RUN_A RUN_B]", help="Two runs to learn the discordance from."),
    ] = None,
    points: Annotated[
        float,
        typer.Option(help="The difference to be seen, in percentage points.", min=0.01, max=100),
    ] = 5.0,
    rate: Annotated[
        float, typer.Option(help="Pass rate of the worse run, from 0 to 1.", min=0, max=1)
    ] = 0.5,
    discordance: Annotated[
        float | None,
        typer.Option(
            help="Share of queries that only one of the two passes, from 0 to 1.",
            min=0,
            max=1,
            show_default=False,
        ),
    ] = None,
    wanted: Annotated[
        float,
        typer.Option(
            "--power",
            help="Chance of seeing the difference where it is there.",
            min=0.01,
            max=0.999,
        ),
    ] = 0.8,
    alpha: Annotated[
        float, typer.Option(help="Chance of seeing one where there is none.", min=0.0001, max=0.5)
    ] = 0.05,
    queries: Annotated[
        int | None,
        typer.Option(help="Say the power of so many queries instead.", min=1, show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say how many queries it takes to see a difference of some points between two runs.

    On the same queries it depends on the discordance: the share of queries that one run passes and
    the other does not. Before a run, give numbers, for one sample per query. After a first one,
    give two run folders: then it is theirs, with as many samples as they have.

    Examples:
      tripwright power --points 5 --rate 0.45
      tripwright power --points 2 --rate 0.7 --discordance 0.12 --power 0.9
      tripwright power --points 5 --rate 0.45 --discordance 0.2 --queries 300
      tripwright power runs/cold_start runs/grpo --points 3
    """
    found = (
        _from_runs(runs, points / 100, wanted, alpha)
        if runs
        else _from_numbers(points / 100, rate, discordance, wanted, alpha, queries)
    )
    typer.echo(json.dumps(found) if as_json else _text(found))


def _from_numbers(
    difference: float,
    rate: float,
    discordance: float | None,
    wanted: float,
    alpha: float,
    queries: int | None,
) -> dict[str, Any]:
    better = rate + difference
    if better > 1:
        raise UserError(
            f"--rate {rate:g} and --points {100 * difference:g} make a pass rate of {better:.0%}."
            " Accepted: at most 100%."
        )
    most, independent = most_discordance(rate, better), independent_discordance(rate, better)
    if discordance is not None and not difference <= discordance + 1e-12 <= most + 2e-12:
        accepted = f"accepted from {difference:g} to {most:g}"
        raise UserError(
            f"--discordance {discordance:g} cannot be at pass rates of {rate:.1%} and {better:.1%}:"
            f" {accepted}."
        )
    shown = [difference, *(d for d in SHOWN_DISCORDANCES if difference < d < most), independent]
    paired = []
    for each in sorted(
        {max(difference, d) for d in (shown if discordance is None else [discordance])}
    ):
        if queries is None:
            n, reached = paired_queries_exact(difference, each, wanted, alpha)
        else:
            n, reached = queries, _power_of(queries, difference, each, alpha)
        words = {
            difference: "the least there can be",
            independent: "two runs that have nothing in common",
        }.get(each, "")
        paired.append({"discordance": each, "queries": n, "power": reached, "words": words})
    unpaired = None if queries is not None else unpaired_queries(rate, better, wanted, alpha)
    return {
        "points": 100 * difference,
        "rate": rate,
        "power": wanted,
        "alpha": alpha,
        "paired": paired,
        "unpaired": unpaired,
    }


def _power_of(queries: int, difference: float, discordance: float, alpha: float) -> float:
    if queries > MOST_EXACT:
        raise UserError(
            f"--queries {queries} is too many for an exact power. Accepted: up to {MOST_EXACT}."
        )
    return paired_power(queries, difference, discordance, alpha)


def _from_runs(runs: list[Path], difference: float, wanted: float, alpha: float) -> dict[str, Any]:
    if len(runs) != 2:
        raise UserError(
            f"The discordance is that of two runs, found {len(runs)}. Give two run folders, or none"
            " and --rate."
        )
    for folder in runs:
        if not folder.is_dir():
            raise UserError(
                f"No run folder at '{folder}'. Expected a folder made by 'tripwright run',"
                " quickstart or examine."
            )
    compared = compare_folders([[folder] for folder in runs], apart=True)
    said = next(iter(compared["power"].values()), None)
    if said is None:
        raise UserError(
            "The two runs pass the same queries: how far they scatter cannot be learned from them."
            " Give --rate and --discordance."
        )
    scatter = Scatter(**said["scatter"])
    shown = scatter.detectable(wanted, alpha)
    return {
        "points": 100 * difference,
        "power": wanted,
        "alpha": alpha,
        "runs": [run["name"] for run in compared["runs"]],
        "queries_played": compared["queries"],
        **said["scatter"],
        "detectable_points": None if shown is None else 100 * shown,
        "queries": scatter.needed(difference, wanted, alpha),
    }


def _text(found: dict[str, Any]) -> str:
    power_text = f"power {found['power']:.0%}"
    asked = f"{found['points']:g} points with {power_text} (two-sided, p < {found['alpha']:g})"
    if "runs" in found:
        a, b = found["runs"]
        cannot = (
            f"{found['points']:g} points cannot be between runs whose queries differ so little."
            " Give --rate and --discordance instead."
        )
        shown = (
            f"{found['detectable_points']:.1f} points"
            if found["detectable_points"] is not None
            else "no difference that there can be"
        )
        return (
            f"{a} and {b} differ in {found['discordance']:.1%} of {found['queries_played']:,}"
            " queries.\n"
            + (
                f"To see {asked}, both play {found['queries']:,} queries.\n"
                if found["queries"] is not None
                else f"{cannot}\n"
            )
            + f"The {found['queries_played']:,} queries show {shown} with {power_text}."
        )
    rows = [["discordance", "queries", "exact power", ""]]
    for row in found["paired"]:
        power_text = "-" if row["power"] is None else f"{row['power']:.1%}"
        rows.append([f"{row['discordance']:.1%}", f"{row['queries']:,}", power_text, row["words"]])
    lines = [
        f"To see {asked}, at a pass rate of {found['rate']:.1%}:",
        "",
        "both on the same queries, one sample each (exact McNemar)",
    ]
    lines += aligned(rows)
    return "\n".join(
        [
            *lines,
            *(
                [f"\neach on queries of its own: {found['unpaired']:,} for each run"]
                if found["unpaired"]
                else []
            ),
        ]
    )

"""`tripwright compare`: runs against each other on the queries that all of them played."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.compare_tables import comparison_text
from tripwright.domains import domains, own_domains
from tripwright.errors import UserError
from tripwright.evals.comparison_record import compare_folders
from tripwright.world.store import World

RULES = tuple(dict.fromkeys(rules for domain in own_domains().values() for rules in domain.rules))


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="Run folders; the first is what the others are compared with."
        ),
    ],
    rejudge: Annotated[
        str | None,
        typer.Option(
            metavar="RULES",
            help=f"Judge all plans anew: {', '.join(RULES)}. Needs --world.",
            show_default=False,
        ),
    ] = None,
    world: Annotated[
        Path | None,
        typer.Option(
            help="With --rejudge: the world that the runs were played in.", show_default=False
        ),
    ] = None,
    unlike: Annotated[
        bool,
        typer.Option(
            "--unlike", help="Compare runs that differ in more than their policy, and say so."
        ),
    ] = False,
    apart: Annotated[
        bool,
        typer.Option(
            "--apart", help="Do not take runs that differ only by their seed for one group."
        ),
    ] = False,
    listed: Annotated[
        int,
        typer.Option("--list", metavar="N", help="Queries gained and lost that are listed.", min=0),
    ] = 10,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print everything as one JSON object.")
    ] = False,
) -> None:
    """Compare runs query by query: figures with 95% intervals, differences with exact tests,
    queries gained and lost.

    A RUN is a folder made by 'tripwright run', an evaluation in a training's folder
    (RUN/eval/after_rl), or that folder itself for its main evaluation. Runs must be alike in world,
    queries, rules, prompt, tools, limits and decoding. Runs that differ only by a seed count as
    one: mean over seeds, and an interval that resamples seeds and queries. Where that cannot be
    seen from the folders, join them with commas. A star marks a difference that is significant (p <
    0.05) after Holm's correction over its table.

    Examples:
      tripwright compare runs/cold_start runs/grpo
      tripwright compare runs/quickstart/eval/after_sft runs/quickstart/eval/after_rl --list 50
      tripwright compare runs/grpo-0,runs/grpo-1,runs/grpo-2 runs/dapo-0,runs/dapo-1,runs/dapo-2
      tripwright compare runs/official runs/other --rejudge strict --world worlds/nano --json
    """
    if (rejudge is None) != (world is None):
        raise UserError(
            "--rejudge RULES and --world DIR go together: plans are judged anew in the world that"
            " they were made for."
        )
    known = dict.fromkeys(rules for domain in domains().values() for rules in domain.rules)
    if rejudge is not None and rejudge not in known:
        raise UserError(f"Unknown rules '{rejudge}'. Available: {', '.join(known)}.")
    folders = [[Path(each) for each in run.split(",") if each] for run in runs]
    for folder in (each for several in folders for each in several):
        if not folder.is_dir():
            raise UserError(
                f"No run folder at '{folder}'. Expected a folder made by 'tripwright run',"
                " quickstart or examine."
            )
    found = compare_folders(
        folders, unlike, rejudge, World.open(world) if world is not None else None, apart
    )
    typer.echo(json.dumps(found) if as_json else comparison_text(found, listed))

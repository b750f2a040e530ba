"""`tripwright compare`: runs against each other on the queries that all of them played."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, check_folders
from tripwright.domains import OWN_RULES
from tripwright.errors import UserError


@dataclass(frozen=True, kw_only=True)
class CompareFlags:
    """Which runs are compared, and how."""

    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...", help="Run folders; the first is what the others are compared with."
        ),
    ]
    rejudge: Annotated[
        str | None,
        typer.Option(
            metavar="RULES",
            help=f"Judge all plans anew: {', '.join(OWN_RULES)}. Needs --world.",
            show_default=False,
        ),
    ] = None
    world: Annotated[
        Path | None,
        typer.Option(
            help="With --rejudge: the world that the runs were played in.", show_default=False
        ),
    ] = None
    unlike: Annotated[
        bool,
        typer.Option(
            "--unlike", help="Compare runs that differ in more than their policy, and say so."
        ),
    ] = False
    apart: Annotated[
        bool,
        typer.Option(
            "--apart", help="Do not take runs that differ only by their seed for one group."
        ),
    ] = False
    listed: Annotated[
        int,
        typer.Option(
            "--count", metavar="N", help="Queries gained and lost that are listed.", min=0
        ),
    ] = 10


def compare(settings: CompareFlags, as_json: Json = False) -> None:
    """Compare runs query by query: figures with 95% intervals, differences with exact tests,
    queries gained and lost.

    A RUN is a folder made by 'tripwright run', an evaluation in a training's folder
    (RUN/eval/after_rl), or that folder itself for its main evaluation. The seeds of one recipe
    alone are a table of their means. Runs must be alike in world,
    queries, rules, prompt, tools, limits and decoding. Runs that differ only by a seed count as
    one: mean over seeds, and an interval that resamples seeds and queries. Where that cannot be
    seen from the folders, join them with commas. A star marks a difference that is significant (p <
    0.05) after Holm's correction over its table.

    Examples:
      tripwright compare runs/cold_start runs/grpo
      tripwright compare runs/quickstart/eval/after_sft runs/quickstart/eval/after_rl --count 50
      tripwright compare runs/s0,runs/s1,runs/s2,runs/s3,runs/s4
      tripwright compare runs/grpo-0,runs/grpo-1,runs/grpo-2 runs/dapo-0,runs/dapo-1,runs/dapo-2
      tripwright compare runs/official runs/other --rejudge strict --world worlds/nano --json
    """
    if (settings.rejudge is None) != (settings.world is None):
        raise UserError(
            "--rejudge RULES and --world DIR go together: plans are judged anew in the world that"
            " they were made for."
        )
    folders = [[Path(each) for each in run.split(",") if each] for run in settings.runs]
    check_folders([each for several in folders for each in several])
    from tripwright.cli.compare_tables import comparison_text
    from tripwright.domains import domains
    from tripwright.domains.folders import open_worlds
    from tripwright.evals.comparison_record import compare_folders

    names = dict.fromkeys(rules for domain in domains().values() for rules in domain.rules)
    if settings.rejudge is not None and settings.rejudge not in names:
        raise UserError(f"Unknown rules '{settings.rejudge}'. Available: {', '.join(names)}.")
    with open_worlds([] if settings.world is None else [settings.world]) as places:
        comparison = compare_folders(
            folders,
            settings.unlike,
            settings.rejudge,
            places[0] if places else None,
            settings.apart,
        )
    typer.echo(json.dumps(comparison) if as_json else comparison_text(comparison, settings.listed))

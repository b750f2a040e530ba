"""`tripwright outside import`: what another harness measured, as a run folder."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

import typer

from tripwright.cli.options import Json, argument, option
from tripwright.cli.table import rate_cells
from tripwright.runs import SCORE


def import_(
    files: list[Path] = argument(
        "Result files; several are parts of one evaluation.", metavar="FILE..."
    ),
    harness: Literal["evalscope", "inspect"] = option(..., "Who wrote them."),
    out: Path = option(..., "Run folder to make.", metavar="RUN"),
    model: str | None = option(
        None, "Name of the policy; equal names are seeds of one.", show_default="the harness's"
    ),
    as_json: Json = False,
) -> None:
    """Import what another harness measured, for 'tripwright compare' and 'tripwright report'.

    docs/out-of-domain.md has the commands that play Natural Plan, Multi-IF, τ-bench and the seven
    question sets. Figures stay the harness's own; intervals resample questions, and seeds where
    'compare' is given several runs of one policy, joined with commas.

    Examples:
      tripwright outside import outputs/20261125_101500/reviews/qwen3-8b/multi_if_English.jsonl \\
        --harness evalscope --out runs/multi_if
      tripwright outside import logs/natural-plan-trip.json --harness inspect --out runs/np_trip
      tripwright compare runs/base_0,runs/base_1,runs/base_2 runs/rl_0,runs/rl_1,runs/rl_2
    """
    from tripwright.evals.outside import import_results

    score = import_results(files, harness, out, model)
    if as_json:
        typer.echo(json.dumps(score))
    else:
        final, unscored = score["metrics"]["final"], score["unscored"]
        typer.echo(f"{score['n']} answers, {score['rules']}, {unscored} unscored")
        typer.echo(f"passed: {' '.join(rate_cells(final)[:2]).strip()}")
        typer.echo(str(out / SCORE))
    if "warning" in score:
        print(f"warning: {score['warning']}", file=sys.stderr)

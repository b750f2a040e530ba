"""`tripwright outside import`: what another harness measured, as a run folder."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Literal

from tripwright.cli.options import Json, argument, option
from tripwright.cli.table import print_figures


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
    print_figures(score, as_json, hidden=("run_card", "warning"))
    if "warning" in score:
        print(f"warning: {score['warning']}", file=sys.stderr)

"""`tripwright study`: people label transcripts, blind, on the dimensions of DeepTravel's study."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, Restart, argument, flag, option
from tripwright.cli.table import print_figures
from tripwright.errors import counted
from tripwright.files import check_new, write_json_lines

StudyFolder = Annotated[
    Path, typer.Argument(metavar="STUDY", help="The folder that 'study make' wrote.")
]
LabelFiles = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="FILE…",
        help=".csv or .jsonl files: item, rater, a TRUE or FALSE for each dimension.",
    ),
]


def make(
    transcripts: list[Path] = argument(
        "Run folders, or .jsonl files of transcripts.", metavar="RUN…"
    ),
    out: Path = option(..., "Folder of the new study."),
    per_run: int = option(50, "At most so many items of each run; 50 as in the paper.", min=1),
    seed: int = option(0, "Equal runs and seeds give equal studies."),
    formatted: bool = flag(
        "--formatted", "Label plans beside the words they were read out of (STAR, B.4)."
    ),
) -> None:
    """Draw transcripts from runs for people to label, without saying which run each is from.

    OUT/items.csv is a form to fill in, OUT/items.jsonl the same for labelling tools. The same
    requests are drawn from every run where they exist. Unscored transcripts are left out.
    OUT/key.jsonl says what is from where: keep it from the raters.

    Examples:
      tripwright study make runs/sft runs/rl --out studies/first --per-run 25
      tripwright study make runs/a/transcripts.jsonl others.jsonl --out studies/second --seed 7
      tripwright study make by_deepseek.jsonl by_qwen.jsonl --formatted --out studies/formatters
    """
    from tripwright.evals.study import FORM, make_study

    counts = make_study(transcripts, out, "reading" if formatted else "paper", per_run, seed)
    print(
        f"{counts.items} items from {counted(len(transcripts), 'run')},"
        f" {counts.shared_requests} requests answered by several, {counts.left_out} transcripts"
        f" left out. Next: have {out / FORM} filled in, then tripwright study agreement {out} FILE",
        file=sys.stderr,
    )


def agreement(
    study: StudyFolder,
    labels: LabelFiles = None,
    unblind: bool = flag("--unblind", "Also say how each run did."),
    as_json: Json = False,
) -> None:
    """How far raters agree, and what they say: for each dimension the share that most raters call
    TRUE, percent agreement, kappa, alpha.

    A bad line is named with its number. Columns of other names are left alone.

    Examples:
      tripwright study agreement studies/first anna.csv bob.csv
      tripwright study agreement studies/first labels.jsonl --unblind --json > figures.json
    """
    from tripwright.evals.study import Study, read_labels, summary

    opened = Study(study)
    print_figures(summary(opened, read_labels(opened, labels or ()), unblind), as_json)


def export(
    study: StudyFolder,
    labels: LabelFiles,
    out: Path = option(..., "File of JSON lines to write."),
    run: str | None = option(None, "Only items of this run."),
    restart: Restart = False,
) -> None:
    """Write what most raters say of each item, with its run and id: what 'tripwright verify
    --labels' reads. Ties are left out. Ids are unique within a run: name one.

    Examples:
      tripwright study export studies/first anna.csv bob.csv --out people.jsonl --run rl
    """
    check_new(out, restart, inputs=labels or ())
    from tripwright.evals.study import Study, merged, read_labels

    opened = Study(study)
    lines = merged(opened, read_labels(opened, labels or ()), run)
    write_json_lines(out, lines)
    print(f"{counted(len(lines), 'line')} in {out}", file=sys.stderr)

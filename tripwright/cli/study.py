"""`tripwright study`: people label transcripts, blind, on the dimensions of DeepTravel's study."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, Restart
from tripwright.errors import counted
from tripwright.files import check_new

StudyFolder = Annotated[
    Path, typer.Argument(metavar="STUDY", help="The folder that 'study make' wrote.")
]


def make(
    transcripts: Annotated[
        list[Path],
        typer.Argument(metavar="RUN…", help="Run folders, or .jsonl files of transcripts."),
    ],
    out: Annotated[Path, typer.Option(help="Folder of the new study.")],
    per_run: Annotated[
        int, typer.Option(help="At most so many items of each run; 50 as in the paper.", min=1)
    ] = 50,
    seed: Annotated[
        int, typer.Option(help="Equal runs and seeds give equal studies and orders.")
    ] = 0,
    formatted: Annotated[
        bool,
        typer.Option(
            "--formatted", help="Label plans beside the words they were read out of (STAR, B.4)."
        ),
    ] = False,
) -> None:
    """Draw transcripts from runs for people to label, without saying which run each is from.

    The same requests are drawn from every run where they exist. Unscored transcripts are left out.
    Each rater sees the items in an order of their own. OUT/key.jsonl says what is from where: keep
    it from the raters.

    Examples:
      tripwright study make runs/sft runs/rl --out studies/first --per-run 25
      tripwright study make runs/a/transcripts.jsonl others.jsonl --out studies/second --seed 7
      tripwright study make by_deepseek.jsonl by_qwen.jsonl --formatted --out studies/formatters
    """
    from tripwright.evals.study.dimensions import paper_dimensions, reading_dimensions
    from tripwright.evals.study.sample import make_study, sources

    dimensions = reading_dimensions() if formatted else paper_dimensions()
    counts = make_study(sources(transcripts), out, dimensions, per_run, seed, formatted)
    left_out = "unscored or without a plan read out of words" if formatted else "unscored"
    unscored = f"; {counts.unscored} {left_out} left out" if counts.unscored else ""
    runs = (
        f"{len(counts.runs)} runs, {counts.shared_requests} requests answered by several"
        if len(counts.runs) > 1
        else "1 run"
    )
    print(
        f"{counts.items} items from {runs}{unscored}. Next: tripwright study serve {out}",
        file=sys.stderr,
    )


def agreement(
    study: StudyFolder,
    unblind: Annotated[bool, typer.Option("--unblind", help="Also say how each run did.")] = False,
    verdicts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[RUN=]FILE",
            help="Verdicts of 'tripwright verify --out', held against people too; repeat it.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """How far raters agree, and what they say: for each dimension the share that most raters call
    TRUE, percent agreement, kappa, alpha.

    Verdicts that the transcripts carry, and those of --verdicts, are held against the raters'
    majority. RUN says of which run a file is, where the study has several. Files of one name are
    one verifier.

    Examples:
      tripwright study agreement studies/first
      tripwright study agreement studies/first --verdicts sft=runs/sft/judge.jsonl \\
        --verdicts rl=runs/rl/judge.jsonl
      tripwright study agreement studies/first --unblind --json > figures.json
    """
    from tripwright.cli.study_tables import summary_text
    from tripwright.evals.study.folder import Study
    from tripwright.evals.study.labels import read
    from tripwright.evals.study.summary import summary
    from tripwright.evals.study.verdicts import written_verdicts

    items = Study.open(study)
    figures = summary(items, read(items), unblind, written_verdicts(items, verdicts or ()))
    typer.echo(json.dumps(figures, ensure_ascii=False) if as_json else summary_text(items, figures))


def export(
    study: StudyFolder,
    out: Annotated[Path, typer.Option(help="File to write, .csv or .jsonl.")],
    merge: Annotated[
        bool,
        typer.Option("--merge", help="One line an item: what most raters say; ties are left out."),
    ] = False,
    run: Annotated[
        str | None, typer.Option(help="Only items of this run.", show_default=False)
    ] = None,
    restart: Restart = False,
) -> None:
    """Write the labels to a file, with the runs and ids they belong to: whoever reads it is no
    longer blind.

    Merged JSON lines (id, passes, dimensions …) are what "tripwright verify --labels" reads. Ids
    are unique within a run: name one.

    Examples:
      tripwright study export studies/first --out labels.csv
      tripwright study export studies/first --out people.jsonl --merge --run rl
    """
    check_new(out, restart)
    from tripwright.evals.study.exchange import exported, merged, write_export
    from tripwright.evals.study.folder import Study
    from tripwright.evals.study.labels import read

    items = Study.open(study)
    lines = (merged if merge else exported)(items, read(items), run)
    write_export(items, lines, out)
    print(f"{counted(len(lines), 'line')} in {out}", file=sys.stderr)


def import_(
    study: StudyFolder,
    labels: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A .csv or .jsonl file: item, rater, a TRUE or FALSE for each dimension.",
        ),
    ],
) -> None:
    """Take labels that were made elsewhere, all of them or none: a bad line is named with its
    number.

    The columns are those of 'study export'; id, run and passes may be missing. A line with a moment
    (at) wins over earlier labels of the same rater and item, one without over all.

    Examples:
      tripwright study import studies/first from_anna.csv
    """
    from tripwright.evals.study.exchange import import_labels
    from tripwright.evals.study.folder import Study

    rows = import_labels(Study.open(study), labels)
    raters = len({label.rater for label in rows})
    print(
        f"imported {len(rows)} labels of {raters} {'rater' if raters == 1 else 'raters'}",
        file=sys.stderr,
    )

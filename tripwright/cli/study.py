"""`tripwright study`: people label transcripts, blind, on the seven dimensions of row D10."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.study_tables import summary_text
from tripwright.evals.study.dimensions import paper_dimensions
from tripwright.evals.study.exchange import exported, import_labels, merged, write_export
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import read
from tripwright.evals.study.sample import PER_RUN, make_study, sources
from tripwright.evals.study.summary import summary
from tripwright.evals.study.verdicts import written_verdicts

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
        int, typer.Option(help="At most so many items of each run; the paper takes 50.", min=1)
    ] = PER_RUN,
    seed: Annotated[
        int, typer.Option(help="Equal runs and seeds give equal studies and orders.")
    ] = 0,
) -> None:
    """Draw transcripts from runs for people to label, without saying which run each is from.

    The same requests are drawn from every run where they exist. Unscored transcripts are left out.
    Each rater sees the items in an order of their own. OUT/key.jsonl says what is from where: keep
    it from the raters.

    Examples:
      tripwright study make runs/sft runs/rl --out studies/first --per-run 25
      tripwright study make runs/a/transcripts.jsonl others.jsonl --out studies/second --seed 7
    """
    made = make_study(sources(transcripts), out, paper_dimensions(), per_run, seed)
    unscored = f"; {made.unscored} unscored left out" if made.unscored else ""
    runs = (
        f"{len(made.runs)} runs, {made.shared_requests} requests answered by several"
        if len(made.runs) > 1
        else "1 run"
    )
    print(
        f"{made.items} items from {runs}{unscored}. Next: tripwright study serve {out}",
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
    as_json: Annotated[
        bool, typer.Option("--json", help="The figures as one JSON object.")
    ] = False,
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
    found = Study.open(study)
    figures = summary(found, read(found), unblind, written_verdicts(found, verdicts or ()))
    typer.echo(json.dumps(figures, ensure_ascii=False) if as_json else summary_text(found, figures))


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
) -> None:
    """Write the labels to a file, with the runs and ids they belong to: whoever reads it is no
    longer blind.

    Merged JSON lines (id, passes, dimensions …) are what "tripwright verify --labels" reads. Ids
    are unique within a run: name one.

    Examples:
      tripwright study export studies/first --out labels.csv
      tripwright study export studies/first --out people.jsonl --merge --run rl
    """
    found = Study.open(study)
    lines = (merged if merge else exported)(found, read(found), run)
    write_export(found, lines, out)
    print(f"{len(lines)} lines in {out}", file=sys.stderr)


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
    taken = import_labels(Study.open(study), labels)
    raters = len({label.rater for label in taken})
    print(
        f"imported {len(taken)} labels of {raters} {'rater' if raters == 1 else 'raters'}",
        file=sys.stderr,
    )

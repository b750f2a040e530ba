"""`tripwright study`: people label transcripts, blind, on the dimensions of DeepTravel's study."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.options import Json, Restart
from tripwright.cli.table import rate_cells, table_lines
from tripwright.errors import counted
from tripwright.files import check_new, write_atomically

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
    seed: Annotated[int, typer.Option(help="Equal runs and seeds give equal studies.")] = 0,
    formatted: Annotated[
        bool,
        typer.Option(
            "--formatted", help="Label plans beside the words they were read out of (STAR, B.4)."
        ),
    ] = False,
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
        f" left out. Next: have {out / FORM} filled in, then tripwright study import {out} FILE",
        file=sys.stderr,
    )


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
    """Take labels of a file, all of them or none: a bad line is named with its number.

    Other columns are left alone. Labels that are imported later count.

    Examples:
      tripwright study import studies/first from_anna.csv
    """
    from tripwright.evals.study import Study, import_labels

    given = import_labels(Study.open(study), labels)
    raters = counted(len({label.rater for label in given}), "rater")
    print(f"imported {counted(len(given), 'label')} of {raters}", file=sys.stderr)


def agreement(
    study: StudyFolder,
    unblind: Annotated[bool, typer.Option("--unblind", help="Also say how each run did.")] = False,
    verdicts: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[RUN=]FILE",
            help="Verdicts of 'tripwright verify --out', held against people too; repeat it.",
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
    from tripwright.evals.study import Study, summary, written_verdicts

    opened = Study.open(study)
    figures = summary(opened, unblind, written_verdicts(opened, verdicts or ()))
    names = {dimension.key: dimension.name for dimension in opened.dimensions}
    names["all"] = f"all {len(names)} TRUE"
    typer.echo(
        json.dumps(figures, ensure_ascii=False) if as_json else "\n".join(_text(names, figures))
    )


def export(
    study: StudyFolder,
    out: Annotated[Path, typer.Option(help="File of JSON lines to write.")],
    run: Annotated[str | None, typer.Option(help="Only items of this run.")] = None,
    restart: Restart = False,
) -> None:
    """Write what most raters say of each item, with its run and id: what 'tripwright verify
    --labels' reads. Ties are left out. Ids are unique within a run: name one.

    Examples:
      tripwright study export studies/first --out people.jsonl --run rl
    """
    check_new(out, restart)
    from tripwright.evals.study import Study, merged

    lines = merged(Study.open(study), run)
    write_atomically(out, "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines))
    print(f"{counted(len(lines), 'line')} in {out}", file=sys.stderr)


def _text(names: Mapping[str, str], figures: Mapping[str, Any]) -> list[str]:
    raters = [f"{rater} {each['done']}" for rater, each in figures["raters"].items()]
    lines = [f"{figures['items']} items; done by {', '.join(raters) or 'nobody yet'}", ""]
    rows = []
    for key, each in figures["dimensions"].items():
        agree = "-" if each["agreement"] is None else f"{each['agreement']:.1%}"
        kappas = (each[name] for name in ("cohen_kappa", "fleiss_kappa", "krippendorff_alpha"))
        cells = [*rate_cells(each["true"]), str(each["tied"]), agree, *map(_figure, kappas)]
        rows.append([names[key], *cells])
    header = ["dimension", "TRUE", "", "", "tied", "agree", "Cohen κ", "Fleiss κ", "alpha"]
    lines += table_lines(rows, "<><>", header)
    if len(pairs := figures["dimensions"]["all"]["cohen_kappa_by_pair"]) > 1:
        by_pair = "; ".join(f"{pair} {_figure(kappa)}" for pair, kappa in pairs.items())
        lines += ["", f"Cohen's κ on {names['all']}, by pair: {by_pair}"]
    if figures["verdicts"]:
        rows = [
            [name, names[each["against"]], *rate_cells(each["agreement"]),
             _figure(each["cohen_kappa"]), str(each["too_strict"]), str(each["too_lenient"])]
            for name, each in figures["verdicts"].items()
        ]  # fmt: skip
        header = ["verdict", "against", "agrees", "", "", "κ", "too strict", "too lenient"]
        lines += ["", *table_lines(rows, "<<><>", header)]
    for run, each in figures.get("runs", {}).items():
        rows = [[names[key], *rate_cells(share)] for key, share in each["true"].items()]
        lines += ["", f"{run} ({each['items']} items)", *table_lines(rows, "<><>")]
    return lines


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"

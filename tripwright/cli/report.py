"""`tripwright report`: the page about a run."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from tripwright.errors import UserError
from tripwright.evals.compared_runs import run_names
from tripwright.evals.report import write_report, write_together
from tripwright.evals.report.drawing import png_files
from tripwright.evals.report.export import check_export_folder, export_page


def report(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders, as made by quickstart, train or run."),
    ],
    together: Annotated[
        Path | None,
        typer.Option(metavar="OUT.html", help="Write one page over all of them instead."),
    ] = None,
    transcripts: Annotated[
        str | None,
        typer.Option(
            metavar="N|all",
            help="Episodes whose text the page holds. Default: as many as fit in 25 MB.",
        ),
    ] = None,
    unlike: Annotated[
        bool,
        typer.Option(
            "--unlike",
            help="With --together: also runs whose evaluations are not alike; the page says so.",
        ),
    ] = False,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Also write every figure (SVG, PNG, CSV) and table (CSV) of each page into DIR.",
        ),
    ] = None,
    open_page: Annotated[
        bool, typer.Option("--open", help="Open each page in the web browser.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object per page instead of its path.")
    ] = False,
) -> None:
    """Write RUN/report.html: results with intervals, learning curves, constraints and every episode
    to read, in one offline file.

    Every figure is read from the run folder; what is not there is named. Unfinished runs may be
    reported at any time. With --together, one page compares two to eight runs: final figures with
    intervals, settings that differ, FLOPs to a level, every curve in one chart.

    Examples:
      tripwright report runs/quickstart
      tripwright report runs/a runs/b --open
      tripwright report runs/quickstart --transcripts all
      tripwright report runs/quickstart --export figures
      tripwright report runs/grpo runs/dapo runs/arpo --together compared.html
    """
    # all or nothing: a typo in the last name should not cost the work on the first
    for folder in runs:
        if not folder.is_dir():
            raise UserError(
                f"No run folder at '{folder}'. Expected a folder made by 'tripwright quickstart',"
                " 'train' or 'run'."
            )
    exports = _export_folders(runs, export, together is not None)
    if together is not None:
        with png_files(export is not None) as pngs:
            target = write_together(runs, together, unlike, transcripts)
        record: dict[str, object] = {
            "runs": [str(folder) for folder in runs],
            "report": str(target),
            "bytes": target.stat().st_size,
        }
        _tell(target, record | _exported(target, pngs, exports[0]), as_json, open_page)
        return
    for folder, place in zip(runs, exports, strict=True):
        with png_files(export is not None) as pngs:
            target = write_report(folder, transcripts)
        record = {"run": str(folder), "report": str(target), "bytes": target.stat().st_size}
        _tell(target, record | _exported(target, pngs, place), as_json, open_page)


def _export_folders(runs: list[Path], export: Path | None, together: bool) -> list[Path | None]:
    """Where the figures of each page go: of several runs each has a folder of its own. Raises
    UserError before any work is done."""
    if export is None:
        return [None] * len(runs)
    one = together or len(runs) == 1
    folders = [export] if one else [export / name.replace("/", "-") for name in run_names(runs)]
    for folder in folders:
        check_export_folder(folder)
    return list(folders)


def _exported(page: Path, pngs: dict[str, bytes], folder: Path | None) -> dict[str, object]:
    """Writes the files of --export and says what for the record."""
    if folder is None:
        return {}
    done = export_page(page.read_text(encoding="utf-8"), pngs, folder)
    print(f"{done.figures} figures and {done.tables} tables in {folder}", file=sys.stderr)
    return {
        "export": {
            "folder": str(folder),
            "figures": done.figures,
            "tables": done.tables,
        }
    }


def _tell(target: Path, record: dict[str, object], as_json: bool, open_page: bool) -> None:
    print(json.dumps(record) if as_json else target)
    if open_page and not webbrowser.open(target.resolve().as_uri()):
        print(f"no web browser found; open {target} yourself", file=sys.stderr)

"""`tripwright report`: the page about a run."""

from __future__ import annotations

import json
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from tripwright.errors import UserError
from tripwright.evals.report import write_report, write_together


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Run folders, as made by quickstart, train or run.")],
    together: Annotated[Path | None, typer.Option(metavar="OUT.html", help="Write one page over all of them instead.")] = None,
    open_page: Annotated[bool, typer.Option("--open", help="Open each page in the web browser.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object per page instead of its path.")] = False,
) -> None:
    """Write RUN/report.html: results with intervals, learning curves, constraints and episodes to read, in one offline file.

    Every figure is read from the run folder; what is not there is named. Unfinished runs may be reported at any time. With --together,
    one page compares two to eight runs: final figures with intervals, settings that differ, FLOPs to a level, every curve in one chart.

    Examples:
      tripwright report runs/quickstart
      tripwright report runs/a runs/b --open
      tripwright report runs/grpo runs/dapo runs/arpo --together compared.html
    """
    for folder in runs:  # all or nothing: a typo in the last name should not cost the work on the first
        if not folder.is_dir():
            raise UserError(f"No run folder at '{folder}'. Expected a folder made by 'tripwright quickstart', 'train' or 'run'.")
    if together is not None:
        target = write_together(runs, together)
        record: dict[str, object] = {"runs": [str(folder) for folder in runs], "report": str(target), "bytes": target.stat().st_size}
        _tell(target, record, as_json, open_page)
        return
    for folder in runs:
        target = write_report(folder)
        _tell(target, {"run": str(folder), "report": str(target), "bytes": target.stat().st_size}, as_json, open_page)


def _tell(target: Path, record: dict[str, object], as_json: bool, open_page: bool) -> None:
    print(json.dumps(record) if as_json else target)
    if open_page and not webbrowser.open(target.resolve().as_uri()):
        print(f"no web browser found; open {target} yourself", file=sys.stderr)

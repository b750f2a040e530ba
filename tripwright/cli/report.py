"""`tripwright report`: the page about a run."""

from __future__ import annotations

import json
import sys
import webbrowser
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.cli.options import Json, Restart, argument, check_folders, flag, option
from tripwright.errors import UserError
from tripwright.files import check_new, make_parent


@dataclass(frozen=True)
class ReportFlags:
    """Which runs the page is about, and what it holds."""

    runs: list[Path] = argument(
        "Run folders, as made by quickstart, train or run.", metavar="RUN..."
    )
    out: Path | None = option(
        None,
        "The page to write; of several runs one page compares them.",
        metavar="FILE",
        show_default="RUN/report.html of one run",
    )
    transcripts: str | None = option(
        None,
        "Episodes whose text the page holds. Default: as many as fit in 25 MB.",
        metavar="N|all",
    )
    unlike: bool = flag(
        "--unlike", "Of several runs: also those whose evaluations are not alike; the page says so."
    )
    export: Path | None = option(
        None,
        "Also write every figure (SVG, CSV) and table (CSV) of the page into DIR.",
        metavar="DIR",
    )
    open_page: bool = flag("--open", "Open the page in the web browser.")
    restart: Restart = False


def report(settings: ReportFlags, as_json: Json = False) -> None:
    """Write RUN/report.html: results with intervals, learning curves, constraints and every episode
    to read, in one offline file.

    Every figure is read from the run folder; what is not there is named. Unfinished runs may be
    reported at any time. One page compares two to eight runs: final figures with intervals,
    settings that differ, FLOPs to a level, every curve in one chart.

    Examples:
      tripwright report runs/quickstart
      tripwright report runs/quickstart --out page.html --open
      tripwright report runs/quickstart --transcripts all
      tripwright report runs/quickstart --export figures
      tripwright report runs/grpo runs/dapo runs/arpo --out compared.html
    """
    check_folders(settings.runs)
    if settings.out is not None:
        check_new(settings.out, settings.restart)
        make_parent(settings.out)
    elif len(settings.runs) > 1:
        raise UserError("Several runs make one page: name it with --out FILE.html.")
    from tripwright.evals.report import report_page
    from tripwright.evals.report.page import check_export_folder, export

    if settings.export is not None:
        check_export_folder(settings.export)
    page = report_page(settings.runs, settings.transcripts, settings.unlike)
    target = settings.out or settings.runs[0] / "report.html"
    page.write(target)
    record: dict[str, Any] = {"runs": [str(folder) for folder in settings.runs]}
    record |= {"report": str(target), "bytes": target.stat().st_size}
    if settings.export is not None:
        figures, tables = export(page, settings.export)
        print(f"{figures} figures and {tables} tables in {settings.export}", file=sys.stderr)
        folder = str(settings.export)
        record["export"] = {"folder": folder, "figures": figures, "tables": tables}
    print(json.dumps(record) if as_json else target)
    if settings.open_page and not webbrowser.open(target.resolve().as_uri()):
        print(f"no web browser found; open {target} yourself", file=sys.stderr)

"""`tripwright report`: the page about a run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from tripwright.cli.options import Json, Restart, argument, check_folders, flag, option
from tripwright.errors import UserError
from tripwright.files import check_new, make_parent


def report(  # long: most of it is options and help
    runs: list[Path] = argument(
        "Run folders, as made by quickstart, train or run.", metavar="RUN..."
    ),
    out: Path | None = option(
        None,
        "The page to write; of several runs one page compares them.",
        metavar="FILE",
        show_default="RUN/report.html of one run",
    ),
    transcripts: str | None = option(
        None,
        "Episodes whose text the page holds. Default: as many as fit in 25 MB.",
        metavar="N|all",
    ),
    unlike: bool = flag(
        "--unlike", "Of several runs: also those whose evaluations are not alike; the page says so."
    ),
    peak_flops: float | None = option(
        None, "FLOP/s of one GPU: take FLOPs of updates from MFU, as Planner-R1 does.", min=1
    ),
    export_to: Path | None = option(
        None,
        "Also write every figure of the page (SVG, CSV) into DIR.",
        "--export",
        metavar="DIR",
    ),
    restart: Restart = False,
    as_json: Json = False,
) -> None:
    """Write RUN/report.html: results with intervals, learning curves, constraints and every episode
    to read, in one offline file.

    Every figure is read from the run folder; what is not there is named. Unfinished runs may be
    reported at any time. One page compares two to eight runs: final figures with intervals,
    settings that differ, FLOPs to a level, every curve in one chart.

    Examples:
      tripwright report runs/quickstart
      tripwright report runs/quickstart --out page.html
      tripwright report runs/quickstart --transcripts all
      tripwright report runs/quickstart --export figures
      tripwright report /shared/runs/8b --peak-flops 989e12
      tripwright report runs/grpo runs/dapo runs/arpo --out compared.html
    """
    check_folders(runs)
    if out is not None:
        check_new(out, restart)
        make_parent(out)
    elif len(runs) > 1:
        raise UserError("Several runs make one page: name it with --out FILE.html.")
    from tripwright.evals.report import report_page
    from tripwright.evals.report.page import check_export_folder, export

    if export_to is not None:
        check_export_folder(export_to)
    page = report_page(runs, transcripts, unlike, peak_flops)
    target = out or runs[0] / "report.html"
    page.write(target)
    record: dict[str, Any] = {"runs": [str(folder) for folder in runs]}
    record |= {"report": str(target), "bytes": target.stat().st_size}
    if export_to is not None:
        figures = export(page, export_to)
        print(f"{figures} figures in {export_to}", file=sys.stderr)
        record["export"] = {"folder": str(export_to), "figures": figures}
    print(json.dumps(record) if as_json else target)

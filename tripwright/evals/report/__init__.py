"""The report: one offline HTML page about a run or over several, from run folders alone."""

from collections.abc import Sequence
from pathlib import Path

from tripwright.evals.report.page import ReportPage
from tripwright.evals.report.sections import page_of
from tripwright.evals.report.viewer import Budget

__all__ = ["report_page", "write_report"]


def report_page(
    folders: Sequence[Path], transcripts: str | None = None, allow_unlike: bool = False
) -> ReportPage:
    """The page about one run folder, or over several. `transcripts` is how many episodes it holds
    the text of: a number, "all", or None for as many as fit in 25 MB. Raises UserError."""
    return page_of(folders, allow_unlike, Budget.of(transcripts))


def write_report(
    run_folder: Path, transcripts: str | None = None, target: Path | None = None
) -> Path:
    """Writes RUN/report.html, or `target`, and returns its path."""
    target = target or run_folder / "report.html"
    report_page([run_folder], transcripts).write(target)
    return target

"""The report of a run: one offline HTML page and one picture, from the run folder alone; and one
page over several runs."""

from collections.abc import Sequence
from pathlib import Path

from tripwright.errors import UserError
from tripwright.evals.report.folder import read_run
from tripwright.evals.report.page import ReportPage
from tripwright.evals.report.sections import learning_curve_svg, run_page
from tripwright.evals.report.together import compared_page
from tripwright.evals.report.viewer import Budget

__all__ = ["learning_curve_svg", "report_page", "write_report", "write_together"]


def report_page(
    folders: Sequence[Path], transcripts: str | None = None, allow_unlike: bool = False
) -> ReportPage:
    """The page about one run folder, or over several. `transcripts` is how many episodes it holds
    the text of: a number, "all", or None for as many as fit in 25 MB. Raises UserError."""
    budget = Budget.of(transcripts)
    if len(folders) == 1:
        return run_page(read_run(folders[0]), budget)
    return compared_page(folders, allow_unlike, budget)


def write_report(
    run_folder: Path, transcripts: str | None = None, target: Path | None = None
) -> Path:
    """Writes RUN/report.html, or `target`, and returns its path."""
    target = target or Path(run_folder) / "report.html"
    report_page([Path(run_folder)], transcripts).write(target)
    return target


def write_together(
    folders: Sequence[Path],
    target: Path,
    allow_unlike: bool = False,
    transcripts: str | None = None,
) -> Path:
    """Writes one page over these run folders and returns its path."""
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise UserError(f"Cannot write '{target}': expected a file in a folder that exists.")
    compared_page(folders, allow_unlike, Budget.of(transcripts)).write(target)
    return target

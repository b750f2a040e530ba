"""The report: one offline HTML page about a run or over several, from run folders alone."""

from pathlib import Path

from tripwright.evals.report.sections import report_page

__all__ = ["report_page", "write_report"]


def write_report(run_folder: Path, transcripts: str | None = None) -> Path:
    """Writes RUN/report.html and returns its path."""
    target = run_folder / "report.html"
    report_page([run_folder], transcripts).write(target)
    return target

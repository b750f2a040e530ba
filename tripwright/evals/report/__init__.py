"""The report: one offline HTML page about a run or over several, from run folders alone."""

from pathlib import Path

from tripwright.evals.report.sections import report_page

__all__ = ["report_page", "write_report"]


def write_report(
    run_folder: Path, transcripts: str | None = None, target: Path | None = None
) -> Path:
    """Writes RUN/report.html, or `target`, and returns its path."""
    target = target or run_folder / "report.html"
    report_page([run_folder], transcripts).write(target)
    return target

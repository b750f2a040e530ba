"""The report of a run: one offline HTML page and one picture, from the run folder alone; and one
page over several runs."""

from tripwright.evals.report.page import write_report
from tripwright.evals.report.picture import learning_curve_svg
from tripwright.evals.report.together import write_together

__all__ = ["learning_curve_svg", "write_report", "write_together"]

"""The README's picture: a run in one glance, as an SVG file that stands alone."""

from __future__ import annotations

from pathlib import Path

from tripwright.errors import UserError
from tripwright.evals.report.bars import rate_bars
from tripwright.evals.report.charts import Frame, Series, line_chart
from tripwright.evals.report.curves import points, smoothing, thin
from tripwright.evals.report.drawing import picture
from tripwright.evals.report.folder import read_run
from tripwright.evals.report.results import baseline_bars
from tripwright.evals.report.training_charts import PARTS, keys_of


def learning_curve_svg(run_folder: str | Path) -> str:
    """Left, what RL learns step by step; right, the final pass rate before and after, with 95%
    intervals and baselines."""
    run = read_run(Path(run_folder))
    rows = run.rl
    lines = [
        Series(name, thin(points(rows, key)), colour) for key, name, colour in keys_of(PARTS, rows)
    ]
    smooth = smoothing(max((len(line.points) for line in lines), default=0))
    frame = Frame("Learning curves", "RL step", "share", percent=True, smooth=smooth, height=270)
    curves, bars = line_chart(lines, frame), baseline_bars(run)
    if not curves and not bars:
        raise UserError(
            f"No picture of '{run.path}': it has neither RL steps to draw (two or more in"
            " metrics.jsonl) nor a final pass rate in eval/*/score.json."
        )
    right = rate_bars(bars, "Final pass rate")
    panels = [
        ("During RL (training queries, sampled)", curves),
        ("Final pass rate, 95% intervals", right),
    ]
    return picture(
        "Learning curves and final pass rates", [panel for panel in panels if panel[1]], columns=2
    )

"""The README's picture: a run in one glance, as an SVG file that stands alone (literal colours, no
page around it)."""

from __future__ import annotations

from pathlib import Path

from tripwright.errors import UserError
from tripwright.evals.report.bars import rate_bars
from tripwright.evals.report.charts import Frame, Line, line_chart, picture, still
from tripwright.evals.report.curves import points, smoothing, thin
from tripwright.evals.report.folder import read_run
from tripwright.evals.report.results import baseline_bars
from tripwright.evals.report.training_charts import PARTS, keys_of

WIDTH, HEIGHT = 1000, 330


def learning_curve_svg(run_folder: str | Path) -> str:
    """Left, what RL learns step by step; right, the final pass rate before and after, with 95%
    intervals and baselines."""
    run = read_run(Path(run_folder))
    rows = run.rl
    lines = [
        Line(name, thin(points(rows, key)), colour) for key, name, colour in keys_of(PARTS, rows)
    ]
    smooth = smoothing(max((len(line.points) for line in lines), default=0))
    frame = Frame("Learning curves", "RL step", "share", percent=True, smooth=smooth, height=270)
    curves, bars = line_chart(lines, frame), baseline_bars(run)
    if not curves and not bars:
        raise UserError(
            f"No picture of '{run.path}': it has neither RL steps in metrics.jsonl nor a final pass"
            " rate in eval/*/score.json."
        )
    right = rate_bars(bars, "Final pass rate", width=440, name_width=112, notes=False)
    panels = []
    for drawn, title, x, width in (
        (curves, "During RL (training queries, sampled)", 16, 520),
        (right, "Final pass rate, 95% intervals", 550, 440),
    ):
        if drawn:
            panels.append(f'<text class="title" x="{x}" y="28">{title}</text>')
            panels.append(
                still(drawn).replace(
                    "<svg ",
                    f'<svg x="{x}" y="44" width="{width}" height="270"'
                    ' preserveAspectRatio="xMinYMin" ',
                    1,
                )
            )
    return picture(WIDTH, HEIGHT, "Learning curves and final pass rates", "".join(panels))

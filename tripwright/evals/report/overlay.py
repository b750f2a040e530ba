"""The same curve of several runs in one chart: for the page over several runs, and for watching
several at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tripwright.errors import UserError
from tripwright.evals.report.charts import COLOURS, Frame, Series, line_chart
from tripwright.evals.report.curves import (
    at_minutes,
    at_step,
    figure,
    figure_of,
    points,
    smoothing,
    thin,
)
from tripwright.evals.report.folder import Json
from tripwright.evals.report.markup import esc, number
from tripwright.evals.report.training_charts import GROUPS, STEP, keys_of

Runs = Mapping[str, Sequence[Json]]  # name → its RL steps, in the order of the colours
AXES: tuple[tuple[str, Callable[[Json], float | None]], ...] = (
    ("minutes since the run's start", at_minutes),
    ("FLOPs of parameter updates", figure_of("flops_update_total")),
    ("FLOPs of updates and rollouts", figure_of("flops_total")),
)


def check_count(count: int) -> None:
    if count > COLOURS:
        raise UserError(
            f"{count} runs in one chart cannot be told apart. Accepted: at most {COLOURS}."
        )


def overlay_sections(runs: Runs) -> str:
    """Every chart of the table, figure by figure, then reward and passes against time and
    arithmetic."""
    sections = []
    for group in GROUPS:
        figures = []
        for chart in group.charts:
            keys = keys_of(chart, (row for rows in runs.values() for row in rows))
            for key, name, _ in keys:
                title = chart.title if len(keys) == 1 else f"{chart.title}: {name}"
                figures.append(_overlay(runs, key, title, chart.unit, chart.share))
        if any(figures):
            sections.append(
                f'<h3>{esc(group.title)}</h3><div class="charts">{"".join(figures)}</div>'
            )
    against = [
        _overlay(runs, key, f"{title} against {label}", unit, share, label, at)
        for key, title, unit, share in (
            ("reward_mean", "Reward", "reward", False),
            ("pass_rate", "Passes", "share", True),
        )
        for label, at in AXES
    ]
    if any(against):
        sections.insert(
            1, f'<h3>Against time and arithmetic</h3><div class="charts">{"".join(against)}</div>'
        )
    return "".join(sections)


def _overlay(
    runs: Runs,
    key: str,
    title: str,
    unit: str,
    share: bool,
    x_label: str = STEP,
    at: Callable[[Json], float | None] = at_step,
) -> str:
    lines = [
        Series(name, thin(points(rows, key, at=at)), i)
        for i, (name, rows) in enumerate(runs.items())
    ]
    if not any(number(row.get(key)) for rows in runs.values() for row in rows):
        return ""  # nothing logged, or nothing but zero
    smooth = smoothing(max(len(line.points) for line in lines))
    return figure(
        title, line_chart(lines, Frame(title, x_label, unit, percent=share, smooth=smooth))
    )

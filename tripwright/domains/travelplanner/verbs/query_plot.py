"""What a file of requests holds, as one SVG picture that stands alone: levels, budgets by level,
and the budget over the cheapest cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripwright.domains.travelplanner.queries.make_item import LEVELS
from tripwright.evals.report.drawing import SERIES, finished, new_axes, picture, styled
from tripwright.evals.report.markup import short

WIDTH, HEIGHT, BINS = 340, 240, 24


def requests_svg(records: Sequence[dict[str, Any]]) -> str:
    """Records of `query make`. Budgets in US dollars for the whole party; a request without any
    plan has no slack."""
    by_level = [[record for record in records if record["level"] == level] for level in LEVELS]
    budgets = [[float(record["budget"]) for record in level] for level in by_level]
    slack = [
        [float(r["oracle"]["slack"]) for r in level if r["oracle"]["slack"] is not None]
        for level in by_level
    ]
    panels = [
        ("Levels", _level_bars([len(level) for level in by_level])),
        ("Budgets by level", _histogram(budgets, "Budgets", "US dollars for the party")),
        ("Slack by level", _histogram(slack, "Slack", "budget / proved cheapest cost")),
    ]
    return picture(f"Levels, budgets and slack of {len(records)} requests", panels, columns=3)


@styled
def _level_bars(counts: list[int]) -> str:
    axes = new_axes(WIDTH, HEIGHT, 44, 16, 16, 44)
    bars = axes.bar(LEVELS, counts, 0.7, color=SERIES[: len(LEVELS)], alpha=0.85)
    axes.bar_label(bars, padding=3)
    axes.locator_params(axis="y", integer=True, nbins=4)
    axes.grid(axis="y")
    return finished(axes, "Levels")


@styled
def _histogram(values: list[list[float]], title: str, unit: str) -> str:
    """One stacked bar a bin, the first level at the bottom."""
    axes = new_axes(WIDTH, HEIGHT, 44, 16, 16, 44)
    if any(values):
        axes.hist(values, BINS, stacked=True, rwidth=0.88, color=SERIES[: len(values)], alpha=0.85)
    axes.locator_params(axis="y", integer=True, nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: short(round(value, 9)))
    axes.grid(axis="y")
    axes.set_xlabel(unit if any(values) else "none has any")
    return finished(axes, title)

"""How long the episodes are: columns of equal width, those that a limit of tokens cut off on top in
another colour (Planner-R1, appendix I; row P14)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tripwright.evals.report.drawing import (
    QUIET,
    SERIES,
    SMALL,
    csv_text,
    finished,
    new_axes,
    styled,
)
from tripwright.evals.report.markup import percent, plural, short

COLUMNS = 24
WHOLE, CUT = SERIES[:2]


def edges(longest: float) -> list[float]:
    """Round limits of about COLUMNS columns from 0 to beyond the longest."""
    raw = max(longest / COLUMNS, 1.0)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw)
    return [i * step for i in range(int(longest // step) + 2)]


@styled
def length_histogram(
    lengths: Sequence[tuple[float, bool]],
    limits: Sequence[float],
    unit: str,
    title: str,
    highest: float,
) -> str:
    """`lengths`: how long, and whether a limit cut it off. `highest` share of the y axis, so that
    several pictures can be compared."""
    if not lengths:
        return ""
    bins = shares(lengths, limits)
    lows, highs, whole, cut = zip(*bins, strict=True)
    width = 0.95 * limits[1]
    axes = new_axes(520, 200, 48, 14, 22, 40)
    axes.bar(lows, whole, width, align="edge", color=WHOLE, alpha=0.85)
    axes.bar(lows, cut, width, whole, align="edge", color=CUT, alpha=0.85)
    axes.set_xlim(limits[0], limits[-1])
    axes.set_ylim(0, max(highest, 0.01) * 1.05)
    axes.locator_params(axis="y", nbins=4)
    axes.xaxis.set_major_formatter(lambda value, _: short(value))
    axes.yaxis.set_major_formatter(lambda value, _: short(round(100 * value, 9)))
    axes.grid(axis="y")
    axes.set_xlabel(f"{unit} per episode")
    axes.figure.text(2 / 520, 1 - 11 / 200, "% of episodes", **QUIET)
    cut_off = sum(cut)
    if cut_off:
        words = f"cut off by a limit: {percent(cut_off)}"
        axes.figure.text(506 / 520, 1 - 11 / 200, words, ha="right", color=CUT, size=SMALL)
    spots = [
        (
            low,
            high,
            0.0,
            highest,
            f"{short(low)} to {short(high)} {unit}: {percent(a + b)} of episodes, cut off"
            f" {percent(b)}",
        )
        for low, high, a, b in bins
    ]
    ordered = sorted(length for length, _ in lengths)
    words = (
        f"{plural(len(ordered), 'episode')}: from {short(ordered[0])} to {short(ordered[-1])}"
        f" {unit}, half of them at most {short(ordered[len(ordered) // 2])}. Cut off by a limit:"
        f" {percent(cut_off)}."
    )
    head = [f"from [{unit}]", f"to [{unit}]"]
    head += ["share of episodes, whole", "share of episodes, cut off"]
    return finished(axes, title, words, csv_text(head, bins), spots)


def shares(
    lengths: Sequence[tuple[float, bool]], limits: Sequence[float]
) -> list[tuple[float, float, float, float]]:
    """(from, to, share of whole episodes, share of those cut off) of each column."""
    width = limits[1] - limits[0]
    counts = [[0, 0] for _ in limits[1:]]
    for length, cut in lengths:
        counts[min(int(length // width), len(counts) - 1)][cut] += 1
    n = len(lengths)
    return [(limits[i], limits[i + 1], whole / n, cut / n) for i, (whole, cut) in enumerate(counts)]

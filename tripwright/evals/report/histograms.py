"""How long the episodes are: columns of equal width, those that a limit of tokens cut off on top in
another colour (row P14, App. I)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tripwright.evals.report.axes import Frame, Scale, grid, ticks
from tripwright.evals.report.drawing import csv_text, svg
from tripwright.evals.report.markup import esc, percent, plural, short

COLUMNS = 24
CUT, WHOLE = 1, 0  # colours


def edges(longest: float) -> list[float]:
    """Round limits of about COLUMNS columns from 0 to beyond the longest."""
    step = ticks(0.0, max(longest, 1.0), COLUMNS)[1] if longest > 0 else 1.0
    step = max(step, 1.0)
    return [i * step for i in range(int(longest // step) + 2)]


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
    frame = Frame(title, f"{unit} per episode", "% of episodes", height=200, right=14)
    scale = Scale(frame, 14, limits[0], limits[-1], 0.0, _round_up(100 * max(highest, 0.01)))
    bins = shares(lengths, limits)
    parts = [grid(scale)]
    for low, high, whole, cut in bins:
        x, width = scale.x(low) + 0.5, max(scale.x(high) - scale.x(low) - 1, 0.6)
        words = (
            f"{short(low)} to {short(high)} {unit}: {percent(whole + cut)} of episodes, cut off"
            f" {percent(cut)}"
        )
        middle, top = scale.y(100 * whole), scale.y(100 * (whole + cut))
        drawn = _column(x, width, middle, scale.y(0), WHOLE) + _column(x, width, top, middle, CUT)
        parts.append(f"<g><title>{esc(words)}</title>{drawn}</g>")
    cut_off = sum(cut for _, _, _, cut in bins)
    if cut_off:
        parts.append(
            f'<rect class="bar s{CUT}" x="{frame.width - 150}" y="3" width="10" height="9"/><text'
            f' class="tick" x="{frame.width - 136}" y="11">cut off by a limit:'
            f" {percent(cut_off)}</text>"
        )
    ordered = sorted(length for length, _ in lengths)
    words = (
        f"{plural(len(ordered), 'episode')}: from {short(ordered[0])} to {short(ordered[-1])}"
        f" {unit}, half of them at most "
    )
    words += f"{short(ordered[len(ordered) // 2])}. Cut off by a limit: {percent(cut_off)}."
    head = [
        f"from [{unit}]",
        f"to [{unit}]",
        "share of episodes, whole",
        "share of episodes, cut off",
    ]
    return svg("".join(parts), frame.width, frame.height, title, words, csv_text(head, bins))


def _round_up(value: float) -> float:
    step = ticks(0.0, value, 4)[1]
    return math.ceil(value / step - 1e-9) * step


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


def _column(x: float, width: float, top: float, floor: float, colour: int) -> str:
    if floor - top < 0.05:
        return ""
    return (
        f'<rect class="bar s{colour}" x="{x:.1f}" y="{top:.1f}" width="{width:.1f}"'
        f' height="{floor - top:.1f}"/>'
    )

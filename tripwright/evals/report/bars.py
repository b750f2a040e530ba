"""Numbers with their intervals as marks: horizontal bars with whiskers, and the small range strips
inside tables. Pure SVG text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tripwright.evals.report.charts import COLOURS
from tripwright.evals.report.drawing import csv_text, svg
from tripwright.evals.report.markup import Estimate, esc, of_words, percent, shown, shown_interval


@dataclass(frozen=True)
class Bar:
    name: str
    note: str
    found: Estimate
    colour: int


def rate_bars(
    bars: Sequence[Bar], title: str, width: int = 780, name_width: int = 290, notes: bool = True
) -> str:
    """One bar per share from 0 to 100%, with the 95% interval as a whisker and the figure in words
    at its right."""
    if not bars:
        return ""
    row, top, left, right = 44, 8, name_width, width - 105
    floor = top + row * len(bars)
    parts = []
    for i in range(0, 101, 25):
        x = left + (right - left) * i / 100
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{floor}"/>')
        parts.append(
            f'<text class="tick" x="{x:.1f}" y="{floor + 16}" text-anchor="middle">{i}%</text>'
        )
    for i, bar in enumerate(bars):
        parts.append(
            _bar(bar if notes else replace(bar, note=""), top + row * i + row / 2, left, right)
        )
    parts.append(f'<line class="axis" x1="{left}" x2="{left}" y1="{top}" y2="{floor}"/>')
    words = " ".join(
        f"{bar.name}: {shown(bar.found)}, 95% interval {shown_interval(bar.found) or 'not known'}."
        for bar in bars
    )
    rows = (
        [bar.name, bar.found.value, bar.found.low, bar.found.high, bar.found.k, bar.found.n]
        for bar in bars
    )
    data = csv_text(["name", "share", "95% interval, low", "95% interval, high", "k", "n"], rows)
    return svg("".join(parts), width, floor + 24, title, words, data)


def _bar(bar: Bar, y: float, left: float, right: float) -> str:
    span, found = right - left, bar.found
    low, high = found.low, found.high
    end = left + span * min(max(found.value, 0.0), 1.0)
    hover = f"{bar.name}: {percent(found.value)}" + (
        f", 95% interval {shown_interval(found)}" if low is not None else ""
    )
    parts = [
        f"<g><title>{esc(hover)} ({esc(of_words(found))})</title>",
        (
            f'<text class="barname" x="{left - 12}" y="{y - 2 if bar.note else y + 4:.1f}"'
            f' text-anchor="end">{esc(bar.name)}</text>'
        ),
        (
            f'<text class="tick" x="{left - 12}" y="{y + 13:.1f}"'
            f' text-anchor="end">{esc(bar.note)}</text>'
            if bar.note
            else ""
        ),
        (
            f'<rect class="bar s{bar.colour % COLOURS}" x="{left}" y="{y - 10:.1f}"'
            f' width="{max(end - left, 1.5):.1f}" height="20" rx="2"/>'
        ),
    ]
    text_x = end
    if low is not None and high is not None:
        a, b = left + span * low, left + span * high
        text_x = max(end, b)
        parts.append(
            f'<path class="whisker" d="M{a:.1f},{y:.1f} H{b:.1f} M{a:.1f},{y - 5:.1f} v10'
            f' M{b:.1f},{y - 5:.1f} v10"/>'
        )
    parts.append(
        f'<text class="label" x="{text_x + 10:.1f}" y="{y - 1:.1f}"><tspan'
        f' class="strong">{shown(found)}</tspan></text>'
    )
    parts.append(
        f'<text class="tick" x="{text_x + 10:.1f}"'
        f' y="{y + 12:.1f}">{esc(shown_interval(found))}</text></g>'
    )
    return "".join(parts)


def range_strip(marks: Sequence[tuple[str, Estimate, int]], width: int = 200) -> str:
    """Two or three shares on one 0–100% line, each a dot on its interval, slightly apart in height
    so that none hides another."""
    height, pad = 8 + 9 * len(marks), 6
    span = width - 2 * pad
    parts = [
        f'<line class="grid" x1="{pad + span * i / 4:.1f}" x2="{pad + span * i / 4:.1f}" y1="0"'
        f' y2="{height}"/>'
        for i in range(5)
    ]
    for i, (name, found, colour) in enumerate(marks):
        y, x = 8.5 + 9 * i, pad + span * found.value
        parts.append(
            f"<g><title>{esc(name)}: {shown(found)} ({esc(shown_interval(found))})</title>"
        )
        if found.low is not None and found.high is not None:
            a, b = pad + span * found.low, pad + span * found.high
            parts.append(
                f'<line class="range s{colour % COLOURS}" x1="{a:.1f}" x2="{b:.1f}" y1="{y}"'
                f' y2="{y}"/>'
            )
        parts.append(f'<circle class="dot s{colour % COLOURS}" cx="{x:.1f}" cy="{y}" r="3.4"/></g>')
    return svg(
        "".join(parts),
        width,
        height,
        "; ".join(f"{name} {shown(found)}" for name, found, _ in marks),
    ).replace('class="chart"', 'class="strip"', 1)

"""Numbers with their intervals as marks: horizontal bars with whiskers, and the small range strips
inside tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.evals.report.drawing import (
    QUIET,
    SERIES,
    csv_text,
    finished,
    new_axes,
    styled,
)
from tripwright.evals.report.markup import Estimate, of_words, printable, shown, shown_interval
from tripwright.evals.report.style import LIGHT


@dataclass(frozen=True)
class Bar:
    name: str
    note: str
    rate: Estimate
    colour: int


ROW = 46  # pixels of a bar with its name above it


@styled
def rate_bars(bars: Sequence[Bar], title: str, width: int = 410) -> str:
    """One bar per share from 0 to 100% under its name, with the 95% interval as a whisker and the
    figure in words at its right. Narrow, so that it can be read on a phone as well."""
    if not bars:
        return ""
    axes = new_axes(width, ROW * len(bars) + 26, 14, 146, 2, 22)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(bars), 0)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)
    axes.axvline(0, color=LIGHT["axis"], lw=1)
    quiet = {**QUIET, "size": 11, "textcoords": "offset points"}
    strong: dict[str, Any] = {"weight": "bold", "textcoords": "offset points"}
    spots, words = [], []
    for i, bar in enumerate(bars):
        rate, interval, middle = bar.rate, shown_interval(bar.rate), i + 0.76
        axes.barh(middle, rate.value, 0.36, color=SERIES[bar.colour % len(SERIES)], alpha=0.85)
        end = rate.value
        if rate.low is not None and rate.high is not None:
            axes.plot([rate.low, rate.high], [middle] * 2, c=LIGHT["ink"], lw=1.3, marker="|", ms=9)
            end = max(end, rate.high)
        said = axes.annotate(shown(rate), (end, middle), (9, -4), size=13, **strong)
        axes.annotate(interval, (1, 0), (6, 3), xycoords=said, **quiet)
        named = axes.annotate(printable(bar.name), (0, i), (2, -18), size=12, **strong)
        axes.annotate(
            printable(bar.note),
            (1, 0),
            (8, 0),
            xycoords=named,
            **quiet,
        )
        share = f"{bar.name}: {shown(rate)}, 95% interval {interval or 'not known'}"
        words.append(f"{share}.")
        spots.append((0.0, 1.0, i, i + 1, f"{share} ({of_words(rate)})"))
    rows = ([bar.name, *bar.rate] for bar in bars)
    head = ["name", "share", "95% interval, low", "95% interval, high", "k", "n"]
    return finished(axes, title, " ".join(words), csv_text(head, rows), spots)


@styled
def range_strip(marks: Sequence[tuple[str, Estimate, int]], width: int = 200) -> str:
    """Two or three shares on one 0–100% line, each a dot on its interval, slightly apart in height
    so that none hides another."""
    axes = new_axes(width, 8 + 9 * len(marks), 6, 6, 0, 0)
    axes.set_xlim(0, 1)
    axes.set_ylim(len(marks) - 0.05, -0.95)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], [])
    axes.set_yticks([])
    axes.grid(axis="x")
    axes.spines["bottom"].set_visible(False)
    spots = []
    for i, (name, rate, colour) in enumerate(marks):
        ink = SERIES[colour % len(SERIES)]
        if rate.low is not None and rate.high is not None:
            axes.plot([rate.low, rate.high], [i, i], c=ink, lw=2.4, alpha=0.45, clip_on=False)
        axes.plot(rate.value, i, "o", c=ink, clip_on=False)
        spots.append(
            (0.0, 1.0, i - 0.5, i + 0.5, f"{name}: {shown(rate)} ({shown_interval(rate)})")
        )
    title = "; ".join(f"{name} {shown(rate)}" for name, rate, _ in marks)
    return finished(axes, title, spots=spots).replace('class="chart"', 'class="strip"', 1)

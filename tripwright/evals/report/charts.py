"""Line charts and stacked areas.

Labels stand at the line's end, because a legend makes the reader match colours. On hovering, one
invisible strip per step names every series there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tripwright.evals.report.drawing import (
    QUIET,
    SERIES,
    Spot,
    csv_text,
    finished,
    new_axes,
    styled,
)
from tripwright.evals.report.markup import percent, printable, short
from tripwright.evals.report.style import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Point = tuple[float, float]
COLOURS = len(SERIES)
MAX_STRIPS = 200


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[Point, ...]
    colour: int = 0
    # (x, low, high): a spread drawn behind the line
    band: tuple[tuple[float, float, float], ...] = ()
    dots: bool = False  # few, separate measurements: drawn as points
    ring: Point | None = None  # one point of it that the reader should see


@dataclass(frozen=True)
class ReferenceLine:
    """A height across the chart, with its words above it."""

    height: float
    words: str


@dataclass(frozen=True)
class Frame:
    """Size, axes and units of one chart; lengths are pixels where the page is wide enough."""

    title: str
    x_label: str
    y_label: str
    percent: bool = False  # values are shares; the axis runs from 0 to 100%
    log: bool = False
    log_x: bool = False
    smooth: int = 1  # width, in points, of the centred mean drawn over the raw line
    width: int = 520
    height: int = 264
    small: bool = False  # its caption names the one line: no label at the line's end


@dataclass(frozen=True)
class _End:
    """Where a line or an area ends as drawn, and the value its label shows: of a line, the drawn
    one (a single step is noise)."""

    name: str
    x: float
    y: float
    last: float
    colour: str


@styled
def line_chart(lines: Sequence[Series], frame: Frame, levels: Sequence[ReferenceLine] = ()) -> str:
    """Lines over a common x axis; "" where no line has two points, unless it is of dots."""
    lines = _drawable(lines, frame)
    if not any(line.dots or len(line.points) > 1 for line in lines):
        return ""
    curves = [n.points if n.dots else smoothed(n.points, frame.smooth) for n in lines]
    colours = [SERIES[line.colour % COLOURS] for line in lines]
    ends = [
        _End(line.name, *curve[-1], curve[-1][1], colour)
        for line, curve, colour in zip(lines, curves, colours, strict=True)
    ]
    heights = [y for line in lines for _, y in line.points]
    heights += [y for line in lines for edge in line.band for y in edge[1:]]
    heights += [level.height for level in levels]
    axes = _framed([x for line in lines for x, _ in line.points], heights, frame, ends)
    for line, curve, colour in zip(lines, curves, colours, strict=True):
        if len(line.band) > 1:
            xs, low, high = zip(*line.band, strict=True)
            axes.fill_between(xs, low, high, color=colour, alpha=0.13, lw=0)
        if frame.smooth > 1 and not line.dots:
            axes.plot(*zip(*line.points, strict=True), color=colour, lw=1, alpha=0.28)
        alone = "o" if line.dots or len(curve) == 1 else ""
        axes.plot(
            *zip(*curve, strict=True),
            marker=alone,
            ls="" if alone else "-",
            c=colour,
            clip_on=False,
        )
    for level in levels:
        axes.axhline(level.height, color=LIGHT["axis"], lw=1, dashes=(5, 4))
        axes.annotate(
            level.words, (0, level.height), (6, 4), ("axes fraction", "data"), "offset points"
        )
    for line, colour in zip(lines, colours, strict=True):
        if line.ring:
            axes.plot(*line.ring, "o", c=colour, ms=10, mec=LIGHT["panel"], mew=2, clip_on=False)
    if not frame.small:
        _end_labels(axes, ends, frame)
    return finished(
        axes,
        frame.title,
        _in_words(lines, frame, levels),
        _in_figures(lines, frame),
        _strips(axes, lines, frame),
    )


@styled
def stacked_chart(lines: Sequence[Series], frame: Frame) -> str:
    """Shares on top of each other, first line at the bottom. All lines share the same x values; a
    missing share counts as none."""
    xs = sorted({x for line in lines for x, _ in line.points})
    if len(xs) < 2:
        return ""
    values = [dict(line.points) for line in lines]
    shares = [[value.get(x, 0.0) for x in xs] for value in values]
    colours = [SERIES[line.colour % COLOURS] for line in lines]
    ends, below = [], 0.0
    for line, share, colour in zip(lines, shares, colours, strict=True):
        ends.append(_End(line.name, xs[-1], below + share[-1] / 2, share[-1], colour))
        below += share[-1]
    frame = replace(frame, percent=True, log=False)
    axes = _framed(xs, [0.0, 1.0], frame, ends)
    axes.stackplot(xs, shares, colors=colours, alpha=0.72, ec=LIGHT["panel"], lw=0.6)
    _end_labels(axes, ends, frame)
    return finished(
        axes,
        frame.title,
        _in_words(lines, frame),
        _in_figures(lines, frame),
        _strips(axes, lines, frame),
    )


def smoothed(points: Sequence[Point], width: int) -> tuple[Point, ...]:
    """Mean over `width` points around each; near an end over those that exist, so that no line ends
    in the hook of its last point."""
    if width <= 1:
        return tuple(points)
    result = []
    for i, (x, _) in enumerate(points):
        window = [y for _, y in points[max(0, i - width // 2) : i + width // 2 + 1]]
        result.append((x, sum(window) / len(window)))
    return tuple(result)


def spread(heights: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights as near as may be to the wanted ones, in their order, at least `gap` apart and
    between low and high if they fit."""
    order = sorted(range(len(heights)), key=lambda i: heights[i])
    placed = [0.0] * len(heights)
    floor = low
    for i in order:
        placed[i] = max(heights[i], floor)
        floor = placed[i] + gap
    ceiling = high
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return placed


def _drawable(lines: Sequence[Series], frame: Frame) -> list[Series]:
    """Lines that have a point, without the points that a logarithmic axis cannot show."""
    if frame.log:
        lines = [replace(n, points=tuple(p for p in n.points if p[1] > 0), band=()) for n in lines]
    if frame.log_x:
        lines = [
            replace(
                n,
                points=tuple(p for p in n.points if p[0] > 0),
                band=tuple(b for b in n.band if b[0] > 0),
            )
            for n in lines
        ]
    return [line for line in lines if line.points]


def _framed(xs: Sequence[float], ys: Sequence[float], frame: Frame, ends: Sequence[_End]) -> Axes:
    """Axes that show all of `xs` and `ys`; a linear y axis begins at 0 or below and ends at round
    numbers."""
    from matplotlib.ticker import LogLocator, MaxNLocator

    if frame.small:
        axes = new_axes(frame.width, frame.height, 36, 8, 6, 20)
    else:  # at the right, room for the labels
        right = 28 + 7 * max(len(f"{end.name} {_value(end.last, frame)}") for end in ends)
        axes = new_axes(frame.width, frame.height, 48, min(right, frame.width - 150), 22, 40)
    low, high = min(xs), max(xs)
    if low == high:
        low, high = (low / 2, high * 2) if frame.log_x else (low - 0.5, high + 0.5)
    if frame.log_x:
        axes.set_xscale("log")
    axes.set_xlim(low, high)
    if frame.percent:
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_locator(MaxNLocator(2 if frame.small else 4, steps=[2.5, 5, 10]))
    elif frame.log:
        axes.set_yscale("log")
        axes.set_ylim(min(ys) * 0.9, max(ys) * 1.1)
    else:
        floor, ceiling = min(0.0, *ys), max(0.0, *ys)
        levels = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(floor, ceiling or floor + 1)
        axes.set_ylim(levels[0], levels[-1])
        axes.set_yticks(levels)
    for axis, is_log in ((axes.xaxis, frame.log_x), (axes.yaxis, frame.log)):
        if is_log:
            ends_at = axis.get_view_interval()
            many = ends_at[1] > 1e4 * ends_at[0]
            axis.set_major_locator(LogLocator(subs=(1,) if many else (1, 2, 5), numticks=7))
            axis.set_minor_locator(LogLocator(subs=()))
    if not frame.log_x:
        axes.xaxis.set_major_locator(MaxNLocator(4 if frame.small else 6, steps=[1, 2, 5, 10]))
    axes.xaxis.set_major_formatter(lambda value, _: short(round(value, 9)))
    axes.yaxis.set_major_formatter(
        lambda value, _: percent(value, 0) if frame.percent else short(round(value, 12))
    )
    axes.grid(axis="y")
    axes.set_xlabel(frame.x_label)
    axes.figure.text(2 / frame.width, 1 - 11 / frame.height, frame.y_label, **QUIET)
    return axes


def _end_labels(axes: Axes, ends: Sequence[_End], frame: Frame) -> None:
    """Names and last values: at the right edge, or, for a line that stops well before it, at that
    line's own end."""
    places = axes.transData.transform([(end.x, end.y) for end in ends])
    edge, top = axes.bbox.x1, axes.bbox.y1
    # of equal ends the first line's label is the highest
    outer = [i for i in reversed(range(len(ends))) if places[i][0] > edge - 24]
    heights = spread([places[i][1] for i in outer], 14, axes.bbox.y0, top + 14)
    for i, height in zip(outer, heights, strict=True):
        axes.annotate(
            "",
            (edge + 1, places[i][1]),
            (edge + 11, height),
            "figure points",
            arrowprops={
                "arrowstyle": "-",
                "color": ends[i].colour,
                "alpha": 0.55,
                "shrinkA": 0,
                "shrinkB": 0,
            },
        )
    at = dict(zip(outer, heights, strict=True))
    for i, end in enumerate(ends):
        x, y = (edge + 13, at[i]) if i in at else (places[i][0] + 5, min(places[i][1] + 9, top))
        axes.annotate(
            f"{printable(end.name)} {_value(end.last, frame)}",
            (x, y),
            xycoords="figure points",
            va="center",
            color=end.colour,
            size=11.5,
        )


def _strips(axes: Axes, lines: Sequence[Series], frame: Frame) -> Iterator[Spot]:
    xs = sorted({x for line in lines for x, _ in line.points})
    if len(xs) > MAX_STRIPS:
        xs = xs[:: math.ceil(len(xs) / MAX_STRIPS)]
    (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
    values = [(line.name, dict(line.points)) for line in lines]
    for x, edges in zip(
        xs, pairwise([left, *((a + b) / 2 for a, b in pairwise(xs)), right]), strict=True
    ):
        words = [f"{frame.x_label or 'step'} {short(x)}"] + [
            f"{name}: {_value(value[x], frame)}" for name, value in values if x in value
        ]
        yield (*edges, low, high, "\n".join(words))


def _in_words(lines: Sequence[Series], frame: Frame, levels: Sequence[ReferenceLine] = ()) -> str:
    """For whoever does not see the chart: its axes, then where each line begins, ends and is
    highest."""
    xs = [x for line in lines for x, _ in line.points]
    words = [
        f"Across: {frame.x_label or 'step'}, {short(min(xs))} to {short(max(xs))}. Up:"
        f" {frame.y_label or 'share'}."
    ]
    for line in lines:
        if line.points:
            ys = [y for _, y in line.points]
            first, last, top = (_value(y, frame) for y in (ys[0], ys[-1], max(ys)))
            words.append(f"{line.name}: from {first} to {last}, at most {top}.")
    return " ".join([*words, *(f"Marked level: {level.words}." for level in levels)])


def _in_figures(lines: Sequence[Series], frame: Frame) -> str:
    """One row for each x, one column for each line; its running mean and its band stand beside
    it."""
    unit = f" [{frame.y_label}]" if frame.y_label else ""
    columns: dict[str, dict[float, float]] = {}
    for line in lines:
        columns[f"{line.name}{unit}"] = dict(line.points)
        if frame.smooth > 1 and not line.dots:
            columns[f"{line.name}, running mean{unit}"] = dict(smoothed(line.points, frame.smooth))
        if line.band:
            columns[f"{line.name}, low{unit}"] = {x: low for x, low, _ in line.band}
            columns[f"{line.name}, high{unit}"] = {x: high for x, _, high in line.band}
    xs = sorted({x for values in columns.values() for x in values})
    return csv_text(
        [frame.x_label or "step", *columns],
        ([x, *(values.get(x) for values in columns.values())] for x in xs),
    )


def _value(value: float, frame: Frame) -> str:
    return (
        percent(value) if frame.percent else f"{value:.3g}" if abs(value) < 1000 else short(value)
    )

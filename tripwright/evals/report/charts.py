"""Line charts and stacked areas as SVG text. Pure functions.

Colours are CSS variables (`--c0` … `--c7`), so one drawing serves the light and the dark page.
Labels stand at the line's end, because a legend makes the reader match colours. Hover titles come
from one invisible strip per step that names every series there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tripwright.evals.report.axes import Frame, Scale, grid, scale_of, spread, ticks
from tripwright.evals.report.drawing import csv_text, picture, standalone, still, svg
from tripwright.evals.report.markup import esc, percent, short

__all__ = [
    "Frame",
    "Line",
    "Rule",
    "line_chart",
    "picture",
    "smoothed",
    "spread",
    "stacked_chart",
    "standalone",
    "still",
    "svg",
    "ticks",
]

Point = tuple[float, float]
COLOURS = 8
MAX_STRIPS = 200


@dataclass(frozen=True)
class Line:
    name: str
    points: tuple[Point, ...]
    colour: int = 0
    # (x, low, high): a spread drawn behind the line
    band: tuple[tuple[float, float, float], ...] = ()
    dots: bool = False  # few, separate measurements: drawn as points
    ring: Point | None = None  # one point of it that the reader should see


@dataclass(frozen=True)
class Rule:
    """A level across the chart, with its words above it."""

    level: float
    words: str


@dataclass(frozen=True)
class _End:
    """Where a line or an area ends as drawn, and the value its label shows: of a line, the drawn
    one (a single step is noise)."""

    name: str
    x: float
    y: float
    last: float
    colour: int


def line_chart(lines: Sequence[Line], frame: Frame, rules: Sequence[Rule] = ()) -> str:
    """Lines over a common x axis; "" where no line has a point."""
    lines = _drawable(lines, frame)
    if not lines:
        return ""
    drawn_ends = [
        (n, (n.points if n.dots else smoothed(n.points, frame.smooth))[-1]) for n in lines
    ]
    scale = _scale(lines, frame, _room({line.name: y for line, (_, y) in drawn_ends}, frame), rules)
    parts = [grid(scale)]
    for line in lines:
        parts.append(_band(line, scale))
    parts += [_rule(rule, scale) for rule in rules]
    for line in lines:
        colour = f"s{line.colour % COLOURS}"
        if line.dots:
            parts += [
                f'<circle class="dot {colour}" cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}"'
                ' r="3.2"/>'
                for x, y in line.points
            ]
            continue
        drawn = smoothed(line.points, frame.smooth)
        if frame.smooth > 1:
            parts.append(_path(line.points, scale, f"raw {colour}"))
        parts.append(_path(drawn, scale, f"line {colour}"))
    parts += [_ring(line.ring, f"s{line.colour % COLOURS}", scale) for line in lines if line.ring]
    ends = [_End(n.name, x, y, y, n.colour) for n, (x, y) in drawn_ends]
    parts.append(_end_labels(ends, scale))
    parts.append(_strips([(n.name, dict(n.points)) for n in lines], scale))
    return svg(
        "".join(parts),
        frame.width,
        frame.height,
        frame.title,
        _in_words(lines, frame, rules),
        _in_figures(lines, frame),
    )


def _drawable(lines: Sequence[Line], frame: Frame) -> list[Line]:
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


def stacked_chart(lines: Sequence[Line], frame: Frame) -> str:
    """Shares on top of each other, first line at the bottom. All lines share the same x values; a
    missing share counts as none."""
    xs = sorted({x for line in lines for x, _ in line.points})
    if len(xs) < 2:
        return ""
    values = {line.name: dict(line.points) for line in lines}
    last = {name: points.get(xs[-1], 0.0) for name, points in values.items()}
    frame_scale = Scale(replace(frame, log=False), _room(last, frame), xs[0], xs[-1], 0.0, 1.0)
    below = dict.fromkeys(xs, 0.0)
    areas, ends = [], []
    for line in lines:
        above = {x: below[x] + values[line.name].get(x, 0.0) for x in xs}
        edge = [(x, min(above[x], 1.0)) for x in xs]
        floor = [(x, min(below[x], 1.0)) for x in reversed(xs)]
        outline = " ".join(
            f"{frame_scale.x(x):.1f},{frame_scale.y(y):.1f}" for x, y in (*edge, *floor)
        )
        areas.append(f'<polygon class="area s{line.colour % COLOURS}" points="{outline}"/>')
        ends.append(
            _End(
                line.name, xs[-1], (below[xs[-1]] + above[xs[-1]]) / 2, last[line.name], line.colour
            )
        )
        below = above
    body = "".join(areas) + grid(frame_scale) + _end_labels(ends, frame_scale)
    body += _strips([(n.name, values[n.name]) for n in lines], frame_scale)
    return svg(
        body,
        frame.width,
        frame.height,
        frame.title,
        _in_words(lines, frame),
        _in_figures(lines, frame),
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


def _scale(lines: Sequence[Line], frame: Frame, room: int, rules: Sequence[Rule]) -> Scale:
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points] + [
        v for line in lines for b in line.band for v in b[1:]
    ]
    return scale_of(xs, ys + [rule.level for rule in rules], frame, room)


def _rule(rule: Rule, scale: Scale) -> str:
    y, f = scale.y(rule.level), scale.frame
    line = (
        f'<path class="axis" stroke-dasharray="5 4" d="M{f.left},{y:.1f}'
        f' H{f.width - scale.right}"/>'
    )
    words = esc(rule.words)
    label = f'x="{f.left + 6}" y="{max(y - 5, f.top + 8):.1f}"'
    return (
        f'{line}<text class="label halo" {label}>{words}</text><text class="label"'
        f" {label}>{words}</text>"
    )


def _ring(point: Point, colour: str, scale: Scale) -> str:
    at = f'cx="{scale.x(point[0]):.1f}" cy="{scale.y(point[1]):.1f}"'
    return f'<circle class="halo" {at} r="4.5"/><circle class="dot {colour}" {at} r="4.5"/>'


def _in_words(lines: Sequence[Line], frame: Frame, rules: Sequence[Rule] = ()) -> str:
    """For whoever does not see the chart: its axes, then where each line begins, ends and is
    highest."""
    xs = [x for line in lines for x, _ in line.points]
    said = [
        f"Across: {frame.x_label or 'step'}, {short(min(xs))} to {short(max(xs))}. Up:"
        f" {frame.y_label or 'share'}."
    ]
    for line in lines:
        if line.points:
            (_, first), (_, last), top = (
                line.points[0],
                line.points[-1],
                max(y for _, y in line.points),
            )
            said.append(
                f"{line.name}: from {_value(first, frame)} to {_value(last, frame)}, at most"
                f" {_value(top, frame)}."
            )
    return " ".join([*said, *(f"Marked level: {rule.words}." for rule in rules)])


def _in_figures(lines: Sequence[Line], frame: Frame) -> str:
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


def _path(points: Sequence[Point], scale: Scale, classes: str) -> str:
    if len(points) == 1:
        x, y = points[0]
        return (
            f'<circle class="dot {classes.split()[-1]}" cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}"'
            ' r="3"/>'
        )
    return (
        f'<polyline class="{classes}" points="'
        + " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in points)
        + '"/>'
    )


def _band(line: Line, scale: Scale) -> str:
    if len(line.band) < 2:
        return ""
    edge = [(x, high) for x, _, high in line.band] + [(x, low) for x, low, _ in reversed(line.band)]
    outline = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in edge)
    return f'<polygon class="band s{line.colour % COLOURS}" points="{outline}"/>'


def _room(last: dict[str, float], frame: Frame) -> int:
    """Width for the labels at the right, at some 7 units a letter."""
    if frame.right is not None:
        return frame.right
    return 28 + round(
        7.0 * max(len(f"{name} {_value(value, frame)}") for name, value in last.items())
    )


def _end_labels(ends: Sequence[_End], scale: Scale) -> str:
    """Names and last values: at the right edge, or, for a line that stops well before it, at that
    line's own end."""
    f, edge = scale.frame, scale.frame.width - scale.right
    if f.right is not None:  # a small chart: its caption names the one line
        return ""
    outer = [end for end in ends if scale.x(end.x) > edge - 24]
    places = dict(
        zip(
            outer,
            spread([scale.y(end.y) for end in outer], 14, f.top + 4, f.height - f.bottom),
            strict=True,
        )
    )
    parts = []
    for end in ends:
        y, series = scale.y(end.y), f"s{end.colour % COLOURS}"
        if end in places:
            parts.append(
                f'<path class="lead {series}" d="M{edge + 1},{y:.1f}'
                f' L{edge + 9},{places[end]:.1f}"/>'
            )
        x, label_y = (
            (edge + 13, places[end] + 4)
            if end in places
            else (scale.x(end.x) + 5, max(y - 7, f.top + 8))
        )
        if end not in places:  # among the other lines: on ground of its own
            words = f'<tspan class="name">{esc(end.name)}</tspan> {_value(end.last, f)}'
            parts.append(f'<text class="label halo" x="{x:.0f}" y="{label_y:.1f}">{words}</text>')
        parts.append(
            f'<text class="label" x="{x:.0f}" y="{label_y:.1f}"><tspan class="name'
            f' {series}">{esc(end.name)}</tspan> <tspan'
            f' class="last">{_value(end.last, f)}</tspan></text>'
        )
    return "".join(parts)


def _strips(series: Sequence[tuple[str, dict[float, float]]], scale: Scale) -> str:
    xs = sorted({x for _, values in series for x in values})
    f = scale.frame
    if len(xs) > MAX_STRIPS:
        xs = xs[:: math.ceil(len(xs) / MAX_STRIPS)]
    edges = [
        f.left,
        *((scale.x(a) + scale.x(b)) / 2 for a, b in pairwise(xs)),
        f.width - scale.right,
    ]
    parts = []
    for x, (left, right) in zip(xs, pairwise(edges), strict=True):
        words = [f"{f.x_label or 'step'} {short(x)}"] + [
            f"{name}: {_value(values[x], f)}" for name, values in series if x in values
        ]
        parts.append(
            f'<rect x="{left:.1f}" y="{f.top}" width="{max(right - left, 0.5):.1f}"'
            f' height="{f.height - f.bottom - f.top}">'
        )
        parts.append(f"<title>{esc(chr(10).join(words))}</title></rect>")
    return f'<g class="strips">{"".join(parts)}</g>'


def _value(value: float, frame: Frame) -> str:
    return (
        percent(value) if frame.percent else f"{value:.3g}" if abs(value) < 1000 else short(value)
    )

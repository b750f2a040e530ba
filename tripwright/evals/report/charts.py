"""Line charts and stacked areas as SVG text. Pure functions, no scripts and no libraries: the page must open offline in ten years.

Colours are CSS variables (`--c0` … `--c7`), so one drawing serves the light and the dark page. Labels stand at the line's end, because
a legend makes the reader match colours. Hover titles come from one invisible strip per step that names every series there.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from tripwright.evals.report.markup import esc, percent, short
from tripwright.evals.report.style import CHART_CSS, LIGHT, standalone_css

Point = tuple[float, float]
COLOURS = 8
MAX_STRIPS = 200


@dataclass(frozen=True)
class Line:
    name: str
    points: tuple[Point, ...]
    colour: int = 0
    band: tuple[tuple[float, float, float], ...] = ()  # (x, low, high): a spread drawn behind the line
    dots: bool = False  # few, separate measurements: drawn as points


@dataclass(frozen=True)
class Frame:
    """Size, axes and units of one chart; lengths in SVG units, which are pixels where the page is wide enough."""

    title: str
    x_label: str
    y_label: str
    percent: bool = False  # values are shares; the axis runs from 0 to 100%
    log: bool = False
    smooth: int = 1  # width, in points, of the centred mean drawn over the raw line
    width: int = 520
    height: int = 264
    left: int = 48
    right: int | None = None  # None: as wide as the longest label at the end of a line needs
    top: int = 22
    bottom: int = 40


@dataclass(frozen=True)
class _Scale:
    frame: Frame
    right: int  # the width taken by labels
    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        f = self.frame
        return f.left + (value - self.x_low) / (self.x_high - self.x_low) * (f.width - f.left - self.right)

    def y(self, value: float) -> float:
        f = self.frame
        if self.frame.log:
            share = math.log(value / self.y_low) / math.log(self.y_high / self.y_low)
        else:
            share = (value - self.y_low) / (self.y_high - self.y_low)
        return f.height - f.bottom - share * (f.height - f.bottom - f.top)


@dataclass(frozen=True)
class _End:
    """Where a line or an area ends as drawn, and the value its label shows: of a line, the drawn one (a single step is noise)."""

    name: str
    x: float
    y: float
    last: float
    colour: int


def line_chart(lines: Sequence[Line], frame: Frame) -> str:
    """Lines over a common x axis; "" where no line has a point."""
    lines = [line for line in lines if line.points]
    if frame.log:
        lines = [Line(n.name, tuple(p for p in n.points if p[1] > 0), n.colour, (), n.dots) for n in lines]
    if not any(line.points for line in lines):
        return ""
    drawn_ends = [(n, (n.points if n.dots else smoothed(n.points, frame.smooth))[-1]) for n in lines if n.points]
    scale = _scale(lines, frame, _room({line.name: y for line, (_, y) in drawn_ends}, frame))
    parts = [_grid(scale)]
    for line in lines:
        parts.append(_band(line, scale))
    for line in lines:
        colour = f"s{line.colour % COLOURS}"
        if line.dots:
            parts += [f'<circle class="dot {colour}" cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}" r="3.2"/>' for x, y in line.points]
            continue
        drawn = smoothed(line.points, frame.smooth)
        if frame.smooth > 1:
            parts.append(_path(line.points, scale, f"raw {colour}"))
        parts.append(_path(drawn, scale, f"line {colour}"))
    ends = [_End(n.name, x, y, y, n.colour) for n, (x, y) in drawn_ends]
    parts.append(_end_labels(ends, scale))
    parts.append(_strips([(n.name, dict(n.points)) for n in lines], scale))
    return svg("".join(parts), frame.width, frame.height, frame.title)


def stacked_chart(lines: Sequence[Line], frame: Frame) -> str:
    """Shares on top of each other, first line at the bottom. All lines share the same x values; a missing share counts as none."""
    xs = sorted({x for line in lines for x, _ in line.points})
    if len(xs) < 2:
        return ""
    values = {line.name: dict(line.points) for line in lines}
    last = {name: points.get(xs[-1], 0.0) for name, points in values.items()}
    frame_scale = _Scale(replace(frame, log=False), _room(last, frame), xs[0], xs[-1], 0.0, 1.0)
    below = dict.fromkeys(xs, 0.0)
    areas, ends = [], []
    for line in lines:
        above = {x: below[x] + values[line.name].get(x, 0.0) for x in xs}
        edge = [(x, min(above[x], 1.0)) for x in xs]
        floor = [(x, min(below[x], 1.0)) for x in reversed(xs)]
        outline = " ".join(f"{frame_scale.x(x):.1f},{frame_scale.y(y):.1f}" for x, y in (*edge, *floor))
        areas.append(f'<polygon class="area s{line.colour % COLOURS}" points="{outline}"/>')
        ends.append(_End(line.name, xs[-1], (below[xs[-1]] + above[xs[-1]]) / 2, last[line.name], line.colour))
        below = above
    body = "".join(areas) + _grid(frame_scale) + _end_labels(ends, frame_scale)
    return svg(body + _strips([(n.name, values[n.name]) for n in lines], frame_scale), frame.width, frame.height, frame.title)


def smoothed(points: Sequence[Point], width: int) -> tuple[Point, ...]:
    """Mean over `width` points around each; near an end over those that exist, so that no line ends in the hook of its last point."""
    if width <= 1:
        return tuple(points)
    result = []
    for i, (x, _) in enumerate(points):
        window = [y for _, y in points[max(0, i - width // 2) : i + width // 2 + 1]]
        result.append((x, sum(window) / len(window)))
    return tuple(result)


def svg(body: str, width: float, height: float, title: str) -> str:
    return (
        f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{esc(title)}" '
        f'xmlns="http://www.w3.org/2000/svg">{body}</svg>'
    )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, a step of 1, 2 or 5 times a power of ten apart."""
    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights as near as may be to the wanted ones, in their order, at least `gap` apart and between low and high if they fit."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    placed = [0.0] * len(wanted)
    floor = low
    for i in order:
        placed[i] = max(wanted[i], floor)
        floor = placed[i] + gap
    ceiling = high
    for i in reversed(order):
        placed[i] = min(placed[i], ceiling)
        ceiling = placed[i] - gap
    return placed


def _scale(lines: Sequence[Line], frame: Frame, room: int) -> _Scale:
    xs = [x for line in lines for x, _ in line.points]
    ys = [y for line in lines for _, y in line.points] + [v for line in lines for b in line.band for v in b[1:]]
    x_low, x_high = min(xs), max(xs)
    if x_high == x_low:
        x_low, x_high = x_low - 0.5, x_high + 0.5
    if frame.percent:
        return _Scale(frame, room, x_low, x_high, 0.0, 1.0)
    if frame.log:
        return _Scale(frame, room, x_low, x_high, min(ys) * 0.9, max(ys) * 1.1)
    low, high = min(0.0, min(ys)), max(ys)
    high = high if high > low else low + 1.0
    step = ticks(low, high, 4)
    width = step[1] - step[0] if len(step) > 1 else high - low
    return _Scale(frame, room, x_low, x_high, math.floor(low / width + 1e-9) * width, math.ceil(high / width - 1e-9) * width)


def _grid(scale: _Scale) -> str:
    f, parts = scale.frame, []
    right, floor = f.width - scale.right, f.height - f.bottom
    if f.log:
        levels = _log_ticks(scale.y_low, scale.y_high)
    elif f.percent:
        levels = [0.0, 0.5, 1.0] if f.height < 180 else [0.0, 0.25, 0.5, 0.75, 1.0]
    else:
        levels = ticks(scale.y_low, scale.y_high, 4)
    for level in levels:
        y = scale.y(level)
        text = percent(level, 0) if f.percent else short(round(level, 12))
        parts.append(f'<line class="grid" x1="{f.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text class="tick" x="{f.left - 7}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>')
    for level in ticks(scale.x_low, scale.x_high, 5 if f.width < 300 else 6):
        parts.append(f'<text class="tick" x="{scale.x(level):.1f}" y="{floor + 15}" text-anchor="middle">{short(round(level, 9))}</text>')
    parts.append(f'<line class="axis" x1="{f.left}" x2="{right}" y1="{floor}" y2="{floor}"/>')
    if f.x_label:
        parts.append(f'<text class="unit" x="{(f.left + right) / 2:.0f}" y="{f.height - 7}" text-anchor="middle">{esc(f.x_label)}</text>')
    if f.y_label:
        parts.append(f'<text class="unit" x="2" y="10">{esc(f.y_label)}</text>')
    return "".join(parts)


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    return [m * 10.0**d for d in decades for m in (1, 2, 5) if low <= m * 10.0**d <= high]


def _path(points: Sequence[Point], scale: _Scale, classes: str) -> str:
    if len(points) == 1:
        x, y = points[0]
        return f'<circle class="dot {classes.split()[-1]}" cx="{scale.x(x):.1f}" cy="{scale.y(y):.1f}" r="3"/>'
    return f'<polyline class="{classes}" points="' + " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in points) + '"/>'


def _band(line: Line, scale: _Scale) -> str:
    if len(line.band) < 2:
        return ""
    edge = [(x, high) for x, _, high in line.band] + [(x, low) for x, low, _ in reversed(line.band)]
    outline = " ".join(f"{scale.x(x):.1f},{scale.y(y):.1f}" for x, y in edge)
    return f'<polygon class="band s{line.colour % COLOURS}" points="{outline}"/>'


def _room(last: dict[str, float], frame: Frame) -> int:
    """Width for the labels at the right, at some 7 units a letter."""
    if frame.right is not None:
        return frame.right
    return 28 + round(7.0 * max(len(f"{name} {_value(value, frame)}") for name, value in last.items()))


def _end_labels(ends: Sequence[_End], scale: _Scale) -> str:
    """Names and last values: at the right edge, or, for a line that stops well before it, at that line's own end."""
    f, edge = scale.frame, scale.frame.width - scale.right
    if f.right is not None:  # a small chart: its caption names the one line
        return ""
    outer = [end for end in ends if scale.x(end.x) > edge - 24]
    places = dict(zip(outer, spread([scale.y(end.y) for end in outer], 14, f.top + 4, f.height - f.bottom), strict=True))
    parts = []
    for end in ends:
        y, series = scale.y(end.y), f"s{end.colour % COLOURS}"
        if end in places:
            parts.append(f'<path class="lead {series}" d="M{edge + 1},{y:.1f} L{edge + 9},{places[end]:.1f}"/>')
        x, label_y = (edge + 13, places[end] + 4) if end in places else (scale.x(end.x) + 5, max(y - 7, f.top + 8))
        if end not in places:  # among the other lines: on ground of its own
            words = f'<tspan class="name">{esc(end.name)}</tspan> {_value(end.last, f)}'
            parts.append(f'<text class="label halo" x="{x:.0f}" y="{label_y:.1f}">{words}</text>')
        parts.append(
            f'<text class="label" x="{x:.0f}" y="{label_y:.1f}"><tspan class="name {series}">{esc(end.name)}</tspan> '
            f'<tspan class="last">{_value(end.last, f)}</tspan></text>'
        )
    return "".join(parts)


def _strips(series: Sequence[tuple[str, dict[float, float]]], scale: _Scale) -> str:
    xs = sorted({x for _, values in series for x in values})
    f = scale.frame
    if len(xs) > MAX_STRIPS:
        xs = xs[:: math.ceil(len(xs) / MAX_STRIPS)]
    edges = [f.left, *((scale.x(a) + scale.x(b)) / 2 for a, b in pairwise(xs)), f.width - scale.right]
    parts = []
    for x, (left, right) in zip(xs, pairwise(edges), strict=True):
        words = [f"{f.x_label or 'step'} {short(x)}"] + [f"{name}: {_value(values[x], f)}" for name, values in series if x in values]
        parts.append(f'<rect x="{left:.1f}" y="{f.top}" width="{max(right - left, 0.5):.1f}" height="{f.height - f.bottom - f.top}">')
        parts.append(f"<title>{esc(chr(10).join(words))}</title></rect>")
    return f'<g class="strips">{"".join(parts)}</g>'


def still(chart: str) -> str:
    """The chart for a file of its own: an <img> cannot be hovered over."""
    return re.sub(r'<g class="strips">.*?</g>|<title>.*?</title>', "", chart, flags=re.DOTALL)


def picture(width: int, height: int, label: str, body: str) -> str:
    """A file of its own out of several panels, on light ground."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" '
        f'aria-label="{esc(label)}"><style>{standalone_css(CHART_CSS, LIGHT)}</style>'
        f'<rect width="{width}" height="{height}" rx="10" fill="{LIGHT["panel"]}"/>{body}</svg>\n'
    )


def standalone(chart: str) -> str:
    """The chart as a picture of its own, on light ground."""
    ground = f'<rect width="100%" height="100%" fill="{LIGHT["panel"]}"/>'
    return still(chart).replace(">", f"><style>{standalone_css(CHART_CSS, LIGHT)}</style>{ground}", 1)


def _value(value: float, frame: Frame) -> str:
    return percent(value) if frame.percent else f"{value:.3g}" if abs(value) < 1000 else short(value)

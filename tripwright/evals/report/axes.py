"""The frame of a chart: which part of the plane it shows, where a value lies in it, its grid and
round numbers. Lengths are SVG units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tripwright.evals.report.markup import esc, percent, short


@dataclass(frozen=True)
class Frame:
    """Size, axes and units of one chart; lengths in SVG units, which are pixels where the page is
    wide enough."""

    title: str
    x_label: str
    y_label: str
    percent: bool = False  # values are shares; the axis runs from 0 to 100%
    log: bool = False
    log_x: bool = False
    smooth: int = 1  # width, in points, of the centred mean drawn over the raw line
    width: int = 520
    height: int = 264
    left: int = 48
    right: int | None = None  # None: as wide as the longest label at the end of a line needs
    top: int = 22
    bottom: int = 40


@dataclass(frozen=True)
class Scale:
    frame: Frame
    right: int  # the width taken by labels
    x_low: float
    x_high: float
    y_low: float
    y_high: float

    def x(self, value: float) -> float:
        f = self.frame
        return f.left + _share(value, self.x_low, self.x_high, f.log_x) * (
            f.width - f.left - self.right
        )

    def y(self, value: float) -> float:
        f = self.frame
        return (
            f.height
            - f.bottom
            - _share(value, self.y_low, self.y_high, f.log) * (f.height - f.bottom - f.top)
        )


def _share(value: float, low: float, high: float, log: bool) -> float:
    return math.log(value / low) / math.log(high / low) if log else (value - low) / (high - low)


def scale_of(xs: Sequence[float], ys: Sequence[float], frame: Frame, right: int) -> Scale:
    """Shows all of `xs` and `ys`, neither of them empty; a linear y axis begins at 0 or below and
    ends at round numbers."""
    x_low, x_high = min(xs), max(xs)
    if x_high == x_low:
        x_low, x_high = (x_low / 2, x_high * 2) if frame.log_x else (x_low - 0.5, x_high + 0.5)
    if frame.percent:
        return Scale(frame, right, x_low, x_high, 0.0, 1.0)
    if frame.log:
        return Scale(frame, right, x_low, x_high, min(ys) * 0.9, max(ys) * 1.1)
    low, high = min(0.0, min(ys)), max(ys)
    high = high if high > low else low + 1.0
    step = ticks(low, high, 4)
    width = step[1] - step[0] if len(step) > 1 else high - low
    return Scale(
        frame,
        right,
        x_low,
        x_high,
        math.floor(low / width + 1e-9) * width,
        math.ceil(high / width - 1e-9) * width,
    )


def ticks(low: float, high: float, about: int = 5) -> list[float]:
    """Round numbers from low to high, a step of 1, 2 or 5 times a power of ten apart."""
    raw = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [i * step for i in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 of each decade; powers of ten alone, and not all of them, where there are many
    decades."""
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    many = len(decades) > 4
    steps = (1,) if many else (1, 2, 5)
    decades = decades[:: -(-len(decades) // 6)] if many else decades
    return [m * 10.0**d for d in decades for m in steps if low <= m * 10.0**d <= high]


def spread(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Heights as near as may be to the wanted ones, in their order, at least `gap` apart and
    between low and high if they fit."""
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


def grid(scale: Scale) -> str:
    """Lines and numbers of both axes with their names and units."""
    f, parts = scale.frame, []
    right, floor = f.width - scale.right, f.height - f.bottom
    for level in _levels(scale):
        y = scale.y(level)
        text = percent(level, 0) if f.percent else short(round(level, 12))
        parts.append(f'<line class="grid" x1="{f.left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="tick" x="{f.left - 7}" y="{y + 3.5:.1f}" text-anchor="end">{text}</text>'
        )
    about = 5 if f.width < 300 else 6
    for level in (
        log_ticks(scale.x_low, scale.x_high) if f.log_x else ticks(scale.x_low, scale.x_high, about)
    ):
        words = short(level if f.log_x else round(level, 9))
        parts.append(
            f'<text class="tick" x="{scale.x(level):.1f}" y="{floor + 15}"'
            f' text-anchor="middle">{words}</text>'
        )
    parts.append(f'<line class="axis" x1="{f.left}" x2="{right}" y1="{floor}" y2="{floor}"/>')
    if f.x_label:
        parts.append(
            f'<text class="unit" x="{(f.left + right) / 2:.0f}" y="{f.height - 7}"'
            f' text-anchor="middle">{esc(f.x_label)}</text>'
        )
    if f.y_label:
        parts.append(f'<text class="unit" x="2" y="10">{esc(f.y_label)}</text>')
    return "".join(parts)


def _levels(scale: Scale) -> list[float]:
    if scale.frame.log:
        return log_ticks(scale.y_low, scale.y_high)
    if scale.frame.percent:
        return [0.0, 0.5, 1.0] if scale.frame.height < 180 else [0.0, 0.25, 0.5, 0.75, 1.0]
    return ticks(scale.y_low, scale.y_high, 4)

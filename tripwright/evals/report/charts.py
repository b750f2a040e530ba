"""Charts on matplotlib: lines and dots over a common axis. A chart is a description: what stands on
its axes, and its figures. It is had as SVG for a page, as a file of its own, and as CSV. Everything
else that a page shows is a table.

This is the one module that knows matplotlib, which is imported when something is drawn: no verb's
--help waits for it. Lengths are pixels of the page. Colours are those of `LIGHT`; in the page each
becomes a CSS variable, so that one drawing serves the light and the dark page. A drawing carries
what it shows in words (`<desc>`, for whoever does not see it) and in figures (`<metadata>`, a CSV),
so that the page, a saved SVG and the exported CSV cannot tell different things.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

from tripwright.evals.report.markup import esc, percent, printable, short
from tripwright.files import csv_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Series colours are Okabe and Ito's palette, which stays apart under all common kinds of colour
# blindness; the dark page uses lighter tints.
LIGHT = {
    "paper": "#f7f7f5", "panel": "#ffffff", "ink": "#1d2430", "muted": "#626b78", "rule": "#e4e5e2",
    "axis": "#aeb3ba", "soft": "#f1f2f0", "pass": "#00704f", "fail": "#b3400a", "warn": "#fdf1df",
    "lit": "#fff0a8", "on": "#ffffff", "c0": "#0072b2", "c1": "#d55e00", "c2": "#009e73",
    "c3": "#b8578f", "c4": "#b98400", "c5": "#8a94a3", "c6": "#56b4e9", "c7": "#4a5261",
}  # fmt: skip
DARK = {
    "paper": "#14171c", "panel": "#1b1f26", "ink": "#e6e8eb", "muted": "#98a1ad", "rule": "#2c323b",
    "axis": "#4d5561", "soft": "#232830", "pass": "#3ecf9b", "fail": "#ff9257", "warn": "#3a2e1a",
    "lit": "#5a4b12", "on": "#10151d", "c0": "#4ba6df", "c1": "#f0803c", "c2": "#2fc096",
    "c3": "#d98bb8", "c4": "#e0b040", "c5": "#8a94a3", "c6": "#8fd0f5", "c7": "#c3c9d2",
}  # fmt: skip
SERIES = tuple(LIGHT[f"c{i}"] for i in range(8))
COLOURS = len(SERIES)
SMALL = 10.5  # letters of ticks and units
QUIET: dict[str, Any] = {"color": LIGHT["muted"], "size": SMALL}
FONT = "system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
STYLE = Path(__file__).with_name("charts.mplstyle")
_LOCK = RLock()  # matplotlib's settings belong to the process, and a server has threads
_ATTRIBUTE = re.compile(r' (style|d|x|y|transform)="([^"]*)"')

Point = tuple[float, float]


@contextmanager
def _page_style() -> Iterator[None]:
    """The page's style, whatever matplotlib is set to elsewhere in the process."""
    from matplotlib import rc_context

    with _LOCK, rc_context(fname=STYLE), warnings.catch_warnings():
        # a letter that our font lacks is drawn by the reader's
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield


def _svg_body(figure: Figure) -> str:
    """Matplotlib's drawing without what only its own readers need: numbered ids, empty ticks,
    indents; and without clips, as nothing is drawn outside the axes."""
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    body = re.sub(r"<style.*?</style>", "", out.getvalue(), count=1, flags=re.DOTALL)
    body = body[body.index("<defs>") : body.rindex("</svg>")]
    body = re.sub(r"<defs>\s*<clipPath.*?</defs>", "", body, flags=re.DOTALL)
    body = re.sub(r' id="[a-z0-9.]+_[0-9]+"| clip-path="[^"]*"|\n +|\n(?=<)| (?=\n)', "", body)
    return _ATTRIBUTE.sub(_shorter, body.replace("<g/>", "").replace(" xlink:href=", " href="))


def _shorter(match: re.Match[str]) -> str:
    """An attribute with fewer digits, and with variables for colours."""
    name, value = match.groups()
    if name == "style":
        value = re.sub(r"font-family: [^;]*; ", "", value)
        for variable, colour in LIGHT.items():
            value = value.replace(colour, f"var(--{variable})")
    elif value.startswith("rotate(-0 "):
        return ""
    else:
        value = re.sub(r"(\.\d)\d+", r"\1", value)
    return f' {name}="{value}"'


# ---- lines


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[Point, ...]
    colour: int = 0
    # (x, low, high): a spread drawn behind the line
    band: tuple[tuple[float, float, float], ...] = ()
    dots: bool = False  # few, separate measurements: drawn as points


@dataclass(frozen=True)
class Lines:
    """Lines over a common x axis. The legend names each with the last value that is drawn, the
    highest first. False: there is nothing to draw."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    percent: bool = False  # values are shares; the axis runs from 0 to 100%
    log: bool = False
    smooth: int = 1  # width, in points, of the centred mean drawn over the raw line
    width: int = 520
    height: int = 264

    def __bool__(self) -> bool:
        """Of lines one must have two points, unless it is of dots."""
        return any(line.dots or len(line.points) > 1 for line in self._drawable)

    @cached_property
    def _drawable(self) -> Sequence[Series]:
        """Lines that have a point, without the points that a logarithmic axis cannot show."""
        lines = self.series
        if self.log:
            above = (tuple(p for p in line.points if p[1] > 0) for line in lines)
            lines = [replace(a, points=b, band=()) for a, b in zip(lines, above, strict=True)]
        return [line for line in lines if line.points]

    @cached_property
    def svg(self) -> str:
        with _page_style():
            body = _svg_body(self._draw())
        return (
            f'<svg class="chart" viewBox="0 0 {self.width} {self.height}" role="img"'
            f' aria-label="{esc(self.title)}" font-family="{FONT}"'
            f' xmlns="http://www.w3.org/2000/svg"><desc>{esc(self._words())}</desc>'
            f"<metadata>{esc(self.csv)}</metadata>{body}</svg>"
        )

    @property
    def standalone(self) -> str:
        """A file of its own, on light ground: an <img> knows no variables of a page."""
        still = re.sub("<metadata>.*?</metadata>", "", self.svg, flags=re.DOTALL)
        still = re.sub(r"var\(--(\w+)\)", lambda name: LIGHT[name[1]], still)
        still = still.replace("<svg ", f'<svg width="{self.width}" height="{self.height}" ', 1)
        return still.replace(">", f'><rect width="100%" height="100%" fill="{LIGHT["panel"]}"/>', 1)

    def _draw(self) -> Figure:
        from matplotlib.figure import Figure

        lines = self._drawable
        curves = [n.points if n.dots else smoothed(n.points, self.smooth) for n in lines]
        labels = [
            f"{printable(line.name)} {self._value(curve[-1][1])}"
            for line, curve in zip(lines, curves, strict=True)
        ]
        left, top, bottom = 48, 22, 40  # margins; at the right is the legend
        right = min(44 + 6.2 * max(map(len, labels)), self.width - 190)
        inside = self.width - left - right, self.height - top - bottom
        figure = Figure(figsize=(self.width / 72, self.height / 72))
        axes = figure.add_axes(
            (
                left / self.width,
                bottom / self.height,
                inside[0] / self.width,
                inside[1] / self.height,
            )
        )
        figure.patch.set_visible(False)
        axes.patch.set_visible(False)
        drawn = sorted(zip(lines, curves, labels, strict=True), key=lambda each: -each[1][-1][1])
        for line, curve, label in drawn:
            ink = SERIES[line.colour % COLOURS]
            if len(line.band) > 1:
                xs, low, high = zip(*line.band, strict=True)
                axes.fill_between(xs, low, high, color=ink, alpha=0.13, lw=0)
            if self.smooth > 1 and not line.dots:
                axes.plot(*zip(*line.points, strict=True), color=ink, lw=1, alpha=0.28)
            alone = "o" if line.dots or len(curve) == 1 else ""
            style: Any = {"marker": alone, "ls": "" if alone else "-", "c": ink, "label": label}
            axes.plot(*zip(*curve, strict=True), clip_on=False, **style)
        axes.legend(loc="center left", bbox_to_anchor=(1.02, 0.5))
        self._scale(axes)
        return figure

    def _scale(self, axes: Axes) -> None:
        """Of what was drawn; a linear y axis begins at 0 or below."""
        from matplotlib.ticker import LogLocator, MaxNLocator

        axes.xaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        if self.log:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5), numticks=7))
            axes.yaxis.set_minor_locator(LogLocator(subs=()))
        else:
            low, high = axes.get_ylim()
            axes.set_ylim(min(0.0, low), 1 if self.percent else max(0.0, high))
            axes.yaxis.set_major_locator(MaxNLocator(4, steps=[1, 2, 2.5, 5, 10]))
        axes.xaxis.set_major_formatter(lambda value, _: short(round(value, 9)))
        axes.yaxis.set_major_formatter(
            lambda value, _: percent(value, 0) if self.percent else short(round(value, 12))
        )
        axes.grid(axis="y")
        axes.set_xlabel(self.x)
        axes.figure.text(2 / self.width, 1 - 11 / self.height, self.y, **QUIET)

    def _words(self) -> str:
        """Its axes, then where each line begins, ends and is highest."""
        xs = [x for line in self._drawable for x, _ in line.points]
        words = [
            f"Across: {self.x or 'step'}, {short(min(xs))} to {short(max(xs))}. Up:"
            f" {self.y or 'share'}."
        ]
        for line in self._drawable:
            ys = [y for _, y in line.points]
            first, last, top = map(self._value, (ys[0], ys[-1], max(ys)))
            words.append(f"{line.name}: from {first} to {last}, at most {top}.")
        return " ".join(words)

    @property
    def csv(self) -> str:
        """The figures: one row for each x, one column for each line; its running mean and its band
        stand beside it."""
        unit = f" [{self.y}]" if self.y else ""
        columns: dict[str, dict[float, float]] = {}
        for line in self._drawable:
            columns[f"{line.name}{unit}"] = dict(line.points)
            if self.smooth > 1 and not line.dots:
                mean = dict(smoothed(line.points, self.smooth))
                columns[f"{line.name}, running mean{unit}"] = mean
            if line.band:
                columns[f"{line.name}, low{unit}"] = {x: low for x, low, _ in line.band}
                columns[f"{line.name}, high{unit}"] = {x: high for x, _, high in line.band}
        xs = sorted({x for values in columns.values() for x in values})
        rows = ([x, *(values.get(x) for values in columns.values())] for x in xs)
        return csv_text([self.x or "step", *columns], rows)

    def _value(self, value: float) -> str:
        if self.percent:
            return percent(value)
        return f"{value:.3g}" if abs(value) < 1000 else short(value)


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

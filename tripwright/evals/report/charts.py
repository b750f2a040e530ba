"""Charts on matplotlib. A chart is a description: what stands on its axes, and its figures. It is
had as SVG for a page, as a file of its own, as PNG and as CSV.

This is the one module that knows matplotlib, which is imported when something is drawn: no verb's
--help waits for it. Lengths are pixels of the page. Colours are those of `LIGHT`; in the page each
becomes a CSS variable, so that one drawing serves the light and the dark page. A drawing carries
what it shows in words (`<desc>`, for whoever does not see it) and in figures (`<metadata>`, a CSV),
so that the page, a saved SVG and the exported CSV cannot tell different things.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
import warnings
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple

from tripwright.evals.report.markup import (
    Estimate,
    esc,
    of_words,
    percent,
    plural,
    printable,
    short,
    shown,
    shown_interval,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
ZOOM = 2  # pixels of a PNG per unit: sharp on paper and on dense screens
_STYLE: Any = {
    "svg.fonttype": "none",  # letters as text, to be searched and read aloud
    "svg.hashsalt": "tripwright",  # the same drawing, the same text
    "text.parse_math": False,  # a name may hold dollars
    "figure.dpi": 72,  # one point is one pixel
    "font.size": 11,
    "text.color": LIGHT["ink"],
    "axes.edgecolor": LIGHT["axis"],
    "axes.labelcolor": LIGHT["muted"],
    "axes.labelsize": SMALL,
    "axes.spines.left": False,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.axisbelow": True,
    "axes.xmargin": 0,
    "axes.ymargin": 0,
    "axes.labelpad": 6,
    "grid.color": LIGHT["rule"],
    "lines.linewidth": 2,
    "lines.markersize": 6,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
} | {
    f"{axis}.{setting}": value
    for axis in ("xtick", "ytick")
    for setting, value in (
        ("labelcolor", LIGHT["muted"]),
        ("labelsize", SMALL),
        ("major.pad", 6),
        ("major.size", 0),
    )
}
_LOCK = RLock()  # matplotlib's settings belong to the process, and a server has threads
# what a spreadsheet takes for a formula when a text begins with it
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_ATTRIBUTE = re.compile(r' (style|d|x|y|transform)="([^"]*)"')

Point = tuple[float, float]
Spot = tuple[float, float, float, float, str]  # left, right, low, high in data units; words


class Drawn(NamedTuple):
    """The axes, what is seen on them in words, the CSV of the figures, and what to show on
    hovering where."""

    axes: Axes
    words: str = ""
    csv: str = ""
    spots: Iterable[Spot] = ()


class Chart(ABC):
    """A kind of chart has its figures as fields and draws them in `draw`. False: there is nothing
    to draw."""

    title: str

    def __bool__(self) -> bool:
        return True

    @abstractmethod
    def draw(self) -> Drawn: ...

    @cached_property
    def svg(self) -> str:
        with _page_style():
            drawn = self.draw()
            figure = drawn.axes.get_figure(root=True)
            assert figure is not None
            width, height = figure.get_size_inches() * 72
            body = _svg_body(figure) + _hover(drawn.axes, drawn.spots, height)
        described = f"<desc>{esc(drawn.words)}</desc>" if drawn.words else ""
        described += f"<metadata>{esc(drawn.csv)}</metadata>" if drawn.csv else ""
        return (
            f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img"'
            f' aria-label="{esc(self.title)}" font-family="{FONT}"'
            f' xmlns="http://www.w3.org/2000/svg">{described}{body}</svg>'
        )

    @property
    def size(self) -> tuple[float, float]:
        box = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', self.svg)
        assert box is not None
        return float(box[1]), float(box[2])

    @property
    def csv(self) -> str:
        """The figures that the drawing carries; "" where it has none."""
        carried = re.search(r"<metadata>(.*?)</metadata>", self.svg, re.DOTALL)
        return html.unescape(carried[1]) if carried else ""

    @property
    def standalone(self) -> str:
        """A file of its own, on light ground: an <img> knows no variables of a page, and cannot be
        hovered over."""
        width, height = self.size
        unseen = r'<g class="strips">.*?</g>|<metadata>.*?</metadata>'
        still = re.sub(unseen, "", self.svg, flags=re.DOTALL)
        still = re.sub(r"var\(--(\w+)\)", lambda name: LIGHT[name[1]], still)
        still = still.replace("<svg ", f'<svg width="{width:g}" height="{height:g}" ', 1)
        return still.replace(">", f'><rect width="100%" height="100%" fill="{LIGHT["panel"]}"/>', 1)

    @property
    def png(self) -> bytes:
        out = io.BytesIO()
        with _page_style():
            figure = self.draw().axes.get_figure(root=True)
            assert figure is not None
            figure.savefig(out, format="png", dpi=72 * ZOOM, facecolor=LIGHT["panel"])
        return out.getvalue()


@contextmanager
def _page_style() -> Iterator[None]:
    """The page's style, whatever matplotlib is set to elsewhere in the process."""
    from matplotlib import rc_context

    with _LOCK, rc_context(_STYLE), warnings.catch_warnings():
        # a letter that our font lacks is drawn by the reader's
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        yield


def new_axes(
    width: float, height: float, left: float, right: float, top: float, bottom: float
) -> Axes:
    """Axes within these margins of a picture of this size."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width / 72, height / 72))
    inside = (width - left - right) / width, (height - top - bottom) / height
    axes = figure.add_axes((left / width, bottom / height, *inside))
    figure.patch.set_visible(False)
    axes.patch.set_visible(False)
    return axes


def _svg_body(figure: Any) -> str:
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


def _hover(axes: Axes, spots: Iterable[Spot], height: float) -> str:
    parts = []
    for left, right, low, high, words in spots:
        (a, b), (c, d) = axes.transData.transform([(left, low), (right, high)])
        parts.append(
            f'<rect x="{min(a, c):.1f}" y="{height - max(b, d):.1f}" width="{abs(c - a):.1f}"'
            f' height="{abs(d - b):.1f}"><title>{esc(words)}</title></rect>'
        )
    return f'<g class="strips">{"".join(parts)}</g>' if parts else ""


def csv_text(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Comma-separated values with one line of names. Numbers have six digits, what is missing is
    empty, and no text is a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerows([_csv_cell(value) for value in row] for row in (head, *rows))
    return out.getvalue()


def _csv_cell(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    if not isinstance(value, str) or not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


def picture(label: str, panels: Sequence[tuple[str, Chart]], columns: int) -> str:
    """A file of its own out of several titled charts, row by row."""
    parts: list[str] = []
    y = widest = 16.0
    for i in range(0, len(panels), columns):
        x = 16.0
        for title, chart in panels[i : i + columns]:
            width, _ = chart.size
            parts.append(
                f'<text x="{x:g}" y="{y + 12:g}" fill="{LIGHT["ink"]}" font-family="{FONT}"'
                f' font-size="15" font-weight="650">{esc(title)}</text>'
                + chart.standalone.replace("<svg ", f'<svg x="{x:g}" y="{y + 28:g}" ')
            )
            x += width + 14
        widest = max(widest, x + 2)
        y += 44 + max(chart.size[1] for _, chart in panels[i : i + columns])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest:g} {y:g}"'
        f' width="{widest:g}" height="{y:g}" role="img" aria-label="{esc(label)}">'
        f'<rect width="100%" height="100%" rx="10" fill="{LIGHT["panel"]}"/>'
        f"{''.join(parts)}</svg>\n"
    )


# ---- lines and stacked areas


@dataclass(frozen=True)
class Series:
    name: str
    points: tuple[Point, ...]
    colour: int = 0
    # (x, low, high): a spread drawn behind the line
    band: tuple[tuple[float, float, float], ...] = ()
    dots: bool = False  # few, separate measurements: drawn as points
    ring: Point | None = None  # one point of it that the reader should see

    @property
    def ink(self) -> str:
        return SERIES[self.colour % COLOURS]


class _End(NamedTuple):
    """Where a line or an area ends as drawn, and the value its label shows: of a line, the drawn
    one (a single step is noise)."""

    name: str
    x: float
    y: float
    last: float
    colour: str


@dataclass(frozen=True)
class Lines(Chart):
    """Lines over a common x axis, or areas stacked on each other, the first at the bottom.

    Labels stand at the line's end, because a legend makes the reader match colours. On hovering,
    one invisible strip per step names every series there.
    """

    title: str
    x: str
    y: str
    series: Sequence[Series]
    percent: bool = False  # values are shares; the axis runs from 0 to 100%
    log: bool = False
    log_x: bool = False
    smooth: int = 1  # width, in points, of the centred mean drawn over the raw line
    width: int = 520
    height: int = 264
    small: bool = False  # its caption names the one line: no label at the line's end
    stacked: bool = False  # all lines share the same x values; a missing share counts as none
    levels: Mapping[str, float] = field(default_factory=dict)  # heights across, by their words

    def __bool__(self) -> bool:
        """Of lines one must have two points, unless it is of dots."""
        if self.stacked:
            return len({x for line in self.series for x, _ in line.points}) > 1
        return any(line.dots or len(line.points) > 1 for line in self._drawable)

    @cached_property
    def _drawable(self) -> Sequence[Series]:
        """Lines that have a point, without the points that a logarithmic axis cannot show."""
        if self.stacked:
            return self.series
        lines = []
        for line in self.series:
            points, band = line.points, line.band
            if self.log:
                points, band = tuple(p for p in points if p[1] > 0), ()
            if self.log_x:
                points = tuple(p for p in points if p[0] > 0)
                band = tuple(b for b in band if b[0] > 0)
            lines.append(replace(line, points=points, band=band))
        return [line for line in lines if line.points]

    def draw(self) -> Drawn:
        if self.stacked:
            axes = self._draw_areas()
        else:
            axes = self._draw_lines()
        return Drawn(axes, self._words(), self._figures(), self._spots(axes))

    def _draw_lines(self) -> Axes:
        lines = self._drawable
        curves = [n.points if n.dots else smoothed(n.points, self.smooth) for n in lines]
        ends = [
            _End(line.name, *curve[-1], curve[-1][1], line.ink)
            for line, curve in zip(lines, curves, strict=True)
        ]
        heights = [y for line in lines for _, y in line.points]
        heights += [y for line in lines for edge in line.band for y in edge[1:]]
        axes = self._axes([*heights, *self.levels.values()], ends)
        for line, curve in zip(lines, curves, strict=True):
            if len(line.band) > 1:
                xs, low, high = zip(*line.band, strict=True)
                axes.fill_between(xs, low, high, color=line.ink, alpha=0.13, lw=0)
            if self.smooth > 1 and not line.dots:
                axes.plot(*zip(*line.points, strict=True), color=line.ink, lw=1, alpha=0.28)
            alone = "o" if line.dots or len(curve) == 1 else ""
            style: Any = {"marker": alone, "ls": "" if alone else "-", "c": line.ink}
            axes.plot(*zip(*curve, strict=True), clip_on=False, **style)
        for words, height in self.levels.items():
            axes.axhline(height, color=LIGHT["axis"], lw=1, dashes=(5, 4))
            place: Any = ((6, 4), ("axes fraction", "data"), "offset points")
            axes.annotate(words, (0, height), *place)
        for line in lines:
            if line.ring:
                ring: Any = {"ms": 10, "mec": LIGHT["panel"], "mew": 2, "clip_on": False}
                axes.plot(*line.ring, "o", c=line.ink, **ring)
        if not self.small:
            self._end_labels(axes, ends)
        return axes

    def _draw_areas(self) -> Axes:
        xs = self._xs()
        shares = [[dict(line.points).get(x, 0.0) for x in xs] for line in self.series]
        ends, below = [], 0.0
        for line, share in zip(self.series, shares, strict=True):
            ends.append(_End(line.name, xs[-1], below + share[-1] / 2, share[-1], line.ink))
            below += share[-1]
        axes = self._axes([0.0, 1.0], ends)
        inks = [line.ink for line in self.series]
        axes.stackplot(xs, shares, colors=inks, alpha=0.72, ec=LIGHT["panel"], lw=0.6)
        self._end_labels(axes, ends)
        return axes

    def _xs(self) -> list[float]:
        return sorted({x for line in self._drawable for x, _ in line.points})

    def _axes(self, ys: Sequence[float], ends: Sequence[_End]) -> Axes:
        """Axes that show all x values and `ys`; a linear y axis begins at 0 or below and ends at
        round numbers."""
        from matplotlib.ticker import LogLocator, MaxNLocator

        if self.small:
            axes = new_axes(self.width, self.height, 36, 8, 6, 20)
        else:  # at the right, room for the labels
            right = 28 + 7 * max(len(f"{end.name} {self._value(end.last)}") for end in ends)
            axes = new_axes(self.width, self.height, 48, min(right, self.width - 150), 22, 40)
        xs = self._xs()
        low, high = xs[0], xs[-1]
        if low == high:
            low, high = (low / 2, high * 2) if self.log_x else (low - 0.5, high + 0.5)
        if self.log_x:
            axes.set_xscale("log")
        axes.set_xlim(low, high)
        if self.percent:
            axes.set_ylim(0, 1)
            axes.yaxis.set_major_locator(MaxNLocator(2 if self.small else 4, steps=[2.5, 5, 10]))
        elif self.log:
            axes.set_yscale("log")
            axes.set_ylim(min(ys) * 0.9, max(ys) * 1.1)
        else:
            floor, ceiling = min(0.0, *ys), max(0.0, *ys)
            levels = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(floor, ceiling or floor + 1)
            axes.set_ylim(levels[0], levels[-1])
            axes.set_yticks(levels)
        for axis, is_log in ((axes.xaxis, self.log_x), (axes.yaxis, self.log and not self.percent)):
            if is_log:
                ends_at = axis.get_view_interval()
                many = ends_at[1] > 1e4 * ends_at[0]
                axis.set_major_locator(LogLocator(subs=(1,) if many else (1, 2, 5), numticks=7))
                axis.set_minor_locator(LogLocator(subs=()))
        if not self.log_x:
            axes.xaxis.set_major_locator(MaxNLocator(4 if self.small else 6, steps=[1, 2, 5, 10]))
        axes.xaxis.set_major_formatter(lambda value, _: short(round(value, 9)))
        axes.yaxis.set_major_formatter(
            lambda value, _: percent(value, 0) if self.percent else short(round(value, 12))
        )
        axes.grid(axis="y")
        axes.set_xlabel(self.x)
        axes.figure.text(2 / self.width, 1 - 11 / self.height, self.y, **QUIET)
        return axes

    def _end_labels(self, axes: Axes, ends: Sequence[_End]) -> None:
        """Names and last values: at the right edge, or, for a line that stops well before it, at
        that line's own end."""
        places = axes.transData.transform([(end.x, end.y) for end in ends])
        edge, top = axes.bbox.x1, axes.bbox.y1
        # of equal ends the first line's label is the highest
        outer = [i for i in reversed(range(len(ends))) if places[i][0] > edge - 24]
        heights = spread([places[i][1] for i in outer], 14, axes.bbox.y0, top + 14)
        arrow = {"arrowstyle": "-", "alpha": 0.55, "shrinkA": 0, "shrinkB": 0}
        for i, height in zip(outer, heights, strict=True):
            tail, head = (edge + 1, places[i][1]), (edge + 11, height)
            line: Any = arrow | {"color": ends[i].colour}
            axes.annotate("", tail, head, "figure points", arrowprops=line)
        at = dict(zip(outer, heights, strict=True))
        for i, end in enumerate(ends):
            x, y = (edge + 13, at[i]) if i in at else (places[i][0] + 5, min(places[i][1] + 9, top))
            words = f"{printable(end.name)} {self._value(end.last)}"
            style: Any = {"va": "center", "color": end.colour, "size": 11.5}
            axes.annotate(words, (x, y), xycoords="figure points", **style)

    def _spots(self, axes: Axes, most: int = 200) -> Iterator[Spot]:
        xs = self._xs()
        if len(xs) > most:
            xs = xs[:: math.ceil(len(xs) / most)]
        (left, right), (low, high) = axes.get_xlim(), axes.get_ylim()
        values = [(line.name, dict(line.points)) for line in self._drawable]
        borders = [left, *((a + b) / 2 for a, b in pairwise(xs)), right]
        for x, edges in zip(xs, pairwise(borders), strict=True):
            words = [f"{self.x or 'step'} {short(x)}"]
            words += [f"{name}: {self._value(value[x])}" for name, value in values if x in value]
            yield (*edges, low, high, "\n".join(words))

    def _words(self) -> str:
        """Its axes, then where each line begins, ends and is highest."""
        xs = self._xs()
        words = [
            f"Across: {self.x or 'step'}, {short(xs[0])} to {short(xs[-1])}. Up:"
            f" {self.y or 'share'}."
        ]
        for line in self._drawable:
            if line.points:
                ys = [y for _, y in line.points]
                first, last, top = map(self._value, (ys[0], ys[-1], max(ys)))
                words.append(f"{line.name}: from {first} to {last}, at most {top}.")
        return " ".join([*words, *(f"Marked level: {level}." for level in self.levels)])

    def _figures(self) -> str:
        """One row for each x, one column for each line; its running mean and its band stand beside
        it."""
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


# ---- numbers with their intervals


class Bar(NamedTuple):
    name: str
    rate: Estimate
    colour: int
    note: str = ""


@dataclass(frozen=True)
class Bars(Chart):
    """One bar per share from 0 to 100% under its name, with the 95% interval as a whisker and the
    figure in words at its right. Narrow, so that it can be read on a phone as well."""

    title: str
    bars: Sequence[Bar]
    width = 410
    row = 46  # pixels of a bar with its name above it

    def __bool__(self) -> bool:
        return bool(self.bars)

    def draw(self) -> Drawn:
        axes = new_axes(self.width, self.row * len(self.bars) + 26, 14, 146, 2, 22)
        axes.set_xlim(0, 1)
        axes.set_ylim(len(self.bars), 0)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0%", "25%", "50%", "75%", "100%"])
        axes.set_yticks([])
        axes.grid(axis="x")
        axes.spines["bottom"].set_visible(False)
        axes.axvline(0, color=LIGHT["axis"], lw=1)
        quiet = {**QUIET, "size": 11, "textcoords": "offset points"}
        strong: dict[str, Any] = {"weight": "bold", "textcoords": "offset points"}
        spots, words = [], []
        for i, (name, rate, colour, note) in enumerate(self.bars):
            interval, middle, end = shown_interval(rate), i + 0.76, rate.value
            axes.barh(middle, rate.value, 0.36, color=SERIES[colour % COLOURS], alpha=0.85)
            if rate.low is not None and rate.high is not None:
                whisker: Any = {"c": LIGHT["ink"], "lw": 1.3, "marker": "|", "ms": 9}
                axes.plot([rate.low, rate.high], [middle] * 2, **whisker)
                end = max(end, rate.high)
            said = axes.annotate(shown(rate), (end, middle), (9, -4), size=13, **strong)
            axes.annotate(interval, (1, 0), (6, 3), xycoords=said, **quiet)
            named = axes.annotate(printable(name), (0, i), (2, -18), size=12, **strong)
            axes.annotate(printable(note), (1, 0), (8, 0), xycoords=named, **quiet)
            words.append(f"{name}: {shown(rate)}, 95% interval {interval or 'not known'}")
            spots.append((0.0, 1.0, i, i + 1, f"{words[-1]} ({of_words(rate)})"))
        head = ["name", "share", "95% interval, low", "95% interval, high", "k", "n"]
        data = csv_text(head, ([bar.name, *bar.rate] for bar in self.bars))
        return Drawn(axes, " ".join(f"{each}." for each in words), data, spots)


# ---- shaded cells


Cells = Mapping[tuple[str, str], float]  # (row, column) → a share; what is not there is left blank


@dataclass(frozen=True)
class Grid(Chart):
    """A table of shares: darker is more, with the share in each cell where it fits. `rows_are` and
    `columns_are` name the axes; `share_of` says what a cell is a share of; `strong` cells are
    written bold; `hover` are words to show on hovering."""

    title: str
    rows_are: str
    columns_are: str
    share_of: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Cells
    colour: int = 0
    strong: Set[tuple[str, str]] = frozenset()
    hover: Mapping[tuple[str, str], str] = field(default_factory=dict)
    width = 520
    row_height = 22
    letter = 6.1  # width of a letter of a label
    # opacity: the page's ink must stay readable on the darkest cell, in light and in dark
    lightest, darkest = 0.06, 0.6

    def __bool__(self) -> bool:
        return bool(self.rows and self.columns)

    def draw(self) -> Drawn:
        left = min(round(self.letter * max(map(len, self.rows))) + 14, self.width * 2 // 5)
        axes, width = self._axes(left)
        spots = []
        for i, row in enumerate(self.rows):
            for j, column in enumerate(self.columns):
                if (share := self.cells.get((row, column))) is None:
                    continue
                opacity = self.lightest + (self.darkest - self.lightest) * min(max(share, 0.0), 1.0)
                axes.barh(i, 0.96, 0.94, j - 0.48, color=(SERIES[self.colour], opacity))
                if width >= 22:  # there is room for its figure
                    text = f"{100 * share:.0f}" if share >= 0.005 or share == 0 else "<1"
                    weight = "bold" if (row, column) in self.strong else "normal"
                    axes.text(j, i, text, ha="center", va="center", weight=weight)
                words = f"{row}, {column}: {percent(share)} of {self.share_of}"
                words = self.hover.get((row, column)) or words
                spots.append((j - 0.5, j + 0.5, i + 0.5, i - 0.5, words))
        largest = sorted(self.cells.items(), key=lambda item: (-item[1], item[0]))[:3]
        words = (
            f"Rows: {self.rows_are}. Columns: {self.columns_are}. Cells: share of {self.share_of}. "
        )
        if largest:
            named = (f"{row}, {column} {percent(share)}" for (row, column), share in largest)
            words += f"Largest: {'; '.join(named)}."
        data = csv_text(
            [f"{self.rows_are} [share of {self.share_of}]", *self.columns],
            (
                [row, *(self.cells.get((row, column)) for column in self.columns)]
                for row in self.rows
            ),
        )
        return Drawn(axes, words, data, spots)

    def _axes(self, left: int) -> tuple[Axes, float]:
        """Axes with room for the labels, slanted where they are long; and the width of a cell."""
        count = len(self.columns)
        longest = min(max(map(len, self.columns)), 30)
        slanted = longest * self.letter > (self.width - left) / count - 4
        top, right = 40, 6
        if slanted:
            top = 24 + round(0.62 * self.letter * longest)
            right = max(6, round(0.75 * self.letter * min(len(self.columns[-1]), 30)) - 8)
        height = top + self.row_height * len(self.rows) + 8
        axes = new_axes(self.width, height, left, right, top, 8)
        width = (self.width - left - right) / count
        every = -(-14 // int(width + 1))  # columns to a label
        axes.set_xticks(
            range(0, count, every),
            [_fit(name, 30) for name in self.columns[::every]],
            rotation=38 if slanted else 0,
            rotation_mode="anchor",
            ha="left" if slanted else "center",
        )
        most = int((left - 10) / self.letter)
        axes.set_yticks(range(len(self.rows)), [_fit(row, most) for row in self.rows])
        axes.set_xlim(-0.5, count - 0.5)
        axes.set_ylim(len(self.rows) - 0.5, -0.5)
        axes.xaxis.tick_top()
        axes.spines[:].set_visible(False)
        names = f"{self.rows_are} ↓ · {self.columns_are} →"
        axes.figure.text(2 / self.width, 1 - 12 / height, names, **QUIET)
        return axes, width


def _fit(name: str, most: int) -> str:
    return printable(name if len(name) <= most + 1 else f"{name[: most - 1]}…")


# ---- lengths


@dataclass(frozen=True)
class Histogram(Chart):
    """Columns of equal width, those that a limit of tokens cut off on top in another colour
    (Planner-R1, appendix I; row P14). `lengths`: how long, and whether a limit cut it off.
    `highest` share of the y axis, so that several pictures can be compared."""

    title: str
    unit: str
    lengths: Sequence[tuple[float, bool]]
    limits: Sequence[float]
    highest: float

    def __bool__(self) -> bool:
        return bool(self.lengths)

    def draw(self) -> Drawn:
        bins = binned(self.lengths, self.limits)
        lows, _, whole, cut = zip(*bins, strict=True)
        width = 0.95 * self.limits[1]
        axes = new_axes(520, 200, 48, 14, 22, 40)
        axes.bar(lows, whole, width, align="edge", color=SERIES[0], alpha=0.85)
        axes.bar(lows, cut, width, whole, align="edge", color=SERIES[1], alpha=0.85)
        axes.set_xlim(self.limits[0], self.limits[-1])
        axes.set_ylim(0, max(self.highest, 0.01) * 1.05)
        axes.locator_params(axis="y", nbins=4)
        axes.xaxis.set_major_formatter(lambda value, _: short(value))
        axes.yaxis.set_major_formatter(lambda value, _: short(round(100 * value, 9)))
        axes.grid(axis="y")
        axes.set_xlabel(f"{self.unit} per episode")
        axes.figure.text(2 / 520, 1 - 11 / 200, "% of episodes", **QUIET)
        cut_off = percent(sum(cut))
        if sum(cut):
            words, place = f"cut off by a limit: {cut_off}", (506 / 520, 1 - 11 / 200)
            axes.figure.text(*place, words, ha="right", color=SERIES[1], size=SMALL)
        spots = []
        for low, high, a, b in bins:
            words = f"{short(low)} to {short(high)} {self.unit}: {percent(a + b)} of episodes"
            spots.append((low, high, 0.0, self.highest, f"{words}, cut off {percent(b)}"))
        ordered = sorted(length for length, _ in self.lengths)
        words = (
            f"{plural(len(ordered), 'episode')}: from {short(ordered[0])} to {short(ordered[-1])}"
            f" {self.unit}, half of them at most {short(ordered[len(ordered) // 2])}. Cut off by a"
            f" limit: {cut_off}."
        )
        head = [f"from [{self.unit}]", f"to [{self.unit}]"]
        head += ["share of episodes, whole", "share of episodes, cut off"]
        return Drawn(axes, words, csv_text(head, bins), spots)


def edges(longest: float, columns: int = 24) -> list[float]:
    """Round limits of about so many columns from 0 to beyond the longest."""
    raw = max(longest / columns, 1.0)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(size * power for size in (1, 2, 5, 10) if size * power >= raw)
    return [i * step for i in range(int(longest // step) + 2)]


def binned(
    lengths: Sequence[tuple[float, bool]], limits: Sequence[float]
) -> list[tuple[float, float, float, float]]:
    """(from, to, share of whole episodes, share of those cut off) of each column."""
    width, last, n = limits[1] - limits[0], len(limits) - 2, len(lengths)
    counts = Counter((min(int(length // width), last), cut) for length, cut in lengths)
    return [
        (low, high, counts[i, False] / n, counts[i, True] / n)
        for i, (low, high) in enumerate(pairwise(limits))
    ]

"""The one place that knows matplotlib: a chart's axes in the look of the page, and the finished
chart as SVG text.

Lengths are pixels of the page. Colours are those of `style.LIGHT`; in the page each becomes a CSS
variable, so that one drawing serves the light and the dark page. A drawing carries what it shows in
words (`<desc>`, for whoever does not see it) and in figures (`<metadata>`, a CSV), so that the
page, a saved SVG and the exported CSV cannot tell different things. Matplotlib is imported when
something is drawn: no verb's --help waits for it.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import RLock
from typing import TYPE_CHECKING, Any, ParamSpec

from tripwright.evals.report.markup import esc
from tripwright.evals.report.style import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

P = ParamSpec("P")
Spot = tuple[float, float, float, float, str]  # left, right, low, high in data units; words
SERIES = tuple(LIGHT[f"c{i}"] for i in range(8))
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
    "grid.color": LIGHT["rule"],
    "xtick.labelcolor": LIGHT["muted"],
    "ytick.labelcolor": LIGHT["muted"],
    "xtick.labelsize": SMALL,
    "ytick.labelsize": SMALL,
    "xtick.major.pad": 6,
    "ytick.major.pad": 6,
    "axes.labelpad": 6,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "lines.linewidth": 2,
    "lines.markersize": 6,
    "legend.frameon": False,
    "legend.fontsize": SMALL,
}
_LOCK = RLock()  # matplotlib's settings belong to the process, and `watch --serve` has threads
_PNGS: ContextVar[dict[str, bytes] | None] = ContextVar("pngs", default=None)
# what a spreadsheet takes for a formula when a text begins with it
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_DATA = re.compile(r"<metadata>(.*?)</metadata>", re.DOTALL)
_ATTRIBUTE = re.compile(r' (style|d|x|y|transform)="([^"]*)"')


def styled(draw: Callable[P, str]) -> Callable[P, str]:
    """Draws under the page's style, whatever matplotlib is set to elsewhere in the process."""

    @wraps(draw)
    def within(*args: P.args, **keywords: P.kwargs) -> str:
        from matplotlib import rc_context

        # a letter that our font lacks is drawn by the reader's
        with _LOCK, rc_context(_STYLE), warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            return draw(*args, **keywords)

    return within


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


def finished(
    axes: Axes, title: str, words: str = "", data: str = "", spots: Iterable[Spot] = ()
) -> str:
    """The SVG. `title` names the drawing, `words` say what is seen in it, `data` is the CSV of its
    figures, `spots` are what to show on hovering where."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    width, height = figure.get_size_inches() * 72
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    body = re.sub(r"<style.*?</style>", "", out.getvalue(), count=1, flags=re.DOTALL)
    body = body[body.index("<defs>") : body.rindex("</svg>")]
    # nothing is drawn outside the axes, so clips go, and what only matplotlib's readers need:
    # numbered ids, empty ticks, indents
    body = re.sub(r"<defs>\s*<clipPath.*?</defs>", "", body, flags=re.DOTALL)
    body = re.sub(
        r' id="[a-z0-9.]+_[0-9]+"| clip-path="[^"]*"|\n +|\n(?=<)| (?=\n)', "", body
    ).replace("<g/>", "")
    body = _ATTRIBUTE.sub(_attribute, body.replace(" xlink:href=", " href="))
    body += _hover(axes, spots, height)
    drawing = svg(body, width, height, title, words, data)
    pngs = _PNGS.get()
    if pngs is not None:
        picture = io.BytesIO()
        figure.savefig(picture, format="png", dpi=72 * ZOOM, facecolor=LIGHT["panel"])
        pngs[drawing] = picture.getvalue()
    return drawing


def svg(body: str, width: float, height: float, title: str, words: str = "", data: str = "") -> str:
    description = f"<desc>{esc(words)}</desc>" if words else ""
    figures = f"<metadata>{esc(data)}</metadata>" if data else ""
    return (
        f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{esc(title)}" font-family="{FONT}" xmlns="http://www.w3.org/2000/svg">'
        f"{description}{figures}{body}</svg>"
    )


@contextmanager
def png_files(wanted: bool = True) -> Iterator[dict[str, bytes]]:
    """Where `wanted`, whatever is drawn meanwhile is kept as PNG too: drawing → file."""
    pngs: dict[str, bytes] = {}
    token = _PNGS.set(pngs if wanted else None)
    try:
        yield pngs
    finally:
        _PNGS.reset(token)


def _attribute(match: re.Match[str]) -> str:
    """Shorter, and with variables for colours."""
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
    writer.writerow([_cell(name) for name in head])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return out.getvalue()


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return (
        f"'{text}"
        if isinstance(value, str) and text.startswith(_FORMULA) and not _is_number(text)
        else text
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def data_of(drawing: str) -> str:
    """The CSV that a drawing carries; "" where it has none."""
    match = _DATA.search(drawing)
    return html.unescape(match[1]) if match else ""


def standalone(drawing: str) -> str:
    """The drawing as a file of its own, on light ground: an <img> knows no variables of a page, and
    cannot be hovered over."""
    still = re.sub(r'<g class="strips">.*?</g>|<metadata>.*?</metadata>', "", drawing, flags=re.S)
    ground = f'><rect width="100%" height="100%" fill="{LIGHT["panel"]}"/>'
    return re.sub(r"var\(--(\w+)\)", lambda name: LIGHT[name[1]], still).replace(">", ground, 1)


def picture(label: str, panels: Sequence[tuple[str, str]], columns: int) -> str:
    """A file of its own out of several titled drawings, row by row."""
    boxes = [re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', drawing) for _, drawing in panels]
    sizes = [(float(box[1]), float(box[2])) if box else (0.0, 0.0) for box in boxes]
    parts: list[str] = []
    y = widest = 16.0
    for i in range(0, len(panels), columns):
        x = 16.0
        for (title, drawing), (width, height) in zip(
            panels[i : i + columns], sizes[i : i + columns], strict=True
        ):
            parts.append(
                f'<text x="{x:g}" y="{y + 12:g}" fill="{LIGHT["ink"]}" font-family="{FONT}"'
                f' font-size="15" font-weight="650">{esc(title)}</text>'
                + standalone(drawing).replace(
                    "<svg ", f'<svg x="{x:g}" y="{y + 28:g}" width="{width:g}" height="{height:g}" '
                )
            )
            x += width + 14
        widest = max(widest, x + 2)
        y += 44 + max(height for _, height in sizes[i : i + columns])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {widest:g} {y:g}"'
        f' width="{widest:g}" height="{y:g}" role="img" aria-label="{esc(label)}">'
        f'<rect width="100%" height="100%" rx="10" fill="{LIGHT["panel"]}"/>'
        f"{''.join(parts)}</svg>\n"
    )

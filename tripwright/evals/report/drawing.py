"""One drawing as SVG text, in the page or as a file of its own. No scripts and no libraries: the
page must open offline in ten years.

A drawing carries what it shows in words (`<desc>`, for whoever does not see it) and in figures
(`<metadata>`, a CSV), so that the page, a saved SVG and the exported CSV cannot tell different
things.
"""

from __future__ import annotations

import csv
import html
import io
import math
import re
from collections.abc import Iterable, Sequence

from tripwright.evals.report.markup import esc
from tripwright.evals.report.style import CHART_CSS, LIGHT, standalone_css

# what a spreadsheet takes for a formula when a text begins with it
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_DATA = re.compile(r"<metadata>(.*?)</metadata>", re.DOTALL)


def svg(body: str, width: float, height: float, title: str, words: str = "", data: str = "") -> str:
    """`title` names the drawing, `words` say what is seen in it, `data` is the CSV of its
    figures."""
    told = f"<desc>{esc(words)}</desc>" if words else ""
    held = f"<metadata>{esc(data)}</metadata>" if data else ""
    return (
        f'<svg class="chart" viewBox="0 0 {width:g} {height:g}" role="img"'
        f' aria-label="{esc(title)}" xmlns="http://www.w3.org/2000/svg">{told}{held}{body}</svg>'
    )


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
    found = _DATA.search(drawing)
    return html.unescape(found[1]) if found else ""


def still(chart: str) -> str:
    """The chart for a file of its own: an <img> cannot be hovered over."""
    return re.sub(
        r'<g class="strips">.*?</g>|<title>.*?</title>|<metadata>.*?</metadata>',
        "",
        chart,
        flags=re.DOTALL,
    )


def picture(width: int, height: int, label: str, body: str) -> str:
    """A file of its own out of several panels, on light ground."""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}"'
        f' height="{height}" role="img"'
        f' aria-label="{esc(label)}"><style>{standalone_css(CHART_CSS, LIGHT)}</style><rect'
        f' width="{width}" height="{height}" rx="10" fill="{LIGHT["panel"]}"/>{body}</svg>\n'
    )


def standalone(chart: str, theme: dict[str, str] = LIGHT) -> str:
    """The chart as a picture of its own, on light ground."""
    ground = f'<rect width="100%" height="100%" fill="{theme["panel"]}"/>'
    return still(chart).replace(
        ">", f"><style>{standalone_css(CHART_CSS, theme)}</style>{ground}", 1
    )

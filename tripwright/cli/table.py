"""Tables for people: cells of text in aligned columns. Every table that a verb prints comes from
here."""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

NARROWEST = 20  # characters of a last column that is wrapped
GAP = "  "


def table_lines(
    rows: Iterable[Sequence[str]],
    align: str = "<",
    header: Sequence[str] | None = None,
    indent: int = 2,
    width: int | None = None,
) -> list[str]:
    """`align` holds a "<" or ">" for each column; its last one counts for all columns after it. A
    row may be shorter than others. Where `width` is given, the last column is wrapped so that no
    line is longer."""
    body = [*([header] if header else []), *rows]
    columns = list(zip_longest(*body, fillvalue=""))
    widths = [max(map(display_width, column)) for column in columns]
    signs = align.ljust(len(columns), align[-1])
    start = " " * indent
    if width is not None and columns:
        before = indent + sum(widths[:-1]) + len(GAP) * (len(widths) - 1)
        widths[-1] = min(widths[-1], max(NARROWEST, width - before))
    lines = []
    for row in zip(*columns, strict=True):
        *cells, last = row
        for part in (width is not None and textwrap.wrap(last, widths[-1])) or [last]:
            padded = map(_padded, [*cells, part], widths, signs)
            lines.append((start + GAP.join(padded)).rstrip())
            cells = [""] * len(cells)
    return lines


def display_width(text: str) -> int:
    """In columns of a terminal: wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 1 + (unicodedata.east_asian_width(c) in "WF")
        for c in text
    )


def _padded(cell: str, width: int, sign: str) -> str:
    padding = " " * (width - display_width(cell))
    return padding + cell if sign == ">" else cell + padding


def rate_cells(rate: Mapping[str, Any]) -> list[str]:
    """A rate with its interval, where there are any, as cells: "81.2%", "[70.1%, 89.0%]",
    "13/16"; the counts by whichever names the rate has them."""
    hits, n = rate.get("k", rate.get("numerator")), rate.get("n", rate.get("denominator"))
    counts = "" if hits is None else f"{hits}/{n}"
    if rate["value"] is None:
        return ["-", "", counts]
    interval = "" if rate["low"] is None else f"[{rate['low']:.1%}, {rate['high']:.1%}]"
    return [f"{rate['value']:.1%}", interval, counts]

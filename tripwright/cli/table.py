"""Tables for people: cells of text in aligned columns. Every table that a verb prints comes from
here."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from tripwright.errors import printable

GAP = "  "


def table_lines(
    rows: Iterable[Sequence[str]],
    align: str = "<",
    header: Sequence[str] | None = None,
    indent: int = 2,
) -> list[str]:
    """`align` holds a "<" or ">" for each column; its last one counts for all columns after it. A
    row may be shorter than others."""
    body = [*([header] if header else []), *rows]
    columns = list(zip_longest(*body, fillvalue=""))
    widths = [max(map(display_width, column)) for column in columns]
    signs = align.ljust(len(columns), align[-1])
    return [
        (" " * indent + GAP.join(map(_padded, row, widths, signs))).rstrip()
        for row in zip(*columns, strict=True)
    ]


def figure_lines(figures: Mapping[str, Any]) -> list[str]:
    """One row for each figure: its name, and what it is; nothing for one that is None or empty."""
    said = {name.replace("_", " "): _figure(value) for name, value in figures.items()}
    return table_lines([name, text] for name, text in said.items() if text)


def _figure(value: Any) -> str:
    """A rate with its interval; figures by their names side by side."""
    match value:
        case {"low": _}:
            return " ".join(filter(None, rate_cells(value)))
        case Mapping():
            return ", ".join(f"{printable(name)} {_figure(each)}" for name, each in value.items())
        case int():
            return f"{value:,}"
        case float():
            return f"{value:.4g}"
    return "" if value is None else printable(value)


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

"""Figures for people: cells of text in aligned columns. Every table that a verb prints comes from
here."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import typer
from rich.cells import cell_len

from tripwright.errors import counted, printable

GAP = "  "
MOST_PROBLEMS = 20  # different ones of a file, printed for people


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
    widths = [max(map(cell_len, column)) for column in columns]
    signs = align.ljust(len(columns), align[-1])
    return [
        (" " * indent + GAP.join(map(_padded, row, widths, signs))).rstrip()
        for row in zip(*columns, strict=True)
    ]


def _padded(cell: str, width: int, sign: str) -> str:
    padding = " " * (width - cell_len(cell))
    return padding + cell if sign == ">" else cell + padding


def problem_lines(where: str, problems: Iterable[tuple[int | str, str]]) -> Iterator[str]:
    """Of (line, problem) of a file: the first of each kind. Problems are of one kind where they
    differ in what was found, in quotes or in brackets."""
    kinds = dict[str, list[str]]()
    for line, problem in problems:
        kind = re.sub(r"'[^']*'|(, found | \().*", "", problem)
        kinds.setdefault(kind, []).append(f"{where}{line}: {problem}")
    for first, *more in list(kinds.values())[:MOST_PROBLEMS]:
        yield f"{first} (and {len(more):,} more like it)" if more else first
    if (rest := len(kinds) - MOST_PROBLEMS) > 0:
        yield f"… and {counted(rest, 'more problem')} (--json has every one)"


def rate_cells(rate: Mapping[str, Any]) -> list[str]:
    """A rate with its interval, where there are any, as cells: "81.2%", "[70.1%, 89.0%]",
    "13/16"; the counts by whichever names the rate has them. Without counts it is a mean."""
    hits, n = rate.get("k", rate.get("numerator")), rate.get("n", rate.get("denominator"))
    counts, form = ("", ".4g") if hits is None else (f"{hits}/{n}", ".1%")
    if rate["value"] is None:
        return ["-", "", counts]
    interval = "" if rate["low"] is None else f"[{rate['low']:{form}}, {rate['high']:{form}}]"
    return [f"{rate['value']:{form}}", interval, counts]


def print_figures(figures: Mapping[str, Any], as_json: bool, hidden: Collection[str] = ()) -> None:
    """The figures of a verb on stdout: one JSON object, or the same in lines and tables, without
    those that are for programs alone."""
    shown = {name: value for name, value in figures.items() if name not in hidden}
    typer.echo(json.dumps(figures) if as_json else "\n".join(figure_lines(shown)))


def figure_lines(figures: Mapping[str, Any]) -> list[str]:
    """A line for each figure, then a table for each that consists of several alike: objects by
    their names, or a list of objects."""
    tables = {name: rows for name, value in figures.items() if (rows := _rows_of(value))}
    single = ([_words(name), _cell(figures[name])] for name in figures if name not in tables)
    lines = table_lines(single, indent=0)
    for name, rows in tables.items():
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        body = [
            [printable(str(each)), *(_cell(row.get(key)) for key in columns)]
            for each, row in rows.items()
        ]
        words = (any(isinstance(row.get(key), str) for row in rows.values()) for key in columns)
        align = "<" + "".join("<" if each else ">" for each in words)
        header = ["", *map(_words, columns)] if any(columns) else None
        lines += ["", _words(name), *table_lines(body, align, header)]
    return lines


def _rows_of(value: Any) -> dict[str, Mapping[str, Any]]:
    """Name of a row → its columns; none where the value is no table."""
    if isinstance(value, list):
        value = {str(number): each for number, each in enumerate(value, start=1)}
    if not isinstance(value, Mapping) or not all(isinstance(v, Mapping) for v in value.values()):
        return {}
    return {name: {"": each} if "value" in each else each for name, each in value.items()}


def _cell(value: Any) -> str:
    match value:
        case None | "" | []:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.4g}"
        case {"value": _}:
            return " ".join(filter(None, rate_cells(value)))
        case Mapping():
            return (
                ", ".join(f"{printable(str(key))}: {_cell(each)}" for key, each in value.items())
                or "-"
            )
        case list():
            return ", ".join(map(_cell, value))
    return printable(value)


def _words(name: object) -> str:
    return printable(str(name)).replace("_", " ")

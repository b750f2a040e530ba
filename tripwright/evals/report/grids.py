"""Tables of shares as shaded cells: what fails in which evaluation or step, and which tool follows
which. Pure SVG text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from tripwright.evals.report.drawing import csv_text, svg
from tripwright.evals.report.markup import esc, percent

Cells = Mapping[tuple[str, str], float]  # (row, column) → a share; what is not there is left blank
# opacity: the page's ink must stay readable on the darkest cell, in light and in dark
LIGHTEST, DARKEST = 0.06, 0.6
LETTER = 6.1  # width of a letter of a label, in SVG units


@dataclass(frozen=True)
class Grid:
    """`rows_are` and `columns_are` name the axes; `share_of` says what a cell is a share of."""

    title: str
    rows_are: str
    columns_are: str
    share_of: str
    width: int = 520
    row_height: int = 22
    colour: int = 0


def shaded_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Cells,
    grid: Grid,
    strong: Set[tuple[str, str]] = frozenset(),
    told: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Darker is more, with the share in each cell where it fits. `strong` cells are written bold;
    `told` are words to show on hovering."""
    if not rows or not columns:
        return ""
    left = min(round(LETTER * max(map(len, rows))) + 14, grid.width * 2 // 5)
    slanted = max(len(name) for name in columns) * LETTER > (grid.width - left) / len(columns) - 4
    top = 24 + (round(0.62 * LETTER * min(max(map(len, columns)), 30)) if slanted else 16)
    # a slanted label leans over its column
    right = max(6, round(0.75 * LETTER * min(len(columns[-1]), 30)) - 8) if slanted else 6
    width = (grid.width - left - right) / len(columns)
    parts = [
        f'<text class="unit" x="2" y="12">{esc(grid.rows_are)} ↓ · {esc(grid.columns_are)} →</text>'
    ]
    parts += [
        _column(name, left + width * (j + 0.5), top - 7, slanted) for j, name in enumerate(columns)
    ]
    for i, row in enumerate(rows):
        y = top + grid.row_height * i
        parts.append(
            f'<text class="tick" x="{left - 7}" y="{y + grid.row_height / 2 + 4:.1f}"'
            f' text-anchor="end">{esc(_fit(row, left))}</text>'
        )
        for j, column in enumerate(columns):
            if (share := cells.get((row, column))) is not None:
                words = (told or {}).get(
                    (row, column)
                ) or f"{row}, {column}: {percent(share)} of {grid.share_of}"
                box = (left + width * j, y, width, grid.row_height)
                parts.append(_cell(share, box, words, grid.colour, (row, column) in strong))
    height = top + grid.row_height * len(rows) + 8
    words = (
        f"Rows: {grid.rows_are}. Columns: {grid.columns_are}. Cells: share of {grid.share_of}."
        f" {_largest(cells)}"
    )
    data = csv_text(
        [f"{grid.rows_are} [share of {grid.share_of}]", *columns],
        ([row, *(cells.get((row, c)) for c in columns)] for row in rows),
    )
    return svg("".join(parts), grid.width, height, grid.title, words, data)


def _column(name: str, x: float, y: float, slanted: bool) -> str:
    if not slanted:
        return f'<text class="tick" x="{x:.1f}" y="{y}" text-anchor="middle">{esc(name)}</text>'
    at = f'x="{x - 4:.1f}" y="{y}"'
    return (
        f'<text class="tick" {at} transform="rotate(-38 {x - 4:.1f}'
        f' {y})">{esc(name if len(name) <= 30 else name[:29] + "…")}</text>'
    )


def _fit(name: str, left: int) -> str:
    most = int((left - 10) / LETTER)
    return name if len(name) <= most + 1 else name[: most - 1] + "…"


def _cell(
    share: float, box: tuple[float, float, float, float], words: str, colour: int, strong: bool
) -> str:
    x, y, width, height = box
    opacity = LIGHTEST + (DARKEST - LIGHTEST) * min(max(share, 0.0), 1.0)
    place = (
        f'x="{x + 0.5:.1f}" y="{y + 0.5:.1f}" width="{max(width - 1, 0.5):.1f}"'
        f' height="{height - 1}"'
    )
    figure = ""
    if width >= 22:
        text = f"{100 * share:.0f}" if share >= 0.005 or share == 0 else "<1"
        weight = ' style="font-weight:700"' if strong else ""
        middle = f'x="{x + width / 2:.1f}" y="{y + height / 2 + 4:.1f}" text-anchor="middle"'
        figure = f"<text {middle}{weight}>{esc(text)}</text>"
    shade = f'<rect class="bar s{colour}" style="opacity:{opacity:.2f}" {place}/>'
    return f"<g><title>{esc(words)}</title>{shade}{figure}</g>"


def _largest(cells: Cells, how_many: int = 3) -> str:
    top = sorted(cells.items(), key=lambda item: (-item[1], item[0]))[:how_many]
    return (
        "Largest: "
        + "; ".join(f"{row}, {column} {percent(share)}" for (row, column), share in top)
        + "."
        if top
        else ""
    )

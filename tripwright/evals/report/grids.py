"""Tables of shares as shaded cells: what fails in which evaluation or step, and which tool follows
which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tripwright.evals.report.drawing import QUIET, SERIES, csv_text, finished, new_axes, styled
from tripwright.evals.report.markup import percent, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Cells = Mapping[tuple[str, str], float]  # (row, column) → a share; what is not there is left blank
# opacity: the page's ink must stay readable on the darkest cell, in light and in dark
LIGHTEST, DARKEST = 0.06, 0.6
LETTER = 6.1  # width of a letter of a label
NARROWEST = 22  # of a cell that has room for its figure


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


@styled
def shaded_grid(
    rows: Sequence[str],
    columns: Sequence[str],
    cells: Cells,
    grid: Grid,
    strong: Set[tuple[str, str]] = frozenset(),
    hover: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Darker is more, with the share in each cell where it fits. `strong` cells are written bold;
    `hover` are words to show on hovering."""
    if not rows or not columns:
        return ""
    left = min(round(LETTER * max(map(len, rows))) + 14, grid.width * 2 // 5)
    most = int((left - 10) / LETTER)
    longest = min(max(map(len, columns)), 30)
    slanted = longest * LETTER > (grid.width - left) / len(columns) - 4
    top = 24 + (round(0.62 * LETTER * longest) if slanted else 16)
    right = max(6, round(0.75 * LETTER * min(len(columns[-1]), 30)) - 8) if slanted else 6
    height = top + grid.row_height * len(rows) + 8
    axes = new_axes(grid.width, height, left, right, top, 8)
    width = (grid.width - left - right) / len(columns)
    every = -(-14 // int(width + 1))  # columns to a label
    axes.set_xticks(
        range(0, len(columns), every),
        [_fit(name, 30) for name in columns[::every]],
        rotation=38 if slanted else 0,
        rotation_mode="anchor",
        ha="left" if slanted else "center",
    )
    axes.set_yticks(range(len(rows)), [_fit(row, most) for row in rows])
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.xaxis.tick_top()
    axes.spines[:].set_visible(False)
    names = f"{grid.rows_are} ↓ · {grid.columns_are} →"
    axes.figure.text(2 / grid.width, 1 - 12 / height, names, **QUIET)
    spots = []
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            if (share := cells.get((row, column))) is None:
                continue
            bold = (row, column) in strong
            _cell(axes, i, j, share, SERIES[grid.colour], width >= NARROWEST, bold)
            words = f"{row}, {column}: {percent(share)} of {grid.share_of}"
            words = (hover or {}).get((row, column)) or words
            spots.append((j - 0.5, j + 0.5, i + 0.5, i - 0.5, words))
    words = (
        f"Rows: {grid.rows_are}. Columns: {grid.columns_are}. Cells: share of {grid.share_of}."
        f" {_largest(cells)}"
    )
    data = csv_text(
        [f"{grid.rows_are} [share of {grid.share_of}]", *columns],
        ([row, *(cells.get((row, column)) for column in columns)] for row in rows),
    )
    return finished(axes, grid.title, words, data, spots)


def _cell(axes: Axes, i: int, j: int, share: float, colour: str, figure: bool, bold: bool) -> None:
    opacity = LIGHTEST + (DARKEST - LIGHTEST) * min(max(share, 0.0), 1.0)
    axes.barh(i, 0.96, 0.94, j - 0.48, color=(colour, opacity))
    if figure:
        text = f"{100 * share:.0f}" if share >= 0.005 or share == 0 else "<1"
        weight = "bold" if bold else "normal"
        axes.text(j, i, text, ha="center", va="center", weight=weight)


def _fit(name: str, most: int) -> str:
    return printable(name if len(name) <= most + 1 else f"{name[: most - 1]}…")


def _largest(cells: Cells, count: int = 3) -> str:
    top = sorted(cells.items(), key=lambda item: (-item[1], item[0]))[:count]
    words = "; ".join(f"{row}, {column} {percent(share)}" for (row, column), share in top)
    return f"Largest: {words}." if top else ""

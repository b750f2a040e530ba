"""Every figure and table of a report's page as files: SVG, PNG and CSV of each figure, CSV of each
table, and index.csv that lists them.

They are taken from the page itself, so nothing is exported that the page does not show, and nothing
is left out.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tripwright.errors import UserError
from tripwright.evals.report.drawing import csv_text, data_of, standalone
from tripwright.files import write_atomically

INDEX = "index.csv"
HEAD = ("name", "kind", "section", "title", "note", "svg", "png", "csv")
LONGEST_NAME = 90
NOT_EXPORTED = ("episodes",)  # the transcripts: they are in their own files
_MAIN = re.compile(r"<main[^>]*>(.*)</main>", re.DOTALL)
_PARTS = re.compile(
    r'<section id="(?P<section>[^"]*)"|<h(?P<level>[234])[^>]*>(?P<heading>.*?)</h(?P=level)>'
    r"|<figure[^>]*>(?P<figure>.*?)</figure>|<table[^>]*>(?P<table>.*?)</table>",
    re.DOTALL,
)
_DRAWING = re.compile(r'<svg class="chart".*?</svg>', re.DOTALL)
_BOX = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
_CELL = re.compile(r"<t[hd][^>]*>(.*?)(?=<t[hd][ >]|</tr>|</t[hd]>|\Z)", re.DOTALL)


Names = tuple[str, str, str, str]


@dataclass(frozen=True)
class Part:
    """A figure (with `svg`) or a table of the page."""

    section: str
    title: str
    note: str
    csv: str
    svg: str = ""
    png: bytes = b""


@dataclass(frozen=True)
class Exported:
    folder: Path
    figures: int
    tables: int


def export_page(page: str, pngs: Mapping[str, bytes], folder: Path) -> Exported:
    """Writes the files and returns what was written. `pngs` are those of the page's drawings
    (`drawing.png_files`). Of an earlier export in `folder` the files are replaced.

    Raises UserError where `folder` is no folder, or holds anything else.
    """
    parts = list(parts_of(page, pngs))
    _make_room(folder)
    names = [_names(part, number) for number, part in enumerate(parts, start=1)]
    rows = [
        [name, "figure" if part.svg else "table", part.section, part.title, part.note, *files]
        for part, (name, *files) in zip(parts, names, strict=True)
    ]
    # first: whoever stops us can be followed by another export
    write_atomically(folder / INDEX, csv_text(HEAD, rows))
    for part, (_, *files) in zip(parts, names, strict=True):
        contents: tuple[str | bytes, ...] = (part.svg + "\n", part.png, part.csv)
        for name, content in zip(files, contents, strict=True):
            if name:
                write_atomically(folder / name, content)
    figures = sum(bool(part.svg) for part in parts)
    return Exported(folder, figures, len(parts) - figures)


def _names(part: Part, number: int) -> Names:
    """What it is called, and its files: SVG, PNG, CSV, "" for one that it does not have."""
    name = f"{number:02d}-{_slug(part.section)}-{_slug(part.title)}"[:LONGEST_NAME].rstrip("-")
    return (
        name,
        f"{name}.svg" if part.svg else "",
        f"{name}.png" if part.png else "",
        f"{name}.csv" if part.csv else "",
    )


def check_export_folder(folder: Path) -> None:
    """Raises UserError for a place that figures cannot be written to, before any work is done."""
    if folder.exists() and not folder.is_dir():
        raise UserError(
            f"--export '{folder}' is a file. Expected a folder, new or of an earlier export."
        )
    if folder.is_dir() and any(folder.iterdir()) and not (folder / INDEX).is_file():
        raise UserError(
            f"--export '{folder}' holds other files. Expected a new or an empty folder, or one of"
            f" an earlier export ({INDEX})."
        )


def _make_room(folder: Path) -> None:
    check_export_folder(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"--export '{folder}' cannot be made: {error.strerror or error}. Expected a folder in a"
            " place that can be written to."
        ) from None
    if not (folder / INDEX).is_file():
        return
    for row in csv.DictReader(
        io.StringIO((folder / INDEX).read_text(encoding="utf-8", errors="replace"))
    ):
        for ending in ("svg", "png", "csv"):
            name = row.get(ending) or ""
            # nothing outside, whatever the file says
            if name and Path(name).name == name and name != INDEX:
                (folder / name).unlink(missing_ok=True)


def parts_of(page: str, pngs: Mapping[str, bytes]) -> Iterator[Part]:
    """Figures and tables of the page in order, each with the section and the nearest heading above
    it."""
    body = _MAIN.search(page)
    section, heading = "", ""
    for match in _PARTS.finditer(body[1] if body else page):
        if match["section"] is not None:
            section, heading = match["section"], ""
        elif match["heading"] is not None:
            heading = _words(match["heading"])
        elif section in NOT_EXPORTED:
            continue
        elif match["figure"] is not None:
            yield from _figure(match["figure"], section, pngs)
        elif rows := _rows(match["table"]):
            yield Part(section, heading or section, "", csv_text(rows[0], rows[1:]))


def _figure(text: str, section: str, pngs: Mapping[str, bytes]) -> Iterator[Part]:
    drawing = _DRAWING.search(text)
    if not drawing:
        return
    title = re.search(r'aria-label="([^"]*)"', drawing[0])
    note = re.search(r'<p class="note">(.*?)</p>', text, re.DOTALL)
    sized = _BOX.sub(
        lambda box: f'{box[0]} width="{box[1]}" height="{box[2]}"', drawing[0], count=1
    )
    words = html.unescape(title[1]) if title else ""
    yield Part(
        section,
        words,
        _words(note[1]) if note else "",
        data_of(drawing[0]),
        standalone(sized),
        pngs.get(drawing[0], b""),
    )


def _rows(table: str) -> list[list[str]]:
    """Names and cells. What stands small in a cell (an interval, a count) gets a column of its own
    beside it; empty columns go."""
    lines = [_CELL.findall(row) for row in re.findall(r"<tr[^>]*>(.*?)</tr>", table, re.DOTALL)]
    width = max(map(len, lines), default=0)
    if width == 0:
        return []
    cells = [[_cell(cell) for cell in line] + [("", "")] * (width - len(line)) for line in lines]
    if "<thead" not in table:
        cells.insert(0, [("name" if i == 0 else "value", "") for i in range(width)])
    columns: list[Sequence[str]] = []
    for i, column in enumerate(zip(*cells, strict=True)):
        name = column[0][0] or ("name" if i == 0 else "")
        body = column[1:]
        if any(words for words, _ in body):
            columns.append([name, *(words for words, _ in body)])
        if any(small for _, small in body):
            columns.append([f"{name}, note", *(small for _, small in body)])
    return [list(row) for row in zip(*columns, strict=True)]


def _cell(text: str) -> tuple[str, str]:
    small = "; ".join(
        filter(None, map(_words, re.findall(r"<small[^>]*>(.*?)</small>", text, re.DOTALL)))
    )
    return (
        _words(re.sub(r"<small[^>]*>.*?</small>|<svg.*?</svg>", "", text, flags=re.DOTALL)),
        small,
    )


def _words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", markup)).split())


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"

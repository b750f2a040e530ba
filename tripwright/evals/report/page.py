"""A page as data: sections of headings, texts, cards, tables and figures. It is written by one
template as one offline HTML file, and exported as files.

A page makes no request to anywhere. Its own scripts are the only ones that may run: its
Content-Security-Policy names them by their hashes and forbids every load. Without JavaScript it
still shows its summary, tables and figures. Every text that comes from a file is escaped by the
template: a model may write any text, and a page must show it, never run it.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from tripwright.errors import UserError, counted
from tripwright.evals.report.charts import DARK, LIGHT, Lines
from tripwright.evals.report.markup import (
    Estimate,
    of_words,
    percent,
    plain,
    printable,
    short,
    shown,
    shown_interval,
    signed,
)
from tripwright.files import csv_text, make_parent, write_atomically

if TYPE_CHECKING:
    from jinja2 import Environment

    from tripwright.evals.report.viewer import Viewer


# ---- what a page is made of; a part that holds nothing is False and not shown


class Cell(NamedTuple):
    """Of a table. `small` stands beneath the text, `hint` is shown on hovering."""

    text: str = ""
    small: Sequence[str] = ()
    css: str = "num"
    hint: str = ""
    shade: float | None = None  # from 0 to 1: the more, the darker


Value = Cell | Estimate | str | None  # of a table


def cell_of(value: Value) -> Cell:
    """A figure with its interval, which says of how many when hovered over; a dash for None."""
    if isinstance(value, Estimate):
        return Cell(shown(value), (shown_interval(value),), hint=of_words(value))
    if value is None:
        return Cell("–", css="num muted")
    return value if isinstance(value, Cell) else Cell(value)


class Part:
    """`holds` names the field without which there is nothing to show."""

    holds = ""

    @property
    def kind(self) -> str:
        return type(self).__name__

    def __bool__(self) -> bool:
        held = getattr(self, self.holds) if self.holds else True
        return any(held) if isinstance(held, list | tuple) else bool(held)


@dataclass(frozen=True)
class PageTable(Part):
    """The first column holds the names of the rows. One without a head is of names and values."""

    head: Sequence[Cell]
    rows: Sequence[Sequence[Cell]]
    css: str = ""
    holds = "rows"

    @classmethod
    def of(
        cls,
        head: Iterable[str | Cell],
        rows: Iterable[tuple[str, str, Iterable[Value]]],
        corner: str = "",
        css: str = "",
    ) -> PageTable:
        """`rows`: what each is, a note beneath, and its values under the names of `head`."""
        columns = [cell_of(name) for name in head]
        return cls(
            [Cell(corner, css=""), *columns] if columns else [],
            [
                [Cell(name, (note,) if note else (), css=""), *map(cell_of, values)]
                for name, note, values in rows
            ],
            css,
        )

    @classmethod
    def of_rates(cls, rows: Mapping[str, Mapping[str, Estimate | None]]) -> PageTable:
        """Each row's rates by the names of the columns, which are those of every row."""
        columns = dict.fromkeys(name for rates in rows.values() for name in rates)
        return cls.of(columns, ((title, "", rates.values()) for title, rates in rows.items()))


@dataclass(frozen=True)
class Text(Part):
    words: str
    css: str = "lede"
    holds = "words"


@dataclass(frozen=True)
class Items(Part):
    items: Sequence[str]
    css: str = "steps"
    holds = "items"


@dataclass(frozen=True)
class Figure(Part):
    """Those that follow each other stand side by side."""

    chart: Lines
    note: str = ""
    holds = "chart"


class Card(NamedTuple):
    """`lines`: (its look, its words)."""

    title: str
    colour: int | None
    lines: Sequence[tuple[str, str]]
    share_done: float | None = None


@dataclass(frozen=True)
class CardRow(Part):
    cards: Sequence[Card]
    holds = "cards"


@dataclass(frozen=True)
class Example(Part):
    """An episode that the page opens with; `place` is its line of the viewer's columns."""

    place: int
    passed: bool
    request: str


@dataclass(frozen=True)
class Episodes(Part):
    """Where the page's scripts build the viewer."""


@dataclass(frozen=True)
class Section(Part):
    """Its `note` alone is nothing to show. `listed`: the menu names it, by its id. Those of level 3
    and 4 stand inside others; a `fold` is closed at first."""

    id: str
    title: str
    parts: Sequence[Part]
    note: str = ""
    level: int = 2
    listed: bool = True
    fold: bool = False
    holds = "parts"


def under(title: str, *parts: Part, note: str = "", level: int = 3) -> Section:
    """These parts under a heading inside a section."""
    return Section("", title, parts, note, level)


# ---- as HTML


def page_file(name: str) -> str:
    """A file of `page/`; the pages of trips and of studies use some of them."""
    return files("tripwright.evals.report").joinpath("page", name).read_text(encoding="utf-8")


@cache
def page_css() -> str:
    """The look of every page, with its colours in light and in dark."""

    def variables(theme: dict[str, str]) -> str:
        return "".join(f"--{name}:{colour};" for name, colour in theme.items())

    keys = "".join(f"i.s{i}{{background:var(--c{i})}}" for i in range(8))
    style = page_file("page.css")
    return style.replace("/*light*/", variables(LIGHT)).replace("/*dark*/", variables(DARK)) + keys


@cache
def _templates() -> Environment:
    from jinja2 import Environment, PackageLoader

    loader = PackageLoader("tripwright.evals.report", "page")
    made = Environment(loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    written = (percent, plain, counted, short, shown, shown_interval, signed)
    made.globals |= {function.__name__: function for function in written}
    return made


def sentence(name: str, *values: Any) -> Markup:
    """A sentence of `page/words.html`, by its name there."""
    macro = getattr(_templates().get_template("words.html").module, name)
    return Markup(" ".join(macro(*values).split()))


def parts_html(parts: Sequence[Part]) -> str:
    """The parts without a page around them."""
    return printable(_templates().get_template("parts.html").render(parts=parts))


@dataclass(frozen=True)
class ReportPage:
    """`keys` name runs by their colours; `form`: where the choice among its rows is sent. A page
    that is not `sealed` has its policy from the server that sends it."""

    title: str
    about: str  # what kind of page it is
    subtitle: str = ""
    sections: Sequence[Section] = ()
    keys: Sequence[str] = ()
    viewer: Viewer | None = None
    form: str = ""
    scripts: Sequence[str] = ("page.js",)
    sealed: bool = True

    @property
    def _scripts(self) -> list[str]:
        sources = [page_file(name) for name in self.scripts]
        sources += [page_file("dom.js") + page_file("viewer.js")] if self.viewer else []
        return [f'(() => {{\n"use strict";\n{source}}})();\n' for source in sources]

    @property
    def script_hashes(self) -> str:
        """As a Content-Security-Policy names them."""
        digests = (hashlib.sha256(script.encode()).digest() for script in self._scripts)
        return " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests)

    def html(self) -> str:
        return printable(
            _templates()
            .get_template("page.html")
            .render(
                page=self,
                sections=[section for section in self.sections if section],
                css=Markup(page_css() + (page_file("viewer.css") if self.viewer else "")),
                scripts=[Markup(script) for script in self._scripts],
            )
        )

    def write(self, target: Path) -> None:
        """An older page stays whole until the new one is; a character that UTF-8 cannot write
        becomes a question mark."""
        write_atomically(target, self.html().encode("utf-8", "replace"))


# ---- as files: SVG and CSV of each figure, and index.csv that lists them

INDEX = "index.csv"
HEAD = ("name", "section", "title", "note")
OWN_FILES = re.compile(r"\d\d+-[a-z0-9-]+\.(svg|csv)")
LONGEST_NAME = 90


def export(page: ReportPage, folder: Path) -> int:
    """Writes the figures that the page shows and returns how many. Of an earlier export in `folder`
    the files are replaced. Raises UserError where `folder` is no folder, or holds anything else."""
    check_export_folder(folder)
    for path in folder.iterdir():
        if OWN_FILES.fullmatch(path.name):
            path.unlink()
    rows: list[list[str]] = []
    contents: dict[str, str] = {}
    for section in filter(None, page.sections):
        for figure in _figures(section.parts):
            title = figure.chart.title
            name = f"{len(rows) + 1:02d}-{_slug(section.id)}-{_slug(title)}"
            name = name[:LONGEST_NAME].rstrip("-")
            contents |= {f"{name}.svg": figure.chart.standalone, f"{name}.csv": figure.chart.csv}
            rows.append([name, section.id, title, _plain(figure.note)])
    # first: whoever stops us can be followed by another export
    write_atomically(folder / INDEX, csv_text(HEAD, rows))
    for name, content in contents.items():
        write_atomically(folder / name, content)
    return len(rows)


def _figures(parts: Sequence[Part]) -> Iterator[Figure]:
    for part in filter(None, parts):
        if isinstance(part, Section):
            yield from _figures(part.parts)
        elif isinstance(part, Figure):
            yield part


def _plain(words: str) -> str:
    return words.striptags() if isinstance(words, Markup) else " ".join(printable(words).split())


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "part"


def check_export_folder(folder: Path) -> None:
    """Makes it. Raises UserError for a place that figures cannot be written to, before any work is
    done."""
    make_parent(folder / INDEX)
    if any(folder.iterdir()) and not (folder / INDEX).is_file():
        raise UserError(
            f"--export '{folder}' holds other files. Expected a new or an empty folder, or one of"
            f" an earlier export ({INDEX})."
        )

"""How tools look to a model, called a face: data (names of tools and arguments, words of values,
columns, sentences) and one function that writes results as text.

What every face has from here: cheapest-first sorting, pages, answers as data, results as JSON, and
the choice of its own sentence for what went wrong."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import accumulate
from operator import attrgetter
from string import Formatter, ascii_uppercase
from typing import Any, NamedTuple

from tripwright.tools.answer import TEXT, ToolAnswer, ToolError, harmless
from tripwright.tools.signatures import CheckedCall, Core, Offer, ToolName, tool_functions
from tripwright.transcript import Rows


def number(value: float) -> int | float:
    """Whole numbers without ".0", others with the noise of binary fractions (0.1 + 0.2) cut at 12
    digits."""
    return int(value) if float(value).is_integer() else float(f"{value:.12g}")


def as_it_is(value: Any) -> Any:
    return value


class Column(NamedTuple):
    """What a face calls a field of a record, and how it writes its value. `name`: what rows call
    it, if not by the field."""

    label: str
    field: str  # "" for what is no record's, such as the number of a row
    form: Callable[[Any], Any] = as_it_is
    name: str = ""

    def of(self, records: Iterable[Any]) -> list[Any]:
        values = map(attrgetter(self.field), records)
        return list(values if self.form is as_it_is else map(self.form, values))


def columns(*fields: str | tuple[Any, ...]) -> tuple[Column, ...]:
    """A name alone is label and field; else what a Column has."""
    return tuple(Column(each, each) if isinstance(each, str) else Column(*each) for each in fields)


def letters(number: int) -> str:
    """Of row `number`, from 1: A to Z, AA, AB, … as the columns of a spreadsheet."""
    before, last = divmod(number - 1, 26)
    return (letters(before) if before else "") + ascii_uppercase[last]


# last word of a field → its unit
_UNITS = {"usd": "USD", "miles": "miles", "km": "km", "minutes": "minutes", "nights": "nights"}


@dataclass(frozen=True, eq=False)
class Table:
    """`heading` and `row` are sentences for faces that write sentences: of a heading's record and
    {count}, of a row's labels and {n}."""

    columns: tuple[Column, ...]
    cheapest_first: str | None = None  # the field of the price; None keeps the file order
    heading: str = ""
    row: str = ""
    # in arrays, a letter opens each row and stands before its last cell, the name, so that both can
    # be referred to: ["B",159,"Private room","(B) Ash Inn"]
    lettered: bool = False

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.columns)

    @cached_property
    def fields(self) -> dict[str, Column]:
        """Name in rows → its column: a field that stands in two columns is there once."""
        return {column.name or column.field: column for column in self.columns if column.field}

    @cached_property
    def units(self) -> dict[str, str]:
        return {
            name: _UNITS[word]
            for name in self.fields
            if (word := name.rpartition("_")[2]) in _UNITS
        }

    @cached_property
    def of_all(self) -> tuple[str, ...]:
        """The fields that the heading says once, of all rows."""
        return tuple(
            name for _, name, _, _ in Formatter().parse(self.heading) if name and name != "count"
        )

    def rows(self, records: Sequence[Any]) -> tuple[tuple[Any, ...], ...]:
        """The values of each record, as this face writes them."""
        return tuple(zip(*(column.of(records) for column in self.fields.values()), strict=True))

    def as_dict(self, record: Any) -> dict[str, Any]:
        return dict(zip(self.fields, self.rows((record,))[0], strict=True))


class Page(NamedTuple):
    """What a search found, or one page of it. `first` is the number of its first row among all
    `total`, from 1."""

    records: Sequence[Any]
    first: int
    total: int
    page: int
    pages: int

    @property
    def place(self) -> str:
        """'Rows 13-24 of 340, page 2 of 29.' and what to ask for next; empty where the answer is
        whole."""
        if self.pages == 1:
            return ""
        last = self.first + len(self.records) - 1
        more = f" Ask for page {self.page + 1} to see more." if self.page < self.pages else ""
        return f"Rows {self.first}-{last} of {self.total}, page {self.page} of {self.pages}.{more}"


NOTHING = Page((), 1, 0, 1, 1)


class Refusal(NamedTuple):
    """What is said where there is no result, and its kind as the words tell it."""

    problem: str
    kind: str


@dataclass(slots=True)
class Pieces:
    """The text of an answer in pieces, `between` standing between rows. Rows that are `closed` (by
    a bracket) show by themselves that they are whole; of others, only what follows shows that no
    digit is missing."""

    head: str
    rows: Sequence[str] = ()
    between: str = ""
    tail: str = ""
    closed: bool = True

    @property
    def text(self) -> str:
        return self.head + self.between.join(self.rows) + self.tail

    def row_ends(self) -> list[int]:
        """After how many characters of the text each row stands there whole."""
        further = len(self.between)
        begins = [*accumulate((len(row) + further for row in self.rows), initial=len(self.head))]
        if self.closed:
            return [begin - further for begin in begins[1:]]
        return [min(begin, len(self.text)) for begin in begins[1:]]


ToolResult = Any  # a Page, a Refusal, or what else a tool of this core returns
Sentences = Mapping[str, str]  # kind of error → a sentence


@dataclass(frozen=True, eq=False)
class Face:
    """`names` lists the tools that are offered, in the order in which they are shown: by default
    every tool of the core, by its own name.

    `sentences` are the face's own words for what went wrong, tool by tool of the core ("" for every
    tool). They may use the arguments of the call by the core's names (in the face's words), what
    the error says besides, and {problem}, the core's own sentence, which is also what stands where
    a face has no sentence.
    """

    name: str
    write: Callable[[Face, ToolResult], Pieces]
    # record type → its columns; a result that has several `records` says so by this name
    tables: Mapping[type, Table]
    names: Mapping[str, ToolName] = None  # type: ignore[assignment]
    # argument of the core → the core's word → the face's
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    sentences: Mapping[str, Sentences] = field(default_factory=dict)
    core: type[Core] = Core
    # type of a result → how it is written where that is not by `write`
    own_texts: Mapping[type, Callable[[Any], Pieces]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.names is None:
            tools = tool_functions(self.core)
            object.__setattr__(self, "names", {tool: ToolName(tool) for tool in tools})

    @cached_property
    def offer(self) -> Offer:
        return Offer(tool_functions(self.core), self.names, self.words)

    def schemas(self, paged: bool = False) -> list[dict[str, Any]]:
        return self.offer.schemas(paged)

    def answer(self, result: Any, page: int = 1, page_rows: int | None = None) -> ToolAnswer:
        """A tool's result as this face writes it; of a list longer than `page_rows`, one page.

        Tables keep the file order among equal prices. Raises ToolError for a page that is not
        there.
        """
        return self.answer_whole(
            _page_of(self.in_order(result), page, page_rows) if isinstance(result, list) else result
        )

    def answer_whole(self, result: ToolResult) -> ToolAnswer:
        own_text = self.own_texts.get(type(result))
        pieces = self.write(self, result) if own_text is None else own_text(result)
        return ToolAnswer(
            pieces.text,
            isinstance(result, Refusal),
            None,
            partial(self.rows, result),
            pieces.row_ends,
        )

    def rows(self, result: ToolResult) -> Rows:
        """The same as data. Records that this face has no table for count as text."""
        if isinstance(result, Refusal):
            return Rows(problem=result.kind, note=result.problem)
        records = getattr(result, "records", (result,))
        if not records:
            return Rows(note=getattr(result, "note", ""))
        tables = [self.tables.get(kind) for kind in dict.fromkeys(map(type, records))]
        table = tables[0]
        if table is None or None in tables:
            return TEXT
        if len(tables) == 1 and table.columns:
            fields, values, units = tuple(table.fields), table.rows(records), table.units
        else:  # a row of another kind among them, or rows with names of their own
            units = {field: unit for each in tables if each for field, unit in each.units.items()}
            dicts = [self.table_of(record).as_dict(record) for record in records]
            fields = tuple(dict.fromkeys(name for row in dicts for name in row))
            values = tuple(tuple(map(row.get, fields)) for row in dicts)
        about = {name: getattr(records[0], name) for name in table.of_all}
        first, total, page, pages = (
            result[1:5] if isinstance(result, Page) else (1, len(records), 1, 1)
        )
        return Rows(
            type(records[0]).__name__, fields, values, units, about, first, total, page, pages
        )

    def table_of(self, record: Any) -> Table:
        """Raises LookupError for records of a kind that this face does not know."""
        if (table := self.tables.get(type(record))) is None:
            raise LookupError(
                f"face '{self.name}' has no table for {type(record).__name__}; its `tables` say how"
                " records are shown"
            )
        return table

    def in_order(self, records: list[Any]) -> list[Any]:
        price = self.table_of(records[0]).cheapest_first if records else None
        return sorted(records, key=attrgetter(price)) if price else records

    def error(self, message: str, kind: str) -> ToolAnswer:
        return self.answer_whole(Refusal(message, kind))

    def refusal(self, error: ToolError, call: CheckedCall | None, tool: str | None) -> ToolAnswer:
        """What went wrong, in this face's words. `tool` is the core's name of what was called,
        `call` the call as far as it was read.

        Where a face has one sentence for several kinds of error, the first of them is recorded.
        """
        of_tool = self.sentences.get(tool or "", {})
        sentences = of_tool if error.kind in of_tool else self.sentences.get("", {})
        sentence = sentences.get(error.kind)
        if sentence is None:
            return self.error(str(error), error.kind)
        kind = next(kind for kind, each in sentences.items() if each == sentence)
        said = call.arguments if call else {}
        values = {
            core: harmless(self.words.get(core, {}).get(value, value))
            for core, value in said.items()
        }
        return self.error(sentence.format_map({**values, "problem": str(error)}), kind)

    @cached_property
    def empty(self) -> ToolAnswer:
        """An answer without information, used as the control that a policy plans from what it reads
        and not from memory."""
        return self.answer_whole(NOTHING)


def _page_of(records: list[Any], page: int, page_rows: int | None) -> Page:
    total = len(records)
    if page_rows is None:
        return Page(records, 1, total, 1, 1)
    pages = max(1, -(-total // page_rows))
    if page > pages:
        there = f"the pages are 1 to {pages}" if pages > 1 else "there is only page 1"
        raise ToolError(f"Page {harmless(page)} does not exist: {there}.", "page")
    start = (page - 1) * page_rows
    return Page(records[start : start + page_rows], start + 1, total, page, pages)


def write_objects(face: Face, result: ToolResult) -> Pieces:
    """As JSON: rows as a list of objects; of an answer in pages, an object that holds the list as
    "rows" and says where it stands. A result that is no list is one object."""
    match result:
        case Page(records=records, pages=1):
            return Pieces("[", _objects(face, records), ", ", "]")
        case Page(records=records):
            tail = f"], {_json(_place(result))[1:]}"
            return Pieces('{"rows": [', _objects(face, records), ", ", tail)
        case Refusal(problem=problem):
            return Pieces(_json({"error": problem}))
    return Pieces("", _objects(face, [result]))


def write_arrays(face: Face, result: ToolResult) -> Pieces:
    """{"rows": [[…], …]} without spaces, values in the order of the columns, between the row's
    letters where the table has letters. A result that is no list is one object, with labels."""
    match result:
        case Page(records=records, pages=pages):
            tail = f"],{_tight_json(_place(result))[1:]}" if pages > 1 else "]}"
            cells = [_cells(face.table_of(record), record) for record in records]
            if records and face.table_of(records[0]).lettered:
                lettered = ((letters(n), row) for n, row in enumerate(cells, result.first))
                cells = [[it, *row[:-1], f"({it}) {row[-1]}"] for it, row in lettered]
            return Pieces('{"rows":[', [*map(_tight_json, cells)], ",", tail)
        case Refusal(problem=problem):
            return Pieces(_tight_json({"error": problem}))
    return Pieces("", _objects(face, [result], _tight_json))


# encoders made once: `json.dumps` makes one for each call that is not of its own settings
_json = json.JSONEncoder(ensure_ascii=False).encode
_tight_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _objects(face: Face, records: Sequence[Any], write: Callable[[Any], str] = _json) -> list[str]:
    tables = ((face.table_of(record), record) for record in records)
    return [
        write(dict(zip(table.labels, _cells(table, record), strict=True)))
        for table, record in tables
    ]


def _cells(table: Table, record: Any) -> list[Any]:
    """The record's values in the order of the columns, as this face writes them."""
    return [column.form(getattr(record, column.field)) for column in table.columns]


def _place(page: Page) -> dict[str, int]:
    return {"page": page.page, "pages": page.pages, "total_rows": page.total}

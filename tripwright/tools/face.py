"""A face: how the tools look to a model. It is data (names of tools and arguments, words of values, columns, sentences) and one
function that writes results as text.

What every face has from here: cheapest-first sorting, pages, and the choice of its own sentence for what went wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter, call
from typing import Any, NamedTuple

from tripwright.tools.errors import ErrorKind, ToolError, harmless
from tripwright.tools.signatures import Asked, Core, Named, Offer, tool_functions


def number(value: float) -> int | float:
    """Whole numbers without ".0", others with the noise of binary fractions (0.1 + 0.2) cut at 12 digits."""
    return int(value) if float(value).is_integer() else float(f"{value:.12g}")


def as_it_is(value: Any) -> Any:
    return value


class Column(NamedTuple):
    """What a face calls a field of a record, and how it writes its value."""

    label: str
    field: str
    form: Callable[[Any], Any] = as_it_is

    def of(self, records: Iterable[Any]) -> list[Any]:
        return list(map(self.form, map(attrgetter(self.field), records)))


@dataclass(frozen=True, eq=False)
class Table:
    """`heading` and `row` are sentences for faces that write sentences: of a heading's record and {count}, of a row's labels and {n}."""

    columns: tuple[Column, ...]
    cheapest_first: str | None = None  # the field of the price; None keeps the file order
    heading: str = ""
    row: str = ""

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(column.label for column in self.columns)

    @cached_property
    def values(self) -> Callable[[Any], tuple[Any, ...]]:
        """From a record to its values in the order of the columns, as the record has them."""
        fields = [column.field for column in self.columns]
        return attrgetter(*fields) if len(fields) > 1 else lambda record: (getattr(record, fields[0]),)

    def rows(self, records: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The values of each record, as this face writes them, in the order of the columns."""
        forms = [column.form for column in self.columns]
        return (tuple(map(call, forms, self.values(record))) for record in records)


class Rows(NamedTuple):
    """What a search found, or one page of it. `first` is the number of its first row among all `total`, from 1.

    A live answer knows besides where it is from, and says in `note` what was not found.
    """

    records: Sequence[Any]
    first: int
    total: int
    page: int
    pages: int
    source: Any = None
    note: str = ""

    @property
    def place(self) -> str:
        """'Rows 13-24 of 340, page 2 of 29.' and what to ask for next; empty where the answer is whole."""
        if self.pages == 1:
            return ""
        last = self.first + len(self.records) - 1
        more = f" Ask for page {self.page + 1} to see more." if self.page < self.pages else ""
        return f"Rows {self.first}-{last} of {self.total}, page {self.page} of {self.pages}.{more}"


class Refusal(NamedTuple):
    """What is said where there is no result."""

    problem: str


Written = Any  # Rows, a Refusal, or what else a tool of this core returns
Sentences = Mapping[ErrorKind, str]


@dataclass(frozen=True)
class Face:
    """`named` lists the tools that are offered, in the order in which they are shown.

    `sentences` are the face's own words for what went wrong, tool by tool of the core ("" for every tool). They may use the arguments of
    the call by the core's names (in the face's words), what the error says besides, and {problem}, the core's own sentence, which is also
    what stands where a face has no sentence.
    """

    name: str
    write: Callable[[Face, Written], str]
    tables: Mapping[type, Table]  # record type → its columns
    named: Mapping[str, Named]
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)  # argument of the core → the core's word → the face's
    sentences: Mapping[str, Sentences] = field(default_factory=dict)
    core: type[Core] = Core

    @cached_property
    def offer(self) -> Offer:
        return Offer(tool_functions(self.core), self.named, self.words)

    def schemas(self, paged: bool = False) -> list[dict[str, Any]]:
        return self.offer.schemas(paged)

    def text(self, result: Any, page: int = 1, page_rows: int | None = None) -> str:
        """A tool's result as this face writes it; of a list longer than `page_rows`, one page.

        Tables keep the file order among equal prices. Raises ToolError for a page that is not there.
        """
        if not isinstance(result, list):
            return self.write(self, result)
        return self.write(self, _page_of(self.in_order(result), page, page_rows))

    def in_order(self, records: list[Any]) -> list[Any]:
        price = self.tables[type(records[0])].cheapest_first if records else None
        return sorted(records, key=attrgetter(price)) if price else records

    def error(self, message: str) -> str:
        return self.write(self, Refusal(message))

    def refusal(self, error: ToolError, asked: Asked | None, tool: str | None) -> str:
        """What went wrong, in this face's words. `tool` is the core's name of what was called, `asked` the call as far as it was read."""
        sentence = self.sentences.get(tool or "", {}).get(error.kind) or self.sentences.get("", {}).get(error.kind)
        if sentence is None:
            return self.error(str(error))
        said = {core: harmless(self.words.get(core, {}).get(value, value)) for core, value in asked.arguments.items()} if asked else {}
        return self.error(sentence.format_map({**said, **error.said, "problem": str(error)}))

    @property
    def empty(self) -> str:
        """An answer without information, used as the control that a policy plans from what it reads and not from memory."""
        return self.write(self, Rows([], 1, 0, 1, 1))

    def legend(self) -> dict[str, list[str]]:
        """Tool of the core → its column names, for prompts: rows without labels are unreadable to whoever has not been told."""
        return {tool: list(self.tables[record].labels) for tool, record in self.core.RECORDS.items()}

    def fields(self, record: type) -> set[str]:
        """The fields of a record that this face shows."""
        return {column.field for column in self.tables[record].columns}


def _page_of(records: list[Any], page: int, page_rows: int | None) -> Rows:
    total = len(records)
    if page_rows is None:
        return Rows(records, 1, total, 1, 1)
    pages = max(1, -(-total // page_rows))
    if page > pages:
        there = f"the pages are 1 to {pages}" if pages > 1 else "there is only page 1"
        raise ToolError(f"Page {harmless(page)} does not exist: {there}.", "page")
    start = (page - 1) * page_rows
    return Rows(records[start : start + page_rows], start + 1, total, page, pages)

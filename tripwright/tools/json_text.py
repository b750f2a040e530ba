"""Writes tool results as JSON text.

The text is what `json.dumps` gives, but tables are put together from texts of their values: an
answer of many rows is what a tool server spends its time on, and the same prices, times and kinds
of rooms come again and again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from json.encoder import encode_basestring
from operator import call
from typing import Any, get_type_hints

from tripwright.tools.face import Face, Page, Pieces, Refusal, Table, ToolResult, as_it_is, letters

_REMEMBERED = 4096  # texts of values, for each column
_LABEL = "\0"  # where a row's letter goes: JSON's texts never hold this character


def write_objects(face: Face, result: ToolResult) -> Pieces:
    """Rows as a list of objects; of an answer in pages, an object that holds the list as "rows" and
    says where it stands. A result that is no list is one object."""
    match result:
        case Page(records=records, pages=1):
            return Pieces("[", _filled(_object_form, face, records), ", ", "]")
        case Page(records=records):
            return Pieces(
                '{"rows": [',
                _filled(_object_form, face, records),
                ", ",
                f"], {json.dumps(_place(result))[1:]}",
            )
        case Refusal(problem=problem):
            return Pieces(json.dumps({"error": problem}, ensure_ascii=False))
    return Pieces("", _filled(_object_form, face, [result]))


def write_arrays(face: Face, result: ToolResult) -> Pieces:
    """{"rows": [[…], …]} without spaces, values in the order of the columns, between the row's
    letters where the table has letters. A result that is no list is one object, with labels."""
    match result:
        case Page(records=records, pages=pages):
            tail = f"],{_tight(_place(result))[1:]}" if pages > 1 else "]}"
            rows = _filled(_array_form, face, records)
            if records and face.tables[type(records[0])].lettered:
                rows = [_lettered(letters(n), row) for n, row in enumerate(rows, result.first)]
            return Pieces('{"rows":[', rows, ",", tail)
        case Refusal(problem=problem):
            return Pieces(_tight({"error": problem}))
    return Pieces("", _filled(_tight_object_form, face, [result]))


def _filled(form: Callable[[Table], str], face: Face, records: Sequence[Any]) -> list[str]:
    """Each record as JSON: the form has a %s for each value of a row."""
    if not records:
        return []
    kind: Any = type(records[0])
    table = face.tables[kind]
    fill, values, writers = form(table).__mod__, table.values, _value_writers(table, kind)
    return [fill(tuple(map(call, writers, values(record)))) for record in records]


@cache
def _object_form(table: Table) -> str:
    return f"{{{', '.join(f'{label}: %s' for label in _label_texts(table))}}}"


@cache
def _tight_object_form(table: Table) -> str:
    return f"{{{','.join(f'{label}:%s' for label in _label_texts(table))}}}"


@cache
def _array_form(table: Table) -> str:
    cells = ["%s" for _ in table.columns]
    if table.lettered:
        cells[-1] = f"{_LABEL}%s"
    return f"[{','.join(cells)}]"


def _lettered(letter: str, row: str) -> str:
    return f'["{letter}",{row[1:]}'.replace(f'{_LABEL}"', f'"({letter}) ')


def _label_texts(table: Table) -> Iterator[str]:
    return (json.dumps(label, ensure_ascii=False).replace("%", "%%") for label in table.labels)


@cache
def _value_writers(table: Table, record: Any) -> tuple[Callable[[Any], str], ...]:
    """Column by column, from a record's value to its JSON text."""
    is_text = {name for name, kind in get_type_hints(record).items() if kind is str}
    return tuple(
        encode_basestring
        if column.form is as_it_is and column.field in is_text
        else _remembering(column.form)
        for column in table.columns
    )


def _remembering(form: Callable[[Any], Any]) -> Callable[[Any], str]:
    return lru_cache(_REMEMBERED, typed=True)(
        lambda value: json.dumps(form(value), ensure_ascii=False)
    )


def _place(page: Page) -> dict[str, int]:
    return {"page": page.page, "pages": page.pages, "total_rows": page.total}


def _tight(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

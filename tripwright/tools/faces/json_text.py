"""Results as JSON text, for faces whose models were taught to read it.

The text is what `json.dumps` gives, but tables are put together from texts of their values: an answer of many rows is what a tool server
spends its time on, and the same prices, times and kinds of rooms come again and again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from functools import cache, lru_cache
from json.encoder import encode_basestring
from typing import Any

from tripwright.tools.catalog import CityList, Number, Route
from tripwright.tools.faces.base import Face, Refusal, Rows, Table, Written, as_it_is, number

_REMEMBERED = 4096  # texts of values, for each way of writing one


def write_objects(face: Face, result: Written) -> str:
    """Rows as a list of objects; of an answer in pages, an object that holds the list as "rows" and says where it stands."""
    if isinstance(result, Route):
        return next(_objects(face, [result]))
    if not isinstance(result, Rows):
        return json.dumps(_object(result), ensure_ascii=False)
    rows = f"[{', '.join(_objects(face, result.records))}]"
    return f'{{"rows": {rows}, {json.dumps(_place(result))[1:]}' if result.pages > 1 else rows


def write_arrays(face: Face, result: Written) -> str:
    """{"rows": [[…], …]} without spaces, values in the order of the columns; a road as one object with labels."""
    if isinstance(result, Route):
        return next(_labelled(face, [result], ",", ":"))
    if not isinstance(result, Rows):
        return _tight(_object(result))
    rows = f'{{"rows":[{",".join(_arrays(face, result.records))}]'
    return f"{rows},{_tight(_place(result))[1:]}" if result.pages > 1 else f"{rows}}}"


def _objects(face: Face, records: Sequence[Any]) -> Iterator[str]:
    return _labelled(face, records, ", ", ": ")


def _labelled(face: Face, records: Sequence[Any], comma: str, colon: str) -> Iterator[str]:
    """Each record as the text of an object."""
    if not records:
        return iter(())
    table = face.tables[type(records[0])]
    return map(_object_form(table.labels, comma, colon).__mod__, _value_texts(table, records))


@cache
def _object_form(labels: tuple[str, ...], comma: str, colon: str) -> str:
    """An object with a %s for each value."""
    fields = (f"{json.dumps(label, ensure_ascii=False)}{colon}".replace("%", "%%") + "%s" for label in labels)
    return f"{{{comma.join(fields)}}}"


def _arrays(face: Face, records: Sequence[Any]) -> Iterator[str]:
    """Each record as the text of an array."""
    if not records:
        return iter(())
    return (f"[{','.join(texts)}]" for texts in _value_texts(face.tables[type(records[0])], records))


def _value_texts(table: Table, records: Sequence[Any]) -> Iterator[tuple[str, ...]]:
    """Row by row the JSON texts of the values. All values of a field have one type."""
    return zip(
        *(
            map(encode_basestring if column.form is as_it_is and type(values[0]) is str else _value_writer(column.form), values)
            for column, values in table.by_column(records)
        ),
        strict=True,
    )


@cache
def _value_writer(form: Callable[[Any], Any]) -> Callable[[Any], str]:
    """From a field's value to its JSON text."""
    return lru_cache(_REMEMBERED, typed=True)(lambda value: json.dumps(form(value), ensure_ascii=False))


def _object(result: CityList | Number | Refusal) -> dict[str, Any]:
    match result:
        case Number(value):
            return {"result": number(value)}
        case CityList(_, cities):
            return {"cities": list(cities)}
    return {"error": result.problem}


def _place(rows: Rows) -> dict[str, int]:
    return {"page": rows.page, "pages": rows.pages, "total_rows": rows.total}


def _tight(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

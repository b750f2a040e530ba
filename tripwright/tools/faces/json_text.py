"""Results as JSON text, for faces whose models were taught to read it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from tripwright.tools.catalog import CityList, Number, Route
from tripwright.tools.faces.base import Face, Refusal, Rows, Written, number


def write_objects(face: Face, result: Written) -> str:
    """Rows as a list of objects; of an answer in pages, an object that holds the list as "rows" and says where it stands."""
    if not isinstance(result, Rows):
        return json.dumps(_object(face, result), ensure_ascii=False)
    rows = [dict(zip(labels, values, strict=True)) for labels, values in _labelled(face, result)]
    return json.dumps({"rows": rows, **_place(result)} if result.pages > 1 else rows, ensure_ascii=False)


def write_arrays(face: Face, result: Written) -> str:
    """{"rows": [[…], …]} without spaces, values in the order of the columns."""
    if not isinstance(result, Rows):
        return _tight(_object(face, result))
    return _tight({"rows": [values for _, values in _labelled(face, result)], **_place(result)})


def _labelled(face: Face, rows: Rows) -> Iterator[tuple[tuple[str, ...], tuple[Any, ...]]]:
    """Row by row (labels, values)."""
    if rows.records:
        table = face.tables[type(rows.records[0])]
        yield from ((table.labels, values) for values in table.rows(rows.records))


def _object(face: Face, result: Route | CityList | Number | Refusal) -> dict[str, Any]:
    match result:
        case Number(value):
            return {"result": number(value)}
        case CityList(_, cities):
            return {"cities": list(cities)}
        case Refusal(problem):
            return {"error": problem}
    table = face.tables[Route]
    return dict(zip(table.labels, next(table.rows([result])), strict=True))


def _place(rows: Rows) -> dict[str, int]:
    return {"page": rows.page, "pages": rows.pages, "total_rows": rows.total} if rows.pages > 1 else {}


def _tight(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

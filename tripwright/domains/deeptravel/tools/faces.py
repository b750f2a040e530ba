"""The faces of the six live tools (row D1), whose models read JSON.

`deeptravel` writes rows as objects, numbered, with all that is known and the source beside them: an evidence card (row D11) names a call
and a row. `deeptravel_compact` is for tiny models: arrays without labels, few columns, clock times without the day. A tiny model copies
what followed a name when it last stood there, and finds a name by what it has read before it. So a name or number stands first, then what
an answer says of it in the answer's own order, the row's number among it, and then the name once more. An arrival that is earlier on the
clock than its departure is on the next day.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    Found,
    HotelOffer,
    Money,
    Place,
    Record,
    RouteLeg,
    Row,
    TrainOffer,
    WebPage,
)
from tripwright.domains.deeptravel.tools.live_catalog import LiveTools
from tripwright.tools.face import Column, Face, Refusal, Rows, Table, Written, number
from tripwright.tools.signatures import Named, tool_functions

ROW = "row"
_NAMED = {tool: Named(tool) for tool in tool_functions(LiveTools)}


def write_rows(face: Face, result: Written) -> str:
    """{"rows": [{"row": 1, …}, …], "note": …, "source": …}; what is not known is left out."""
    result = _as_rows(result)
    if not isinstance(result, Rows):
        return _refused(result)
    rows = []
    for n, record in enumerate(result.records, start=1):
        rows.append({ROW: n, **{label: value for label, value in _values(face, record) if value is not None and value != ""}})
    answer: dict[str, Any] = {"rows": rows}
    if not rows and result.note:
        answer["note"] = result.note
    if result.source is not None:
        said = (result.source.provider, result.source.fetched_at, result.source.attribution)
        answer["source"] = ", ".join(filter(None, said))
    return json.dumps(answer, ensure_ascii=False)


def write_compact_rows(face: Face, result: Written) -> str:
    """{"rows":[[…],…]}, values in the order of the columns, null where one is not known; the note beside no rows."""
    result = _as_rows(result)
    if not isinstance(result, Rows):
        return _refused(result, (",", ":"))
    answer: dict[str, Any] = {"rows": [_columns(face, n, record) for n, record in enumerate(result.records, start=1)]}
    if not result.records and result.note:
        answer["note"] = result.note
    return json.dumps(answer, ensure_ascii=False, separators=(",", ":"))


def _as_rows(result: Written) -> Written:
    """An answer keeps its order and is whole: what of it is shown was the provider's to say."""
    if isinstance(result, Found):
        return Rows(result.records, 1, len(result.records), 1, 1, result.source, result.note)
    return result


def _values(face: Face, record: Any) -> Iterator[tuple[str, Any]]:
    """Label and value of each column; of a tool outside of row D1 whatever it answered, by its own names."""
    if isinstance(record, Row):
        yield from ((f"{name}_" if name == ROW else name, value) for name, value in record.values)
    else:
        table = face.tables[type(record)]
        yield from zip(table.labels, next(table.rows([record])), strict=True)


def _columns(face: Face, row: int, record: Any) -> list[Any]:
    if isinstance(record, Row):
        return [value for _, value in _values(face, record)]
    return [row if column is NUMBER else column.form(getattr(record, column.field)) for column in face.tables[type(record)].columns]


def _refused(result: Written, separators: tuple[str, str] = (", ", ": ")) -> str:
    assert isinstance(result, Refusal)  # the live tools answer in rows or not at all
    return json.dumps({"error": result.problem}, ensure_ascii=False, separators=separators)


def amount(price: Money | None) -> float | None:
    return None if price is None else price.amount


def currency(price: Money | None) -> str | None:
    return None if price is None else price.currency


def short_amount(price: Money | None) -> int | float | None:
    return None if price is None else number(price.amount)


def short(value: float | None) -> int | float | None:
    return None if value is None else number(value)


def clock(stamp: str) -> str:
    """ "2026-06-26T06:54" → "06:54"."""
    return stamp.partition("T")[2] or stamp


def minutes(value: float) -> int:
    return round(value)


def _table(record: type[Record]) -> Table:
    """Every field by its name; money as `price` and `currency`."""
    columns: list[Column] = []
    for field in fields(record):
        if field.name == "price":
            columns += [Column("price", "price", amount), Column("currency", "price", currency)]
        else:
            columns.append(Column(field.name, field.name))
    return Table(tuple(columns))


DEEPTRAVEL = Face(
    name="deeptravel",
    write=write_rows,
    tables={record: _table(record) for record in (FlightOffer, TrainOffer, RouteLeg, HotelOffer, Place, WebPage)},
    named=_NAMED,
    core=LiveTools,
)

NUMBER = Column(ROW, ROW)  # of the row: no field of a record
_NAME = Column("name", "name")
_BY_CLOCK = (
    Column("number", "number"),
    Column("departs_at", "departs_at", clock),
    Column("arrives_at", "arrives_at", clock),
    Column("price", "price", short_amount),
    NUMBER,
    Column("number", "number"),
)

DEEPTRAVEL_COMPACT = Face(
    name="deeptravel_compact",
    write=write_compact_rows,
    tables={
        FlightOffer: Table(_BY_CLOCK),
        TrainOffer: Table(_BY_CLOCK),
        RouteLeg: Table(
            (Column("minutes", "minutes", minutes), Column("mode", "mode"), NUMBER, Column("distance_km", "distance_km", number))
        ),
        HotelOffer: Table((_NAME, Column("price", "price", short_amount), NUMBER, Column("rating", "rating", short), _NAME)),
        Place: Table((Column("category", "category"), _NAME, NUMBER)),
        WebPage: Table((Column("title", "title"), Column("snippet", "snippet"), NUMBER)),
    },
    named=_NAMED,
    core=LiveTools,
)

FACES = (DEEPTRAVEL, DEEPTRAVEL_COMPACT)

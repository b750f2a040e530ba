"""The names and answer formats under which models see the six live tools: JSON in full, and short
for tiny models (row D1).

`deeptravel` writes rows as objects, numbered, with all that is known and the source beside them: an
evidence card (row D11) names a call and a row. `deeptravel_compact` is for tiny models: arrays
without labels, few columns, clock times without the day. Each row opens with its number, by which a
model goes through the rows one by one; then comes the name or number, and what an answer says of it
in the answer's own order, so that copying goes on from the name. An arrival that is earlier on the
clock than its departure is on the next day.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from operator import attrgetter
from typing import Any

from tripwright.domains.deeptravel.tools.answers import (
    RECORDS,
    FlightOffer,
    HotelOffer,
    PointOfInterest,
    ProviderAnswer,
    Record,
    RouteLeg,
    TrainOffer,
    WebPage,
)
from tripwright.domains.deeptravel.tools.live_tools import LiveTools
from tripwright.tools.face import (
    Column,
    Face,
    Pieces,
    Refusal,
    Table,
    ToolResult,
    columns,
    letters,
    number,
)

ROW = "row"


def write_rows(face: Face, result: ToolResult) -> Pieces:
    """{"rows": [{"row": 1, …}, …], "note": …, "source": …}; what is not known is left out."""
    if not isinstance(result, ProviderAnswer):
        return _without_rows(result, (", ", ": "))
    rows = []
    for n, record in enumerate(result.records, start=1):
        values = face.tables[type(record)].as_dict(record).items()
        known = {name: value for name, value in values if value is not None and value != ""}
        rows.append(_json({ROW: n, **known}))
    further = {"note": result.note} if not rows and result.note else {}
    provenance = (result.source.provider, result.source.fetched_at, result.source.attribution)
    further["source"] = ", ".join(filter(None, provenance))
    return Pieces('{"rows": [', rows, ", ", f"], {_json(further)[1:]}")


def write_compact_rows(face: Face, result: ToolResult) -> Pieces:
    """{"rows":[[…],…]}, values in the order of the columns, null where one is not known; the note
    beside no rows."""
    if not isinstance(result, ProviderAnswer):
        return _without_rows(result, (",", ":"))
    rows = [
        _tight([letters(n), *face.tables[type(record)].as_dict(record).values()])
        for n, record in enumerate(result.records, start=1)
    ]
    note = f'],"note":{_tight(result.note)}}}' if not rows and result.note else "]}"
    return Pieces('{"rows":[', rows, ",", note)


def _without_rows(result: ToolResult, separators: tuple[str, str]) -> Pieces:
    body: dict[str, Any] = (
        {"error": result.problem} if isinstance(result, Refusal) else {"rows": []}
    )
    return Pieces(json.dumps(body, ensure_ascii=False, separators=separators))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _tight(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def known(form: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Writes what is known so, and nothing else."""
    return lambda value: None if value is None else form(value)


def clock(stamp: str) -> str:
    """ "2026-06-26T06:54" → "06:54"."""
    return stamp.partition("T")[2] or stamp


AMOUNT, CURRENCY = known(attrgetter("amount")), known(attrgetter("currency"))


def _table(record: type[Record]) -> Table:
    """Every field by its name; money as `price` and `currency`."""
    money = columns(("price", "price", AMOUNT), ("currency", "price", CURRENCY, "currency"))
    shown: list[Column] = []
    for field in fields(record):
        shown += money if field.name == "price" else columns(field.name)
    return Table(tuple(shown))


DEEPTRAVEL = Face(
    name="deeptravel",
    write=write_rows,
    tables={record: _table(record) for record in RECORDS.values()},
    core=LiveTools,
)

_SHORT_PRICE = ("price", "price", known(lambda price: number(price.amount)))
_BY_CLOCK = Table(
    columns(
        "number",
        ("departs_at", "departs_at", clock),
        ("arrives_at", "arrives_at", clock),
        _SHORT_PRICE,
    )
)

DEEPTRAVEL_COMPACT = Face(
    name="deeptravel_compact",
    write=write_compact_rows,
    tables={
        FlightOffer: _BY_CLOCK,
        TrainOffer: _BY_CLOCK,
        RouteLeg: Table(
            columns("mode", ("minutes", "minutes", round), ("distance_km", "distance_km", number))
        ),
        HotelOffer: Table(
            columns("name", _SHORT_PRICE, "guests", ("rating", "rating", known(number)))
        ),
        PointOfInterest: Table(columns("name", "category")),
        WebPage: Table(columns("title", "snippet")),
    },
    core=LiveTools,
)

FACES = (DEEPTRAVEL, DEEPTRAVEL_COMPACT)

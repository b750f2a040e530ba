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
from dataclasses import fields
from datetime import date as calendar_date
from datetime import timedelta
from typing import Any

from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    HotelOffer,
    Money,
    PointOfInterest,
    ProviderAnswer,
    Record,
    RouteLeg,
    TrainOffer,
    WebPage,
)
from tripwright.domains.deeptravel.tools.live_tools import LiveTools
from tripwright.tools.face import Column, Face, Pieces, Refusal, Table, ToolResult, letters, number
from tripwright.world.store import World

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
    rows = []
    for n, record in enumerate(result.records, start=1):
        table = face.tables[type(record)]
        values = table.as_dict(record)
        cells = [letters(n) if c is NUMBER else values[c.field] for c in table.columns]
        rows.append(_tight(cells))
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
            columns += [
                Column("price", "price", amount),
                Column("currency", "price", currency, "currency"),
            ]
        else:
            columns.append(Column(field.name, field.name))
    return Table(tuple(columns))


DEEPTRAVEL = Face(
    name="deeptravel",
    write=write_rows,
    tables={
        record: _table(record)
        for record in (FlightOffer, TrainOffer, RouteLeg, HotelOffer, PointOfInterest, WebPage)
    },
    core=LiveTools,
)

NUMBER = Column(ROW, "")  # of the row, as a letter: no field of a record
_NAME = Column("name", "name")
_BY_CLOCK = (
    NUMBER,
    Column("number", "number"),
    Column("departs_at", "departs_at", clock),
    Column("arrives_at", "arrives_at", clock),
    Column("price", "price", short_amount),
)

DEEPTRAVEL_COMPACT = Face(
    name="deeptravel_compact",
    write=write_compact_rows,
    tables={
        FlightOffer: Table(_BY_CLOCK),
        TrainOffer: Table(_BY_CLOCK),
        RouteLeg: Table(
            (
                NUMBER,
                Column("mode", "mode"),
                Column("minutes", "minutes", minutes),
                Column("distance_km", "distance_km", number),
            )
        ),
        HotelOffer: Table(
            (
                NUMBER,
                _NAME,
                Column("price", "price", short_amount),
                Column("guests", "guests"),
                Column("rating", "rating", short),
            )
        ),
        PointOfInterest: Table((NUMBER, _NAME, Column("category", "category"))),
        WebPage: Table((NUMBER, Column("title", "title"), Column("snippet", "snippet"))),
    },
    core=LiveTools,
)

FACES = (DEEPTRAVEL, DEEPTRAVEL_COMPACT)


# ---- arguments with which each tool can be tried, for the description of a server

Json = dict[str, Any]


def sample_arguments(world: World) -> dict[str, Json]:
    """Of things that are in the world."""
    city = next(iter(world.cities), "Boston")
    origin, destination = next(iter(world.routes()), (city, city))
    date = next(
        (date for date in world.dates if world.flights(origin, destination, date)), "2022-03-16"
    )
    return live_samples(origin, destination, date)


def live_samples(origin: str, destination: str, date: str) -> dict[str, Json]:
    """Of the six live tools (row D1), for a trip from `date`, an ISO day."""
    ways = {"depart_city_name": origin, "arrival_city_name": destination, "depart_date": date}
    stay = {
        "checkin_date": date,
        "checkout_date": (calendar_date.fromisoformat(date) + timedelta(days=2)).isoformat(),
    }
    return {
        "flight_search": ways,
        "train_search": ways,
        "route_planning": {
            "origin_name": f"{destination} Central Station",
            "destination_name": f"{destination} Airport",
            "city_name": destination,
        },
        "hotel_search": {"city_name": destination, **stay},
        "poi_search": {"query": "museum", "city_name": destination},
        "web_search": {"query": f"what to see in {destination}"},
    }

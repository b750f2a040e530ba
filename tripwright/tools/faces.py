"""Faces: how the results of the tools look as text. A face is data (which columns, in which order, how written) and nothing else.

`planner_r1` (row P1) gives lists of JSON objects with all useful fields in file order. `compact` is for tiny models: short rows without
spaces, cheapest first, the NAME LAST: a small causal model reads left to right, so by the time it meets a name it has already read what
decides whether to copy it. A new face is one more `Face(...)` at the end of this page.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.errors import UserError
from tripwright.tools.catalog import CityList, Number, Route, ToolResult
from tripwright.world.store import Accommodation, Attraction, Flight, Restaurant

Column = tuple[str, Callable[[Any], Any]]  # what the face calls it, and how it is read from a record


@dataclass(frozen=True)
class Table:
    columns: tuple[Column, ...]
    price: Callable[[Any], float] | None = None  # what "cheapest first" sorts by; None keeps the file order


@dataclass(frozen=True)
class Face:
    """`rows_key` None: a table is a list of objects; otherwise {rows_key: [[…], …]}, rows as arrays in the order of the columns."""

    name: str
    tables: Mapping[type, Table]  # record type → its columns; Route is a single object, not a table
    rows_key: str | None
    separators: tuple[str, str]

    def text(self, result: ToolResult) -> str:
        """The JSON text of a tool's result. Tables keep the file order among equal prices."""
        match result:
            case Number(value):
                return self._json({"result": number(value)})
            case CityList(_, cities):
                return self._json({"cities": list(cities)})
            case Route():
                return self._json({label: read(result) for label, read in self.tables[Route].columns})
        return self._rows(result)

    def error(self, message: str) -> str:
        return self._json({"error": message})

    @property
    def empty(self) -> str:
        """An answer without information, used as the control that a policy plans from what it reads and not from memory."""
        return self._rows([])

    def legend(self) -> dict[str, list[str]]:
        """Tool → its column names, for prompts: rows without labels are unreadable to whoever has not been told."""
        return {tool: [label for label, _ in self.tables[record].columns] for tool, record in _TABLE_TOOLS.items()}

    def _rows(self, records: Sequence[Any]) -> str:
        table = self.tables[type(records[0])] if records else Table(())
        if table.price is not None:
            records = sorted(records, key=table.price)
        if self.rows_key is None:
            return self._json([{label: read(record) for label, read in table.columns} for record in records])
        return self._json({self.rows_key: [[read(record) for _, read in table.columns] for record in records]})

    def _json(self, value: Any) -> str:
        return json.dumps(value, ensure_ascii=False, separators=self.separators)


def number(value: float) -> int | float:
    """Whole numbers without ".0", others with the noise of binary fractions (0.1 + 0.2) cut at 12 digits."""
    return int(value) if float(value).is_integer() else float(f"{value:.12g}")


def face_named(name: str) -> Face:
    if name not in FACES:
        raise UserError(f"Unknown face '{name}'. The faces are {', '.join(FACES)}.")
    return FACES[name]


_TABLE_TOOLS: dict[str, type] = {
    "search_flights": Flight,
    "search_accommodations": Accommodation,
    "search_restaurants": Restaurant,
    "search_attractions": Attraction,
    "search_ground_transportation": Route,
}

PLANNER_R1 = Face(
    name="planner_r1",
    rows_key=None,
    separators=(", ", ": "),
    tables={
        Flight: Table(
            (
                ("flight_number", lambda r: r.number),
                ("price", lambda r: number(r.price_usd)),
                ("departure_time", lambda r: r.departure_time),
                ("arrival_time", lambda r: r.arrival_time),
                ("duration", lambda r: r.duration),
                ("date", lambda r: r.date),
                ("origin", lambda r: r.origin),
                ("destination", lambda r: r.destination),
                ("distance", lambda r: f"{number(r.distance_miles)} miles"),  # text, as the plan of row P3 repeats it
            )
        ),
        Accommodation: Table(
            (
                ("name", lambda r: r.name),
                ("price", lambda r: number(r.price_usd)),
                ("room_type", lambda r: r.room_type),
                ("house_rules", lambda r: r.house_rules),
                ("minimum_nights", lambda r: number(r.minimum_nights)),
                ("maximum_occupancy", lambda r: r.maximum_occupancy),
                ("review_rating", lambda r: number(r.rating)),
                ("city", lambda r: r.city),
            )
        ),
        Restaurant: Table(
            (
                ("name", lambda r: r.name),
                ("average_cost", lambda r: number(r.average_cost_usd)),
                ("cuisines", lambda r: r.cuisines),
                ("aggregate_rating", lambda r: number(r.rating)),
                ("city", lambda r: r.city),
            )
        ),
        Attraction: Table(
            (
                ("name", lambda r: r.name),
                ("latitude", lambda r: r.latitude),
                ("longitude", lambda r: r.longitude),
                ("address", lambda r: r.address),
                ("phone", lambda r: r.phone),
                ("website", lambda r: r.website),
                ("city", lambda r: r.city),
            )
        ),
        Route: Table(
            (
                ("mode", lambda r: r.mode),
                ("origin", lambda r: r.origin),
                ("destination", lambda r: r.destination),
                ("duration", lambda r: r.duration),
                ("distance", lambda r: r.distance),
                ("cost", lambda r: r.cost_usd),
            )
        ),
    },
)

COMPACT = Face(
    name="compact",
    rows_key="rows",
    separators=(",", ":"),
    tables={
        Flight: Table(
            (
                ("price", lambda r: number(r.price_usd)),
                ("duration", lambda r: r.duration),
                ("number", lambda r: r.number),
            ),
            price=lambda r: float(r.price_usd),
        ),
        Accommodation: Table(
            (
                ("price", lambda r: number(r.price_usd)),
                ("room_type", lambda r: r.room_type),
                ("minimum_nights", lambda r: number(r.minimum_nights)),
                ("maximum_occupancy", lambda r: r.maximum_occupancy),
                ("house_rules", lambda r: r.house_rules),
                ("name", lambda r: r.name),
            ),
            price=lambda r: float(r.price_usd),
        ),
        Restaurant: Table(
            (
                ("average_cost", lambda r: number(r.average_cost_usd)),
                ("cuisines", lambda r: r.cuisines),
                ("name", lambda r: r.name),
            ),
            price=lambda r: float(r.average_cost_usd),
        ),
        Attraction: Table((("name", lambda r: r.name),)),
        Route: Table(
            (
                ("duration", lambda r: r.duration),
                ("distance", lambda r: r.distance),
                ("cost", lambda r: r.cost_usd),
            )
        ),
    },
)

FACES: dict[str, Face] = {face.name: face for face in (PLANNER_R1, COMPACT)}

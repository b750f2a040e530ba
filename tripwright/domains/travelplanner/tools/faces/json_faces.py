"""TravelPlanner's faces of JSON: Planner-R1's (row P1), lists of objects with all useful fields in
file order; and a compact one for tiny models: short rows without spaces, cheapest first, the NAME
LAST.

A small causal model reads left to right, so by the time it meets a name it has already read what
decides whether to copy it. Rows among which it has to choose open with a letter: whoever goes
through them one by one says it, and does not lose the place. The letter stands before the name once
more, because to go from a letter to what follows it is one step of looking up, and to go from it to
the end of its row are two (docs/log.md, 2026-11-23).
"""

from __future__ import annotations

import json

from tripwright.domains.travelplanner.tools.catalog import (
    City,
    CityList,
    Number,
    Route,
    TravelTools,
)
from tripwright.tools import face as of_any_domain
from tripwright.tools.face import Face, Pieces, Table, ToolResult, columns, number
from tripwright.tools.signatures import ToolName
from tripwright.world.records import Accommodation, Attraction, Flight, Restaurant

# ---- results as JSON text: the two that are no rows, a list of cities and a number


def write_objects(face: Face, result: ToolResult) -> Pieces:
    match result:
        case CityList(cities=cities):
            return Pieces('{"cities": [', [*map(_text, cities)], ", ", "]}")
        case Number(value=value):
            return Pieces(json.dumps({"result": number(value)}))
    return of_any_domain.write_objects(face, result)


def write_arrays(face: Face, result: ToolResult) -> Pieces:
    match result:
        case CityList(cities=cities):
            return Pieces('{"cities":[', [*map(_text, cities)], ",", "]}")
        case Number(value=value):
            return Pieces(json.dumps({"result": number(value)}, separators=(",", ":")))
    return of_any_domain.write_arrays(face, result)


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=False)


# ---- Planner-R1


TOOLS = (  # the paper's, whatever else the core has
    "search_flights",
    "search_accommodations",
    "search_restaurants",
    "search_attractions",
    "search_ground_transportation",
    "get_cities",
    "calculator",
)
PLANNER_R1 = Face(
    name="planner_r1",
    core=TravelTools,
    names={tool: ToolName(tool) for tool in TOOLS},
    write=write_objects,
    tables={
        Flight: Table(
            columns(
                ("flight_number", "number"),
                ("price", "price_usd", number),
                "departure_time",
                "arrival_time",
                "duration",
                "date",
                "origin",
                "destination",
                # text, as the plan repeats it
                ("distance", "distance_miles", lambda miles: f"{number(miles)} miles"),
            )
        ),
        Accommodation: Table(
            columns(
                "name",
                ("price", "price_usd", number),
                "room_type",
                "house_rules",
                ("minimum_nights", "minimum_nights", number),
                "maximum_occupancy",
                ("review_rating", "rating", number),
                "city",
            )
        ),
        Restaurant: Table(
            columns(
                "name",
                ("average_cost", "average_cost_usd", number),
                "cuisines",
                ("aggregate_rating", "rating", number),
                "city",
            )
        ),
        Attraction: Table(columns(*Attraction._fields)),
        Route: Table(columns(*Route._fields[:-1], ("cost", "cost_usd"))),
        City: Table(columns("city")),
        Number: Table(columns(("result", "value", number))),
    },
)


# ---- for tiny models


COMPACT = Face(
    name="compact",
    core=TravelTools,
    write=write_arrays,
    tables={
        Flight: Table(
            columns(("price", "price_usd", number), "duration", "number"),
            cheapest_first="price_usd",
        ),
        Accommodation: Table(
            columns(
                ("price", "price_usd", number),
                "room_type",
                ("minimum_nights", "minimum_nights", number),
                "maximum_occupancy",
                "house_rules",
                "name",
            ),
            cheapest_first="price_usd",
            lettered=True,
        ),
        Restaurant: Table(
            columns(("average_cost", "average_cost_usd", number), "cuisines", "name"),
            cheapest_first="average_cost_usd",
            lettered=True,
        ),
        Attraction: Table(columns("name")),
        Route: Table(columns("duration", "distance", ("cost", "cost_usd"))),
        City: Table(columns("city")),
        Number: Table(columns(("result", "value", number))),
    },
)

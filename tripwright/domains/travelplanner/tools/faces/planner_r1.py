"""Planner-R1's face (row P1): lists of JSON objects with all useful fields, in file order."""

from __future__ import annotations

from tripwright.domains.travelplanner.tools.catalog import (
    City,
    Number,
    Route,
    TravelTools,
)
from tripwright.domains.travelplanner.tools.faces.json_text import write_objects
from tripwright.tools.face import Column, Face, Table, number
from tripwright.tools.signatures import ToolName
from tripwright.world.records import Accommodation, Attraction, Flight, Restaurant

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
            (
                Column("flight_number", "number"),
                Column("price", "price_usd", number),
                Column("departure_time", "departure_time"),
                Column("arrival_time", "arrival_time"),
                Column("duration", "duration"),
                Column("date", "date"),
                Column("origin", "origin"),
                Column("destination", "destination"),
                # text, as the plan repeats it
                Column("distance", "distance_miles", lambda miles: f"{number(miles)} miles"),
            )
        ),
        Accommodation: Table(
            (
                Column("name", "name"),
                Column("price", "price_usd", number),
                Column("room_type", "room_type"),
                Column("house_rules", "house_rules"),
                Column("minimum_nights", "minimum_nights", number),
                Column("maximum_occupancy", "maximum_occupancy"),
                Column("review_rating", "rating", number),
                Column("city", "city"),
            )
        ),
        Restaurant: Table(
            (
                Column("name", "name"),
                Column("average_cost", "average_cost_usd", number),
                Column("cuisines", "cuisines"),
                Column("aggregate_rating", "rating", number),
                Column("city", "city"),
            )
        ),
        Attraction: Table(tuple(Column(name, name) for name in Attraction._fields)),
        Route: Table(
            (*(Column(name, name) for name in Route._fields[:-1]), Column("cost", "cost_usd"))
        ),
        City: Table((Column("city", "city"),)),
        Number: Table((Column("result", "value", number),)),
    },
)

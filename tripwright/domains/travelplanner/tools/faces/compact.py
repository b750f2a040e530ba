"""A face for tiny models: short rows without spaces, cheapest first, the NAME LAST.

A small causal model reads left to right, so by the time it meets a name it has already read what
decides whether to copy it. Rows among which it has to choose open with a letter: whoever goes
through them one by one says it, and does not lose the place. The letter stands before the name once
more, because to go from a letter to what follows it is one step of looking up, and to go from it to
the end of its row are two (docs/log.md, 2026-11-23).
"""

from __future__ import annotations

from tripwright.domains.travelplanner.tools.catalog import (
    City,
    Number,
    Route,
    TravelTools,
)
from tripwright.domains.travelplanner.tools.faces.json_text import write_arrays
from tripwright.tools.face import Column, Face, Table, number
from tripwright.world.records import Accommodation, Attraction, Flight, Restaurant

COMPACT = Face(
    name="compact",
    core=TravelTools,
    write=write_arrays,
    tables={
        Flight: Table(
            (
                Column("price", "price_usd", number),
                Column("duration", "duration"),
                Column("number", "number"),
            ),
            cheapest_first="price_usd",
        ),
        Accommodation: Table(
            (
                Column("price", "price_usd", number),
                Column("room_type", "room_type"),
                Column("minimum_nights", "minimum_nights", number),
                Column("maximum_occupancy", "maximum_occupancy"),
                Column("house_rules", "house_rules"),
                Column("name", "name"),
            ),
            cheapest_first="price_usd",
            lettered=True,
        ),
        Restaurant: Table(
            (
                Column("average_cost", "average_cost_usd", number),
                Column("cuisines", "cuisines"),
                Column("name", "name"),
            ),
            cheapest_first="average_cost_usd",
            lettered=True,
        ),
        Attraction: Table((Column("name", "name"),)),
        Route: Table(
            (
                Column("duration", "duration"),
                Column("distance", "distance"),
                Column("cost", "cost_usd"),
            )
        ),
        City: Table((Column("city", "city"),)),
        Number: Table((Column("result", "value", number),)),
    },
)

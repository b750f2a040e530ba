"""The face of TravelPlanner's own tools: tables as `DataFrame.to_string(index=False)` of pandas
prints them, in the authors' columns and types, and the sentences of their tools and of their ReAct
loop, "(sic)" ones included.

Calls are JSON here, so the arguments have the core's names where the authors' actions have places
(`FlightSearch[origin, …]`). A search that an imported world does not cover has no sentence of
theirs and is answered in the core's words.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from tripwright.domains.travelplanner.tools.catalog import (
    City,
    CityList,
    Number,
    Route,
    TravelTools,
)
from tripwright.tools.answer import ErrorKind
from tripwright.tools.face import (
    Column,
    Face,
    Page,
    Pieces,
    Refusal,
    Sentences,
    Table,
    ToolResult,
    columns,
    number,
)
from tripwright.tools.signatures import ToolName
from tripwright.world.records import Accommodation, Attraction, Flight, Restaurant

DECIMALS = 6  # pandas' display.precision
# some names go over several lines
_ESCAPES = str.maketrans({"\t": r"\t", "\r": r"\r", "\n": r"\n"})


def write_frame(face: Face, result: ToolResult) -> Pieces:
    match result:
        case Page(records=records):
            if not records:
                return Pieces("No information.")
            header, *rows = to_string(face.tables[type(records[0])].columns, records)
            return Pieces(
                f"{header}\n", rows, "\n", f"\n{result.place}" if result.place else "", closed=False
            )
        case CityList(_, cities):
            return Pieces("[", [*map(repr, cities)], ", ", "]")
        case Number(value):
            return Pieces("", [f"{number(value)}"])
        case Refusal(problem):
            # a model's own words may hold line breaks
            return Pieces(" ".join(problem.splitlines()))
    road = (
        f"from {result.origin} to {result.destination}, duration: {result.duration}, distance:"
        f" {result.distance}"
    )
    return Pieces("", [f"{result.mode}, {road}, cost: {result.cost_usd}"])


def to_string(columns: Sequence[Column], records: Sequence[Any]) -> list[str]:
    """Line by line as pandas prints the table of these records: columns right-aligned with one
    blank between them, the header above."""
    return [
        " ".join(line)
        for line in zip(*(_printed(column, records) for column in columns), strict=True)
    ]


def _printed(column: Column, records: Sequence[Any]) -> Iterator[str]:
    """Header and values of one column, all of one width. Above numbers the header has a blank
    before it."""
    values = column.of(records)
    if all(isinstance(value, float) for value in values):
        header, texts = f" {column.label}", _decimals(values)
    elif all(isinstance(value, int | float) for value in values):
        # pandas makes one fraction a column of fractions
        header = f" {column.label}"
        texts = (
            [str(value) for value in values]
            if all(isinstance(value, int) for value in values)
            else _decimals(values)
        )
    else:
        header, texts = column.label, [_escaped(str(value)) for value in values]
    width = max(len(header), *map(len, texts))
    return (text.rjust(width) for text in (header, *texts))


def _escaped(text: str) -> str:
    return text if text.isprintable() else text.translate(_ESCAPES)


def _decimals(values: Sequence[float]) -> list[str]:
    """As many decimals as the longest needs, one to DECIMALS."""
    texts = [f"{value:.{DECIMALS}f}" for value in values]
    spare = min(len(text) - len(text.rstrip("0")) for text in texts)
    cut = min(spare, DECIMALS - 1)
    return [text[: len(text) - cut] for text in texts]


def coordinate(text: str) -> float | str:
    """A number where the source has one: coordinates are texts in a world."""
    try:
        value = float(text)
    except ValueError:
        return text
    return value if math.isfinite(value) else text


def _illegal(action: str) -> Sentences:
    sentence = f"Illegal {action}. Please try again."
    kinds: tuple[ErrorKind, ...] = (
        "unknown_argument",
        "missing_argument",
        "wrong_type",
        "not_json",
    )
    return {
        **dict.fromkeys(kinds, sentence),
        "unknown_city": "{city} is not valid city in {cities}.",
    }


_NO_FLIGHT = "There is no flight from {origin} to {destination} on {date}."
_NO_ROAD = "{mode}, from {origin} to {destination}, no valid information."
_NO_DRIVE = "No valid information."

OFFICIAL = Face(
    name="official",
    core=TravelTools,
    write=write_frame,
    names={
        "search_flights": ToolName("FlightSearch"),
        "search_ground_transportation": ToolName("GoogleDistanceMatrix"),
        "search_accommodations": ToolName("AccommodationSearch"),
        "search_restaurants": ToolName("RestaurantSearch"),
        "search_attractions": ToolName("AttractionSearch"),
        "get_cities": ToolName("CitySearch"),
    },
    words={"mode": {"self-driving": "self-driving", "taxi": "taxi"}},
    tables={
        Flight: Table(
            columns(
                ("Flight Number", "number"),
                ("Price", "price_usd", number),
                ("DepTime", "departure_time"),
                ("ArrTime", "arrival_time"),
                ("ActualElapsedTime", "duration"),
                ("FlightDate", "date"),
                ("OriginCityName", "origin"),
                ("DestCityName", "destination"),
                ("Distance", "distance_miles", float),
            ),
            decimals=DECIMALS,
        ),
        Accommodation: Table(
            columns(
                ("NAME", "name"),
                ("price", "price_usd", float),
                ("room type", "room_type"),
                "house_rules",
                ("minimum nights", "minimum_nights", float),
                ("maximum occupancy", "maximum_occupancy"),
                ("review rate number", "rating", float),
                "city",
            ),
            decimals=DECIMALS,
        ),
        Restaurant: Table(
            columns(
                ("Name", "name"),
                ("Average Cost", "average_cost_usd", number),
                ("Cuisines", "cuisines"),
                ("Aggregate Rating", "rating", float),
                ("City", "city"),
            ),
            decimals=DECIMALS,
        ),
        Attraction: Table(
            columns(
                ("Name", "name"),
                ("Latitude", "latitude", coordinate),
                ("Longitude", "longitude", coordinate),
                ("Address", "address"),
                ("Phone", "phone"),
                ("Website", "website"),
                ("City", "city"),
            ),
            decimals=DECIMALS,
        ),
        Route: Table(columns(*Route._fields)),
        City: Table(columns("city")),
        Number: Table(columns(("value", "value", number))),
    },
    sentences={
        "": {
            "unknown_tool": (
                "Invalid Action. Valid Actions are FlightSearch[origin, destination, date] /"
                " AccommodationSearch[city] / RestaurantSearch[city] / AttractionSearch[city] /"
                " CitySearch[state] / GoogleDistanceMatrix[origin, destination, mode]."
            )
        },
        "search_flights": {
            **_illegal("Flight Search"),
            "bad_date": "'{date}' is not in the format YYYY-MM-DD",
            "no_flights": _NO_FLIGHT,
            "no_such_day": _NO_FLIGHT,
        },
        "search_ground_transportation": {
            **_illegal("GoogleDistanceMatrix"),
            "no_road": _NO_ROAD,
            "unknown_city": _NO_ROAD,  # the authors' loop checks the cities of the other tools only
            "no_road_data": _NO_DRIVE,
            "road_over_a_day": _NO_DRIVE,
        },
        # (sic)
        "search_accommodations": {
            **_illegal("Accommodation Search"),
            "no_accommodations": "There is no attraction in this city.",
        },
        "search_restaurants": {
            **_illegal("Restaurant Search"),
            "no_restaurants": "There is no restaurant in this city.",
        },
        "search_attractions": {
            **_illegal("Attraction Search"),
            "no_attractions": "There is no attraction in this city.",
        },
        "get_cities": {**_illegal("City Search"), "unknown_state": "Invalid State"},
    },
)

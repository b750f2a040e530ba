"""TravelPlanner's faces. A new one is one more `Face(...)` here, and its name in the last line
(docs/tools.md)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tripwright.domains.travelplanner.tools.catalog import (
    City,
    CityList,
    Number,
    Route,
    TravelTools,
)
from tripwright.tools.face import (
    Face,
    Page,
    Pieces,
    Refusal,
    Sentences,
    Table,
    ToolResult,
    columns,
    number,
    write_arrays,
    write_objects,
)
from tripwright.tools.signatures import ToolName
from tripwright.world.records import Accommodation, Attraction, Flight, Restaurant

# ---- as JSON, the two results that are no rows: a list of cities and a number


def own_texts(between: str, colon: str) -> dict[type, Callable[[Any], Pieces]]:
    text = json.JSONEncoder(ensure_ascii=False, separators=(between, colon)).encode
    head = f'{{"cities"{colon}['
    return {
        CityList: lambda found: Pieces(head, [*map(text, found.cities)], between, "]}"),
        Number: lambda found: Pieces(text({"result": number(found.value)})),
    }


# ---- columns that several faces have: label, field, form


PRICE = ("price", "price_usd", number)
MEAL_COST = ("average_cost", "average_cost_usd", number)
NIGHTS = ("minimum_nights", "minimum_nights", number)
TIMES = ("departure_time", "arrival_time", "duration")
CITIES_AND_NUMBERS = {
    City: Table(columns("city")),
    Number: Table(columns(("result", "value", number))),
}


# ---- Planner-R1's (row P1): lists of objects with all useful fields in file order


TOOLS = (  # the paper's, whatever else the core has
    "search_flights",
    "search_accommodations",
    "search_restaurants",
    "search_attractions",
    "search_ground_transportation",
    "get_cities",
    "calculator",
)
# text, as the plan repeats it
MILES = ("distance", "distance_miles", lambda miles: f"{number(miles)} miles")
REVIEW = ("review_rating", "rating", number)
PLANNER_R1 = Face(
    name="planner_r1",
    core=TravelTools,
    names={tool: ToolName(tool) for tool in TOOLS},
    write=write_objects,
    own_texts=own_texts(", ", ": "),
    tables={
        Flight: Table(
            columns(
                ("flight_number", "number"), PRICE, *TIMES, "date", "origin", "destination", MILES
            )
        ),
        Accommodation: Table(
            columns(
                "name",
                PRICE,
                "room_type",
                "house_rules",
                NIGHTS,
                "maximum_occupancy",
                REVIEW,
                "city",
            )
        ),
        Restaurant: Table(
            columns("name", MEAL_COST, "cuisines", ("aggregate_rating", "rating", number), "city")
        ),
        Attraction: Table(columns(*Attraction._fields)),
        Route: Table(columns(*Route._fields[:-1], ("cost", "cost_usd"))),
        **CITIES_AND_NUMBERS,
    },
)


# ---- for tiny models: short rows without spaces, cheapest first, the NAME LAST
#
# A small causal model reads left to right, so by the time it meets a name it has already read what
# decides whether to copy it. Rows among which it has to choose open with a letter: whoever goes
# through them one by one says it, and does not lose the place. The letter stands before the name
# once more, because to go from a letter to what follows it is one step of looking up, and to go
# from it to the end of its row are two (dev/LOG.md, 2026-11-23).


COMPACT = Face(
    name="compact",
    core=TravelTools,
    write=write_arrays,
    own_texts=own_texts(",", ":"),
    tables={
        Flight: Table(columns(PRICE, "duration", "number"), cheapest_first="price_usd"),
        Accommodation: Table(
            columns(PRICE, "room_type", NIGHTS, "maximum_occupancy", "house_rules", "name"),
            cheapest_first="price_usd",
            lettered=True,
        ),
        Restaurant: Table(
            columns(MEAL_COST, "cuisines", "name"),
            cheapest_first="average_cost_usd",
            lettered=True,
        ),
        Attraction: Table(columns("name")),
        Route: Table(columns("duration", "distance", ("cost", "cost_usd"))),
        **CITIES_AND_NUMBERS,
    },
)


# ---- STAR's (row S1): the tools as its Table 5 names and describes them, with answers in numbered
# lines as its Appendix F shows them
#
# Where the appendix shows no sentence (empty searches of a city, a drive over a day, missing
# arguments) it is the one of STAR's released tools. Those also begin a new line after
# "information:" and "cities:" and leave blank lines between rows; the appendix does not, and is
# followed. STAR's tools do not check places and dates: what they do not know they do not find, so
# an unknown city reads as an empty answer here too. A mode that is neither driving nor taxi is
# refused, where STAR's tool would price it as a taxi.


def write_numbered(face: Face, result: ToolResult) -> Pieces:
    match result:
        case Page():
            return _numbered(face, result)
        case CityList(state, cities):
            head = face.tables[City].heading.format(state=state, count=len(cities))
            return Pieces(f"{head} ", cities, ", ", closed=False)
        case Number(value):
            return Pieces("", [f"{number(value)}"])
        case Refusal(problem):
            # a model's own words may hold line breaks
            return Pieces(" ".join(problem.splitlines()))
    road: Route = result._replace(mode=face.words["mode"][result.mode])
    return Pieces("", [face.tables[Route].row.format_map(road._asdict())])


def _numbered(face: Face, page: Page) -> Pieces:
    if not page.records:
        return Pieces("No information.")
    first: Any = page.records[0]
    table = face.tables[type(first)]
    rows = [
        table.row.format_map(dict(zip(table.labels, values, strict=True), n=n))
        for n, values in enumerate(table.rows(page.records), start=page.first)
    ]
    head = table.heading.format(**first._asdict(), count=page.total)
    return Pieces(f"{head}\n", rows, "\n", f"\n{page.place}" if page.place else "", closed=False)


def _city_search(what: str, empty: str) -> Sentences:
    nothing = f"There is no {what} in {{city}}. Please rethink your {what} search and try again."
    return {
        empty: nothing,
        "unknown_city": nothing,
        "missing_argument": "Invalid parameters. Please provide city.",
    }


def _finder(name: str, what: str) -> ToolName:
    return ToolName(name, descriptions={"": f"Find {what} in a specific city"})


_NO_FLIGHT = (
    "There is no available flight from {origin} to {destination} on {date}. Please rethink your"
    " flight search and try again."
)
_NO_ROAD = "No valid information found. Please rethink your distance search and try again."
_ERROR = "Tool calling error: {problem}"
_ROUTE_ARGUMENTS = {"origin": "departure"}

STAR = Face(
    name="star",
    core=TravelTools,
    write=write_numbered,
    names={
        "get_cities": ToolName(
            "SearchCity", descriptions={"": "Find cities within a specific state"}
        ),
        "search_flights": ToolName(
            "SearchFlight",
            _ROUTE_ARGUMENTS,
            {"": "Search for flight information between cities on specific dates"},
        ),
        "search_ground_transportation": ToolName(
            "GoogleDistanceMatrix",
            _ROUTE_ARGUMENTS,
            {
                "": "Calculate distance, travel time, and cost between two cities",
                "mode": "How to travel.",
            },
        ),
        "search_restaurants": _finder("SearchRestaurant", "restaurant options"),
        "search_attractions": _finder("SearchAttraction", "tourist attractions"),
        "search_accommodations": _finder("SearchAccommodation", "accommodation options"),
    },
    words={"mode": {"self-driving": "driving", "taxi": "taxi"}},
    tables={
        Flight: Table(
            columns("number", PRICE, *TIMES, ("miles", "distance_miles", float)),
            heading=(
                "A SearchFlight for {origin} to {destination} on {date} found the following {count}"
                " flights:"
            ),
            row=(
                "{n}. [{number}] ${price}. Departure: {departure_time}, Arrival: {arrival_time},"
                " Actual Elapsed Time: {duration}, Distance: {miles} miles"
            ),
        ),
        Accommodation: Table(
            columns(
                "name",
                ("price", "price_usd", float),
                "room_type",
                "house_rules",
                ("minimum_nights", "minimum_nights", float),
                "maximum_occupancy",
                ("rating", "rating", float),
            ),
            heading="A SearchAccommodation for {city} found the following {count} accommodations:",
            row=(
                "{n}. [{name}] ${price}. Room Type: {room_type}, House Rules: {house_rules},"
                " Minimum Nights: {minimum_nights}, Maximum Occupancy: {maximum_occupancy}, Review"
                " Rate Number: {rating}"
            ),
        ),
        Restaurant: Table(
            columns("name", MEAL_COST, "cuisines", ("rating", "rating", float)),
            heading="A SearchRestaurant for city {city} found the following {count} restaurants:",
            row="{n}. [{name}] Avg. Cost ${average_cost}. Cuisines: {cuisines}. Rating: {rating}",
        ),
        Attraction: Table(
            columns("name", "website", "address", "phone"),
            heading="A SearchAttraction for city {city} found the following {count} attractions:",
            row="{n}. [{name}]({website}) Address: {address}. Contact: {phone}",
        ),
        Route: Table(
            columns(*Route._fields),
            row=(
                "A GoogleDistanceMatrix found the following information: {mode}, from {origin} to"
                " {destination}, duration: {duration}, distance: {distance}, cost: ${cost_usd}"
            ),
        ),
        City: Table(
            columns("city"),
            heading="A SearchCity for state {state} found the following {count} cities:",
        ),
        Number: Table(columns(("value", "value", number))),
    },
    sentences={
        "": {"unknown_argument": _ERROR, "wrong_type": _ERROR, "not_json": _ERROR},
        "get_cities": {
            "unknown_state": (
                "There is no city in {state}. Please rethink your city search and try again."
            ),
            "missing_argument": "Invalid parameters. Please provide state.",
        },
        "search_flights": {
            **dict.fromkeys(("no_flights", "unknown_city", "bad_date", "no_such_day"), _NO_FLIGHT),
            "missing_argument": (
                "Invalid parameters. Please provide departure, destination and date."
            ),
        },
        "search_ground_transportation": {
            **dict.fromkeys(("no_road", "unknown_city"), _NO_ROAD),
            "no_road_data": (
                "Sorry, we cannot find the distance between {origin} and {destination}."
            ),
            "road_over_a_day": (
                "The required time exceeds a single day, we cannot provide the cost. "
                "Please consider an alternative transportation instead."
            ),
            "missing_argument": (
                "Invalid parameters. Please provide departure, destination and mode."
            ),
        },
        "search_restaurants": _city_search("restaurant", "no_restaurants"),
        "search_attractions": _city_search("attraction", "no_attractions"),
        "search_accommodations": _city_search("accommodation", "no_accommodations"),
    },
)

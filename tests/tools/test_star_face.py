"""STAR's tools as Appendix F of its paper shows them: each answer below is printed there, or
follows one that is."""

from __future__ import annotations

import pytest

from tripwright.domains import face_named
from tripwright.domains.travelplanner.tools.faces import STAR
from tripwright.tools.signatures import CheckedCall
from tripwright.tools.toolbox import ToolBox
from tripwright.world.records import WorldTables
from tripwright.world.store import World


@pytest.fixture(scope="module")
def box() -> ToolBox:
    world = World.in_memory(
        WorldTables(
            cities=[
                *(
                    ("Appleton", "Wisconsin"),
                    ("Green Bay", "Wisconsin"),
                    ("St. Petersburg", "Florida"),
                    ("Milwaukee", "Wisconsin"),
                ),
                *(("Detroit", "Michigan"), ("Escanaba", "Michigan")),
            ],
            flights=[
                (
                    "F3574992",
                    "542",
                    "22:51",
                    "00:42",
                    "2 hours 51 minutes",
                    "2022-03-19",
                    "St. Petersburg",
                    "Appleton",
                    "1173.0",
                ),
                (
                    "F3574993",
                    "88.5",
                    "06:51",
                    "08:42",
                    "2 hours 51 minutes",
                    "2022-03-20",
                    "St. Petersburg",
                    "Appleton",
                    "1173.0",
                ),
            ],
            grounds=[
                ("St. Petersburg", "Appleton", "", ""),
                ("Milwaukee", "Detroit", "5 hours 40 mins", "614 km"),
                ("St. Petersburg", "Detroit", "1 day 3 hours", "2,000 km"),
            ],
            restaurants=[
                (
                    "Mikata Japanese Steakhouse",
                    "Appleton",
                    "Cafe, Pizza, Bakery, Italian",
                    "72",
                    "3.6",
                ),
                (
                    "Brick 29",
                    "Appleton",
                    "Desserts, Tea, BBQ, Cafe, American, Mediterranean",
                    "97",
                    "4.0",
                ),
            ],
            attractions=[
                (
                    *(
                        "The History Museum at the Castle",
                        "44.26",
                        "-88.4",
                        "330 E College Ave, Appleton, WI 54911, USA",
                    ),
                    *("(920) 735-9370", "http://www.myhistorymuseum.org/", "Appleton"),
                )
            ],
            accommodations=[
                (
                    "Nice bedroom in Brooklyn !",
                    "Private room",
                    "932.0",
                    "4.0",
                    "5.0",
                    "No pets",
                    "1",
                    "Appleton",
                )
            ],
        )
    )
    return ToolBox(world, face_named("star"))


def test_the_tools_and_arguments_of_table_5(box: ToolBox) -> None:
    functions = [schema["function"] for schema in box.schemas]
    assert {f["name"]: f["parameters"]["required"] for f in functions} == {
        "SearchCity": ["state"],
        "SearchFlight": ["departure", "destination", "date"],
        "GoogleDistanceMatrix": ["departure", "destination", "mode"],
        "SearchRestaurant": ["city"],
        "SearchAttraction": ["city"],
        "SearchAccommodation": ["city"],
    }
    assert functions[2]["parameters"]["properties"]["mode"]["enum"] == ["driving", "taxi"]


FLIGHT = {"departure": "St. Petersburg", "destination": "Appleton", "date": "2022-03-19"}
ROAD = {"departure": "Milwaukee", "destination": "Detroit", "mode": "driving"}


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "SearchFlight",
            FLIGHT,
            (
                "A SearchFlight for St. Petersburg to Appleton on 2022-03-19 found the following 1"
                " flights:\n1. [F3574992] $542. Departure: 22:51, Arrival: 00:42, Actual Elapsed"
                " Time: 2 hours 51 minutes, Distance: 1173.0 miles"
            ),
        ),
        (
            "GoogleDistanceMatrix",
            ROAD,
            (
                "A GoogleDistanceMatrix found the following information: driving, from Milwaukee to"
                " Detroit, duration: 5 hours 40 mins, distance: 614 km, cost: $30"
            ),
        ),
        (
            "GoogleDistanceMatrix",
            {**ROAD, "mode": "taxi"},
            (
                "A GoogleDistanceMatrix found the following information: taxi, from Milwaukee to"
                " Detroit, duration: 5 hours 40 mins, distance: 614 km, cost: $614"
            ),
        ),
        (
            "SearchAccommodation",
            {"city": "Appleton"},
            (
                "A SearchAccommodation for Appleton found the following 1 accommodations:\n1. [Nice"
                " bedroom in Brooklyn !] $932.0. Room Type: Private room, House Rules: No pets,"
                " Minimum Nights: 4.0, Maximum Occupancy: 1, Review Rate Number: 5.0"
            ),
        ),
        (
            "SearchAttraction",
            {"city": "Appleton"},
            (
                "A SearchAttraction for city Appleton found the following 1 attractions:\n1. [The"
                " History Museum at the Castle](http://www.myhistorymuseum.org/) Address: 330 E"
                " College Ave, Appleton, WI 54911, USA. Contact: (920) 735-9370"
            ),
        ),
        (
            "SearchRestaurant",
            {"city": "Appleton"},
            (
                "A SearchRestaurant for city Appleton found the following 2 restaurants:\n1."
                " [Mikata Japanese Steakhouse] Avg. Cost $72. Cuisines: Cafe, Pizza, Bakery,"
                " Italian. Rating: 3.6\n2. [Brick 29] Avg. Cost $97. Cuisines: Desserts, Tea, BBQ,"
                " Cafe, American, Mediterranean. Rating: 4.0"
            ),
        ),
        (
            "SearchCity",
            {"state": "Michigan"},
            "A SearchCity for state Michigan found the following 2 cities: Detroit, Escanaba",
        ),
    ],
)
def test_answers(box: ToolBox, name: str, arguments: dict[str, str], said: str) -> None:
    answer = box.call(name, arguments)
    assert answer.text == said and not answer.error


NO_FLIGHT = (
    "There is no available flight from {} to {} on {}. Please rethink your flight search and try"
    " again."
)
NO_ROAD = "No valid information found. Please rethink your distance search and try again."


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        (
            "GoogleDistanceMatrix",
            {**ROAD, "departure": "St. Petersburg", "destination": "Appleton"},
            "Sorry, we cannot find the distance between St. Petersburg and Appleton.",
        ),
        (
            "GoogleDistanceMatrix",
            {**ROAD, "departure": "St. Petersburg"},
            (
                "The required time exceeds a single day, we cannot provide the cost. Please"
                " consider an alternative transportation instead."
            ),
        ),
        ("GoogleDistanceMatrix", {**ROAD, "destination": "Milwaukee"}, NO_ROAD),
        ("GoogleDistanceMatrix", {**ROAD, "destination": "Atlantis"}, NO_ROAD),
        (
            "GoogleDistanceMatrix",
            {"mode": "taxi"},
            "Invalid parameters. Please provide departure, destination and mode.",
        ),
        (
            "GoogleDistanceMatrix",
            {**ROAD, "mode": "bus"},
            "Tool calling error: Argument 'mode' must be 'driving' or 'taxi', found 'bus'.",
        ),
        (
            "SearchFlight",
            {**FLIGHT, "date": "2022-03-21"},
            NO_FLIGHT.format("St. Petersburg", "Appleton", "2022-03-21"),
        ),
        (
            "SearchFlight",
            {**FLIGHT, "date": "March 19"},
            NO_FLIGHT.format("St. Petersburg", "Appleton", "March 19"),
        ),
        (
            "SearchFlight",
            {**FLIGHT, "departure": "<b>{x}"},
            NO_FLIGHT.format("?b?{x}", "Appleton", "2022-03-19"),
        ),
        ("SearchFlight", {}, "Invalid parameters. Please provide departure, destination and date."),
        (
            "SearchFlight",
            {**FLIGHT, "origin": "Appleton"},
            (
                "Tool calling error: Unknown argument 'origin'. SearchFlight takes departure,"
                " destination, date."
            ),
        ),
        (
            "SearchRestaurant",
            {"city": "Detroit"},
            (
                "There is no restaurant in Detroit. Please rethink your restaurant search and try"
                " again."
            ),
        ),
        (
            "SearchRestaurant",
            {"city": "Oz"},
            "There is no restaurant in Oz. Please rethink your restaurant search and try again.",
        ),
        (
            "SearchAttraction",
            {"city": "Oz"},
            "There is no attraction in Oz. Please rethink your attraction search and try again.",
        ),
        (
            "SearchAccommodation",
            {"city": "Oz"},
            (
                "There is no accommodation in Oz. Please rethink your accommodation search and try"
                " again."
            ),
        ),
        ("SearchAccommodation", {}, "Invalid parameters. Please provide city."),
        (
            "SearchAccommodation",
            "{",
            (
                "Tool calling error: The arguments are not valid JSON (Expecting property name"
                " enclosed in double quotes at character 1)."
            ),
        ),
        (
            "SearchCity",
            {"state": "Banana"},
            "There is no city in Banana. Please rethink your city search and try again.",
        ),
        ("SearchCity", {}, "Invalid parameters. Please provide state."),
        (
            "calculator",
            {"expression": "1+1"},
            (
                "Unknown tool 'calculator'. The tools are SearchCity, SearchFlight,"
                " GoogleDistanceMatrix, SearchRestaurant, SearchAttraction, SearchAccommodation."
            ),
        ),
    ],
)
def test_errors(box: ToolBox, name: str, arguments: dict[str, str] | str, said: str) -> None:
    answer = box.call(name, arguments)
    assert answer.text == said and answer.error


def test_a_price_with_cents_keeps_them(box: ToolBox) -> None:
    assert (
        "1. [F3574993] $88.5. Departure"
        in box.call("SearchFlight", {**FLIGHT, "date": "2022-03-20"}).text
    )


def test_calls_are_translated_both_ways() -> None:
    core = CheckedCall(
        "search_ground_transportation",
        {"origin": "Milwaukee", "destination": "Detroit", "mode": "self-driving"},
    )
    assert STAR.offer.call_of(core.tool, core.arguments) == ("GoogleDistanceMatrix", ROAD)
    assert STAR.offer.read("GoogleDistanceMatrix", ROAD) == core

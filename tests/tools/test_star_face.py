"""STAR's tools as Appendix F of its paper shows them: each answer below is printed there, or
follows one that is."""

import pytest

from tests.printed import printed
from tests.tools.conftest import calls_in, rows
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
            cities=rows("""
                Appleton       | Wisconsin
                Green Bay      | Wisconsin
                St. Petersburg | Florida
                Milwaukee      | Wisconsin
                Detroit        | Michigan
                Escanaba       | Michigan
            """),
            flights=rows("""
                F3574992 | 542  | 22:51 | 00:42 | 2 hours 51 minutes | 2022-03-19 | St. Petersburg | Appleton | 1173.0
                F3574993 | 88.5 | 06:51 | 08:42 | 2 hours 51 minutes | 2022-03-20 | St. Petersburg | Appleton | 1173.0
            """),  # noqa: E501
            grounds=rows("""
                St. Petersburg | Appleton |                 |
                Milwaukee      | Detroit  | 5 hours 40 mins | 614 km
                St. Petersburg | Detroit  | 1 day 3 hours   | 2,000 km
            """),
            restaurants=rows("""
                Mikata Japanese Steakhouse | Appleton | Cafe, Pizza, Bakery, Italian                      | 72 | 3.6
                Brick 29                   | Appleton | Desserts, Tea, BBQ, Cafe, American, Mediterranean | 97 | 4.0
            """),  # noqa: E501
            attractions=rows("""
                The History Museum at the Castle | 44.26 | -88.4 | 330 E College Ave, Appleton, WI 54911, USA | (920) 735-9370 | http://www.myhistorymuseum.org/ | Appleton
            """),  # noqa: E501
            accommodations=rows("""
                Nice bedroom in Brooklyn ! | Private room | 932.0 | 4.0 | 5.0 | No pets | 1 | Appleton
            """),  # noqa: E501
        )
    )
    return ToolBox(world, face_named("star"))


def test_the_tools_and_arguments_of_table_5(box):
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


def test_the_tools_are_described_as_in_table_5(box):
    table = printed("star.md", "SearchCity\tstate", "\n\nTable 5 outlines").splitlines()
    described = [schema["function"]["description"] for schema in box.schemas]
    assert described == [row.split("\t")[2] for row in table]


FLIGHT = {"departure": "St. Petersburg", "destination": "Appleton", "date": "2022-03-19"}
ROAD = {"departure": "Milwaukee", "destination": "Detroit", "mode": "driving"}


ANSWERS = """
>>> SearchFlight {"departure": "St. Petersburg", "destination": "Appleton", "date": "2022-03-19"}
A SearchFlight for St. Petersburg to Appleton on 2022-03-19 found the following 1 flights:
1. [F3574992] $542. Departure: 22:51, Arrival: 00:42, Actual Elapsed Time: 2 hours 51 minutes, Distance: 1173.0 miles
>>> GoogleDistanceMatrix {"departure": "Milwaukee", "destination": "Detroit", "mode": "driving"}
A GoogleDistanceMatrix found the following information: driving, from Milwaukee to Detroit, duration: 5 hours 40 mins, distance: 614 km, cost: $30
>>> GoogleDistanceMatrix {"departure": "Milwaukee", "destination": "Detroit", "mode": "taxi"}
A GoogleDistanceMatrix found the following information: taxi, from Milwaukee to Detroit, duration: 5 hours 40 mins, distance: 614 km, cost: $614
>>> SearchAccommodation {"city": "Appleton"}
A SearchAccommodation for Appleton found the following 1 accommodations:
1. [Nice bedroom in Brooklyn !] $932.0. Room Type: Private room, House Rules: No pets, Minimum Nights: 4.0, Maximum Occupancy: 1, Review Rate Number: 5.0
>>> SearchAttraction {"city": "Appleton"}
A SearchAttraction for city Appleton found the following 1 attractions:
1. [The History Museum at the Castle](http://www.myhistorymuseum.org/) Address: 330 E College Ave, Appleton, WI 54911, USA. Contact: (920) 735-9370
>>> SearchRestaurant {"city": "Appleton"}
A SearchRestaurant for city Appleton found the following 2 restaurants:
1. [Mikata Japanese Steakhouse] Avg. Cost $72. Cuisines: Cafe, Pizza, Bakery, Italian. Rating: 3.6
2. [Brick 29] Avg. Cost $97. Cuisines: Desserts, Tea, BBQ, Cafe, American, Mediterranean. Rating: 4.0
>>> SearchCity {"state": "Michigan"}
A SearchCity for state Michigan found the following 2 cities: Detroit, Escanaba
"""  # noqa: E501


@pytest.mark.parametrize(("name", "arguments", "said"), calls_in(ANSWERS))
def test_answers(box, name, arguments, said):
    answer = box.call(name, arguments)
    assert answer.text == said and not answer.error


ERRORS = """
>>> GoogleDistanceMatrix {"departure": "St. Petersburg", "destination": "Appleton", "mode": "driving"}
Sorry, we cannot find the distance between St. Petersburg and Appleton.
>>> GoogleDistanceMatrix {"departure": "St. Petersburg", "destination": "Detroit", "mode": "driving"}
The required time exceeds a single day, we cannot provide the cost. Please consider an alternative transportation instead.
>>> GoogleDistanceMatrix {"departure": "Milwaukee", "destination": "Milwaukee", "mode": "driving"}
No valid information found. Please rethink your distance search and try again.
>>> GoogleDistanceMatrix {"departure": "Milwaukee", "destination": "Atlantis", "mode": "driving"}
No valid information found. Please rethink your distance search and try again.
>>> GoogleDistanceMatrix {"mode": "taxi"}
Invalid parameters. Please provide departure, destination and mode.
>>> GoogleDistanceMatrix {"departure": "Milwaukee", "destination": "Detroit", "mode": "bus"}
Tool calling error: Argument 'mode' must be 'driving' or 'taxi', found 'bus'.
>>> SearchFlight {"departure": "St. Petersburg", "destination": "Appleton", "date": "2022-03-21"}
There is no available flight from St. Petersburg to Appleton on 2022-03-21. Please rethink your flight search and try again.
>>> SearchFlight {"departure": "St. Petersburg", "destination": "Appleton", "date": "March 19"}
There is no available flight from St. Petersburg to Appleton on March 19. Please rethink your flight search and try again.
>>> SearchFlight {"departure": "<b>{x}", "destination": "Appleton", "date": "2022-03-19"}
There is no available flight from ?b?{x} to Appleton on 2022-03-19. Please rethink your flight search and try again.
>>> SearchFlight {}
Invalid parameters. Please provide departure, destination and date.
>>> SearchFlight {"departure": "St. Petersburg", "destination": "Appleton", "date": "2022-03-19", "origin": "Appleton"}
Tool calling error: Unknown argument 'origin'. SearchFlight takes departure, destination, date.
>>> SearchRestaurant {"city": "Detroit"}
There is no restaurant in Detroit. Please rethink your restaurant search and try again.
>>> SearchRestaurant {"city": "Oz"}
There is no restaurant in Oz. Please rethink your restaurant search and try again.
>>> SearchAttraction {"city": "Oz"}
There is no attraction in Oz. Please rethink your attraction search and try again.
>>> SearchAccommodation {"city": "Oz"}
There is no accommodation in Oz. Please rethink your accommodation search and try again.
>>> SearchAccommodation {}
Invalid parameters. Please provide city.
>>> SearchAccommodation {
Tool calling error: The arguments are not valid JSON (Expecting property name enclosed in double quotes at character 1).
>>> SearchCity {"state": "Banana"}
There is no city in Banana. Please rethink your city search and try again.
>>> SearchCity {}
Invalid parameters. Please provide state.
>>> calculator {"expression": "1+1"}
Unknown tool 'calculator'. The tools are SearchCity, SearchFlight, GoogleDistanceMatrix, SearchRestaurant, SearchAttraction, SearchAccommodation.
"""  # noqa: E501


@pytest.mark.parametrize(("name", "arguments", "said"), calls_in(ERRORS))
def test_errors(box, name, arguments, said):
    answer = box.call(name, arguments)
    assert answer.text == said and answer.error


def test_a_price_with_cents_keeps_them(box):
    found = box.call("SearchFlight", {**FLIGHT, "date": "2022-03-20"}).text
    assert "1. [F3574993] $88.5. Departure" in found


def test_calls_are_translated_both_ways():
    core = CheckedCall(
        "search_ground_transportation",
        {"origin": "Milwaukee", "destination": "Detroit", "mode": "self-driving"},
    )
    assert STAR.offer.call_of(core.tool, core.arguments) == ("GoogleDistanceMatrix", ROAD)
    assert STAR.offer.read("GoogleDistanceMatrix", ROAD) == core

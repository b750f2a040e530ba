"""TravelPlanner's own tools: their tables as pandas prints them, and their sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.tools.conftest import calls_in
from tripwright.domains import face_named
from tripwright.domains.travelplanner.tools.faces import OFFICIAL
from tripwright.domains.travelplanner.tools.faces.official import to_string
from tripwright.tools.toolbox import ToolBox
from tripwright.world.records import Accommodation, Attraction, Flight, Restaurant
from tripwright.world.store import World


def test_tools_and_arguments(world: World) -> None:
    functions = [schema["function"] for schema in ToolBox(world, face_named("official")).schemas]
    assert {f["name"]: f["parameters"]["required"] for f in functions} == {
        "FlightSearch": ["origin", "destination", "date"],
        "GoogleDistanceMatrix": ["origin", "destination", "mode"],
        "AccommodationSearch": ["city"],
        "RestaurantSearch": ["city"],
        "AttractionSearch": ["city"],
        "CitySearch": ["state"],
    }


ANSWERS = """
>>> RestaurantSearch {"city": "Boston"}
     Name  Average Cost    Cuisines  Aggregate Rating   City
Dear Café            50 Tea, Indian               4.8 Boston
Cheap "A"            12       Pizza               3.9 Boston
  Cheap B            12         BBQ               2.0 Boston
>>> AccommodationSearch {"city": "Boston"}
NAME  price       room type                       house_rules  minimum nights  maximum occupancy  review rate number   city
Loft  548.0 Entire home/apt No children under 10 & No parties             2.0                  2                 5.0 Boston
Nook  131.5    Private room                        No smoking             1.0                  1                 2.0 Boston
>>> AttractionSearch {"city": "Boston"}
    Name  Latitude  Longitude           Address   Phone              Website   City
Old Park      42.1      -71.0 1 Main St, Boston (617) 1 https://park.example Boston
>>> CitySearch {"state": "Massachusetts"}
['Boston', 'Salem']
>>> GoogleDistanceMatrix {"origin": "Boston", "destination": "Rockford", "mode": "self-driving"}
self-driving, from Boston to Rockford, duration: 16 hours 1 min, distance: 1,118 km, cost: 55
>>> GoogleDistanceMatrix {"origin": "Boston", "destination": "Rockford", "mode": "taxi"}
taxi, from Boston to Rockford, duration: 16 hours 1 min, distance: 1,118 km, cost: 1118
"""  # noqa: E501


@pytest.mark.parametrize(("name", "arguments", "said"), calls_in(ANSWERS))
def test_answers(world: World, name: str, arguments: str, said: str) -> None:
    answer = ToolBox(world, face_named("official")).call(name, arguments)
    assert answer.text == said and not answer.error


ERRORS = """
>>> FlightSearch {"origin": "Boston", "destination": "Rockford", "date": "2022-03-17"}
There is no flight from Boston to Rockford on 2022-03-17.
>>> FlightSearch {"origin": "Boston", "destination": "Rockford", "date": "2022-02-30"}
There is no flight from Boston to Rockford on 2022-02-30.
>>> FlightSearch {"origin": "Boston", "destination": "Rockford", "date": "16 March"}
'16 March' is not in the format YYYY-MM-DD
>>> FlightSearch {"origin": "Boston", "destination": "Oz", "date": "2022-03-16"}
Oz is not valid city in ['Boston', 'Salem', 'Rockford', 'Tampa'].
>>> FlightSearch {"origin": "Boston"}
Illegal Flight Search. Please try again.
>>> RestaurantSearch {"city": "Tampa"}
There is no restaurant in this city.
>>> AttractionSearch {"city": "Tampa"}
There is no attraction in this city.
>>> AccommodationSearch {"city": "Tampa"}
There is no attraction in this city.
>>> AccommodationSearch {"city": "Boston(Massachusetts)"}
Boston(Massachusetts) is not valid city in ['Boston', 'Salem', 'Rockford', 'Tampa'].
>>> AccommodationSearch {"city": 3}
Illegal Accommodation Search. Please try again.
>>> AttractionSearch Boston
Illegal Attraction Search. Please try again.
>>> RestaurantSearch {"town": "Boston"}
Illegal Restaurant Search. Please try again.
>>> CitySearch {}
Illegal City Search. Please try again.
>>> CitySearch {"state": "Oz"}
Invalid State
>>> GoogleDistanceMatrix {"origin": "Boston", "destination": "Rockford", "mode": "bus"}
Illegal GoogleDistanceMatrix. Please try again.
>>> GoogleDistanceMatrix {"origin": "Boston", "destination": "Tampa", "mode": "self-driving"}
No valid information.
>>> GoogleDistanceMatrix {"origin": "Rockford", "destination": "Boston", "mode": "self-driving"}
No valid information.
>>> GoogleDistanceMatrix {"origin": "Salem", "destination": "Rockford", "mode": "self-driving"}
self-driving, from Salem to Rockford, no valid information.
>>> GoogleDistanceMatrix {"origin": "Oz", "destination": "Rockford", "mode": "taxi"}
taxi, from Oz to Rockford, no valid information.
>>> NotebookWrite {"description": "x"}
Invalid Action. Valid Actions are FlightSearch[origin, destination, date] / AccommodationSearch[city] / RestaurantSearch[city] / AttractionSearch[city] / CitySearch[state] / GoogleDistanceMatrix[origin, destination, mode].
"""  # noqa: E501


@pytest.mark.parametrize(("name", "arguments", "said"), calls_in(ERRORS))
def test_errors(world: World, name: str, arguments: str, said: str) -> None:
    answer = ToolBox(world, face_named("official")).call(name, arguments)
    assert answer.text == said and answer.error


# ---- against pandas itself, where it is installed

TEXT = st.text(max_size=12)
MONEY = st.floats(0, 5000).map(lambda x: round(x, 2)) | st.integers(0, 5000).map(float)
# beyond six decimals pandas turns to exponents; no map does
PLACE = st.floats(-180, 180).filter(lambda x: x == 0 or abs(x) > 1e-5)
ROWS = {
    Flight: st.builds(Flight, TEXT, MONEY, TEXT, TEXT, TEXT, TEXT, TEXT, TEXT, MONEY),
    Restaurant: st.builds(Restaurant, TEXT, TEXT, TEXT, MONEY, MONEY),
    Attraction: st.builds(Attraction, TEXT, PLACE.map(str), PLACE.map(str), TEXT, TEXT, TEXT, TEXT),
    Accommodation: st.builds(
        Accommodation, TEXT, TEXT, MONEY, MONEY, MONEY, TEXT, st.integers(1, 20), TEXT
    ),
}


@settings(max_examples=200, deadline=None)
@given(
    records=st.sampled_from(list(ROWS)).flatmap(
        lambda kind: st.lists(ROWS[kind], min_size=1, max_size=6)
    )
)
def test_tables_are_what_pandas_prints(records: list[Any]) -> None:
    pandas = pytest.importorskip(
        "pandas", reason="pandas is not installed: the tables were compared where it was"
    )
    columns = OFFICIAL.tables[type(records[0])].columns
    frame = pandas.DataFrame({column.label: column.of(records) for column in columns})
    assert "\n".join(to_string(columns, records)) == frame.to_string(index=False)


def test_real_tables_are_what_pandas_prints(travelplanner: Path, real_world: World) -> None:
    pandas = pytest.importorskip(
        "pandas", reason="pandas is not installed: the tables were compared where it was"
    )
    box = ToolBox(real_world, face_named("official"))
    for table, tool, columns in (
        ("accommodations.csv", "AccommodationSearch", OFFICIAL.tables[Accommodation].labels),
        ("restaurants.csv", "RestaurantSearch", OFFICIAL.tables[Restaurant].labels),
        ("attractions.csv", "AttractionSearch", OFFICIAL.tables[Attraction].labels),
    ):
        everywhere = pandas.read_csv(travelplanner / "database" / table).dropna()[list(columns)]
        known = [
            (city, rows)
            for city, rows in everywhere.groupby(columns[-1])
            if city in real_world.cities
        ]
        assert len(known) > 200
        for city, rows in known[::10]:
            assert box.call(tool, {"city": city}).text == rows.to_string(index=False)
    flights = pandas.read_csv(travelplanner / "database" / "flights.csv").dropna()[
        list(OFFICIAL.tables[Flight].labels)
    ]
    for (day, origin, destination), rows in list(
        flights.groupby(["FlightDate", "OriginCityName", "DestCityName"])
    )[::10]:
        asked = {"origin": origin, "destination": destination, "date": day}
        assert box.call("FlightSearch", asked).text == rows.to_string(index=False)

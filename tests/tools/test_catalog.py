from __future__ import annotations

import json

import pytest

from tests.tools.conftest import calls_in
from tripwright.domains import face_named
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.tools.answer import ToolError, quoted
from tripwright.tools.toolbox import ToolBox
from tripwright.world.records import WorldTables
from tripwright.world.store import World

# row P1's names in its order, with their arguments
ARGUMENTS = {
    "search_flights": ["origin", "destination", "date"],
    "search_accommodations": ["city"],
    "search_restaurants": ["city"],
    "search_attractions": ["city"],
    "search_ground_transportation": ["origin", "destination", "mode"],
    "get_cities": ["state"],
    "calculator": ["expression"],
}


def test_schemas_follow_row_p1() -> None:
    schemas = face_named("planner_r1").schemas()
    assert {
        s["function"]["name"]: s["function"]["parameters"]["required"] for s in schemas
    } == ARGUMENTS
    assert [s["function"]["name"] for s in schemas] == list(ARGUMENTS)
    for schema in schemas:
        assert schema["type"] == "function" and schema["function"]["description"].endswith(".")
        assert schema["function"]["parameters"]["type"] == "object"
        assert all(
            p["type"] == "string" and p["description"]
            for p in schema["function"]["parameters"]["properties"].values()
        )


def test_one_schema_in_full() -> None:
    assert face_named("planner_r1").schemas()[4]["function"] == {
        "name": "search_ground_transportation",
        "description": (
            "Look up the road between two cities: duration, distance and the cost in US dollars of"
            " one car or one taxi."
        ),
        "parameters": {
            "type": "object",
            "properties": {
                "origin": {"type": "string", "description": "The city to start from."},
                "destination": {"type": "string", "description": "The city to reach."},
                "mode": {
                    "type": "string",
                    "enum": ["self-driving", "taxi"],
                    "description": (
                        "Drive a car oneself (up to 5 people) or take a taxi (up to 4 people)."
                    ),
                },
            },
            "required": ["origin", "destination", "mode"],
        },
    }


def test_schemas_agree_with_transformers(world: World) -> None:
    """The schema that Hugging Face derives from the same signature and docstring, where
    transformers is installed."""
    utils = pytest.importorskip("transformers.utils.chat_template_utils")
    tools = TravelTools(world)
    for ours in face_named("compact").schemas():
        theirs = utils.get_json_schema(getattr(tools, ours["function"]["name"]))
        theirs["function"].pop("return", None)
        # theirs keeps the line breaks of the docstring's first sentence
        theirs["function"]["description"] = " ".join(theirs["function"]["description"].split())
        assert ours == theirs


def test_schemas_are_fresh_copies() -> None:
    face_named("planner_r1").schemas()[0]["function"]["name"] = "changed"
    assert face_named("planner_r1").schemas()[0]["function"]["name"] == "search_flights"


def test_rows_come_as_records_in_file_order(world: World) -> None:
    tools = TravelTools(world)
    assert [f.number for f in tools.search_flights("Boston", "Rockford", "2022-03-16")] == [
        "F2",
        "F1",
        "F3",
    ]
    assert [a.name for a in tools.search_accommodations("Boston")] == ["Loft", "Nook"]
    assert [r.average_cost_usd for r in tools.search_restaurants("Boston")] == [50.0, 12.0, 12.0]
    assert tools.get_cities("Massachusetts").cities == ("Boston", "Salem")
    assert tools.calculator("2*3").value == 6


def test_road_prices_are_the_official_ones(world: World) -> None:
    tools = TravelTools(world)
    # int(0.05 * 1118)
    assert tools.search_ground_transportation("Boston", "Rockford", "self-driving").cost_usd == 55
    assert tools.search_ground_transportation("Boston", "Rockford", "taxi").cost_usd == 1118
    assert tools.search_ground_transportation("Boston", "Salem", "taxi").cost_usd == 25
    assert tools.search_ground_transportation("Boston", "Salem", "self-driving").cost_usd == 1


MISTAKES = """
>>> search_flights {"origin": "Bostn", "destination": "Rockford", "date": "2022-03-16"}
Unknown city 'Bostn'. Did you mean 'Boston'?
>>> search_flights {"origin": "Boston", "destination": "Rockford", "date": "3/5"}
Date '3/5' is not YYYY-MM-DD.
>>> search_flights {"origin": "Boston", "destination": "Rockford", "date": "20220316"}
Date '20220316' is not YYYY-MM-DD.
>>> search_flights {"origin": "Boston", "destination": "Rockford", "date": "2022-02-30"}
Date '2022-02-30' is not a day of the calendar.
>>> search_flights {"origin": "Boston", "destination": "Rockford", "date": "2022-03-17"}
No flights from Boston to Rockford on 2022-03-17.
>>> search_flights {"origin": "Boston"}
Missing arguments 'destination', 'date'. search_flights takes origin, destination, date.
>>> search_flights {"origin": "Boston", "destination": "Rockford", "date": "2022-03-16", "day": 1}
Unknown argument 'day'. search_flights takes origin, destination, date.
>>> search_restaurants {"city": 3}
Argument 'city' must be a string, found integer 3.
>>> search_restaurants {"city": null}
Argument 'city' must be a string, found null.
>>> search_restaurants {"city": "rockford(Illinois)"}
Unknown city 'rockford(Illinois)'. Did you mean 'Rockford'?
>>> search_restaurants {"city": "Florida"}
Unknown city 'Florida'. It is a state: get_cities lists its cities.
>>> search_restaurants {"city": "Zzyzx"}
Unknown city 'Zzyzx'.
>>> search_restaurants {"city": "Tampa"}
No restaurants in Tampa.
>>> search_accommodations {"city": "Tampa"}
No accommodations in Tampa.
>>> search_attractions {"city": "Tampa"}
No attractions in Tampa.
>>> get_cities {"state": "Ilinois"}
Unknown state 'Ilinois'. Did you mean 'Illinois'?
>>> search_ground_transportation {"origin": "Boston", "destination": "Rockford", "mode": "bus"}
Argument 'mode' must be 'self-driving' or 'taxi', found 'bus'.
>>> search_ground_transportation {"origin": "Boston", "destination": "Tampa", "mode": "taxi"}
No valid taxi route from Boston to Tampa.
>>> search_ground_transportation {"origin": "Rockford", "destination": "Boston", "mode": "self-driving"}
No valid self-driving route from Rockford to Boston.
>>> search_ground_transportation {"origin": "Tampa", "destination": "Rockford", "mode": "taxi"}
No valid taxi route from Tampa to Rockford.
>>> fly {}
Unknown tool 'fly'. The tools are search_flights, search_accommodations, search_restaurants, search_attractions, search_ground_transportation, get_cities, calculator.
"""  # noqa: E501


@pytest.mark.parametrize(("name", "arguments", "said"), calls_in(MISTAKES))
def test_mistakes_are_answered_in_one_line(
    world: World, name: str, arguments: str, said: str
) -> None:
    answer = ToolBox(world, face_named("planner_r1")).call(name, arguments)
    assert answer.error and json.loads(answer.text) == {"error": said}


def test_an_uncovered_search_is_unknown_and_not_empty() -> None:
    bare = WorldTables(
        [("Boston", "MA"), ("Tampa", "FL")],
        [],
        [],
        [],
        [],
        [],
        covered_searches=[("Boston", "Tampa", "2022-03-16")],
    )
    tools = TravelTools(World.in_memory(bare))
    with pytest.raises(ToolError, match=r"^No flights"):
        tools.search_flights("Boston", "Tampa", "2022-03-16")
    with pytest.raises(
        ToolError,
        match=(
            "Boston → Tampa on 2022-03-17 is outside this world's records: unknown, not 'no"
            " flights'"
        ),
    ):
        tools.search_flights("Boston", "Tampa", "2022-03-17")


def test_a_quote_is_short_and_harmless() -> None:
    assert quoted("<|im_end|>") == "'?|im_end|?'"
    assert quoted("\ud800") == "'?'"
    assert len(quoted("x" * 10_000)) < 70


def test_a_quote_of_anything_else_is_how_python_writes_it() -> None:
    for value in (3, 2.5, None, True, [], {}, [1, "a", {"b": [None]}], {"a": 1, "b": [2]}, (1, 2)):
        assert quoted(value) == repr(value)
    assert quoted(list(range(100))) == repr(list(range(100)))[:60] + "…"
    assert quoted(10**5000) == "int"
    deep: object = "end"
    for _ in range(100_000):
        deep = [deep]
    assert quoted(deep) == "[" * 60 + "…"

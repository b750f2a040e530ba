import pytest

from tripwright.domains import face_named
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.tools.answer import ToolError, quoted
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


def test_schemas_follow_row_p1():
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


def test_schemas_agree_with_transformers(world):
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


def test_schemas_are_fresh_copies():
    face_named("planner_r1").schemas()[0]["function"]["name"] = "changed"
    assert face_named("planner_r1").schemas()[0]["function"]["name"] == "search_flights"


def test_road_prices_are_the_official_ones(world):
    tools = TravelTools(world)
    # int(0.05 * 1118)
    assert tools.search_ground_transportation("Boston", "Rockford", "self-driving").cost_usd == 55
    assert tools.search_ground_transportation("Boston", "Rockford", "taxi").cost_usd == 1118
    assert tools.search_ground_transportation("Boston", "Salem", "taxi").cost_usd == 25
    assert tools.search_ground_transportation("Boston", "Salem", "self-driving").cost_usd == 1


def test_an_uncovered_search_is_unknown_and_not_empty():
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


def test_a_quote_of_anything_else_is_how_python_writes_it():
    for value in (3, 2.5, None, True, [], {}, [1, "a", {"b": [None]}], {"a": 1, "b": [2]}, (1, 2)):
        assert quoted(value) == repr(value)
    assert quoted(list(range(100))) == repr(list(range(100)))[:60] + "…"
    assert quoted(10**5000) == "int"
    deep: object = "end"
    for _ in range(100_000):
        deep = [deep]
    assert quoted(deep) == "list"

"""TravelPlanner's tools: their schemas, what they answer, and how faces write it."""

import hashlib
import itertools

import pytest

from tests.made import made_world
from tripwright.domains import face_named
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.tools.answer import ToolError, quoted
from tripwright.tools.face import number
from tripwright.tools.toolbox import ToolBox

# row P1's names in its order, with their arguments
PLACES = ("search_accommodations", "search_restaurants", "search_attractions")
ARGUMENTS = {"search_flights": ["origin", "destination", "date"]}
ARGUMENTS |= dict.fromkeys(PLACES, ["city"])
ARGUMENTS |= {"search_ground_transportation": ["origin", "destination", "mode"]}
ARGUMENTS |= {"get_cities": ["state"], "calculator": ["expression"]}


def test_schemas_follow_row_p1():
    schemas = face_named("planner_r1").schemas()
    functions = {schema["function"]["name"]: schema["function"] for schema in schemas}
    assert list(functions) == list(ARGUMENTS)
    assert {schema["type"] for schema in schemas} == {"function"}
    for name, function in functions.items():
        assert function["parameters"]["required"] == ARGUMENTS[name]
        assert function["description"].endswith(".") and function["parameters"]["type"] == "object"
        for argument in function["parameters"]["properties"].values():
            assert argument["type"] == "string" and argument["description"]


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


def test_an_uncovered_search_is_unknown_and_not_empty():
    known = [("Boston", "Tampa", "2022-03-16")]
    tools = TravelTools(made_world({"Boston": "MA", "Tampa": "FL"}, covered_searches=known))
    with pytest.raises(ToolError, match=r"^No flights"):
        tools.search_flights("Boston", "Tampa", "2022-03-16")
    outside = "Boston → Tampa on 2022-03-17 is outside this world's records"
    with pytest.raises(ToolError, match=f"{outside}: unknown, not 'no flights'"):
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


# ---- faces


ANSWERS_OF_THE_JSON_FACES = "7d7022995d839e63b0ca25ec650d842b85d2f2d21175567d5a86db514f3a3e74"


def test_what_models_were_trained_on_has_not_changed(world):
    """Answers and errors of the JSON faces, byte for byte: a model that learned to read them would
    go wrong on others."""
    places = ["Boston", "Rockford", "Tampa", "Massachusetts", "Bostn"]
    others = ["2022-03-16", "2022-02-30", "self-driving", "bus", "2*3", "<|im_end|>", 3]
    values = [*places, *others]
    digest = hashlib.sha256()
    for box in (ToolBox(world, face_named("planner_r1")), ToolBox(world, face_named("compact"))):
        for function in (schema["function"] for schema in face_named("planner_r1").schemas()):
            names = function["parameters"]["required"]
            calls = [
                dict(zip(names, chosen, strict=True))
                for chosen in itertools.product(values, repeat=len(names))
            ]
            for arguments in [*calls, {}, {"day": 1}, "{", "[]"]:
                answer = box.call(function["name"], arguments)
                digest.update(f"{answer.error} {answer.text}\n".encode())
    assert digest.hexdigest() == ANSWERS_OF_THE_JSON_FACES


def test_numbers():
    exact = {88.0: 88, 88.5: 88.5, -0.0: 0, 1e18: 10**18, 0.1 + 0.2: 0.3, 1e-9: 1e-9}
    assert [number(x) for x in exact] == list(exact.values())

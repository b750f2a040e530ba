from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tripwright.tools.catalog import tool_schemas
from tripwright.tools.faces import FACES
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

TOOL_NAMES = [schema["function"]["name"] for schema in tool_schemas()]
ARGUMENT_NAMES = ["origin", "destination", "date", "city", "state", "mode", "expression"]
JSON_VALUES = st.recursive(
    st.one_of(
        *(st.none(), st.booleans(), st.integers(), st.floats(), st.text()),
        st.sampled_from(["Boston", "Rockford", "taxi", "2022-03-16"]),
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=5,
)


def test_arguments_may_be_an_object_or_its_text(world: World) -> None:
    box = ToolBox(world)
    assert box.call("get_cities", {"state": "Illinois"}) == box.call("get_cities", '{"state": "Illinois"}')
    assert box.call("get_cities", {"state": "Illinois"}).text == '{"cities":["Rockford"]}'
    assert box.schemas == tool_schemas()


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ('{"state": "Illinois"', "The arguments are not valid JSON (Expecting ',' delimiter at character 20)."),
        ("[" * 100_000, "The arguments are not valid JSON."),
        ("9" * 5000, "The arguments are not valid JSON."),
        ('["Illinois"]', "The arguments must be a JSON object, found ['Illinois']."),
        ("null", "The arguments must be a JSON object, found None."),
        ({"state": "Texass<|im_end|>\ud800"}, "Unknown state 'Texass?|im_end|??'."),
    ],
)
def test_mistakes_are_answers(world: World, face: str, arguments: Any, said: str) -> None:
    answer = ToolBox(world, face).call("get_cities", arguments)
    assert answer.error and json.loads(answer.text) == {"error": said}
    answer.text.encode()


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    name=st.one_of(st.sampled_from(TOOL_NAMES), st.text()),
    arguments=st.one_of(st.text(), JSON_VALUES, st.dictionaries(st.sampled_from(ARGUMENT_NAMES), JSON_VALUES, max_size=3)),
)
def test_no_call_raises_and_every_answer_is_json_text(world: World, name: str, arguments: Any) -> None:
    answer = ToolBox(world).call(name, arguments)
    assert isinstance(json.loads(answer.text), dict)
    assert answer.error == ("error" in json.loads(answer.text))
    answer.text.encode()
    assert len(answer.text) < 1000


@pytest.mark.parametrize(("face", "nothing"), [("compact", '{"rows":[]}'), ("planner_r1", "[]")])
def test_an_emptied_box_tells_nothing(world: World, face: str, nothing: str) -> None:
    box = ToolBox(world, face, emptied=True)
    for name, arguments in [("search_restaurants", {"city": "Boston"}), ("get_cities", {"state": "Ilinois"}), ("nonsense", {})]:
        answer = box.call(name, arguments)
        assert answer.text == nothing and not answer.error

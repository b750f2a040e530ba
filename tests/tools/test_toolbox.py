import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tripwright.domains import domain_named, face_named
from tripwright.domains.travelplanner.tools.catalog import Number, TravelTools
from tripwright.errors import UserError
from tripwright.tools.toolbox import ToolBox

FACES = [face.name for face in domain_named("travelplanner").faces]
ALL_FACES = [*FACES, *(face.name for face in domain_named("deeptravel").faces)]
FUNCTIONS = [each["function"] for face in ALL_FACES for each in face_named(face).schemas()]
TOOL_NAMES = sorted({each["name"] for each in FUNCTIONS})
ARGUMENT_NAMES = sorted({"page"}.union(*(each["parameters"]["properties"] for each in FUNCTIONS)))
NAMES = st.sampled_from(["Boston", "Rockford", "Salem", "taxi", "2022-03-16"])
SINGLE = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | NAMES
JSON_VALUES = st.recursive(
    SINGLE,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def test_arguments_may_be_an_object_or_its_text_after_a_byte_order_mark_too(world):
    box = ToolBox(world, face_named("compact"))
    answer = box.call("get_cities", {"state": "Illinois"})
    assert answer.text == '{"cities":["Rockford"]}'
    for mark in ("", "\ufeff"):
        assert box.call("get_cities", f'{mark}{{"state": "Illinois"}}') == answer
    assert box.call("get_cities", "\ufeff").text == box.call("get_cities", "").text


@pytest.mark.parametrize("face", ["planner_r1", "compact"])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            '{"state": "Illinois"',
            "The arguments are not valid JSON (Expecting ',' delimiter at character 20).",
        ),
        ("[" * 100_000, "The arguments are not valid JSON."),
        ("9" * 5000, "The arguments are not valid JSON."),
        ('["Illinois"]', "The arguments must be a JSON object, found ['Illinois']."),
        ("null", "The arguments must be a JSON object, found None."),
        ({"state": "Texass<|im_end|>\ud800"}, "Unknown state 'Texass?|im_end|??'."),
    ],
)
def test_mistakes_are_answers(world, face, arguments, said):
    answer = ToolBox(world, face_named(face)).call("get_cities", arguments)
    assert answer.error and json.loads(answer.text) == {"error": said}
    answer.text.encode()


@settings(
    max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    face=st.sampled_from(ALL_FACES),
    page_rows=st.sampled_from([None, 1, 2]),
    name=st.one_of(st.sampled_from(TOOL_NAMES), st.text()),
    arguments=st.text()
    | JSON_VALUES
    | st.dictionaries(st.sampled_from(ARGUMENT_NAMES), JSON_VALUES, max_size=4),
)
def test_no_call_raises_and_every_answer_is_short_text(world, face, page_rows, name, arguments):
    answer = ToolBox(world, face_named(face), page_rows=page_rows).call(name, arguments)
    answer.text.encode()
    assert answer.text and len(answer.text) < (1000 if face in FACES else 8000)
    if face != "star":
        assert answer.error == ("error" in json.loads(answer.text))


def nested(depth: int) -> Any:
    value: Any = "Boston"
    for _ in range(depth):
        value = [value]
    return value


HOSTILE = {
    "SQL": "Boston'; DROP TABLE place; --",
    "SQL union": 'Boston" UNION SELECT * FROM sqlite_master --',
    "wildcards": "%",
    "Cyrillic": "\u0412\u043e\u0441ton",
    "full width": "\uff22\uff4f\uff53\uff54\uff4f\uff4e",
    "zero width": "Bos\u200bton",
    "trailing blank": "Boston ",
    "another case": "BOSTON",
    "null byte": "Boston\x00",
    "lines": "Boston\nDay 1:\r\u2028Salem",
    "lone surrogates": "\ud800\udc00\ud800",
    "control token": "<|im_end|><|im_start|>system",
    "format fields": "{city} {0} {__class__} %s",
    "empty": "",
    "1 MB": "x" * 1_000_000,
    "1 MB of quotes": "'" * 1_000_000,
    "NaN": float("nan"),
    "infinity": float("inf"),
    "an integer of 5,000 digits": 10**5000,
    "deep": nested(100_000),
    "wide": [0] * 100_000,
    "object": {"city": "Boston"},
    "null": None,
}


@pytest.mark.parametrize("face", FACES)
@pytest.mark.parametrize("what", HOSTILE)
def test_what_is_no_name_finds_nothing_and_is_told_so_in_one_line(world, face, what):
    box = ToolBox(world, face_named(face))
    arguments = {"origin": "Boston", "destination": "Rockford", "date": "2022-03-16"}
    arguments |= {"city": "Boston", "state": "Illinois", "mode": "taxi"}
    for schema in face_named("planner_r1").schemas():
        core, names = schema["function"]["name"], schema["function"]["parameters"]["required"]
        if core not in box.face.names or core == "calculator":
            continue
        for hit in names:
            asked = {name: HOSTILE[what] if name == hit else arguments[name] for name in names}
            answer = box.call(*box.face.offer.call_of(core, asked))
            assert answer.error and "\n" not in answer.text and len(answer.text) < 500
            answer.text.encode()
    # nothing was dropped
    assert not box.call(*box.face.offer.call_of("search_restaurants", {"city": "Boston"})).error


@pytest.mark.parametrize(
    ("face", "nothing"),
    [("compact", '{"rows":[]}'), ("planner_r1", "[]"), ("star", "No information.")],
)
def test_an_emptied_box_tells_nothing(world, face, nothing):
    box = ToolBox(world, face_named(face), emptied=True)
    for name, arguments in [
        ("search_restaurants", {"city": "Boston"}),
        ("get_cities", {"state": "Ilinois"}),
        ("nonsense", {}),
    ]:
        answer = box.call(name, arguments)
        assert answer.text == nothing and not answer.error


class Rates(TravelTools):
    def euros(self, amount_usd: float) -> Number:
        """Change dollars.

        Args:
            amount_usd: US dollars.
        """
        return self.calculator(f"{amount_usd} / 2")


class Undescribed(TravelTools):
    def euros(self, amount_usd: float) -> str:
        """Change dollars."""


class Untyped(TravelTools):
    def euros(self, amount_usd) -> str:
        """Change dollars.

        Args:
            amount_usd: US dollars.
        """


def test_a_whole_number_is_a_number_and_an_unclear_tool_is_named(world):
    face = replace(face_named("compact"), name="rates", core=Rates, names=None)
    assert "5" in ToolBox(world, face).call("euros", {"amount_usd": 10}).text
    assert ToolBox(world, face).call("euros", {"amount_usd": "10"}).error
    for core in (Undescribed, Untyped):
        with pytest.raises(UserError, match="'euros': its argument 'amount_usd'"):
            ToolBox(world, replace(face, core=core))

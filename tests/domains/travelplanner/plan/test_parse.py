import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.domains.travelplanner.plan.parse import extract_answer, parse_answer

STAY: dict[str, Any] = {
    "days": 2, "city": "Rockford", "transportation": "-", "attraction": ["Old Tower"], "accommodation": "Inn",
    "breakfast": "A", "lunch": "B", "dinner": "C",
}  # fmt: skip
ROAD: dict[str, Any] = {"mode": "taxi", "from": "A", "to": "B"}
ROAD |= {"duration": "1 hour", "distance": "70 km", "cost": 70}
TRAVEL = STAY | {"days": 1, "city": {"from": "A", "to": "B"}}
TRAVEL |= {"transportation": ROAD, "attraction": "-"}


def answer(days: Any) -> str:
    return f"<think>hm</think><answer>{json.dumps(days)}</answer>"


def test_a_plan_in_an_answer_block_is_read():
    parsed = parse_answer(answer([TRAVEL, STAY]))
    assert parsed.problem is None
    assert [day.record() for day in parsed.days] == [TRAVEL, STAY]


def test_the_last_block_counts():
    text = "<answer>first</answer> no, rather " + answer([STAY])
    assert parse_answer(text).days is not None
    assert extract_answer("<answer> 1 </answer><answer> 2 </answer>") == "2"
    assert extract_answer(answer([STAY]) + " or <answer>[") is None
    assert extract_answer("nothing here") == "nothing here"


@pytest.mark.parametrize("fence", ["```json\n{}\n```", "```\n{}\n```", "```{}```", " \n{}\n "])
def test_fences_and_blanks_are_forgiven(fence):
    assert (
        parse_answer(f"<answer>{fence.replace('{}', json.dumps([STAY]))}</answer>").days is not None
    )
    assert parse_answer(fence.replace("{}", json.dumps([STAY]))).days is not None


def test_whole_numbers_may_be_written_as_json_floats():
    parsed = parse_answer(answer([TRAVEL | {"days": 1.0, "transportation": ROAD | {"cost": 70.0}}]))
    assert parsed.days[0].days == 1


def test_spellings_of_one_thing_are_read():
    spelt = ROAD | {"mode": ROAD["mode"].capitalize(), "flight_number": None}
    (day,) = parse_answer(answer([STAY | {"transportation": spelt, "attraction": []}])).days
    assert (day.transportation.mode, day.attraction) == (ROAD["mode"], "-")


@pytest.mark.parametrize(
    ("days", "expected"),
    [
        ([], "no days"),
        ({}, "array of day objects, found an object"),
        ("plan", "found a string"),
        ([STAY, {**STAY, "days": "2"}], "day 2: field 'days': input should be a valid integer, found '2'"),
        ([STAY | {"days": True}], "field 'days'"),
        ([STAY | {"city": {"from": "A"}}], "field 'city.to': field required"),
        ([STAY | {"city": {"from": "A", "to": "B", "via": "C"}}], "field 'city.via'"),
        ([STAY | {"transportation": "Taxi, from A to B"}], "field 'transportation'"),
        ([STAY | {"transportation": ROAD | {"mode": "bus"}}], "field 'transportation.mode'"),
        ([STAY | {"transportation": ROAD | {"cost": "70"}}], "field 'transportation.cost'"),
        ([STAY | {"transportation": ROAD | {"flight_number": 7}}], "field 'transportation.flight_number'"),
        ([STAY | {"attraction": ["Old Tower", 3]}], "field 'attraction.1'"),
        ([STAY | {"notes": "x"}], "field 'notes'"),
        ([{key: value for key, value in STAY.items() if key != "lunch"}], "field 'lunch': field required"),
    ],
)  # fmt: skip
def test_what_breaks_the_schema_is_named_in_one_line(days, expected):
    parsed = parse_answer(answer(days))
    assert parsed.days is None
    assert expected in parsed.problem
    assert "\n" not in parsed.problem


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I could not find a plan.",
        "<answer>",
        "</answer>",
        "<answer></answer>",
        "<answer>[" + "[" * 200_000 + "</answer>",
        "<answer>" + '{"a":' * 100_000 + "</answer>",
        "<answer>[NaN]</answer>",
        '<answer>[{"days": ' + "9" * 10_000 + "}]</answer>",
        "<answer>__import__('os').system('true')</answer>",
        "<answer>[{'days': 1}]</answer>",
        "<answer>[1,]</answer>",
        '<answer>["\\ud800"]</answer>',
        "<answer>```json\n```</answer>",
        "<answer>" * 50_000,
        "\x00\ud800",
    ],
)
def test_nonsense_is_a_problem_and_not_an_exception(text):
    parsed = parse_answer(text)
    assert parsed.days is None
    assert parsed.problem
    assert "\n" not in parsed.problem


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from([*STAY, *ROAD, "x"]), inner, max_size=8)
    ),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        JSON | st.dictionaries(st.sampled_from(list(STAY)), JSON).map(lambda change: STAY | change),
        max_size=3,
    )
)
def test_any_json_is_either_a_plan_that_reads_back_or_a_problem(days):
    parsed = parse_answer(answer(days))
    assert (parsed.days is None) != (parsed.problem is None)
    if parsed.days is not None:
        again = parse_answer(json.dumps([day.record() for day in parsed.days]))
        assert again.days == parsed.days

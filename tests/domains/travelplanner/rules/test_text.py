"""The primitives against the official regular expressions themselves (as described in the
benchmark's documentation of its format)."""

import re
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tripwright.domains.travelplanner.rules.lookup import (
    _from_to_linear,
    attraction_pieces,
    before_parenthesis,
    filled,
    from_to,
    name_and_city,
    travel_mode,
)

FROM_TO = re.compile(r"from\s+(.+?)\s+to\s+([^,]+)(?=[,\s]|$)")
NAME_CITY = re.compile(r"(.*?),\s*([^,]+)(\(\w[\w\s]*\))?$")
PARENTHESIS = re.compile(r"^(.*?)\([^)]*\)")


def expected_from_to(text: str) -> tuple[str | None, str | None]:
    match = FROM_TO.search(text)
    return (match[1], match[2]) if match else (None, None)


def expected_before_parenthesis(text: str) -> str:
    match = PARENTHESIS.search(text)
    return match[1] if match else text


def expected_name_and_city(text: str) -> tuple[str, str]:
    match = NAME_CITY.search(text)
    return (
        (match[1].strip(), expected_before_parenthesis(match[2].strip()).strip())
        if match
        else ("-", "-")
    )


WORDS = ["from", "to", " ", "  ", "\n", "\t", ",", "A", "B", "(", ")", "x y", "\x1c", "\u00a0", "."]
PIECES = st.lists(st.sampled_from([*WORDS, "fromto"]), max_size=14)


@settings(max_examples=600, deadline=None)
@given(PIECES.map("".join))
@example("from   to B")
@example("from\n  to B")
@example("from A to  ,")
@example("from A\nB to C from D to E")
@example("from from to to to")
@example("from A to B to C, D")
def test_primitives_agree_with_the_regular_expressions(text):
    assert from_to(text) == expected_from_to(text)
    assert _from_to_linear(text) == expected_from_to(text)
    assert before_parenthesis(text) == expected_before_parenthesis(text)
    assert name_and_city(text) == expected_name_and_city(text)


@pytest.mark.parametrize(
    "text",
    [
        "from" + " " * 50_000,
        "from " * 10_000,
        "from a " + "to " * 20_000 + ",",
        "x to y " * 10_000,
        ", " * 20_000,
        "(" * 50_000,
        "from" + " to" * 20_000 + "\n",
    ],
)
@pytest.mark.usefixtures("no_collection")
def test_hostile_text_costs_milliseconds(text):
    start = time.process_time()
    from_to(text)
    name_and_city(text)
    before_parenthesis(text)
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize("value", [None, 3, ["a"], {"from": "a"}, True])
def test_what_is_not_text_is_a_type_error(value):
    for read in (from_to, before_parenthesis, name_and_city):
        with pytest.raises(TypeError):
            read(value)


def test_filled_mode_and_pieces():
    assert [value for value in ("-", "", None, [], " ", "x") if filled(value)] == [" ", "x"]
    modes = {"TAXI": "Taxi", "taxi/flight": "Taxi", "Self-Driving": "Self-driving"}
    modes |= {"a flight": "Flight"}
    assert {text: travel_mode(text) for text in modes} == modes and travel_mode("Bus") is None
    assert attraction_pieces("A, X;B, X;") == ["A, X", "B, X"]
    assert attraction_pieces("A, X") == []

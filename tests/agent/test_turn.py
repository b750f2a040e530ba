"""Reading a turn: one call or one answer, and whatever else a model writes is a value, never an
exception."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.agent.turn import (
    LONGEST_CALL,
    Answer,
    Call,
    TurnFormat,
    Unreadable,
    read_turn,
    write_call,
)
from tripwright.domains import dialect_named
from tripwright.transcript import call_key

PIECES = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<answer>", "</answer>", '{"name":', '"arguments":'),
        *("{}", "[]", '"x"', "1e999", "NaN", "\\ud800", "\x00", "<think>", "</think>"),
        *("<tool_call_thinking>", "</tool_call_thinking>", "web_search(", "query=", *"'\"\\,){}"),
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES | st.text(max_size=8), max_size=14).map("".join))
@pytest.mark.parametrize("name", ["planner_r1", "star", "deeptravel"])
def test_no_text_makes_it_raise(name, text):
    read = read_turn(text, dialect_named(name).turns)
    assert isinstance(read, Call | Answer | Unreadable)
    if isinstance(read, Call):
        assert isinstance(call_key(read.name, read.arguments), str)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20), st.dictionaries(st.text(max_size=8), JSON, max_size=3))
def test_what_is_written_is_read_back(name, arguments):
    text = write_call(name, arguments)
    read = read_turn("I think. " + text)
    opening = text.count("<tool_call>") + text.count("<answer>")
    if opening == 1 == text.count("</tool_call>") and len(text) <= LONGEST_CALL:
        assert read == Call(name, arguments)


@pytest.mark.parametrize("depth", [10, 200, 900, *range(950, 1010, 5), 1500])
def test_depth_is_no_way_to_crash_it(depth):
    deep = "[" * depth + "]" * depth
    read = read_turn(f'<tool_call>{{"name":"a","arguments":{{"b":{deep}}}}}</tool_call>')
    if isinstance(read, Call):
        assert isinstance(call_key(read.name, read.arguments), str)


def test_keys_are_equal_for_calls_that_ask_the_same():
    one, other = (
        read_turn(f'<tool_call>{{"name":"f","arguments":{a}}}</tool_call>')
        for a in ('{"x":1,"y":2}', '{ "y":2, "x":1 }')
    )
    assert isinstance(one, Call) and isinstance(other, Call)
    assert call_key(one.name, one.arguments) == call_key(other.name, other.arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no call",
        "<answer>[]",
        "<tool_call>{}</tool_call>",
        '<tool_call>{"name":"a","arguments":[]}</tool_call>',
        '<tool_call>{"name":1,"arguments":{}}</tool_call>',
        "<answer>[]</answer><answer>[]</answer>",
        (
            f"<tool_call>{json.dumps({'name': 'a', 'arguments': {'b': 'c' * LONGEST_CALL}})}</tool_call>"  # noqa: E501
        ),
    ],
)
def test_unreadable_turns(text):
    assert isinstance(read_turn(text), Unreadable)


@pytest.mark.parametrize(
    "thought",
    ["", "I need <tool_call> for this, then <answer>.", "a </tool_call> b", "Line 1\nLine 2"],
)
def test_a_thought_before_a_call_or_an_answer_is_no_part_of_it(thought):
    call = '<tool_call>\n{"name": "SearchCity", "arguments": {"state": "Texas"}}\n</tool_call>'
    called = read_turn(f"<think> {thought} </think>\n{call}")
    assert called == Call("SearchCity", {"state": "Texas"})
    answered = read_turn(f"\n<think>{thought}</think><answer>Day 1: home</answer>")
    assert answered == Answer("Day 1: home")


@pytest.mark.parametrize(
    "text",
    [
        "<think>a</think>",
        "<think>" + write_call("a", {}) + "</think>",  # thought of, not called
        "<think> <answer> </think><answer>1</answer><answer>2</answer>",
        # only a thought that opens the turn is one
        "First <answer> <think>a</think><answer>1</answer>",
    ],
)
def test_thoughts_are_no_excuse(text):
    assert isinstance(read_turn(text), Unreadable)


@pytest.mark.parametrize(
    "text",
    [
        write_call("a", {}) + write_call("b", {}),
        f"<think>a</think>{2 * write_call('a', {})}",
        f"First {write_call('a', {})} then <answer>[]</answer>",
        f"<answer>[]</answer>{write_call('a', {})}",
    ],
)
def test_of_several_calls_or_a_call_and_an_answer_the_first_call_is_read(text):
    assert read_turn(text) == Call("a", {}, alone=False)


STAR = TurnFormat(least_thoughts=1, words_outside=False)


@pytest.mark.parametrize(
    "text",
    [
        "{tags}",
        "Now. <think>a</think>{tags}",
        "<think>a</think> So: {tags}",
        "<think>a</think>{tags} And then?",
        "<think>a</think><think>b</think>{tags}",
        "<think>a {tags}",
        "<think>a</think>{tags}</think>",
    ],
)
@pytest.mark.parametrize("tags", [write_call("a", {}), "<answer>Day 1: home</answer>"])
def test_stars_format_is_one_thought_and_one_call_or_answer(text, tags):
    """STAR, Appendix E: exactly one of two patterns, white space aside."""
    read = read_turn(f"\n<think> a </think>\n\n{tags}\n", STAR)
    assert read == (Call("a", {}) if "tool_call" in tags else Answer("Day 1: home"))
    assert isinstance(read_turn(text.format(tags=tags), STAR), Unreadable)


def test_brackets_without_end_are_unreadable():
    wide = write_call("a", {"b": [[]] * 200})
    alternating = write_call("a", {"b": json.loads("[" + '"]",[' * 150 + "]" * 151)})
    assert isinstance(read_turn(wide), Unreadable)
    assert isinstance(read_turn(alternating), Unreadable)

"""Turns of the DeepTravel dialects (row D6): the tags of A.2.1, and calls in the paper's own
notation."""

import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.printed import printed
from tripwright.agent.turn import (
    LONGEST_CALL,
    MOST_BRACKETS,
    ONE_THOUGHT,
    Answer,
    Call,
    Unreadable,
    read_turn,
    write_call,
)
from tripwright.domains import dialect_named, dialects
from tripwright.domains.deeptravel.dialects import ADDED_TO_THE_PAPERS_PROMPT, DEEPTRAVEL_TURNS
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.task import Errand
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.episode import Session, open_session

CALL = write_call("web_search", {"query": "Wuhan"})
THOUGHT = "<think>Where?</think>\n"
TEMPTING = "I could write <tool_call>{}</tool_call> or <answer>done</answer>"
NANO = 7  # of `provider`


def read(text: str) -> Call | Answer | Unreadable:
    return read_turn(text, DEEPTRAVEL_TURNS)


@pytest.mark.parametrize("tag", ["think", "tool_call_thinking", "tool_response_thinking"])
def test_a_thought_in_any_tag_hides_what_it_mentions(tag):
    thought = f"<{tag}>{TEMPTING}</{tag}>"
    assert read(f"{thought}\n{CALL}") == Call("web_search", {"query": "Wuhan"})
    assert read(f"  {thought}<answer>Go.</answer>") == Answer("Go.")
    assert isinstance(read(thought), Unreadable)
    # not closed: read like any other text
    assert isinstance(read(f"<{tag}>{TEMPTING}{CALL}"), Unreadable)
    assert isinstance(read(f"Well. {thought}{CALL}"), Unreadable)  # it does not open the turn


def test_several_thoughts_may_open_a_turn():
    thoughts = f"<tool_response_thinking>{TEMPTING}</tool_response_thinking>\n<tool_call_thinking>{TEMPTING}</tool_call_thinking>"  # noqa: E501
    assert read(thoughts + CALL) == Call("web_search", {"query": "Wuhan"})
    assert read(f"<think>a</think>{thoughts}<answer>Go.</answer>") == Answer("Go.")


@pytest.mark.parametrize(
    "text",
    [
        CALL,  # no thought
        f"Well. <think>a</think>{CALL}",
        f"<think>a</think> So: {CALL}",
        f"<think>a</think>{CALL} Now I wait.",
        f"<think>a</think><think>b</think>{CALL}",
        f"<tool_call_thinking>a</tool_call_thinking><think>b</think>{CALL}",
        f"<think>a<think>b</think>{CALL}",
        f"<think>a</think>{CALL}</think>",
        "<think>a</think><answer>Go.</answer> Bye.",
        "<think>a</think><answer>Go <think>where</think></answer>",
    ],
)
def test_a_turn_is_its_thoughts_and_one_call_or_answer(text):
    """A.2.1's template, to the letter: each thought once, in its order, and nothing between."""
    assert isinstance(read(text), Unreadable)


@pytest.mark.parametrize("tag", ["tool_call_thinking", "tool_response_thinking"])
def test_the_other_dialects_read_as_they_did(tag):
    assert isinstance(read_turn(f"<{tag}>{TEMPTING}</{tag}>{CALL}"), Unreadable)
    assert isinstance(read_turn(f"<think>a</think><think>{TEMPTING}</think>{CALL}"), Unreadable)
    assert isinstance(read_turn('<tool_call>web_search(query="Wuhan")</tool_call>'), Unreadable)
    for name in ("planner_r1", "compact"):
        assert dialects()[name].turns == ONE_THOUGHT


@pytest.mark.parametrize(
    ("written", "arguments"),
    [
        (
            'train_search(depart_city_name="Suzhou", arrival_city_name="Wuhan")',
            {"depart_city_name": "Suzhou", "arrival_city_name": "Wuhan"},
        ),
        (
            "train_search( is_transfer = 1 ,\n day='2026-06-26' , )",
            {"is_transfer": 1, "day": "2026-06-26"},
        ),
        ("train_search()", {}),
        ("train_search( )", {}),
        (
            "train_search(a=-3, b=2.50, c=True, d=False, e=None, f=0)",
            {"a": -3, "b": 2.5, "c": True, "d": False, "e": None, "f": 0},
        ),
        (
            r"""train_search(hotel_name='Joe\'s "Inn", a=(1)', b="C:\\ \"x\"")""",
            {"hotel_name": 'Joe\'s "Inn", a=(1)', "b": 'C:\\ "x"'},
        ),
    ],
)
def test_the_papers_notation_is_read_too(written, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(f"{THOUGHT}<tool_call> {written} </tool_call>") == Call(
            "train_search", arguments
        )


@pytest.mark.parametrize(
    "written",
    [
        "",
        "train_search",
        'web_search("Wuhan")',  # places would have to be guessed
        "web_search(query=Wuhan)",
        "web_search(query=f'{x}')",
        "web_search(query=__import__('os').getcwd())",
        "web_search(query=[1])",
        "web_search(**{})",
        'web_search(query="a", query="b")',
        'web_search(query="a"',
        'web_search(query="a") or 1',
        'web_search(query="a", , b=1)',
        r'web_search(query="\d")',
        'web_search(query="two\nlines")',
        "web_search(query=007)",
        "web_search(query=1e999)",
        f"web_search(query={'9' * 40})",
        "os.system(command='x')",
        "(lambda: 1)()",
        'web_search(query="\x00)',
    ],
)
def test_what_is_no_such_call_is_unreadable(written):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(read(f"{THOUGHT}<tool_call>{written}</tool_call>"), Unreadable)


def test_json_stays_json_and_bounded():
    assert read(THOUGHT + CALL) == Call("web_search", {"query": "Wuhan"})
    assert isinstance(
        read(THOUGHT + "<tool_call>{'name': 'a', 'arguments': {}}</tool_call>"), Unreadable
    )
    assert isinstance(read(THOUGHT + write_call("a", {"b": [[]] * MOST_BRACKETS})), Unreadable)
    assert isinstance(
        read(f'{THOUGHT}<tool_call>web_search(query="{"x" * LONGEST_CALL}")</tool_call>'),
        Unreadable,
    )


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(
        st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True),
        st.integers(-9999, 9999) | st.booleans() | st.none(),
    )
)
def test_what_python_writes_is_read_back(arguments):
    written = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
    assert read(f"{THOUGHT}<tool_call>poi_search({written})</tool_call>") == Call(
        "poi_search", arguments
    )


def session(provider: WorldProvider, dialect: str) -> Session:
    way = {"origin": "Ashelmont", "destination": "Orford", "depart_date": "2022-03-01"}
    request = TravelRequest(query="Ashelmont to Orford, please", **way)
    return open_session(Errand("e", request, provider, "nano"), dialect_named(dialect))


def test_the_prompt_lists_the_tools():
    dialect = dialect_named("deeptravel")
    tool = {"type": "function", "function": {"name": "train_search", "parameters": {}}}
    prompt = dialect.prompt([tool])
    assert '{"name": "train_search", "parameters": {}}' in prompt and "{{Tools}}" not in prompt
    assert dialect.schemas() is None
    assert len(dialect_named("deeptravel_cards_compact").prompt([]).split()) < 60


def test_the_prompt_is_the_printed_one():
    """A.2.1, word for word but for names of arguments (Table 1's) and the misprint of a tag (A.6
    has it right); what is ours stands in one part."""
    text = printed(
        "deeptravel.md", "You are a business travel assistant named", "Prompt Template of"
    )
    for old, new in (
        ("```", ""),
        ("\\dots", "..."),
        ("think_call_thinking", "tool_call_thinking"),
        ("(depart_city,", "(depart_city_name,"),
        ("arrival_city,", "arrival_city_name,"),
        ("(origin, destination,", "(origin_name, destination_name,"),
    ):
        assert old in text
        text = text.replace(old, new).replace("$", "")
    prompt = dialect_named("deeptravel").system_prompt
    assert ADDED_TO_THE_PAPERS_PROMPT in prompt
    assert prompt.replace(ADDED_TO_THE_PAPERS_PROMPT, "").split() == text.split()


def test_the_dialects_have_the_papers_limits():
    big, small = dialect_named("deeptravel_cards"), dialect_named("deeptravel_cards_compact")
    # row D7
    paper = dialect_named("deeptravel")
    assert (paper.max_turns, paper.max_response_tokens) == (8, 32 * 1024)
    assert (big.max_turns, big.context_tokens, big.plan_format) == (8, 32 * 1024, "cards")
    assert (small.max_turns, small.plan_format) == (12, "cards")
    assert big.face.name == "deeptravel" and small.face.name == "deeptravel_compact"

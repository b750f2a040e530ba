"""Search-R1's notation, as its own code reads it, and its episodes as one assistant message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tripwright.agent.turn import SEARCH_TURNS, Answer, Call, Unreadable, read_turn
from tripwright.evals.outside.qa.continued import ContinuingEndpoint, as_one_turn, closed
from tripwright.llm.client import Completion


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (
            "<think>Hm.</think> <search> capital of Italy </search>",
            Call("search", {"query": "capital of Italy"}),
        ),
        ("<answer> Rome </answer>", Answer("Rome")),
        (
            "<search>a</search> <information>made up</information> <answer>b</answer>",
            Call("search", {"query": "a"}),
        ),
        ("<answer>b</answer> <search>a</search>", Answer("b")),
        # Search-R1 does not look at thoughts
        ("<think>I could <search>a</search>", Call("search", {"query": "a"})),
        ("<search>a <answer>b</answer>", Answer("b")),
        ("<search>a <search>b</search>", Call("search", {"query": "a <search>b"})),
        ("<answer>one</answer><answer>two</answer>", Answer("one")),
        ("<search></search>", Call("search", {"query": ""})),
        ("<answer></answer>", Answer("")),
    ],
)
def test_the_first_pair_of_tags_counts(text: str, read: Call | Answer) -> None:
    assert read_turn(text, SEARCH_TURNS) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Rome",
        "<search>a",
        "a</search>",
        "<answer>a</search>",
        "</search><answer>a</answer>",
        '<tool_call>{"name":"search"}</tool_call>',
    ],
)
def test_what_search_r1_calls_an_invalid_action(text: str) -> None:
    assert isinstance(read_turn(text, SEARCH_TURNS), Unreadable)


def test_a_turn_of_many_tags_is_read_in_time_that_grows_with_its_length() -> None:
    assert isinstance(read_turn("<search>" * 200_000, SEARCH_TURNS), Unreadable)


def said(*turns: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"role": role, "content": text} for role, text in turns]


def test_an_episode_is_one_assistant_message() -> None:
    opening = said(("user", "Q?"))
    assert as_one_turn(opening) == opening
    talk = [
        *opening,
        *said(
            ("assistant", "<search>a</search>"),
            ("tool", "\n\n<information>A</information>\n\n"),
            ("assistant", "So "),
        ),
    ]
    assert as_one_turn(talk) == [
        *opening,
        *said(("assistant", "<search>a</search>\n\n<information>A</information>\n\nSo ")),
    ]


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("<search>a", "<search>a</search>"),
        ("<search>a</search>", "<search>a</search>"),
        ("<search>a</search> then <answer>b", "<search>a</search> then <answer>b</answer>"),
        ("nothing", "nothing"),
    ],
)
def test_a_stop_tag_that_a_server_leaves_out_is_put_back(text: str, whole: str) -> None:
    assert closed(text) == whole


def test_the_server_is_asked_to_write_on(serve: Callable[..., str]) -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        return (
            200,
            b'{"choices": [{"message": {"content": "<search>a"}, "finish_reason": "stop"}]}',
            {},
        )

    endpoint = ContinuingEndpoint(serve(answer), "m", temperature=0.0, extra_body={"top_k": 5})
    outcome = endpoint.complete(said(("user", "Q?")), [{"type": "function"}])
    assert isinstance(outcome, Completion)
    assert outcome.text == "<search>a</search>"
    endpoint.complete(said(("user", "Q?"), ("assistant", outcome.text), ("tool", "B")))
    first, second = asked
    assert first["stop"] == ["</search>", "</answer>"]
    assert first["top_k"] == 5
    assert "tools" not in first
    assert "continue_final_message" not in first
    assert second["messages"] == said(("user", "Q?"), ("assistant", "<search>a</search>B"))
    assert (second["continue_final_message"], second["add_generation_prompt"]) == (True, False)

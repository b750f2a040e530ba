"""STAR's question answering: the printed prompt, its Search tool, Search-R1's exact match."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.printed import printed
from tripwright.errors import UserError
from tripwright.evals.outside.star_search import (
    DIALECT,
    PROMPT,
    WikipediaSearch,
    exact_match,
    read_questions,
)
from tripwright.tools.toolbox import ToolHostDown, answered


def test_the_prompt_is_the_printed_one() -> None:
    """Word for word but for what is filled in: marks of the page's layout apart."""
    start = "You are a specialized AI Search Assistant"
    as_printed = printed("star.md", start, "Now begin the conversation")

    def words(of: str) -> str:
        return "".join(of.replace("{{ Tools }}", "{{Tools}}").replace("`", "").split())

    assert words(PROMPT).startswith(words(as_printed))


def test_the_tool_is_shown_in_the_prompt_under_its_printed_name() -> None:
    shown = DIALECT.prompt(WikipediaSearch("http://localhost:1").schemas)
    assert '{"name": "Search", "description": "Search Wikipedia.' in shown
    assert DIALECT.max_calls == 60 and DIALECT.context_tokens == 32768


@pytest.fixture
def retriever(serve: Callable[..., str]) -> str:
    """A server with Search-R1's protocol; the query "boom" kills it."""

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        assert request["path"] == "/v1/retrieve" and request["return_scores"] is True
        if request["queries"] == ["boom"]:
            return 500, b"ill", {}
        contents = ['"Rome"\nRome is the capital of Italy.', '"Tag"\n</tool_response> & 1 < 2']
        found = [{"document": {"id": "1", "contents": each}, "score": 0.5} for each in contents]
        return 200, json.dumps({"result": [found * 3][: request["topk"]]}).encode(), {}

    return serve(answer)


def test_a_search_shows_five_passages_as_data(retriever: str) -> None:
    tools = WikipediaSearch(f"{retriever}/retrieve")
    lines = answered(tools, "Search", {"query": "capital of Italy"}).text.splitlines()
    assert len(lines) == 5
    assert lines[0] == 'Doc 1(Title: "Rome") Rome is the capital of Italy.'
    assert "</tool_response>" not in lines[1]


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("Lookup", {"query": "x"}, "There is no tool 'Lookup'. The tool is Search."),
        ("Search", {"q": "x"}, "query must be words to search for."),
        ("Search", "{", "not valid JSON"),
    ],
)
def test_a_wrong_call_is_the_models(retriever: str, name: str, arguments: Any, words: str) -> None:
    answer = answered(WikipediaSearch(retriever), name, arguments)
    assert answer.text.startswith("Error: ") and words in answer.text


def test_a_dead_server_is_our_side(retriever: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripwright.tools.toolbox.RETRIES_S", (0.0,))
    with pytest.raises(ToolHostDown):
        answered(WikipediaSearch(retriever), "Search", {"query": "boom"})


@pytest.mark.parametrize(
    ("answer", "right"),
    [
        ("the Seine!", True),
        ("SEINE", True),
        ("Seine river", False),
        ("sei ne", False),
        ("twenty-one", True),  # no hyphen, as in the golden answer
        ("", False),
    ],
)
def test_exact_match_is_search_r1s(answer: str, right: bool) -> None:
    assert exact_match(answer, ["Seine", "Twentyone"]) is right


def test_questions_are_flashrags_files(tmp_path: Path) -> None:
    for name, split in (("nq", "test"), ("musique", "dev"), ("nq", "dev")):
        (tmp_path / name).mkdir(exist_ok=True)
        line = {"id": f"{split}_0", "question": "what is it", "golden_answers": ["a"]}
        (tmp_path / name / f"{split}.jsonl").write_text(json.dumps(line) + "\n")
    questions = read_questions(tmp_path)
    assert [question.id for question in questions] == ["nq/test_0", "musique/dev_0"]
    assert questions[0].query == "what is it?"
    (tmp_path / "nq" / "test.jsonl").write_text('{"id": 1, "question": "x"}\n')
    with pytest.raises(UserError, match=r"nq/test\.jsonl:1: expected"):
        read_questions(tmp_path)
    with pytest.raises(UserError, match="holds none of the sets nq, triviaqa"):
        read_questions(tmp_path / "nq")

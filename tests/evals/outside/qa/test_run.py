"""The seven sets from end to end: from the command line, with the yardstick and with models behind
an endpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.evals.outside.qa.questions import SETS
from tripwright.evals.outside.qa.score import MEASURES, average_of
from tripwright.statistics.rates import wilson

DIALECTS = ("search_r1", "star_search", "search")
Verbs = Callable[..., int]


def score_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "score.json").read_text())
    return found


def lines_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "transcripts.jsonl").read_text().splitlines()]


@pytest.fixture
def asks(run_verb: Verbs, questions: Path, index: Path, tmp_path: Path) -> Callable[..., int]:
    """asks(out, …) → `tripwright outside qa` over the small encyclopedia."""
    return lambda out, *words: run_verb(
        "outside", "qa", questions, "--index", index, "--out", tmp_path / out, *words
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_where_every_answer_can_be_found_the_yardstick_has_all_right(
    dialect: str, asks: Verbs, tmp_path: Path
) -> None:
    assert asks("out", "--policy", "gold-reader", "--dialect", dialect) == 0
    score = score_of(tmp_path / "out")
    assert list(score["questions"]["sets"]) == list(SETS)
    assert {
        measure: score["questions"]["average"][measure]["value"] for measure in MEASURES
    } == dict.fromkeys(MEASURES, 1.0)
    assert score["metrics"]["searches_mean"]["value"] == 1.0
    assert (score["n"], score["unscored"], score["rules"]) == (7, 0, "verified by exact match")


def test_where_nothing_is_found_it_has_none(asks: Verbs, tmp_path: Path) -> None:
    assert asks("out", "--policy", "gold-reader", "--empty-tools") == 0
    assert score_of(tmp_path / "out")["questions"]["average"]["exact_match"]["value"] == 0.0
    assert all(line["verdict"]["delivered"] for line in lines_of(tmp_path / "out"))


def test_an_index_of_other_pages_has_none_of_the_answers(
    run_verb: Verbs, questions: Path, tmp_path: Path, lines_to: Callable[..., Path]
) -> None:
    corpus = lines_to(tmp_path / "c.jsonl", [{"id": "0", "contents": '"Chess"\nA game for two.'}])
    assert run_verb("outside", "index", corpus, "--out", tmp_path / "chess") == 0
    words = ("--policy", "gold-reader", "--index", tmp_path / "chess", "--out", tmp_path / "out")
    assert run_verb("outside", "qa", questions, *words) == 0
    assert score_of(tmp_path / "out")["metrics"]["exact_match"]["k"] == 0


def test_what_is_there_is_not_played_again_and_more_is_added(asks: Verbs, tmp_path: Path) -> None:
    assert asks("out", "--policy", "gold-reader", "--sets", "nq,bamboogle", "--samples", "2") == 0
    before = lines_of(tmp_path / "out")
    assert [line["id"] for line in before] == [
        "nq/test_0-s00",
        "nq/test_0-s01",
        "bamboogle/dev_0-s00",
        "bamboogle/dev_0-s01",
    ]
    assert asks("out", "--policy", "gold-reader", "--sets", "nq,bamboogle", "--samples", "2") == 0
    assert lines_of(tmp_path / "out") == before
    sets = score_of(tmp_path / "out")["questions"]["sets"]
    assert (sets["nq"]["exact_match"]["k"], sets["nq"]["exact_match"]["n"]) == (2, 2)
    assert score_of(tmp_path / "out")["metrics"]["pass^2"]["value"] == 1.0


def test_another_prompt_retriever_or_file_is_another_run(
    asks: Verbs, tmp_path: Path, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asks("out", "--policy", "gold-reader") == 0
    for words, said in (
        (("--dialect", "star_search"), "dialect name is"),
        (("--passages", "1"), "dialect limits is"),
        (("--context-tokens", "4096"), "dialect limits is"),
        (("--retriever", "http://localhost:1"), "leave --index out"),
        (("--sets", "nq"), "queries"),
        (("--empty-tools",), "emptied_tools is false there and true here"),
    ):
        assert asks("out", "--policy", "gold-reader", *words) == 2
        assert said in capsys.readouterr().err
    with (questions / "nq" / "test.jsonl").open("a") as lines:
        lines.write(
            json.dumps({"id": "new", "question": "Where?", "golden_answers": ["Here"]}) + "\n"
        )
    assert asks("out", "--policy", "gold-reader") == 2


def test_a_model_with_functions_searches_and_answers(
    asks: Verbs, tmp_path: Path, serve: Callable[..., str]
) -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        message: dict[str, Any] = {"content": "It is clear. <answer>Rome.</answer>"}
        if len(request["messages"]) == 2:
            function = {"name": "search", "arguments": '{"query": "capital of Italy"}'}
            message = {
                "content": "",
                "tool_calls": [{"id": "1", "type": "function", "function": function}],
            }
        return (
            200,
            json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode(),
            {},
        )

    assert (
        asks(
            "out", "--model", "m", "--base-url", serve(answer), "--sets", "nq", "--decoding", "star"
        )
        == 0
    )
    assert [message["role"] for message in asked[1]["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]
    assert asked[1]["messages"][3]["content"].startswith(
        'Doc 1(Title: "Rome") Rome is the capital of Italy.'
    )
    assert asked[0]["tools"][0]["function"]["name"] == "search"
    assert (asked[0]["temperature"], asked[0]["top_p"]) == (0.6, 0.95)  # row S10
    (line,) = lines_of(tmp_path / "out")
    assert line["verdict"]["final"]
    assert line["request"]["golden_answers"] == ["Rome", "Roma"]
    assert "Roma" not in json.dumps(asked)  # the gold answers are for the record alone


def test_a_search_r1_model_writes_on_one_message_and_stops_at_its_budget(
    asks: Verbs, tmp_path: Path, serve: Callable[..., str]
) -> None:
    asked: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        asked.append(request)
        turns = [
            "<think>x</think> <search>Rome",
            "no tags",
            "<search>Rome</search>",
            "<search>Italy</search>",
            "<search>more</search>",
        ]
        return (
            200,
            json.dumps(
                {
                    "choices": [
                        {"message": {"content": turns[len(asked) - 1]}, "finish_reason": "stop"}
                    ]
                }
            ).encode(),
            {},
        )

    assert (
        asks(
            "out",
            "--model",
            "m",
            "--base-url",
            serve(answer),
            "--sets",
            "nq",
            "--dialect",
            "search_r1",
        )
        == 0
    )
    last = asked[-1]["messages"]
    assert [message["role"] for message in last] == ["user", "assistant"]
    assert last[0]["content"].endswith("Question: what is the capital of italy?\n")
    assert "</search>\n\n<information>Doc 1(Title:" in last[1]["content"]
    assert "no tags\nMy previous action is invalid." in last[1]["content"]
    (line,) = lines_of(tmp_path / "out")
    assert (len(asked), line["outside"]["searches"]) == (5, 4)
    assert line["transcript"]["stop_reason"] == "max_turns"
    assert line["verdict"]["final"] is False  # a spent budget is a failure (row S10)
    assert score_of(tmp_path / "out")["metrics"]["answered"]["k"] == 0


def test_a_retriever_that_is_down_leaves_the_episode_unscored(
    run_verb: Verbs,
    questions: Path,
    tmp_path: Path,
    serve: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("tripwright.evals.outside.qa.served.time.sleep", lambda _: None)
    url = serve(lambda request: (500, b"{}", {}))
    words = (
        "--policy",
        "gold-reader",
        "--sets",
        "nq",
        "--retriever",
        url,
        "--out",
        tmp_path / "out",
    )
    assert run_verb("outside", "qa", questions, *words) == 1  # nothing was scored
    score = score_of(tmp_path / "out")
    assert (score["n"], score["unscored"]) == (0, 1)
    assert "the search was not answered" in score["warning"]
    assert score["worst_case"]["exact_match"]["n"] == 1


def test_the_average_gives_every_set_the_same_weight() -> None:
    """Two sets, 1 of 2 and 9 of 10: the mean is of the rates, and its interval by hand from the two
    of Wilson's."""
    sets = [
        {"value": k / n, "low": wilson(k, n).low, "high": wilson(k, n).high}
        for k, n in ((1, 2), (9, 10))
    ]
    found = average_of(sets)
    assert found["value"] == pytest.approx(0.7)
    below = [each["value"] - each["low"] for each in sets]
    assert found["low"] == pytest.approx(0.7 - (below[0] ** 2 + below[1] ** 2) ** 0.5 / 2)
    assert found["low"] < 0.7 < found["high"] <= 1
    assert average_of([]) == {"value": None, "low": None, "high": None}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--policy", "expert"), "--policy is one of gold-reader, endpoint, local, found 'expert'"),
        (("--policy", "gold-reader", "--model", "m"), "uses no model"),
        (
            ("--policy", "gold-reader", "--dialect", "star"),
            "For questions there are search_r1, star_search, search",
        ),
        (("--policy", "gold-reader", "--retriever", "lucene"), "Unknown retriever 'lucene'"),
        (("--policy", "gold-reader", "--retriever", "dense"), "has no vectors"),
        (("--policy", "gold-reader", "--sets", "nq,squad"), "Unknown set 'squad'"),
        ((), "needs --base-url"),
    ],
)
def test_mistakes_are_one_line(
    words: tuple[str, ...],
    said: str,
    asks: Verbs,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert asks("out", *words) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_the_table_says_what_the_average_is_of(
    asks: Verbs, capsys: pytest.CaptureFixture[str]
) -> None:
    assert asks("out", "--policy", "gold-reader", "--sets", "nq,musique") == 0
    out = capsys.readouterr().out
    assert "mean of 2 sets" in out
    assert "not comparable" in out
    assert asks("all", "--policy", "gold-reader", "--json") == 0
    assert json.loads(capsys.readouterr().out)["questions"]["average"]["sets"] == 7

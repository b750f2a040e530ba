"""`tripwright outside natural-plan` as a user meets it: files, answers, an endpoint, an
interruption, wrong input."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import Verb, main
from tripwright.evals.figures import slice_order

VERBS = (
    Verb(
        "outside natural-plan",
        "tripwright.cli.outside_natural_plan",
        "natural_plan",
        "Natural Plan.",
    ),
)
Example = dict[str, Any]
Write = Callable[..., Path]


def go(*words: str | Path) -> int:
    return main(["outside", "natural-plan", *map(str, words)], VERBS)


def score_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "score.json").read_text())
    return {key: value for key, value in found.items() if key not in ("run_card", "usage")}


def test_published_answers_are_scored(
    trip: Example, data_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = {**trip, "pred_5shot_pro": "I cannot.", "num_cities": "10"}
    drafted = {
        **trip,
        "pred_5shot_pro": f"<think>Day 3: from Florence to Oslo</think>\n{trip['golden_plan']}",
    }
    assert (
        go(
            data_file(trip, wrong, drafted),
            "--answers",
            "pred_5shot_pro",
            "--out",
            tmp_path / "run",
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert (
        "3 answers, verified by natural_plan official" in printed and "solved, 10 cities" in printed
    )
    score = score_of(tmp_path / "run")
    assert {
        name: score["metrics"][name]["k"]
        for name in ("final", "official", "robust", "official_raises")
    } == {
        "final": 1,
        "official": 1,
        "robust": 2,
        "official_raises": 0,
    }
    assert {
        level: (found["final"]["k"], found["final"]["n"])
        for level, found in score["levels"].items()
    } == {
        "3 cities": (1, 2),
        "10 cities": (0, 1),
    }
    assert list(score["levels"]) == ["3 cities", "10 cities"]


def test_what_ends_the_official_script_is_a_failed_example(
    meeting: Example, data_file: Write, tmp_path: Path
) -> None:
    lost = {
        **meeting,
        "pred_5shot_pro": meeting["pred_5shot_pro"] + " You travel to Atlantis in 7 minutes.",
    }
    cut = {**meeting, "pred_5shot_pro": "You meet"}
    file = data_file(meeting, lost, cut)
    assert go(file, "--answers", "pred_5shot_pro", "--out", tmp_path / "official") == 0
    score = score_of(tmp_path / "official")
    assert (score["n"], score["metrics"]["final"]["k"]) == (3, 1)
    assert score["official_errors"] == {"KeyError": 1, "IndexError": 1}
    lines = [
        json.loads(line)
        for line in (tmp_path / "official" / "transcripts.jsonl").read_text().splitlines()
    ]
    assert [line["verdict"]["error"] for line in lines] == [None, "KeyError", "IndexError"]
    assert (
        go(file, "--answers", "pred_5shot_pro", "--grading", "robust", "--out", tmp_path / "robust")
        == 0
    )
    score = score_of(tmp_path / "robust")
    assert (score["metrics"]["final"]["k"], score["metrics"]["official"]["k"]) == (2, 1)


def test_an_endpoint_is_asked_once_for_each_answer(
    calendar: Example, data_file: Write, tmp_path: Path, model: Callable[..., Any]
) -> None:
    answers = {"Ann": "Tuesday, 14:30 - 15:30", "Bea": "Tuesday, 9:00 - 10:00"}
    examples = [
        {**calendar, "prompt_5shot": f"{name}?", "num_people": people}
        for name, people in (("Ann", 2), ("Bea", 7))
    ]
    asked = model(lambda messages: answers[messages[-1]["content"][:3]])
    words = [data_file(*examples), *asked.words, "--samples", "2", "--out", tmp_path / "run"]
    assert go(*words) == 0
    assert sorted(messages[0]["content"] for messages in asked.asked) == [
        "Ann?",
        "Ann?",
        "Bea?",
        "Bea?",
    ]
    # no system prompt
    assert all(len(messages) == 1 and messages[0]["role"] == "user" for messages in asked.asked)
    score = score_of(tmp_path / "run")
    assert (score["metrics"]["final"]["k"], score["metrics"]["final"]["n"]) == (2, 4)
    assert score["metrics"]["pass@2"]["value"] == score["metrics"]["pass^2"]["value"] == 0.5
    assert list(score["levels"]) == ["2 people, 1 day", "7 people, 1 day"]
    assert go(*words) == 0 and len(asked.asked) == 4  # nothing is asked twice


def test_an_interrupted_run_goes_on(
    calendar: Example, data_file: Write, tmp_path: Path, model: Callable[..., Any]
) -> None:
    examples = [{**calendar, "prompt_5shot": f"{number}"} for number in range(6)]
    well = {"is": False}
    asked = model(
        lambda messages: (
            "Tuesday, 14:30 - 15:30" if well["is"] or messages[0]["content"] in "024" else None
        )
    )
    words = [data_file(*examples), *asked.words, "--concurrency", "2", "--out", tmp_path / "run"]
    assert go(*words) == 0
    score = score_of(tmp_path / "run")
    assert (score["n"], score["unscored"], score["worst_case"]["final"]["n"]) == (3, 3, 6)
    with (tmp_path / "run" / "transcripts.jsonl").open("ab") as torn:
        torn.write(b'{"id": "e5"')
    well["is"] = True
    before = len(asked.asked)
    assert go(*words) == 0
    assert sorted(messages[0]["content"] for messages in asked.asked[before:]) == ["1", "3", "5"]
    score = score_of(tmp_path / "run")
    assert (score["n"], score["unscored"], score["metrics"]["final"]["k"]) == (6, 0, 6)


def test_another_prompt_is_another_run(
    calendar: Example, data_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = data_file(calendar)
    assert go(file, "--answers", "pred_5shot_pro", "--out", tmp_path / "run") == 0
    assert (
        go(file, "--answers", "pred_5shot_pro", "--prompt", "0shot", "--out", tmp_path / "run") == 2
    )
    assert "holds another run" in capsys.readouterr().err


def test_the_score_as_json(
    calendar: Example, data_file: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        go(data_file(calendar), "--answers", "pred_5shot_pro", "--out", tmp_path / "run", "--json")
        == 0
    )
    assert json.loads(capsys.readouterr().out) == json.loads(
        (tmp_path / "run" / "score.json").read_text()
    )


def test_levels_are_in_the_order_of_their_numbers() -> None:
    assert sorted(["10 cities", "2 cities", "1 person"], key=slice_order) == [
        "1 person",
        "2 cities",
        "10 cities",
    ]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No file at"),
        ("[1]", "holds a list. Expected an object of examples"),
        ("{", "is not JSON"),
        (
            '{"e": {"question": "?"}}',
            "have an object with 'question'. Expected one of Natural Plan's files",
        ),
        (
            '{"e": {"durations": "3", "cities": "Rome"}}',
            "'prompt_5shot' should be a text, found null",
        ),
        (
            '{"e": {"durations": "3**4", "cities": "Rome", "prompt_5shot": "?", "num_cities": 1}}',
            "example 'e': its golden plan cannot be read (ValueError",
        ),
        (
            '{"e": {"durations": "3", "cities": "Rome", "prompt_5shot": "?", "num_cities": "x"}}',
            "'num_cities' should be a whole number",
        ),
        (
            '{"e": {"dist_matrix": {}, "num_people": 1, "prompt_5shot": "?", "constraints": []}}',
            "no 'golden_plan'",
        ),
        (
            '{"e": {"num_days": 1, "num_people": 1, "prompt_5shot": "?", "golden_plan": "soon"}}',
            "its golden plan says nothing that can be scored",
        ),
    ],
)
def test_a_wrong_file_is_one_line(
    content: str | None, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if content is not None:
        (tmp_path / "data.json").write_text(content)
    assert go(tmp_path / "data.json", "--answers", "x", "--out", tmp_path / "run") == 2
    printed = capsys.readouterr().err
    assert told in printed and printed.count("\n") == 1
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["--answers", "pred"],
            "has no text in the field 'pred'. Its texts are num_people, num_days",
        ),
        (
            ["--answers", "pred_5shot_pro", "--samples", "2"],
            "leave --model, --base-url and --samples out",
        ),
        (
            ["--policy", "expert"],
            "Unknown policy 'expert'. For tasks that are not trips there are endpoint and local.",
        ),
        ([], "needs --base-url URL"),
        (["--grading", "strict"], "--grading is one of official, robust, found 'strict'."),
        (["--prompt", "1shot"], "--prompt is one of 5shot, 0shot, found '1shot'."),
    ],
)
def test_wrong_options_are_one_line(
    words: list[str],
    told: str,
    calendar: Example,
    data_file: Write,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert go(data_file(calendar), "--out", tmp_path / "run", *words) == 2
    printed = capsys.readouterr().err
    assert told in printed and printed.count("\n") == 1
    assert not (tmp_path / "run").exists()

"""`tripwright outside multi-if`: Meta's aggregation computed by hand, conversations, a kill, wrong
input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.cli.main import Verb, main

VERB = ("outside multi-if", "tripwright.cli.outside_multi_if", "multi_if", "Multi-IF.")
Messages = list[dict[str, Any]]
ANSWERS = {
    "A one": "alpha",
    "A two": "Sure, here:\nalpha",
    "A three": "alpha, beta",
    "B one": "nothing",
    "B two": "alpha",
    "B three": "<think>Beta, too.</think>alpha beta",
    "C one": "alpha",
}


def go(*words: str | Path) -> int:
    return main(["outside", "multi-if", *map(str, words)], (Verb(*VERB),))


def score_of(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "score.json").read_text())
    return {key: value for key, value in found.items() if key not in ("run_card", "usage")}


@pytest.fixture
def file(
    row: Callable[..., Any], csv_file: Callable[..., Path], three_turns: Callable[[str], Any]
) -> Path:
    return csv_file(
        row("1:1:en", "English", three_turns("A")),
        row("2:1:en", "English", three_turns("B")),
        row("3:1:fr", "French", three_turns("C")[:1]),
    )


def test_metas_figures_by_hand(
    file: Path,
    checkers_file: Path,
    model: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = model(lambda messages: ANSWERS[messages[-1]["content"]])
    words = [file, "--checkers", checkers_file, *asked.words]
    assert go(*words, "--grading", "robust", "--out", tmp_path / "run") == 0
    score = score_of(tmp_path / "run")
    counts = {
        name: (found["k"], found["n"])
        for name, found in score["metrics"].items()
        if name.startswith("turn_") and "k" in found
    }
    assert counts == {
        **dict.fromkeys(
            (
                f"turn_1_{name}"
                for name in (
                    "prompt_strict",
                    "instruction_strict",
                    "prompt_loose",
                    "instruction_loose",
                )
            ),
            (2, 3),
        ),
        "turn_2_prompt_strict": (1, 2),
        "turn_2_instruction_strict": (3, 4),
        "turn_2_prompt_loose": (2, 2),
        "turn_2_instruction_loose": (4, 4),
        "turn_3_prompt_strict": (1, 2),
        "turn_3_instruction_strict": (5, 6),
        "turn_3_prompt_loose": (1, 2),
        "turn_3_instruction_loose": (5, 6),
    }
    means = {
        name: score["metrics"][name]["value"] for name in ("turn_1", "turn_2", "turn_3", "mean")
    }
    assert means == pytest.approx(
        {"turn_1": 2 / 3, "turn_2": 0.8125, "turn_3": 2 / 3, "mean": (2 / 3 + 0.8125 + 2 / 3) / 3}
    )
    assert {
        language: found["turn_1"]["value"] for language, found in score["languages"].items()
    } == {"English": 0.5, "French": 1.0}
    assert "turn_2" not in score["languages"]["French"]
    for found in [*score["metrics"].values(), *score["languages"]["English"].values()]:
        assert found["low"] <= found["value"] <= found["high"]
    assert (score["metrics"]["final"]["k"], score["n"]) == (1, 3)  # C alone, in its one turn
    assert score["unknown_instructions"] == score["checker_errors"] == {}
    assert "French, mean of the turns" in capsys.readouterr().out
    assert go(*words, "--out", tmp_path / "official") == 0
    # with its thought, B's third answer has a comma
    official = score_of(tmp_path / "official")["metrics"]
    assert (official["turn_3_instruction_strict"]["k"], official["turn_3_prompt_strict"]["k"]) == (
        4,
        0,
    )


def test_a_turn_is_asked_with_all_that_was_said_before(
    file: Path, checkers_file: Path, model: Callable[..., Any], tmp_path: Path
) -> None:
    asked = model(lambda messages: ANSWERS[messages[-1]["content"]])
    assert (
        go(
            file,
            "--checkers",
            checkers_file,
            *asked.words,
            "--language",
            "English",
            "--out",
            tmp_path / "run",
        )
        == 0
    )
    last = next(messages for messages in asked.asked if messages[-1]["content"] == "B three")
    assert [(message["role"], message["content"]) for message in last] == [
        ("user", "B one"),
        ("assistant", "nothing"),
        ("user", "B two"),
        ("assistant", "alpha"),
        ("user", "B three"),
    ]
    assert len(asked.asked) == 6 and score_of(tmp_path / "run")["n"] == 2
    lines = [
        json.loads(line)
        for line in (tmp_path / "run" / "transcripts.jsonl").read_text().splitlines()
    ]
    assert all(line["transcript"]["usage"]["completion_tokens"] == 15 for line in lines)


def test_a_turn_that_no_answer_reached_is_failed(
    file: Path, checkers_file: Path, serve: Callable[..., str], tmp_path: Path
) -> None:
    """An endpoint whose window is full after the first turn: an outcome of the model's, and it
    stays in the denominators."""

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        if len(request["messages"]) > 1:
            error = {"code": "context_length_exceeded", "message": "maximum context length"}
            return 400, json.dumps({"error": error}).encode(), {}
        message = {"role": "assistant", "content": "alpha"}
        return (
            200,
            json.dumps(
                {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            ).encode(),
            {},
        )

    words = [
        "--model",
        "m",
        "--base-url",
        serve(answer),
        "--retries",
        "0",
        "--out",
        tmp_path / "run",
    ]
    assert go(file, "--checkers", checkers_file, *words) == 0
    score = score_of(tmp_path / "run")
    assert score["stop_reasons"] == {"context_overflow": 2, "answer": 1}
    assert (
        score["metrics"]["turn_1"]["value"],
        score["metrics"]["turn_2"]["value"],
        score["metrics"]["turn_3"]["value"],
    ) == (
        1.0,
        0.0,
        0.0,
    )
    assert score["metrics"]["turn_3_instruction_loose"]["n"] == 6


def test_a_turn_without_instructions_is_followed_where_it_was_reached(
    row: Callable[..., Any],
    csv_file: Callable[..., Path],
    checkers_file: Path,
    serve: Callable[..., str],
    tmp_path: Path,
) -> None:
    """Both conversations have nothing to follow in their second turn; the window of A is full
    before it."""

    def answer(request: dict[str, Any]) -> tuple[int, bytes, dict[str, str]]:
        if request["messages"][-1]["content"] == "A two":
            return (
                400,
                json.dumps(
                    {
                        "error": {
                            "code": "context_length_exceeded",
                            "message": "maximum context length",
                        }
                    }
                ).encode(),
                {},
            )
        message = {"role": "assistant", "content": "alpha"}
        return (
            200,
            json.dumps(
                {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
            ).encode(),
            {},
        )

    one = ("keywords:existence", {"keywords": ["alpha"]})
    rows = [row(name, "English", [(f"{name} one", [one]), (f"{name} two", [])]) for name in "AB"]
    words = [
        "--model",
        "m",
        "--base-url",
        serve(answer),
        "--retries",
        "0",
        "--out",
        tmp_path / "run",
    ]
    assert go(csv_file(*rows), "--checkers", checkers_file, *words) == 0
    assert score_of(tmp_path / "run")["metrics"]["final"]["k"] == 1
    lines = map(json.loads, (tmp_path / "run" / "transcripts.jsonl").read_text().splitlines())
    assert {line["id"]: line["verdict"]["final"] for line in lines} == {"A": False, "B": True}


def test_unscored_conversations_come_back_in_the_worst_case(
    file: Path, checkers_file: Path, model: Callable[..., Any], tmp_path: Path
) -> None:
    well = {"is": False}
    asked = model(
        lambda messages: (
            ANSWERS[messages[-1]["content"]]
            if well["is"] or messages[-1]["content"] != "B two"
            else None
        )
    )
    words = [
        file,
        "--checkers",
        checkers_file,
        *asked.words,
        "--grading",
        "robust",
        "--out",
        tmp_path / "run",
    ]
    assert go(*words) == 0
    score = score_of(tmp_path / "run")
    assert (score["n"], score["unscored"]) == (2, 1)
    assert (
        score["metrics"]["turn_2_instruction_loose"]["n"],
        score["worst_case"]["turn_2_instruction_loose"]["n"],
    ) == (2, 4)
    assert score["worst_case"]["turn_2_prompt_loose"] | {"low": 0, "high": 0} == {
        "value": 0.5,
        "low": 0,
        "high": 0,
        "k": 1,
        "n": 2,
    }
    well["is"] = True
    assert go(*words) == 0
    assert score_of(tmp_path / "run")["metrics"]["mean"]["value"] == pytest.approx(
        (2 / 3 + 0.8125 + 2 / 3) / 3
    )


def test_samples_of_a_conversation_count_as_one(
    file: Path, checkers_file: Path, model: Callable[..., Any], tmp_path: Path
) -> None:
    asked = model(lambda messages: ANSWERS[messages[-1]["content"]])
    words = [file, "--checkers", checkers_file, *asked.words, "--grading", "robust"]
    assert go(*words, "--out", tmp_path / "one") == 0
    assert go(*words, "--samples", "3", "--out", tmp_path / "three") == 0
    one, three = score_of(tmp_path / "one")["metrics"], score_of(tmp_path / "three")["metrics"]
    assert three["turn_2_prompt_strict"]["n"] == 3 * one["turn_2_prompt_strict"]["n"]
    for name in ("turn_2", "turn_3_instruction_strict", "mean"):
        assert {end: three[name][end] for end in ("value", "low", "high")} == {
            end: one[name][end] for end in ("value", "low", "high")
        }


def test_instructions_without_a_checker(
    row: Callable[..., Any],
    csv_file: Callable[..., Path],
    checkers_file: Path,
    model: Callable[..., Any],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    asked = model(lambda messages: "alpha")
    turns = [("A", [("odd:unheard_of", {}), ("odd:breaks", {}), ("punctuation:no_comma", {})])]
    assert (
        go(
            csv_file(row("1", "English", turns)),
            "--checkers",
            checkers_file,
            *asked.words,
            "--out",
            tmp_path / "run",
            "--json",
        )
        == 0
    )
    printed = capsys.readouterr()
    assert "no checker for odd:unheard_of: these count as not followed" in printed.err
    score = json.loads(printed.out)
    assert (
        score["metrics"]["turn_1_instruction_strict"]["k"],
        score["metrics"]["turn_1_instruction_strict"]["n"],
    ) == (1, 3)
    assert score["unknown_instructions"] == {"odd:unheard_of": 1} and score["checker_errors"] == {
        "odd:breaks: ZeroDivisionError": 1
    }


def test_a_killed_run_ends_with_the_score_of_an_uninterrupted_one(
    row: Callable[..., Any],
    csv_file: Callable[..., Path],
    three_turns: Callable[[str], Any],
    checkers_file: Path,
    model: Callable[..., Any],
    tmp_path: Path,
) -> None:
    conversations = 10

    def say(messages: Messages) -> str:
        time.sleep(0.02)
        return "alpha beta" if int(messages[0]["content"].split()[0]) % 2 else "alpha, beta"

    file = csv_file(
        *(row(str(number), "English", three_turns(str(number))) for number in range(conversations))
    )
    asked = model(say)
    words = [file, "--checkers", checkers_file, *asked.words, "--concurrency", "2"]
    assert go(*words, "--out", tmp_path / "whole") == 0
    whole = len(asked.asked)
    program = f"from tripwright.cli.main import Verb, main; import sys; main(sys.argv[1:], (Verb(*{VERB!r}),))"
    command = [
        sys.executable,
        "-c",
        program,
        "outside",
        "multi-if",
        *map(str, words),
        "--out",
        str(tmp_path / "killed"),
    ]
    child = subprocess.Popen(
        command,
        cwd=Path(__file__).resolve().parents[4],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    lines = tmp_path / "killed" / "transcripts.jsonl"
    deadline = time.monotonic() + 60
    while (
        not (lines.is_file() and lines.read_bytes().count(b"\n") >= 3)
        and time.monotonic() < deadline
    ):
        time.sleep(0.005)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert 3 <= lines.read_bytes().count(b"\n") < conversations
    assert go(*words, "--out", tmp_path / "killed") == 0
    assert score_of(tmp_path / "killed") == score_of(tmp_path / "whole")
    # no answer was asked for twice, but for two that were under way
    assert len(asked.asked) - whole <= 3 * conversations + 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--grading", "strict"], "--grading is one of official, robust, found 'strict'."),
        (["--language", "Dutch"], "No conversation in language 'Dutch'"),
        (["--checkers", "nothing.py"], "No file of checkers at 'nothing.py'"),
        (["--decoding", "planner_r1_multi_if", "--top-p", "0.5"], "leave --top-p out"),
        ([], "needs --base-url URL"),
    ],
)
def test_wrong_options_are_one_line(
    words: list[str],
    told: str,
    file: Path,
    checkers_file: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert go(file, "--checkers", checkers_file, "--out", tmp_path / "run", *words) == 2
    printed = capsys.readouterr().err
    assert told in printed and printed.count("\n") == 1
    assert not (tmp_path / "run").exists()

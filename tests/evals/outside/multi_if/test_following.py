"""Reading the published file, loading checkers, and what strict and loose make of an answer."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tripwright.agent.reasoning import without_reasoning
from tripwright.errors import UserError
from tripwright.evals.outside.multi_if.checkers import (
    Checkers,
    CheckerUnfit,
    UnknownInstruction,
    load_checkers,
)
from tripwright.evals.outside.multi_if.conversations import (
    Dialogue,
    Instruction,
    UserTurn,
    read_dialogues,
)
from tripwright.evals.outside.multi_if.following import followed, variants

ALPHA = Instruction("keywords:existence", {"keywords": ["alpha"]})
NO_COMMA = Instruction("punctuation:no_comma", {})
BREAKS, NEEDS_DATA, UNKNOWN = (
    Instruction("odd:breaks", {}),
    Instruction("odd:needs_data", {}),
    Instruction("odd:unheard_of", {}),
)
Row = Callable[..., dict[str, str]]


@pytest.fixture
def checkers(checkers_file: Path) -> Checkers:
    return load_checkers(checkers_file)


def test_the_published_format_is_read(
    row: Row, csv_file: Callable[..., Path], three_turns: Callable[[str], Any]
) -> None:
    path = csv_file(
        row("1:1:en", "English", three_turns("A")), row("2:1:fr", "French", three_turns("B")[:1])
    )
    english, french = read_dialogues(path)
    assert (english.key, english.language, [turn.prompt for turn in english.turns]) == (
        "1:1:en",
        "English",
        ["A one", "A two", "A three"],
    )
    assert english.turns[1].instructions == (ALPHA, NO_COMMA)
    assert len(french.turns) == 1
    assert read_dialogues(path, ["French"]) == [french]
    assert [len(dialogue.turns) for dialogue in read_dialogues(path, turns=2, limit=1)] == [2]


def test_a_list_that_cannot_be_read_is_a_turn_that_is_not_scored(
    row: Row, csv_file: Callable[..., Path]
) -> None:
    line = row("1", "English", [("A", [("punctuation:no_comma", {})])]) | {
        "turn_1_instruction_id_list": "["
    }
    assert read_dialogues(csv_file(line))[0].turns == (UserTurn("A", None),)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"turn_1_prompt": "None"}, "turn_1_prompt is empty"),
        ({"turn_1_prompt": "hello"}, "turn_1_prompt is not JSON"),
        (
            {"turn_1_prompt": '"hello"'},
            'turn_1_prompt should be a message {"role", "content"}, found a string',
        ),
        (
            {"turn_1_instruction_id_list": "{}"},
            "turn_1_instruction_id_list should be a list of names, found an object",
        ),
        ({"turn_1_kwargs": "[]"}, "one object for each of 1 instructions"),
        ({"turn_1_kwargs": '["x"]'}, "turn_1_kwargs is not JSON"),
        ({"turn_1_kwargs": '["[]"]'}, "turn_1_kwargs should hold objects, found a list"),
    ],
)
def test_a_cell_in_another_format_is_named(
    changed: dict[str, str], told: str, row: Row, csv_file: Callable[..., Path]
) -> None:
    line = row("1", "English", [("A", [("punctuation:no_comma", {})])])
    with pytest.raises(UserError, match="multi_if.csv:2: ") as raised:
        read_dialogues(csv_file(line | changed))
    assert told in str(raised.value)


def test_wrong_files_and_languages(row: Row, csv_file: Callable[..., Path], tmp_path: Path) -> None:
    line = row("1", "English", [("A", [])])
    assert [dialogue.key for dialogue in read_dialogues(csv_file(line, line))] == ["1", "1#2"]
    with pytest.raises(
        UserError, match="No conversation in language 'Dutch'.*Its languages are English"
    ):
        read_dialogues(csv_file(line), ["Dutch"])
    with pytest.raises(UserError, match="No conversations in"):
        read_dialogues(csv_file())
    with pytest.raises(UserError, match="No file at"):
        read_dialogues(tmp_path / "nothing.csv")
    for name, content in (("a.csv", b"question,answer\n1,2\n"), ("b.csv", b"\xff\xfe\x00")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(UserError, match="Expected Multi-IF's CSV"):
            read_dialogues(tmp_path / name)


def test_strict_and_loose(checkers: Checkers) -> None:
    found = followed(checkers, [ALPHA, NO_COMMA], "Sure, here you are:\nalpha")
    assert (found.strict, found.loose, found.errors) == ([True, False], [True, True], {})
    found = followed(checkers, [ALPHA, NO_COMMA], "")
    assert (found.strict, found.loose) == ([False, False], [False, False])
    found = followed(checkers, [NO_COMMA], " ")  # blank is not empty
    assert (found.strict, found.loose) == ([True], [False])
    found = followed(checkers, [ALPHA], "al*ph*a")
    assert (found.strict, found.loose) == ([False], [True])


def test_the_eight_variants() -> None:
    assert variants("*a*\nb\nc") == [
        "*a*\nb\nc",
        "b\nc",
        "*a*\nb",
        "b",
        "a\nb\nc",
        "b\nc",
        "a\nb",
        "b",
    ]
    assert variants("a") == ["a", "", "", "", "a", "", "", ""]


def test_what_no_checker_judges_is_not_followed_and_said(checkers: Checkers) -> None:
    found = followed(checkers, [UNKNOWN, BREAKS, ALPHA], "alpha")
    assert (found.strict, found.loose) == ([False, False, True], [False, False, True])
    assert found.errors == {"odd:unheard_of": "no checker", "odd:breaks": "ZeroDivisionError"}
    with pytest.raises(UnknownInstruction):
        checkers.follows(UNKNOWN, "alpha")


def test_what_this_machine_lacks_is_no_fault_of_the_models(checkers: Checkers) -> None:
    with pytest.raises(
        CheckerUnfit, match="odd:needs_data cannot work here: LookupError: Resource punkt not found"
    ):
        followed(checkers, [NEEDS_DATA], "alpha")
    dialogue = [
        Dialogue("1", "English", (UserTurn("A", (ALPHA, BREAKS, UNKNOWN)), UserTurn("B", None)))
    ]
    assert checkers.check_fit(dialogue) == ["odd:unheard_of"]
    with pytest.raises(UserError, match="python -m nltk.downloader"):
        checkers.check_fit([Dialogue("1", "English", (UserTurn("A", (NEEDS_DATA,)),))])


def test_checkers_neither_print_nor_draw_from_our_random_numbers(
    checkers: Checkers, capsys: pytest.CaptureFixture[str]
) -> None:
    random.seed(1)
    expected = random.random()
    random.seed(1)
    assert checkers.follows(NO_COMMA, "a")
    assert random.random() == expected
    assert capsys.readouterr().out == ""


def test_evalscopes_file_is_run_without_evalscope(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, checkers_file: Path
) -> None:
    package = tmp_path / "site" / "evalscope"
    (package / "benchmarks" / "multi_if").mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('the whole package')")
    source = (
        "from evalscope.utils import get_logger\nlogger = get_logger()\n"
        + checkers_file.read_text()
    )
    (package / "benchmarks" / "multi_if" / "ifeval.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "evalscope", raising=False)
    found = load_checkers()
    assert found.knows("punctuation:no_comma") and found.identity["source"] == "evalscope"
    assert "evalscope" not in sys.modules


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (None, "No file of checkers at"),
        ("TABLE = {}", "has no table INSTRUCTION_DICT"),
        ("INSTRUCTION_DICT = {}", "has no table INSTRUCTION_DICT"),
        ("1 / 0", "do not load: ZeroDivisionError"),
        ("import a_module_that_is_not_there", "do not load: ModuleNotFoundError"),
    ],
)
def test_wrong_checkers_are_one_line(source: str | None, told: str, tmp_path: Path) -> None:
    if source is not None:
        (tmp_path / "checkers.py").write_text(source)
    with pytest.raises(UserError) as raised:
        load_checkers(tmp_path / "checkers.py")
    assert told in str(raised.value) and "--checkers FILE" in str(raised.value)


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("<think>a, b</think>\n\nalpha", "alpha"),
        ("a, b</think> alpha", "alpha"),
        ("alpha <thinking>a", "alpha"),
        ("<think>a</think>x<think>b</think>y", "xy"),
        ("alpha", "alpha"),
        ("<think>alpha", ""),
        ("a</think>b</thinking>c</think> alpha", "alpha"),
        ("<thinking>a<think>b</thinking>alpha", "alpha"),
        ("x<think>a<thinking>b</think>y<thinking>c", "xy"),
    ],
)
def test_reasoning_is_left_out(said: str, left: str) -> None:
    assert without_reasoning(said) == left

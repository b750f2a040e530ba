"""FlashRAG's files: which split counts, and what a line may be."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.evals.outside.qa.questions import SETS, read_questions, set_files

Lines = Callable[[Path, Iterable[Any]], Path]


def line(id: str = "test_0", question: str = "Who?", golden: Any = ("I",)) -> dict[str, Any]:
    return {
        "id": id,
        "question": question,
        "golden_answers": list(golden) if isinstance(golden, tuple) else golden,
        "metadata": {},
    }


def test_the_test_split_counts_before_dev_and_dev_before_train(
    tmp_path: Path, lines_to: Lines
) -> None:
    for name, splits in {
        "nq": ("train", "dev", "test"),
        "musique": ("train", "dev"),
        "bamboogle": ("train",),
    }.items():
        for split in splits:
            lines_to(tmp_path / name / f"{split}.jsonl", [line()])
    files = set_files(tmp_path)
    assert {name: path.stem for name, path in files.items()} == {
        "nq": "test",
        "musique": "dev",
        "bamboogle": "train",
    }
    assert list(set_files(tmp_path, ["bamboogle", "nq"])) == ["bamboogle", "nq"]


def test_all_seven_are_found_in_the_order_of_the_papers(questions: Path) -> None:
    assert tuple(set_files(questions)) == SETS


def test_a_question_mark_is_added_where_it_is_missing(tmp_path: Path, lines_to: Lines) -> None:
    path = lines_to(
        tmp_path / "q.jsonl",
        [line("a", " who wrote it "), line("b", "Who wrote it?"), line("c", "Name it.")],
    )
    assert [question.text for question in read_questions(path, "nq")] == [
        "who wrote it?",
        "Who wrote it?",
        "Name it.?",
    ]
    assert [question.id for question in read_questions(path, "nq", limit=2)] == ["a", "b"]


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"id": "0", "golden_answers": ["I"]}, "no question"),
        (line(question="  "), "no question"),
        ([], "no question"),
        (line(golden=()), "'golden_answers' must be a list of texts, at least one"),
        (line(golden="I"), "found a string"),
        (line(golden=[1]), "'golden_answers' must be"),
    ],
)
def test_a_line_that_is_no_question_is_named(
    record: Any, said: str, tmp_path: Path, lines_to: Lines
) -> None:
    path = lines_to(tmp_path / "q.jsonl", [line(), record])
    with pytest.raises(UserError, match=said) as caught:
        read_questions(path, "nq")
    assert f"{path}:2: " in str(caught.value)


def test_what_else_can_be_wrong_with_files(tmp_path: Path, lines_to: Lines) -> None:
    twice = lines_to(tmp_path / "nq" / "test.jsonl", [line(), line()])
    with pytest.raises(UserError, match="id 'test_0' stands on line 1 already"):
        read_questions(twice, "nq")
    with pytest.raises(UserError, match="No questions in"):
        read_questions(lines_to(tmp_path / "empty.jsonl", []), "nq")
    with pytest.raises(UserError, match="Unknown set 'squad'. The sets are nq, "):
        set_files(tmp_path, ["squad"])
    with pytest.raises(UserError, match="has no questions of 'popqa'"):
        set_files(tmp_path, ["nq", "popqa"])
    with pytest.raises(UserError, match="holds none of the sets"):
        set_files(tmp_path / "nq")
    with pytest.raises(UserError, match="No folder of questions"):
        set_files(tmp_path / "nowhere")

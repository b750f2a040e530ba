"""The seven question-answering sets of row S10, as FlashRAG publishes them.

A folder holds one folder per set (`nq`, `triviaqa`, …) with `test.jsonl`, `dev.jsonl` or
`train.jsonl`; of these the first that is there counts, as in Search-R1's preparation. A line is
{"id", "question", "golden_answers", "metadata"}. A question without a question mark at its end gets
one, as in Search-R1 too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.errors import UserError, described
from tripwright.files import json_lines

# in the order of Search-R1's tables
SETS = ("nq", "triviaqa", "popqa", "hotpotqa", "2wikimultihopqa", "musique", "bamboogle")
SPLITS = ("test", "dev", "train")
EXPECTED = 'expected {"id": …, "question": …, "golden_answers": […]} as FlashRAG has it'


@dataclass(frozen=True)
class Question:
    """`text` ends in a question mark."""

    id: str
    set: str
    text: str
    golden_answers: tuple[str, ...]


def set_file(folder: Path, name: str) -> Path | None:
    """The file of a set, by the order of SPLITS."""
    return next(
        (path for split in SPLITS if (path := folder / name / f"{split}.jsonl").is_file()), None
    )


def set_files(folder: Path, sets: Sequence[str] | None = None) -> dict[str, Path]:
    """Set → its file. Without `sets`, those that are there; with it, exactly those. Raises
    UserError."""
    if not folder.is_dir():
        raise UserError(
            f"No folder of questions at '{folder}'. Expected FlashRAG's layout:"
            f" {folder}/nq/test.jsonl and so on."
        )
    if unknown := [name for name in sets or () if name not in SETS]:
        raise UserError(f"Unknown set '{unknown[0]}'. The sets are {', '.join(SETS)}.")
    found = {name: path for name in sets or SETS if (path := set_file(folder, name))}
    if missing := [name for name in sets or () if name not in found]:
        raise UserError(
            f"'{folder}' has no questions of '{missing[0]}': expected"
            f" {folder}/{missing[0]}/test.jsonl, dev.jsonl or train.jsonl."
        )
    if not found:
        raise UserError(
            f"'{folder}' holds none of the sets {', '.join(SETS)}: expected {folder}/nq/test.jsonl"
            " and so on."
        )
    return found


def read_questions(path: Path, name: str, limit: int | None = None) -> list[Question]:
    """The first `limit` questions of one file. Raises UserError with the place of the first line
    that is none."""
    found: list[Question] = []
    first: dict[str, int] = {}
    for number, record in json_lines(path):
        if limit is not None and len(found) == limit:
            break
        question = _question(record, name, f"{path}:{number}")
        if question.id in first:
            raise UserError(
                f"{path}:{number}: id '{question.id}' stands on line {first[question.id]} already;"
                " expected one line per question."
            )
        first[question.id] = number
        found.append(question)
    if not found:
        raise UserError(f"No questions in '{path}': {EXPECTED}, one per line.")
    return found


def _question(record: Any, name: str, where: str) -> Question:
    if (
        not isinstance(record, dict)
        or not isinstance(record.get("question"), str)
        or not record["question"].strip()
    ):
        raise UserError(f"{where}: no question; {EXPECTED}, found {described(record)}.")
    golden = record.get("golden_answers")
    if (
        not isinstance(golden, list)
        or not golden
        or not all(isinstance(answer, str) for answer in golden)
    ):
        raise UserError(
            f"{where}: 'golden_answers' must be a list of texts, at least one; found"
            f" {described(golden)}."
        )
    text = record["question"].strip()
    return Question(
        str(record.get("id", where.rpartition(":")[2])),
        name,
        text if text.endswith("?") else f"{text}?",
        tuple(golden),
    )

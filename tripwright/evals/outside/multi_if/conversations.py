"""Multi-IF's file as published (facebook/Multi-IF): a CSV with a conversation of up to three turns
of the user's per line.

In a line, `turn_N_prompt` is a message as JSON, `turn_N_instruction_id_list` a list of names as
JSON, `turn_N_kwargs` a list of JSON texts, one object for each name. As in Meta's `metrics.py`, a
turn whose prompt is empty or `None` is none, and one whose list of names cannot be read is said and
not scored. (Meta asks a model the word "None" then; here the conversation ends.)
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tripwright.errors import UserError, described

MOST_TURNS = 3
EXPECTED = (
    "Expected Multi-IF's CSV, with the columns key, language, turn_1_prompt,"
    " turn_1_instruction_id_list, turn_1_kwargs and so on"
)


@dataclass(frozen=True)
class Instruction:
    id: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True)
class UserTurn:
    """`instructions` is None where the file's list cannot be read: the turn is not scored."""

    prompt: str
    instructions: tuple[Instruction, ...] | None


@dataclass(frozen=True)
class Dialogue:
    key: str
    language: str
    turns: tuple[UserTurn, ...]


class _BadCell(ValueError):
    """A cell that is not in the published format."""


def read_dialogues(
    path: Path, languages: Sequence[str] = (), turns: int = MOST_TURNS, limit: int | None = None
) -> list[Dialogue]:
    """The first `limit` conversations in these languages (all, if none is named), each cut after
    `turns`. Raises UserError."""
    if not path.is_file():
        raise UserError(f"No file at '{path}'. {EXPECTED}.")
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            found = [
                _dialogue(path, reader.line_num, row, turns)
                for reader in [csv.DictReader(lines)]
                for row in reader
            ]
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"'{path}' is no CSV in UTF-8 ({error}). {EXPECTED}.") from None
    if not found:
        raise UserError(f"No conversations in '{path}'. {EXPECTED}.")
    found = _told_apart(found)
    spoken = sorted({dialogue.language for dialogue in found})
    if unknown := [language for language in languages if language not in spoken]:
        raise UserError(
            f"No conversation in language '{unknown[0]}' in '{path}'. Its languages are"
            f" {', '.join(spoken)}."
        )
    return [dialogue for dialogue in found if not languages or dialogue.language in languages][
        :limit
    ]


def _told_apart(dialogues: Sequence[Dialogue]) -> list[Dialogue]:
    """A key that an earlier conversation has is followed by a number."""
    seen = Counter[str]()
    found = []
    for dialogue in dialogues:
        seen[dialogue.key] += 1
        found.append(
            dialogue
            if seen[dialogue.key] == 1
            else replace(dialogue, key=f"{dialogue.key}#{seen[dialogue.key]}")
        )
    return found


def _dialogue(path: Path, line: int, row: Mapping[str, str | None], most: int) -> Dialogue:
    """`line` is the last of the row's, which may have several."""
    wanted = (
        "key",
        "language",
        *(f"turn_1_{part}" for part in ("prompt", "instruction_id_list", "kwargs")),
    )
    if missing := [name for name in wanted if row.get(name) is None]:
        raise UserError(f"{path}:{line}: no '{missing[0]}'. {EXPECTED}.")
    try:
        turns = []
        for number in range(1, most + 1):
            turn = _turn(row, number)
            if turn is None:
                break
            turns.append(turn)
        if not turns:
            raise _BadCell("turn_1_prompt is empty")
    except _BadCell as problem:
        raise UserError(f"{path}:{line}: {problem}. {EXPECTED}.") from None
    return Dialogue(str(row["key"]), str(row["language"]), tuple(turns))


def _turn(row: Mapping[str, str | None], number: int) -> UserTurn | None:
    said = row.get(f"turn_{number}_prompt")
    if said in (None, "", "None"):
        return None
    message = _json(said, f"turn_{number}_prompt")
    if not isinstance(message, dict) or not isinstance(message.get("content"), str):
        raise _BadCell(
            f'turn_{number}_prompt should be a message {{"role", "content"}}, found'
            f" {described(message)}"
        )
    try:
        names = json.loads(row.get(f"turn_{number}_instruction_id_list") or "")
    except ValueError:
        return UserTurn(message["content"], None)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise _BadCell(
            f"turn_{number}_instruction_id_list should be a list of names, found {described(names)}"
        )
    column = f"turn_{number}_kwargs"
    given = _json(row.get(column), column)
    if not isinstance(given, list) or len(given) < len(names):
        raise _BadCell(
            f"{column} should be a list with one object for each of {len(names)} instructions,"
            f" found {described(given)}"
        )
    arguments = [_json(each, column) for each in given]
    if not all(isinstance(each, dict) for each in arguments):
        raise _BadCell(
            f"{column} should hold objects, found"
            f" {described(next(each for each in arguments if not isinstance(each, dict)))}"
        )
    return UserTurn(
        message["content"],
        tuple(Instruction(name, each) for name, each in zip(names, arguments, strict=False)),
    )


def _json(text: Any, column: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, TypeError, RecursionError):
        raise _BadCell(f"{column} is not JSON") from None

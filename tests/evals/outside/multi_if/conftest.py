"""Conversations in the published format and checkers of the published form, made for these
tests."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

CHECKERS = """
class Checker:
    def __init__(self, instruction_id):
        self.id = instruction_id

    def build_description(self, **given):
        self.given = given


class Contains(Checker):
    def check_following(self, value):
        return all(word in value for word in self.given["keywords"])


class NoComma(Checker):
    def check_following(self, value):
        print("looking for commas")
        return "," not in value


class Breaks(Checker):
    def check_following(self, value):
        return 1 / value.count("sentence")


class NeedsData(Checker):
    def check_following(self, value):
        raise LookupError("Resource punkt not found.")


INSTRUCTION_DICT = {
    "keywords:existence": Contains,
    "punctuation:no_comma": NoComma,
    "odd:breaks": Breaks,
    "odd:needs_data": NeedsData,
}
"""
ALPHA: tuple[str, dict[str, Any]] = ("keywords:existence", {"keywords": ["alpha"]})
BETA: tuple[str, dict[str, Any]] = ("keywords:existence", {"keywords": ["beta"]})
NO_COMMA: tuple[str, dict[str, Any]] = ("punctuation:no_comma", {})
Turn = tuple[str, Sequence[tuple[str, dict[str, Any]]]]
COLUMNS = (
    "turns",
    "responses",
    *(
        f"turn_{n}_{part}"
        for n in (1, 2, 3)
        for part in ("prompt", "instruction_id_list", "kwargs")
    ),
    "key",
)


@pytest.fixture
def checkers_file(tmp_path: Path) -> Path:
    path = tmp_path / "ifeval.py"
    path.write_text(CHECKERS)
    return path


@pytest.fixture
def three_turns() -> Callable[[str], list[Turn]]:
    """Turns whose instructions grow, as in the published file."""
    return lambda name: [
        (f"{name} one", [ALPHA]),
        (f"{name} two", [ALPHA, NO_COMMA]),
        (f"{name} three", [ALPHA, NO_COMMA, BETA]),
    ]


@pytest.fixture
def row() -> Callable[..., dict[str, str]]:
    """row(key, language, turns) → a line of the CSV."""

    def make(key: str, language: str, turns: Sequence[Turn]) -> dict[str, str]:
        found = {"turns": "[]", "responses": "", "key": key, "language": language}
        for number in (1, 2, 3):
            said, instructions = turns[number - 1] if number <= len(turns) else ("None", [])
            given = number <= len(turns)
            found[f"turn_{number}_prompt"] = (
                json.dumps({"role": "user", "content": said}) if given else "None"
            )
            found[f"turn_{number}_instruction_id_list"] = (
                json.dumps([name for name, _ in instructions]) if given else "None"
            )
            found[f"turn_{number}_kwargs"] = (
                json.dumps([json.dumps(arguments) for _, arguments in instructions])
                if given
                else "None"
            )
        return found

    return make


@pytest.fixture
def csv_file(tmp_path: Path) -> Callable[..., Path]:
    def write(*rows: dict[str, str]) -> Path:
        path = tmp_path / "multi_if.csv"
        with path.open("w", encoding="utf-8", newline="") as lines:
            table = csv.DictWriter(lines, [*COLUMNS, "turn_index", "language"])
            table.writeheader()
            table.writerows(rows)
        return path

    return write

"""What the golden tests share: how a command is run, and how an outcome is held against the hashes
that were pinned.

`python -m pytest tests/golden --pin` writes the hashes anew, of the tests that it runs (`-m ""`
takes the slow ones in). Do so only where the behaviour was meant to change, and say in the commit
what changed and why.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HASHES = Path(__file__).parent / "hashes"
MOST_NAMED = 12
AGAIN = "If this is meant, pin it anew: python -m pytest tests/golden --pin"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--pin",
        action="store_true",
        default=False,
        help="tests/golden: write the hashes anew instead of comparing.",
    )


def short_hash(content: str | bytes) -> str:
    raw = content.encode() if isinstance(content, str) else content
    return hashlib.sha256(raw).hexdigest()[:12]


@dataclass(frozen=True)
class Pins:
    """The pinned hashes. A file that ends with .txt has one hash on each line, one that ends with
    .json is a table of tables."""

    writing: bool

    def lines(self, name: str, contents: Iterable[str], where: Path | None = None) -> None:
        """Each content against its line of `name`. `where` says, in a failure, where the contents
        can be read."""
        found, path = [short_hash(content) for content in contents], HASHES / f"{name}.txt"
        if self.writing:
            path.write_text("".join(line + "\n" for line in found))
            return
        pinned = path.read_text().split() if path.is_file() else []
        if found == pinned:
            return
        differing = [
            number
            for number, pair in enumerate(zip(found, pinned, strict=False), start=1)
            if pair[0] != pair[1]
        ]
        named = ", ".join(map(str, differing[:MOST_NAMED])) + (
            ", …" if len(differing) > MOST_NAMED else ""
        )
        counts = f"{len(found)} lines, pinned {len(pinned)}; {len(differing)} differ: {named}"
        pytest.fail(f"{name}: {counts}. To be read in {where}. {AGAIN}", pytrace=False)

    def table(
        self, name: str, row: str, column: str, found: Mapping[str, str], where: Path | None = None
    ) -> None:
        """One cell of a table: hashes by names. What is found beyond the pinned names is new, and
        no failure."""
        path = HASHES / f"{name}.json"
        cells: dict[str, dict[str, dict[str, str]]] = (
            json.loads(path.read_text()) if path.is_file() else {}
        )
        if self.writing:
            cells.setdefault(row, {})[column] = dict(found)
            path.write_text(json.dumps(cells, indent=1, sort_keys=True) + "\n")
            return
        pinned = cells.get(row, {}).get(column)
        if pinned is None:
            pytest.skip(
                f"{name}: nothing is pinned for '{row}' on '{column}', only on"
                f" {sorted(cells.get(row, {}))}. {AGAIN}"
            )
        differing = [key for key in pinned if found.get(key) != pinned[key]]
        if differing:
            pytest.fail(
                f"{name}: '{row}' differs in {', '.join(differing)}. To be read in {where}."
                f" {AGAIN}",
                pytrace=False,
            )


@pytest.fixture(scope="session")
def pins(request: pytest.FixtureRequest) -> Pins:
    return Pins(bool(request.config.getoption("--pin", default=False)))


@pytest.fixture(scope="session")
def program() -> Callable[..., list[str]]:
    """program(folder, word, …) → the lines that `python word …` prints in that folder. It must end
    with exit code 0."""

    def run(folder: Path, *words: object) -> list[str]:
        done = subprocess.run(
            [sys.executable, *map(str, words)],
            cwd=folder,
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONUTF8": "1"},
        )
        if done.returncode != 0:
            pytest.fail(
                f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr[-3000:]}",
                pytrace=False,
            )
        return done.stdout.splitlines()

    return run


@pytest.fixture(scope="session")
def tripwright(program: Callable[..., list[str]]) -> Callable[..., list[str]]:
    """tripwright(folder, verb, …) → the lines that the command prints in that folder. It must end
    with exit code 0."""

    def run(folder: Path, *words: object) -> list[str]:
        return program(folder, "-m", "tripwright", *words)

    return run


@pytest.fixture(scope="session")
def records() -> Callable[[Path], list[dict[str, Any]]]:
    """records(path) → the objects of a JSONL file."""
    return lambda path: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="session")
def hash_of() -> Callable[[str | bytes], str]:
    return short_hash

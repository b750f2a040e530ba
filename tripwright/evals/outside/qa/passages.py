"""The corpus that a Search tool searches: passages in the form of Search-R1's wiki-18, and the
interface of whatever finds them.

A line of a corpus is {"id", "contents"}; the first line of the contents is the title, in wiki-18
between double quotes, and the rest is the text. What a model reads is the title as it stands there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tripwright.errors import UserError, described
from tripwright.files import json_lines

EXPECTED = 'expected {"id": …, "contents": "\\"Title\\"\\ntext"} as in wiki-18'


@dataclass(frozen=True)
class Passage:
    id: str
    contents: str

    @property
    def title(self) -> str:
        return self.contents.partition("\n")[0]

    @property
    def text(self) -> str:
        return self.contents.partition("\n")[2]


class RetrieverDown(Exception):
    """Our side could not search: the episode ends unscored (law 4)."""


class Retriever(Protocol):
    """Threads may share one."""

    @property
    def identity(self) -> dict[str, Any]:
        """What a run card says of it: two runs with equal identities were given the same passages
        for the same query."""
        ...

    def search(self, query: str, top_k: int) -> Sequence[Passage]:
        """At most `top_k` passages, the best first. Raises RetrieverDown."""
        ...


def read_corpus(path: Path) -> Iterator[Passage]:
    """Every passage, in order, one at a time. Raises UserError with the place of the first line
    that is none."""
    if not path.is_file():
        raise UserError(f"No corpus at '{path}'. Expected a JSONL file of passages: {EXPECTED}.")
    for number, record in json_lines(path):
        if not isinstance(record, dict) or not isinstance(record.get("contents"), str):
            raise UserError(f"{path}:{number}: no contents; {EXPECTED}, found {described(record)}.")
        yield Passage(str(record.get("id", number - 1)), record["contents"])

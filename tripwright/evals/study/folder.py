"""A study is a folder. `study.json` is written last, so a folder that has it is whole.

| file | what it holds |
|---|---|
| `study.json` | seed, the dimensions with their criteria, how many items |
| `items.jsonl` | what raters see, one item a line; nothing here says which run it is from |
| `key.jsonl` | item → run, transcript, the verdicts it carried; the page never reads it |
| `labels/*.jsonl` | what raters said, only ever appended to |
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

from tripwright.errors import NotJson, UserError, read_json
from tripwright.files import json_object, write_atomically

STUDY, ITEMS, KEY, LABELS = "study.json", "items.jsonl", "key.jsonl", "labels"
SCHEMA = 1


@dataclass(frozen=True)
class Dimension:
    """`true` and `false` say when a rater chooses which; `short` is the name where there is little
    room."""

    key: str
    name: str
    short: str
    question: str
    true: str
    false: str


@dataclass(frozen=True)
class KeyEntry:
    """Where an item is from. `verdicts` are those that its transcript carried, by name
    (`verdicts.py`)."""

    item: str
    run: str
    id: str
    verdicts: Mapping[str, bool]


class Study:
    """An existing study. Reads files when they are asked for, so that several processes may share a
    folder."""

    def __init__(self, folder: Path, seed: int, dimensions: Sequence[Dimension]):
        self.folder, self.seed, self.dimensions = folder, seed, tuple(dimensions)

    @classmethod
    def open(cls, folder: Path) -> Study:
        """Raises UserError where the folder holds no whole study."""
        path = folder / STUDY
        if not path.is_file():
            raise UserError(
                f"No study in '{folder}': expected a folder that 'tripwright study make' wrote."
            )
        header = json_object(path) or {}
        if header.get("schema") != SCHEMA:
            raise UserError(
                f"'{path}' has schema {header.get('schema')!r}; this version reads {SCHEMA}."
            )
        try:
            dimensions = [Dimension(**entry) for entry in header["dimensions"]]
            seed = int(header["seed"])
        except (KeyError, TypeError, ValueError) as problem:
            raise UserError(
                f"'{path}' cannot be read: {type(problem).__name__} {problem}."
            ) from None
        keys = {dimension.key for dimension in dimensions}
        if not 1 <= len(dimensions) <= 9 or len(keys) < len(dimensions):
            raise UserError(
                f"'{path}' must have 1 to 9 dimensions with different keys, one for each digit of a"
                " keyboard."
            )
        return cls(folder, seed, dimensions)

    @property
    def keys(self) -> tuple[str, ...]:
        return tuple(dimension.key for dimension in self.dimensions)

    @cached_property
    def items(self) -> dict[str, dict[str, Any]]:
        """Item → what raters see, in the order of the file, which is random already."""
        return {str(entry["item"]): entry for entry in _lines(self.folder / ITEMS)}

    @cached_property
    def key(self) -> dict[str, KeyEntry]:
        """Who is who. For the organiser: whatever a rater sees must not come from here."""
        return {str(entry["item"]): KeyEntry(**entry) for entry in _lines(self.folder / KEY)}

    def order(self, rater: str) -> list[str]:
        """The items in this rater's own order: equal for equal names, on any machine."""
        names = list(self.items)
        Random(f"{self.seed}:{rater}").shuffle(names)
        return names


def create(
    folder: Path,
    seed: int,
    dimensions: Sequence[Dimension],
    items: Sequence[Mapping[str, Any]],
    key: Sequence[KeyEntry],
) -> None:
    """Writes a whole study. Raises UserError where the folder holds anything."""
    if folder.is_dir() and any(folder.iterdir()):
        what = "a study" if (folder / STUDY).exists() else "other files"
        raise UserError(f"'{folder}' holds {what} already. Choose a new folder for --out.")
    (folder / LABELS).mkdir(parents=True, exist_ok=True)
    write_atomically(
        folder / ITEMS, "".join(json.dumps(item, ensure_ascii=False) + "\n" for item in items)
    )
    write_atomically(
        folder / KEY, "".join(json.dumps(asdict(entry), ensure_ascii=False) + "\n" for entry in key)
    )
    about = {
        "schema": SCHEMA,
        "seed": seed,
        "items": len(items),
        "dimensions": [asdict(dimension) for dimension in dimensions],
    }
    write_atomically(folder / STUDY, json.dumps(about, indent=2, ensure_ascii=False) + "\n")


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        raise UserError(f"The study lacks '{path}'.")
    records = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        try:
            records.append(dict(read_json(line)))
        except (NotJson, TypeError, ValueError):
            raise UserError(f"{path}:{number}: expected a JSON object.") from None
    return records

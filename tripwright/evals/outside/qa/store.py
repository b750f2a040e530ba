"""An index on disk: the passages of a corpus by their number, and beside them what searches need.
Built once, read by many processes.

| file | what it holds |
|---|---|
| `index.json` | the corpus (its name, SHA-256 and number of passages), what was built; written
last: without it an index is not finished | | `passages.sqlite` | the passages, numbered from 0 in
the order of the corpus, and the inverted index of `bm25.py` | | `dense.faiss` | one vector per
passage, in the same order (`dense.py`); only where it was asked for |

Everything is read from the corpus one line at a time, so its size is a matter of disk, not of
memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.evals.outside.qa.passages import Passage, read_corpus
from tripwright.files import json_object, write_atomically
from tripwright.progress import StatusLine

MANIFEST, PASSAGES, DENSE = "index.json", "passages.sqlite", "dense.faiss"
TOKENIZER = "porter unicode61"  # SQLite's: lower case, no diacritics, Porter's stemmer
BATCH = 2000  # passages that are written at once

_SCHEMA = f"""
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
CREATE TABLE passages (number INTEGER PRIMARY KEY, id TEXT NOT NULL, contents TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5(contents, content = '', tokenize = '{TOKENIZER}');
"""


def build_index(corpus: Path, out: Path) -> dict[str, Any]:
    """Writes `out` and returns its manifest. One of the same corpus that is there already is left
    alone; of another, a UserError."""
    digest = file_sha256(corpus)
    found = json_object(out / MANIFEST) if (out / MANIFEST).is_file() else None
    if found is not None:
        if found.get("corpus", {}).get("sha256") != digest:
            raise UserError(
                f"'{out}' holds an index of another corpus ({found.get('corpus', {}).get('name')})."
                " Choose a new folder for --out."
            )
        return found
    out.mkdir(parents=True, exist_ok=True)
    partial = out / f"{PASSAGES}.partial"
    partial.unlink(missing_ok=True)  # of a build that was interrupted
    try:
        count = _write(partial, read_corpus(corpus))
        if not count:
            raise UserError(f"No passages in '{corpus}'. Expected one per line.")
    except UserError:
        partial.unlink()
        with suppress(OSError):  # other files are there
            out.rmdir()
        raise
    os.replace(partial, out / PASSAGES)
    manifest = {
        "corpus": {"name": corpus.name, "sha256": digest, "passages": count},
        "bm25": {"tokenizer": TOKENIZER},
    }
    write_atomically(out / MANIFEST, json.dumps(manifest, indent=2) + "\n")
    return manifest


def _write(path: Path, passages: Iterable[Passage]) -> int:
    status, count, rows = StatusLine(), 0, enumerate(passages)
    connection = sqlite3.connect(path)
    try:
        connection.executescript(_SCHEMA)
        while batch := [
            (number, passage.id, passage.contents) for number, passage in islice(rows, BATCH)
        ]:
            connection.executemany("INSERT INTO passages VALUES (?, ?, ?)", batch)
            connection.executemany(
                "INSERT INTO words (rowid, contents) VALUES (?, ?)",
                ((n, contents) for n, _, contents in batch),
            )
            count += len(batch)
            status.show(f"{count:,} passages indexed, {count / max(status.seconds, 1e-9):,.0f}/s")
        connection.execute("INSERT INTO words (words) VALUES ('optimize')")
        connection.commit()
    finally:
        connection.close()
        status.end()
    return count


class PassageStore:
    """An index that was built. Threads may share one; each gets a connection of its own."""

    def __init__(self, folder: Path):
        manifest = json_object(folder / MANIFEST) if (folder / MANIFEST).is_file() else None
        if manifest is None or not (folder / PASSAGES).is_file():
            raise UserError(
                f"No index at '{folder}'. Make one with 'tripwright outside index CORPUS.jsonl"
                f" --out {folder}'."
            )
        self.folder, self.manifest = folder, manifest
        self._of_thread = threading.local()

    @property
    def connection(self) -> sqlite3.Connection:
        if not hasattr(self._of_thread, "connection"):
            path = (self.folder / PASSAGES).resolve().as_uri()
            self._of_thread.connection = sqlite3.connect(f"{path}?mode=ro&immutable=1", uri=True)
        connection: sqlite3.Connection = self._of_thread.connection
        return connection

    def __len__(self) -> int:
        return int(self.manifest["corpus"]["passages"])

    def numbered(self, numbers: Iterable[int]) -> list[Passage]:
        """The passages of these numbers, in this order; a number that is not there is left out."""
        rows = (
            self.connection.execute(
                "SELECT id, contents FROM passages WHERE number = ?", (int(n),)
            ).fetchone()
            for n in numbers
        )
        return [Passage(*row) for row in rows if row is not None]

    def contents(self) -> Iterator[str]:
        """Of every passage, in order."""
        for (contents,) in self.connection.execute("SELECT contents FROM passages ORDER BY number"):
            yield contents


def file_sha256(path: Path) -> str:
    if not path.is_file():
        raise UserError(f"No corpus at '{path}'. Expected a JSONL file of passages as in wiki-18.")
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()

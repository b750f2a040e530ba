"""Items drawn at random over runs, the same requests from each run where they exist: then runs differ by their answers alone.

Two passes: transcripts with token ids are large, so the first keeps only where each line is and what it asks.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from tripwright.errors import NotJson, UserError, read_json
from tripwright.evals.run import TRANSCRIPTS
from tripwright.evals.study.content import blind_content, request_of
from tripwright.evals.study.folder import Dimension, KeyEntry, create
from tripwright.evals.study.verdicts import verdicts_of
from tripwright.transcript import StopReason, Transcript

PER_RUN = 50  # as the paper's study


@dataclass(frozen=True)
class Source:
    """A file of transcripts under the name of its run."""

    run: str
    path: Path


@dataclass(frozen=True)
class Place:
    """One scored transcript: its id, what it asks (a hash), and where its line begins."""

    id: str
    request: str
    offset: int


@dataclass(frozen=True)
class Made:
    """What was drawn: items, requests that several runs answer; and how many transcripts were unscored (our side failed: law 4)."""

    items: int
    shared_requests: int
    unscored: int
    runs: tuple[str, ...]


def sources(paths: Sequence[Path]) -> list[Source]:
    """Run folders or .jsonl files, each with a name of its own. Raises UserError."""
    files = [path / TRANSCRIPTS if path.is_dir() else path for path in paths]
    for path, file in zip(paths, files, strict=True):
        if not file.is_file():
            raise UserError(f"No transcripts at '{path}': expected a run folder with {TRANSCRIPTS}, or a .jsonl file.")
    if len({file.resolve() for file in files}) < len(files):
        raise UserError("The same transcripts were named twice.")
    names = [path.resolve().name if path.is_dir() else _stem(path) for path in paths]
    return [Source(name if names.count(name) == 1 else str(path), file) for name, path, file in zip(names, paths, files, strict=True)]


def make_study(found: Sequence[Source], out: Path, dimensions: Sequence[Dimension], per_run: int = PER_RUN, seed: int = 0) -> Made:
    """Draws at most `per_run` items of each run and writes the study. Equal files and seeds give equal studies."""
    indexes: dict[str, dict[str, list[Place]]] = {}
    unscored = 0
    for source in found:
        indexes[source.run], left_out = _index(source.path)
        unscored += left_out
    rng = Random(seed)
    wanted = _preference(indexes, rng)
    drawn = [(source, place) for source in found for place in _draw(indexes[source.run], wanted, per_run, rng)]
    if not drawn:
        raise UserError("No transcript to label: all are unscored, or the files are empty.")
    rng.shuffle(drawn)
    items, key = [], []
    width = len(str(len(drawn)))
    for number, (source, place) in enumerate(drawn, start=1):
        record = _record_at(source.path, place.offset)
        name = f"item-{number:0{width}d}"
        items.append({"item": name, **blind_content(record, Transcript.from_json(record["transcript"]))})
        key.append(KeyEntry(name, source.run, place.id, verdicts_of(record)))
    create(out, seed, dimensions, items, key)
    times = Counter(place.request for _, place in drawn)
    return Made(len(items), sum(count > 1 for count in times.values()), unscored, tuple(source.run for source in found))


def _preference(indexes: Mapping[str, Mapping[str, Any]], rng: Random) -> list[str]:
    """All requests at random, those that more runs answer first: every run draws from the front, so the runs draw the same."""
    answered = Counter(request for index in indexes.values() for request in index)
    requests = sorted(answered)
    rng.shuffle(requests)
    return sorted(requests, key=lambda request: -answered[request])


def _draw(index: Mapping[str, list[Place]], wanted: Sequence[str], per_run: int, rng: Random) -> list[Place]:
    """One transcript of each of the first wanted requests that this run answers."""
    return [rng.choice(index[request]) for request in [one for one in wanted if one in index][:per_run]]


def _index(path: Path) -> tuple[dict[str, list[Place]], int]:
    """Request → its transcripts, and how many are unscored. Of an id that comes twice the later line counts, as in a score."""
    latest: dict[str, Place | None] = {}
    offset = 0
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.endswith(b"\n") and line.strip():  # a last line without an end is being written, or was torn by a kill
                place = _place(line, offset, f"{path}:{number}")
                latest[place[0]] = place[1]
            offset += len(line)
    index: dict[str, list[Place]] = {}
    for found in latest.values():
        if found is not None:
            index.setdefault(found.request, []).append(found)
    return index, sum(found is None for found in latest.values())


def _place(line: bytes, offset: int, where: str) -> tuple[str, Place | None]:
    record = _read(line, where)
    request = request_of(record)
    if request is None:
        raise UserError(f'{where}: no "query" and no "request": raters could not know what was asked.')
    try:
        transcript = Transcript.from_json(record["transcript"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UserError(f"{where}: expected a transcript under \"transcript\", as 'tripwright run' writes it.") from None
    id = str(record.get("id", where.rpartition(":")[2]))
    if transcript.stop_reason is StopReason.UNSCORED:
        return id, None
    words = request.get("query") if isinstance(request, Mapping) else request
    asked = str(words) if words else json.dumps(request, sort_keys=True)
    return id, Place(id, hashlib.sha256(" ".join(asked.split()).encode()).hexdigest(), offset)


def _record_at(path: Path, offset: int) -> dict[str, Any]:
    with path.open("rb") as lines:
        lines.seek(offset)
        return _read(lines.readline(), str(path))


def _read(line: bytes, where: str) -> dict[str, Any]:
    try:
        record = read_json(line)
    except NotJson as problem:
        raise UserError(f"{where}: not JSON ({problem}).") from None
    if not isinstance(record, dict):
        raise UserError(f'{where}: expected an object with "transcript", found {type(record).__name__}.')
    return record


def _stem(path: Path) -> str:
    """RUN/transcripts.jsonl is named after its folder."""
    return path.resolve().parent.name if path.name == TRANSCRIPTS else path.stem

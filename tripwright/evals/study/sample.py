"""Items drawn at random over runs, the same requests from each run where they exist: then runs
differ by their answers alone.

Transcripts with token ids are large, so a first pass keeps only where each line is and what it
asks.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from tripwright.errors import UserError
from tripwright.evals.study.content import blind_content, reading_content
from tripwright.evals.study.folder import Dimension, KeyEntry, create
from tripwright.evals.study.verdicts import verdicts_of
from tripwright.runs import (
    TRANSCRIPTS,
    EpisodeLine,
    LinePlace,
    episode_lines,
    record_at,
    transcripts_at,
)
from tripwright.transcript import StopReason, Transcript

PER_RUN = 50  # as the paper's study


@dataclass(frozen=True)
class StudyRun:
    """A file of transcripts under the name of its run."""

    run: str
    path: Path


@dataclass(frozen=True)
class StudyEpisode:
    """One scored transcript: its id, what it asks (a hash), and where its line is."""

    id: str
    request: str
    place: LinePlace


@dataclass(frozen=True)
class StudyCounts:
    """What was drawn: items, requests that several runs answer; and how many transcripts were
    unscored (our side failed)."""

    items: int
    shared_requests: int
    unscored: int
    runs: tuple[str, ...]


def sources(paths: Sequence[Path]) -> list[StudyRun]:
    """Run folders or .jsonl files, each with a name of its own. Raises UserError."""
    files = [transcripts_at(path) for path in paths]
    if len({file.resolve() for file in files}) < len(files):
        raise UserError("The same transcripts were named twice.")
    names = [path.resolve().name if path.is_dir() else _stem(path) for path in paths]
    return [
        StudyRun(name if names.count(name) == 1 else str(path), file)
        for name, path, file in zip(names, paths, files, strict=True)
    ]


def make_study(
    runs: Sequence[StudyRun],
    out: Path,
    dimensions: Sequence[Dimension],
    per_run: int = PER_RUN,
    seed: int = 0,
    reading: bool = False,
) -> StudyCounts:
    """Draws at most `per_run` items of each run and writes the study. Equal files and seeds give
    equal studies. `reading`: items are plans beside the words that they were read out of, and no
    verdict is held against the labels."""
    indexes: dict[str, dict[str, list[StudyEpisode]]] = {}
    unscored = 0
    for source in runs:
        indexes[source.run], left_out = _index(source.path, reading)
        unscored += left_out
    rng = Random(seed)
    requests = _preference(indexes, rng)
    choices = [
        (source, each)
        for source in runs
        for each in _draw(indexes[source.run], requests, per_run, rng)
    ]
    if not choices:
        nothing = ", nothing was read out of any answer" if reading else ""
        raise UserError(
            f"No transcript to label: all are unscored{nothing}, or the files are empty."
        )
    rng.shuffle(choices)
    items, key = [], []
    width = len(str(len(choices)))
    for number, (source, each) in enumerate(choices, start=1):
        record = record_at(source.path, each.place)
        name = f"item-{number:0{width}d}"
        transcript = Transcript.from_json(record["transcript"])
        content = reading_content(record, transcript) if reading else None
        items.append({"item": name, **(content or blind_content(record, transcript))})
        key.append(KeyEntry(name, source.run, each.id, {} if reading else verdicts_of(record)))
    create(out, seed, dimensions, items, key)
    times = Counter(each.request for _, each in choices)
    return StudyCounts(
        len(items),
        sum(count > 1 for count in times.values()),
        unscored,
        tuple(source.run for source in runs),
    )


def _preference(indexes: Mapping[str, Mapping[str, list[StudyEpisode]]], rng: Random) -> list[str]:
    """All requests at random, those that more runs answer first: every run draws from the front, so
    the runs draw the same."""
    answered = Counter(request for index in indexes.values() for request in index)
    requests = sorted(answered)
    rng.shuffle(requests)
    return sorted(requests, key=lambda request: -answered[request])


def _draw(
    index: Mapping[str, list[StudyEpisode]], requests: Sequence[str], per_run: int, rng: Random
) -> list[StudyEpisode]:
    """One transcript of each of the first wanted requests that this run answers."""
    return [
        rng.choice(index[request])
        for request in [one for one in requests if one in index][:per_run]
    ]


def _index(path: Path, reading: bool) -> tuple[dict[str, list[StudyEpisode]], int]:
    """Request → its transcripts, and how many are unscored or, with `reading`, hold no plan beside
    words."""
    index: dict[str, list[StudyEpisode]] = {}
    unscored = 0
    for line in episode_lines(path):
        candidate = _scored(line, reading)
        if candidate is None:
            unscored += 1
        else:
            index.setdefault(candidate.request, []).append(candidate)
    return index, unscored


def _scored(line: EpisodeLine, reading: bool) -> StudyEpisode | None:
    """Raises UserError for a line that raters could not make sense of."""
    record = line.record()
    request = record.get("request")
    if not isinstance(request, Mapping) or "domain" not in record:
        raise UserError(
            f'{line.where}: no "request" of a "domain": raters could not know what was asked.'
        )
    try:
        transcript = Transcript.from_json(record["transcript"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UserError(
            f"{line.where}: expected a transcript under \"transcript\", as 'tripwright run'"
            " writes it."
        ) from None
    if transcript.stop_reason is StopReason.UNSCORED or (
        reading and reading_content(record, transcript) is None
    ):
        return None
    words = str(request.get("query") or json.dumps(request, sort_keys=True))
    id = line.place.id or str(line.place.number)
    return StudyEpisode(
        id, hashlib.sha256(" ".join(words.split()).encode()).hexdigest(), line.place
    )


def _stem(path: Path) -> str:
    """RUN/transcripts.jsonl is named after its folder."""
    return path.resolve().parent.name if path.name == TRANSCRIPTS else path.stem

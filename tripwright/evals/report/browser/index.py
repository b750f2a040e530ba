"""Every episode of every evaluation in a line of columns: what the list shows and what it can be filtered by.

Each file may be larger than memory: an entry says where its line is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.evals.report.browser.record import request_of
from tripwright.evals.report.folder import RunFolder
from tripwright.evals.report.markup import number
from tripwright.evals.report.results import BASELINES, evaluation_words
from tripwright.runs import TRANSCRIPTS, Place, episode_lines

Json = dict[str, Any]
Key = tuple[object, ...]  # equal for episodes about the same request

PASSED, FAILED, UNSCORED = 1, 0, -1
NO_ANSWER = "nothing delivered"  # stands among the failed constraints
MOST_REQUEST = 1_000  # characters shown in the list
_SCRIPTS = "difficulty"  # the folder with the scripts' evaluations


@dataclass(frozen=True)
class Source:
    """One transcripts.jsonl. `key` names it in addresses, `run` is empty where the page is about one run."""

    key: str
    run: str
    name: str
    path: Path
    folder: Path  # of the run


@dataclass(frozen=True, slots=True)
class Entry:
    """One episode. `failed` holds names; `cost` is the plan's in US dollars; `tokens` are those trained on, 0 where there are no ids."""

    source: int
    place: Place  # of its line
    id: str
    query: int
    verdict: int
    stop: str
    failed: tuple[str, ...]
    turns: int
    calls: int
    errors: int
    refused: int
    tokens: int
    cost: float | None


@dataclass
class Index:
    sources: list[Source]
    entries: list[Entry] = field(default_factory=list)
    queries: list[tuple[str, str, int | None]] = field(default_factory=list)  # request, level, days; shared by all evaluations
    unreadable: dict[str, int] = field(default_factory=dict)  # source key → lines


def sources_of(runs: dict[str, RunFolder]) -> list[Source]:
    """The main evaluation first, then the others, then the scripts that measured difficulty. With one run, its name is not said."""
    found = []
    for run_name, run in runs.items():
        shown = run_name if len(runs) > 1 else ""
        main_first = sorted(run.transcripts, key=lambda name: name != run.main_evaluation)
        files = {name: (evaluation_words(name)[0], run.transcripts[name]) for name in main_first}
        for path in sorted(run.path.glob(f"eval/*/*/{TRANSCRIPTS}")):
            outer, inner = path.parent.parent.name, path.parent.name
            words = f"{BASELINES[inner][0]} (script)" if outer == _SCRIPTS and inner in BASELINES else f"{outer}, {inner}"
            files[f"{outer}/{inner}"] = (words, path)
        found += [Source(f"{shown}/{key}".lstrip("/"), shown, words, path, run.path) for key, (words, path) in files.items()]
    return found


def index_of(sources: list[Source]) -> Index:
    index = Index(sources)
    places: dict[Key, int] = {}
    for number_, source in enumerate(sources):
        for line in episode_lines(source.path):
            try:
                index.entries.append(_entry(line.record(), number_, line.place, index, places))
            except (ValueError, KeyError, TypeError, AttributeError):
                index.unreadable[source.key] = index.unreadable.get(source.key, 0) + 1
    return index


def _entry(record: Json, source: int, place: Place, index: Index, places: dict[Key, int]) -> Entry:
    segments, verdict = record["transcript"]["segments"], record["verdict"]
    asked = _asked(record, segments)
    question = request_of(record)[1].get("question")  # of another benchmark, whose words may differ from sample to sample
    key: Key = (str(record.get("world")), *((str(question),) if question else asked))
    if key not in places:
        places[key] = len(index.queries)
        index.queries.append(asked)
    calls = [segment["call"] for segment in segments if segment.get("call")]
    failed = tuple(_failed(verdict)) if verdict is not None else ()
    return Entry(
        source=source,
        place=place,
        id=str(record["id"]),
        query=places[key],
        verdict=UNSCORED if verdict is None else PASSED if verdict["final"] is True else FAILED,
        stop=str(record["transcript"].get("stop_reason") or "none"),
        failed=failed,
        turns=sum(segment["role"] == "assistant" for segment in segments),
        calls=len(calls),
        errors=sum(bool(call.get("error")) for call in calls),
        refused=sum(bool(segment.get("problem")) for segment in segments),
        tokens=sum(sum(segment.get("loss_mask") or ()) for segment in segments),
        cost=number(verdict.get("total_cost")) if verdict else None,
    )


def _asked(record: Json, segments: list[Json]) -> tuple[str, str, int | None]:
    """The request in words, its level and its days."""
    _, request = request_of(record)
    text = str(request.get("query") or "")
    if not text and request:
        text = f"{request.get('org', request.get('origin', '?'))} to {request.get('dest', request.get('destination', '?'))}"
    if not text:  # another kind of job: what the user said first
        text = next((str(segment["text"]) for segment in segments if segment["role"] == "user"), "")
    if question := request.get("question"):  # of another benchmark, where many prompts begin alike
        text = f"{question}: {text}"
    days = request.get("days")
    return text[:MOST_REQUEST], str(request.get("level") or "no level"), days if isinstance(days, int) else None


def _failed(verdict: Json) -> Iterable[str]:
    if verdict.get("delivered") is False:
        yield NO_ANSWER
    for group in ("commonsense", "hard"):
        facts = verdict.get(group)
        for name, fact in facts.items() if isinstance(facts, dict) else ():
            if isinstance(fact, dict) and fact.get("passed") is False:
                yield str(name)

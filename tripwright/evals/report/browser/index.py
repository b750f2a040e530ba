"""Every episode of every evaluation in a line of columns: what the list shows and what it can be
filtered by.

Each file may be larger than memory: an entry says where its line is.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.evals.outcome import Outcome, mark_words
from tripwright.evals.report.folder import ReportedRun
from tripwright.evals.report.markup import number
from tripwright.evals.report.results import BASELINES, evaluation_words
from tripwright.runs import TRANSCRIPTS, LinePlace, episode_lines
from tripwright.verdict import State, Verdict

Json = dict[str, Any]
PASSED, FAILED, UNSCORED = 1, 0, -1
NO_ANSWER = "nothing delivered"  # stands among the failed constraints
MOST_REQUEST = 1_000  # characters shown in the list
_SCRIPTS = "difficulty"  # the folder with the scripts' evaluations


@dataclass(frozen=True)
class Source:
    """One transcripts.jsonl. `key` names it in addresses, `run` is empty where the page is about
    one run."""

    key: str
    run: str
    name: str
    path: Path
    folder: Path  # of the run


@dataclass(frozen=True, slots=True)
class Entry:
    """One episode. `failed` holds names; `cost` is the plan's in US dollars; `tokens` are those
    trained on, 0 where there are no ids."""

    source: int
    place: LinePlace  # of its line
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


class RequestEntry(NamedTuple):
    """A request in words, and what it is counted under: {"level": "easy", "days": "3 days"}."""

    text: str
    marks: dict[str, str]


@dataclass
class Index:
    sources: list[Source]
    entries: list[Entry] = field(default_factory=list)
    queries: list[RequestEntry] = field(default_factory=list)  # shared by all evaluations
    unreadable: dict[str, int] = field(default_factory=dict)  # source key → lines


def sources_of(runs: dict[str, ReportedRun]) -> list[Source]:
    """The main evaluation first, then the others, then the scripts that measured difficulty. With
    one run, its name is not said."""
    sources = []
    for run_name, run in runs.items():
        run_title = run_name if len(runs) > 1 else ""
        main_first = sorted(run.transcripts, key=lambda name: name != run.main_evaluation)
        files = {name: (evaluation_words(name)[0], run.transcripts[name]) for name in main_first}
        for path in sorted(run.path.glob(f"eval/*/*/{TRANSCRIPTS}")):
            outer, inner = path.parent.parent.name, path.parent.name
            words = (
                f"{BASELINES[inner][0]} (script)"
                if outer == _SCRIPTS and inner in BASELINES
                else f"{outer}, {inner}"
            )
            files[f"{outer}/{inner}"] = (words, path)
        sources += [
            Source(f"{run_title}/{key}".lstrip("/"), run_title, words, path, run.path)
            for key, (words, path) in files.items()
        ]
    return sources


def index_of(sources: list[Source]) -> Index:
    index = Index(sources)
    places: dict[Any, int] = {}
    for number_, source in enumerate(sources):
        for line in episode_lines(source.path):
            try:
                index.entries.append(_entry(line.record(), number_, line.place, index, places))
            except (ValueError, KeyError, TypeError, AttributeError):
                index.unreadable[source.key] = index.unreadable.get(source.key, 0) + 1
    return index


def _entry(
    record: Json, source: int, place: LinePlace, index: Index, places: dict[Any, int]
) -> Entry:
    segments, outcome = record["transcript"]["segments"], Outcome.of(record)
    verdict = Verdict.from_record(record["verdict"]) if outcome.scored else None
    query, question = _query(record, outcome), record["request"].get("question")
    key = (record.get("world"), question or (query.text, *query.marks.items()))
    if key not in places:
        places[key] = len(index.queries)
        index.queries.append(query)
    calls = [segment["call"] for segment in segments if segment.get("call")]
    return Entry(
        source=source,
        place=place,
        id=outcome.id,
        query=places[key],
        verdict=PASSED if outcome.final else FAILED if outcome.scored else UNSCORED,
        stop=str(record["transcript"].get("stop_reason") or "none"),
        failed=tuple(_failed(verdict)) if verdict else (),
        turns=outcome.turns,
        calls=len(calls),
        errors=sum(bool(call.get("error")) for call in calls),
        refused=sum(bool(segment.get("problem")) for segment in segments),
        tokens=sum(sum(segment.get("loss_mask") or ()) for segment in segments),
        cost=number(verdict.details.get("total_cost")) if verdict else None,
    )


def _query(record: Json, outcome: Outcome) -> RequestEntry:
    """Without words of its own it is what the user said first. Other benchmarks name their
    question, where many prompts begin alike."""
    text = outcome.text or next(
        (
            str(segment["text"])
            for segment in record["transcript"]["segments"]
            if segment["role"] == "user"
        ),
        "",
    )
    if question := record["request"].get("question"):
        text = f"{question}: {text}"
    marks = {
        field: mark_words({field: value})[0]
        for field, value in outcome.marks.items()
        if value is not None
    }
    return RequestEntry(text[:MOST_REQUEST], marks)


def _failed(verdict: Verdict) -> Iterable[str]:
    if not verdict.delivered:
        yield NO_ANSWER
    for group in verdict.groups[1:]:
        yield from (
            name for name, fact in (group.facts or {}).items() if fact.state is State.FAILED
        )

"""Collects the episodes of runs that are worth learning from: they pass the strict rules, or their
verifier, in a clean format; counts why the others were left out (rows S4, D6).

The subtle things: an episode is counted under the first reason that it meets, in the order ending,
rules, format, choice, so that the counts add up to all episodes; which of several good episodes of
a request is kept depends on the episodes alone, never on the order in which they finished.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.data.files import SourceRun, StoredEpisode, replacing
from tripwright.data.judging import Judging
from tripwright.domains.domain import ClosedWorld
from tripwright.transcript import Transcript

DUPLICATE = "the same turns as another"
ONE_OF_MANY = "more than asked for of one request"


@dataclass(frozen=True)
class EpisodeSelection:
    """Which of several good episodes of a request are kept. `most_per_query` None: all."""

    dedup: bool = False
    most_per_query: int | None = None
    order: str = "first"  # or "shortest"


@dataclass
class CollectionCounts:
    """Counts of episodes, and the rules (or verifiers) that judged them. `dropped` goes from the
    most frequent reason to the rarest."""

    rules: str
    episodes: int = 0
    kept: int = 0
    requests: int = 0
    judged_again: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    by_run: dict[str, dict[str, int]] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        return {
            "episodes": self.episodes,
            "kept": self.kept,
            "requests": self.requests,
            "judged_again": self.judged_again,
            "dropped": dict(self.dropped.most_common()),
            "runs": self.by_run,
        }


@dataclass(frozen=True)
class _Good:
    run: SourceRun
    id: str
    request: str
    size: tuple[int, int]  # tool calls, characters
    turns: str  # a digest of what the agent said


def collect(
    runs: Sequence[SourceRun],
    out: Path,
    worlds: Iterable[ClosedWorld] = (),
    rules: str | None = None,
    choice: EpisodeSelection | None = None,
) -> CollectionCounts:
    """Writes the good episodes of `runs` to `out`, one JSON object per line, by run and id.

    An episode judged under other rules, or of a world that is given, is judged here; `rules` None
    are the strictest. Where a domain knows one way to judge, there is none of this. Raises
    UserError where a world is missing, and for runs of two domains.
    """
    judging = Judging(runs, worlds, rules)
    collected, good = CollectionCounts(judging.rules), []
    for run in runs:
        counts = collected.by_run[run.label] = {"episodes": 0, "kept": 0}
        for episode in run.episodes():
            counts["episodes"] += 1
            if (reason := judging.problem(run, episode)) is None:
                good.append(
                    _Good(
                        run,
                        episode.id,
                        f"{run.world_hash} {episode.request_key}",
                        _size(episode.transcript),
                        _turns(episode),
                    )
                )
            else:
                collected.dropped[reason] += 1
    selection = _chosen(good, choice or EpisodeSelection(), collected.dropped)
    collected.episodes, collected.kept = (
        sum(counts["episodes"] for counts in collected.by_run.values()),
        len(selection),
    )
    collected.requests, collected.judged_again = (
        len({one.request for one in selection}),
        judging.judged,
    )
    with replacing(out) as lines:
        for run in runs:
            ids = [one.id for one in selection if one.run is run]
            collected.by_run[run.label]["kept"] = len(ids)
            for episode in run.episodes(ids):
                lines.write(json.dumps(_trajectory(judging, run, episode)).encode() + b"\n")
    return collected


def _trajectory(judging: Judging, run: SourceRun, episode: StoredEpisode) -> dict[str, Any]:
    """The line of the run, with what it needs to be used alone."""
    return {
        **episode.record,
        "id": f"{run.label}/{episode.id}",
        "verdict": judging.verdict(run, episode).record(),
        "rules": judging.rules_of(run),
        "world_hash": run.world_hash,
        "policy": run.card.get("policy"),
        "dialect": run.dialect.name,
        "tools": run.tools,
    }


def _chosen(good: list[_Good], choice: EpisodeSelection, drops: Counter[str]) -> list[_Good]:
    """In the order given. Of equal ones the first is kept."""
    by_request: dict[str, list[_Good]] = defaultdict(list)
    for one in good:
        by_request[one.request].append(one)
    ids: set[int] = set()
    for group in by_request.values():
        ranked = sorted(group, key=lambda one: one.size) if choice.order == "shortest" else group
        if choice.dedup:
            unique: dict[str, _Good] = {}
            for one in ranked:
                unique.setdefault(one.turns, one)
            ranked = list(unique.values())
        ids |= {id(one) for one in ranked[: choice.most_per_query]}
        drops.update({DUPLICATE: len(group) - len(ranked)} if len(ranked) < len(group) else {})
        over = len(ranked[choice.most_per_query :]) if choice.most_per_query is not None else 0
        drops.update({ONE_OF_MANY: over} if over else {})
    return [one for one in good if id(one) in ids]


def _size(transcript: Transcript) -> tuple[int, int]:
    return len(transcript.calls), sum(len(segment.text) for segment in transcript.segments)


def _turns(episode: StoredEpisode) -> str:
    turns = [segment.text for segment in episode.transcript.segments if segment.role == "assistant"]
    return hashlib.sha256(json.dumps(turns).encode()).hexdigest()

"""Runs → trajectories (row S4): the episodes that pass the strict rules in a clean format, and why the others were left.

The subtle things: an episode is counted under the first reason that it meets, in the order ending, rules, format, choice, so that the
counts add up to all episodes; which of several good episodes of a request is kept depends on the episodes alone, never on the order
in which they finished.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, cast

from tripwright.constraints.evaluate import Rules, check_rules, judge
from tripwright.errors import UserError
from tripwright.trajectories.clean import ending_problem, format_problem
from tripwright.trajectories.files import Episode, Run, replacing
from tripwright.transcript import Transcript
from tripwright.world.store import World

Order = Literal["first", "shortest"]
ORDERS: tuple[str, ...] = ("first", "shortest")

DUPLICATE = "the same turns as another"
ONE_OF_MANY = "more than asked for of one request"


@dataclass(frozen=True)
class Choice:
    """Which of several good episodes of a request are kept. `most_per_query` None: all."""

    dedup: bool = False
    most_per_query: int | None = None
    order: Order = "first"


@dataclass
class Collected:
    """Counts of episodes. `dropped` goes from the most frequent reason to the rarest."""

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
    run: Run
    id: str
    request: str
    size: tuple[int, int]  # tool calls, characters
    turns: str  # a digest of what the agent said


def collect(runs: Sequence[Run], out: Path, worlds: Iterable[World] = (), rules: str = "strict", choice: Choice | None = None) -> Collected:
    """Writes the good episodes of `runs` to `out`, one JSON object per line, by run and id.

    An episode judged under other rules, or of a world that is given, is judged here. Raises UserError where a world is missing.
    """
    check_rules(rules)
    judges = _Judges(runs, {world.content_hash: world for world in worlds}, cast(Rules, rules))
    found, good = Collected(), []
    for run in runs:
        counts = found.by_run[run.label] = {"episodes": 0, "kept": 0}
        for episode in run.episodes():
            counts["episodes"] += 1
            if (reason := judges.problem(run, episode)) is None:
                good.append(_Good(run, episode.id, f"{run.world_hash} {episode.request}", _size(episode.transcript), _turns(episode)))
            else:
                found.dropped[reason] += 1
    kept = _chosen(good, choice or Choice(), found.dropped)
    found.episodes, found.kept = sum(counts["episodes"] for counts in found.by_run.values()), len(kept)
    found.requests, found.judged_again = len({one.request for one in kept}), judges.judged
    with replacing(out) as lines:
        for run in runs:
            ids = [one.id for one in kept if one.run is run]
            found.by_run[run.label]["kept"] = len(ids)
            for episode in run.episodes(ids):
                lines.write(json.dumps(judges.trajectory(run, episode)).encode() + b"\n")
    return found


class _Judges:
    """The verdicts of some runs' episodes under one set of rules."""

    def __init__(self, runs: Sequence[Run], worlds: dict[str, World], rules: Rules):
        self.judged, self._worlds, self._rules = 0, worlds, rules
        for world in worlds.values():
            if world.content_hash not in {run.world_hash for run in runs}:
                raise UserError(f"No run was played in the world '{world.name}' as given. Give the world that the run card names.")
        for run in runs:
            if run.card.get("emptied_tools"):
                raise UserError(f"'{run.folder}' was played with empty tools (--empty-tools): nothing in it was looked up. Leave it out.")
            if run.rules != rules and run.world_hash not in worlds:
                raise UserError(
                    f"'{run.folder}' was judged under the {run.rules} rules: give its world with --world DIR, "
                    f"to judge it again under the {rules} ones."
                )

    def problem(self, run: Run, episode: Episode) -> str | None:
        plan = episode.record["plan"]
        if problem := ending_problem(episode.transcript, plan):
            return problem
        self.judged += run.world_hash in self._worlds
        if not self.verdict(run, episode)["final"]:
            return f"fails the {self._rules} rules"
        return format_problem(episode.transcript, run.dialect, paged=run.page_rows is not None)

    def verdict(self, run: Run, episode: Episode) -> dict[str, Any]:
        world = self._worlds.get(run.world_hash or "")
        if world is None:
            return dict(episode.record["verdict"] or {"final": False})
        judged = judge(episode.query, episode.record["plan"], world, self._rules).to_contract(0)
        return {key: value for key, value in judged.items() if key != "line"}

    def trajectory(self, run: Run, episode: Episode) -> dict[str, Any]:
        """The line of the run, with what it needs to be used alone."""
        return {
            **episode.record,
            "id": f"{run.label}/{episode.id}",
            "verdict": self.verdict(run, episode),
            "rules": self._rules,
            "world_hash": run.world_hash,
            "policy": run.card.get("policy"),
            "dialect": run.dialect.name,
            "tools": run.tools,
        }


def _chosen(good: list[_Good], choice: Choice, dropped: Counter[str]) -> list[_Good]:
    """In the order given. Of equal ones the first is kept."""
    by_request: dict[str, list[_Good]] = defaultdict(list)
    for one in good:
        by_request[one.request].append(one)
    kept: set[int] = set()
    for group in by_request.values():
        ranked = sorted(group, key=lambda one: one.size) if choice.order == "shortest" else group
        if choice.dedup:
            unique: dict[str, _Good] = {}
            for one in ranked:
                unique.setdefault(one.turns, one)
            ranked = list(unique.values())
        kept |= {id(one) for one in ranked[: choice.most_per_query]}
        dropped.update({DUPLICATE: len(group) - len(ranked)} if len(ranked) < len(group) else {})
        over = len(ranked[choice.most_per_query :]) if choice.most_per_query is not None else 0
        dropped.update({ONE_OF_MANY: over} if over else {})
    return [one for one in good if id(one) in kept]


def _size(transcript: Transcript) -> tuple[int, int]:
    return len(transcript.calls), sum(len(segment.text) for segment in transcript.segments)


def _turns(episode: Episode) -> str:
    said = [segment.text for segment in episode.transcript.segments if segment.role == "assistant"]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()

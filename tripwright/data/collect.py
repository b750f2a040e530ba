"""Collects the episodes of runs that are worth learning from (rows S4, P2, D6, D11): they pass, by
their run's own verdict or judged here, and every turn is fit to be imitated. A domain with several
sets of rules is held to the strictest. Why the others were left out is counted: an episode under
the first reason that it meets, in the order ending, rules, format, choice, so that the counts add
up to all episodes. Which of several good episodes of a request is kept depends on the episodes
alone, never on the order in which they finished.

Whether a turn is in its dialect's format, `agent.turn.read_turn` says, here as in an episode, and
of an answer its verdict; what is checked besides is what no judge minds and no model should learn.

| problem | where |
|---|---|
| no answer, or none that can be read | the episode stopped for another reason; the verdict's first
group |
| a turn that is not in its format, or does not say what the record of the call says | any turn |
| a malformed call: no such tool, a wrong, missing or ill-typed argument | any call. An honest
search that finds nothing is no such error |
| several calls in a turn | dialects that make the first of them |
| text after the call or the answer, a thought's tag elsewhere than where the turn opens | dialects
that allow words outside the tags |
| the answer in a Markdown fence | dialects whose answers are not in free words |
| half of a surrogate pair, which no tokenizer can encode | any message |"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Answer, Call, opening_thoughts, read_turn
from tripwright.data.files import SourceRun, StoredEpisode, one_domain, replacing
from tripwright.domains.domain import ClosedWorld
from tripwright.errors import UserError
from tripwright.tools.answer import ToolError
from tripwright.transcript import Segment, StopReason, Transcript
from tripwright.verdict import Verdict

UNSCORED = "unscored: a fault on our side"
NO_PLAN = "an answer that is no plan"  # what the first group of its verdict says
UNREADABLE = "a turn that is not in its format"
MALFORMED = "a malformed call"
SEVERAL_CALLS = "several calls in a turn"
TEXT_AFTER = "text after the call or the answer"
STRAY_THOUGHT = "a thought's tag that does not open the turn"
FENCED = "the answer in a Markdown fence"
NOT_TEXT = "half of a surrogate pair"

_ENDS = re.compile(r"</(tool_call|answer)>\s*\Z")


def ending_problem(transcript: Transcript) -> str | None:
    """Why this episode has no answer to be judged, or None."""
    if transcript.stop_reason is StopReason.UNSCORED:
        return UNSCORED
    return (
        None
        if transcript.stop_reason is StopReason.ANSWER
        else f"no answer: {transcript.stop_reason}"
    )


def format_problem(transcript: Transcript, dialect: Dialect, paged: bool = False) -> str | None:
    """The first thing that is not clean, by the names above; None for a clean transcript. `paged`:
    the tools took a page number."""
    turns = [segment for segment in transcript.segments if segment.role == "assistant"]
    for segment in turns:
        last = segment is turns[-1]
        if problem := _turn_problem(segment, transcript.answer if last else None, dialect, paged):
            return problem
    if not turns:
        return UNREADABLE
    if any(
        "\ud800" <= sign <= "\udfff" for segment in transcript.segments for sign in segment.text
    ):
        return NOT_TEXT
    fenced = not dialect.prose_answers and (transcript.answer or "").startswith("```")
    return FENCED if fenced else None


def _turn_problem(
    segment: Segment, answer: str | None, dialect: Dialect, paged: bool
) -> str | None:
    match read_turn(segment.text, dialect.turns):
        case Answer(text):
            if answer is None or text != answer:
                return UNREADABLE
        case Call(name, arguments, alone):
            call = segment.call
            if not alone:
                return SEVERAL_CALLS
            if (
                answer is not None
                or call is None
                or (call.name, call.arguments) != (name, arguments)
            ):
                return UNREADABLE
            # read again: the transcript says only that there was an error, and finding nothing is
            # one too
            try:
                dialect.face.offer.read(name, arguments, paged)
            except ToolError:
                return MALFORMED
        case _:
            return UNREADABLE
    if not _ENDS.search(segment.text):
        return TEXT_AFTER
    return STRAY_THOUGHT if opening_thoughts(segment.text, dialect.turns).stray else None


NOT_PASSED = "not passed by its verdict"


class Judging:
    """The verdicts of some runs of one domain. `rules` says by what they were judged, all of them;
    `judged` counts the episodes that were judged here. Raises UserError for what does not go with
    the runs."""

    def __init__(
        self,
        runs: Sequence[SourceRun],
        worlds: Iterable[ClosedWorld] = (),
        rules: str | None = None,
    ):
        self._domain = one_domain((run.folder, run.domain) for run in runs)
        self._worlds = {world.content_hash: world for world in worlds}
        self.judged = 0
        for run in runs:
            if run.card.get("emptied_tools"):
                raise UserError(
                    f"'{run.folder}' was played with empty tools (--empty-tools): nothing in it was"
                    " looked up. Leave it out."
                )
        if self._domain.judge_again is None:
            self._refuse(rules, runs[0])
            self.rules = ", ".join(sorted({run.rules for run in runs}))
        else:
            self.rules = self._checked(rules)
            self._check_worlds(runs)

    def problem(self, run: SourceRun, episode: StoredEpisode) -> str | None:
        """Why an episode is not kept: how it ended, else the rules, else its format. None for a
        good one."""
        if problem := ending_problem(episode.transcript):
            return problem
        if episode.verdict is None or not episode.verdict.readable:
            return NO_PLAN
        self.judged += run.world_hash in self._worlds
        if not self.verdict(run, episode).final:
            return (
                NOT_PASSED if self._domain.judge_again is None else f"fails the {self.rules} rules"
            )
        return format_problem(episode.transcript, run.dialect, paged=run.page_rows is not None)

    def verdict(self, run: SourceRun, episode: StoredEpisode) -> Verdict:
        """Of an episode that has one."""
        assert episode.verdict is not None
        world = self._worlds.get(run.world_hash or "")
        if world is None or self._domain.judge_again is None:
            return episode.verdict
        return self._domain.judge_again(episode.record, world, self.rules)

    def rules_of(self, run: SourceRun) -> str:
        return run.rules if self._domain.judge_again is None else self.rules

    def _refuse(self, rules: str | None, run: SourceRun) -> None:
        """Where nothing can be judged again, there is nothing to choose."""
        options = [
            option for option, value in (("--rules", rules), ("--world", self._worlds)) if value
        ]
        if options:
            raise UserError(
                f"{options[0]} is for what can be judged again; the episodes of '{run.folder}' were"
                f" {run.rules}. Leave {options[0]} out."
            )

    def _checked(self, rules: str | None) -> str:
        if rules is not None and rules not in self._domain.rules:
            raise UserError(f"Unknown rules '{rules}'. Available: {', '.join(self._domain.rules)}.")
        return rules or self._domain.rules[0]

    def _check_worlds(self, runs: Sequence[SourceRun]) -> None:
        for content_hash, world in self._worlds.items():
            if content_hash not in {run.world_hash for run in runs}:
                raise UserError(
                    f"No run was played in the world '{world.name}' as given. Give the world that"
                    " the run card names."
                )
        for run in runs:
            if run.rules != self.rules and run.world_hash not in self._worlds:
                raise UserError(
                    f"'{run.folder}' was judged under the {run.rules} rules: give its world with"
                    f" --world DIR, to judge it again under the {self.rules} ones."
                )


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
    collected.requests = len({one.request for one in selection})
    collected.judged_again = judging.judged
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

"""Plays the tasks of a run and scores it: RUN/transcripts.jsonl, then RUN/score.json. It may be
killed at any moment, and the same call goes on with it.

transcripts.jsonl is only ever appended to, one flushed line per finished episode; what a kill left
half written is cut off at the next start. Scored episodes are not played again; unscored ones, in
which our side failed, are, and their later line counts. What an endpoint answered in an episode
that did not come to its end is in calls.jsonl, and is not asked again (`llm/paid_calls.py`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.episode import Episode, Task, play
from tripwright.errors import UserError
from tripwright.evals.outcome import Outcome
from tripwright.evals.run_card import settle_card
from tripwright.evals.run_progress import ProgressLine
from tripwright.evals.run_usage import adding_usage, sum_usage, usage_entry
from tripwright.evals.scoreboard import score_records
from tripwright.files import Journal, write_atomically
from tripwright.llm.paid_calls import PaidCalls, Prices
from tripwright.policies.base import KeepsCalls, Policy
from tripwright.policies.endpoint import count
from tripwright.runs import (
    CALLS,
    CARD,
    SCORE,
    TRANSCRIPTS,
    Record,
    TranscriptJournal,
    episode_lines,
    episodes,
)
from tripwright.tools.faults import Faults, fault_kind
from tripwright.tools.toolbox import Tools

__all__ = ["Spending", "run", "score_records"]

# how long a run that stops waits for answers that are under way: they are paid for
DRAIN_SECONDS = 60.0


@dataclass(frozen=True)
class Spending:
    """What a run may ask of its endpoint, and of our patience.

    `max_cost_usd` is of the run folder, all starts together; requests that are in flight when it is
    reached still arrive. `rounds`: how often an episode is played that stays unscored, before the
    run ends; a round in which nothing was scored is the last.
    """

    prices: Prices | None = None
    max_cost_usd: float | None = None
    rounds: int = 1


def run(
    policy: Policy,
    tasks: Iterable[Task],
    out: Path,
    dialect: Dialect,
    chat: ChatFormat | None = None,
    rules: str = "strict",
    emptied_tools: bool = False,
    card: dict[str, Any] | None = None,
    progress: bool = True,
    faults: Faults | None = None,
    tools: Tools | None = None,
    spending: Spending | None = None,
) -> dict[str, Any]:
    """Plays what `out` does not hold yet and returns the score of all that it then holds. `card`
    says what makes the episodes.

    With `faults` (tools that fail on purpose) the card and the score say so, and the score counts
    the calls that were hit. `tools` as in `open_session`. A run that asked an endpoint has its
    `usage` in the score. Raises CostLimitReached, a UserError, when `spending` is used up.
    """
    spending = spending or Spending()
    task_list = list(tasks)
    if len({task.id for task in task_list}) < len(task_list):
        raise ValueError("two tasks of a run have the same id")
    calls = PaidCalls(out / CALLS, spending.prices, spending.max_cost_usd)
    is_new = not (out / CARD).exists()
    card = _settled(out, card or {}, faults)
    path = out / TRANSCRIPTS
    with TranscriptJournal(path) as journal, _nothing_if_refused(out, is_new):
        scored = journal.scored
        calls.take_up(scored.keys(), sum_usage(earlier.usage for earlier in scored.values()))
        if isinstance(policy, KeepsCalls):
            policy.keep(calls)
        remaining = [task for task in task_list if task.id not in scored]
        before = [scored[task.id].passed for task in task_list if task.id in scored]

        def play_tasks(again: list[Task]) -> Iterator[Episode]:
            return play(policy, again, dialect, chat, rules, emptied_tools, faults, tools)

        if remaining:  # a score of fewer episodes must not stand beside those that come now
            (out / SCORE).unlink(missing_ok=True)
        with ProgressLine(len(task_list), before, calls, silent=not progress) as line:
            try:
                rest = _play_rounds(play_tasks, remaining, journal, calls, line, spending.rounds)
            except BaseException:
                _leave(policy, calls, line)
                raise
        calls.close(all_done=not rest)
    usage: Counter[str] = Counter()
    lines = (line.read(_readable) for line in episode_lines(path))
    score = score_records(adding_usage(lines, usage), rules, card)
    if faults:
        score["faults"] = {"settings": card["faults"], **faults_met(episodes(path))}
    if entry := usage_entry(usage, spending.prices):
        score["usage"] = entry
    write_atomically(out / SCORE, json.dumps(score, indent=2) + "\n")
    return score


@contextmanager
def _nothing_if_refused(out: Path, is_new: bool) -> Iterator[None]:
    """What a policy refuses (a dialect that is longer than its model) leaves no new card behind,
    which would refuse the corrected command."""
    try:
        yield
    except UserError:
        journals = [path for name in (TRANSCRIPTS, CALLS) if (path := out / name).exists()]
        if is_new and not any(path.stat().st_size for path in journals):
            for path in (out / CARD, *journals):
                path.unlink()
            with suppress(OSError):  # somebody else's files are there
                out.rmdir()
        raise


def _readable(record: Record) -> Record:
    """The record, where every figure can read it."""
    Outcome.of(record)
    return record


def _play_rounds(
    play_tasks: Callable[[list[Task]], Iterator[Episode]],
    remaining: list[Task],
    journal: Journal,
    calls: PaidCalls,
    line: ProgressLine,
    rounds: int,
) -> list[Task]:
    """Plays and writes down; returns what stayed unscored."""
    for number in range(1, rounds + 1):
        unscored: set[str] = set()
        # a generator: given up at once when the run is, not when memory is cleaned
        with closing(cast(Any, play_tasks(remaining))) as episodes:
            for episode in episodes:
                count(episode.transcript, **calls.unused(episode.task.id))
                journal.append(episode.record())
                if episode.verdict is None:
                    unscored.add(episode.task.id)
                else:
                    calls.finish(episode.task.id)
                line.add(episode)
        nothing_scored = len(unscored) == len(remaining)
        remaining = [task for task in remaining if task.id in unscored]
        if not remaining or nothing_scored or number == rounds:
            break
        line.play_again(len(remaining))
    return remaining


def _leave(policy: Policy, calls: PaidCalls, line: ProgressLine) -> None:
    """A run that stops early. Another Ctrl-C ends the wait."""
    if not isinstance(policy, KeepsCalls):
        return
    policy.stop()
    if waiting := calls.drain(0):
        line.say(
            f"waiting up to {DRAIN_SECONDS:.0f} s for {waiting} answers under way, to keep them"
            " (Ctrl-C: at once)"
        )
    calls.drain(DRAIN_SECONDS)
    calls.close(all_done=False)


def _settled(out: Path, card: dict[str, Any], faults: Faults | None) -> dict[str, Any]:
    """The folder's card. Episodes on clean tools and on faulty ones are never counted together."""
    settings = json.loads(json.dumps(asdict(faults))) if faults else None
    settled = settle_card(out, {**card, "faults": settings} if settings else card)
    if settled.get("faults") != settings:
        there, here = (
            json.dumps(each) if each else "no faults" for each in (settled.get("faults"), settings)
        )
        raise UserError(
            f"'{out}' holds another run: tools with {there} there and with {here} here. Choose a"
            " new folder for --out."
        )
    return settled


def faults_met(lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """How many calls of how many were hit, by kind."""
    faults = [
        segment["call"].get("fault")
        for line in lines
        for segment in line["transcript"]["segments"]
        if segment.get("call")
    ]
    kinds = Counter(fault_kind(fault) for fault in faults if fault)
    return {"calls": len(faults), "hit": kinds.total(), "kinds": dict(kinds.most_common())}

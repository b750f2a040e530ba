"""Plays the tasks of a run and scores it: RUN/transcripts.jsonl, then RUN/score.json. It may be
killed at any moment, and the same call goes on with it.

transcripts.jsonl is only ever appended to, one flushed line per finished episode; what a kill left
half written is cut off at the next start. Scored episodes are not played again; unscored ones, in
which our side failed, are, and their later line counts. What an endpoint answered in an episode
that did not come to its end is in calls.jsonl, and is not asked again (`llm/paid_calls.py`).
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, cast

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.domains import domain_of
from tripwright.episode import Episode, Policy, Task, play
from tripwright.errors import UserError, counted
from tripwright.evals.outcome import Outcome
from tripwright.evals.run_card import settle_card
from tripwright.evals.scoreboard import score_records
from tripwright.files import Journal, write_atomically
from tripwright.llm.paid_calls import PaidCalls, Prices
from tripwright.policies.base import KeepsCalls
from tripwright.progress import StatusLine
from tripwright.runs import (
    CALLS,
    CARD,
    SCORE,
    TRANSCRIPTS,
    UNJUDGED,
    Record,
    TranscriptJournal,
    episode_lines,
)
from tripwright.statistics.rates import mean, wilson
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import Tools

# how long a run that stops waits for answers that are under way: they are paid for
DRAIN_SECONDS = 60.0
TERMINAL_SECONDS, LOG_SECONDS = 1.0, 60.0  # between two lines


def run(
    policy: Policy,
    tasks: Iterable[Task],
    out: Path,
    dialect: Dialect,
    chat: ChatFormat | None = None,
    emptied_tools: bool = False,
    card: dict[str, Any] | None = None,
    progress: bool = True,
    faults: Faults | None = None,
    tools: Tools | None = None,
    prices: Prices | None = None,
    rounds: int = 1,
) -> dict[str, Any]:
    """Plays what `out` does not hold yet and returns the score of all that it then holds. `card`
    says what makes the episodes.

    With `faults` (tools that fail on purpose) the card and the score say so, and the score counts
    the calls that were hit. `tools` as in `open_session`. A run that asked an endpoint has its
    `usage` in the score, by `prices`. An episode that stays unscored is played `rounds` times; a
    round in which nothing was scored is the last. Raises CostLimitReached, a UserError, when all
    starts have cost the most that `prices` allow; requests in flight still arrive.
    """
    task_list = list(tasks)
    if len({task.id for task in task_list}) < len(task_list):
        raise ValueError("two tasks of a run have the same id")
    calls = PaidCalls(out / CALLS, prices)
    is_new = not (out / CARD).exists()
    # of what counts where no episode is of a group
    settings = (
        {"faults": {"probability": faults.probability, "seed": faults.seed}} if faults else {}
    )
    card = settle_card(out, {**(card or {}), **settings})
    with TranscriptJournal(out / TRANSCRIPTS) as journal, _nothing_if_refused(out, is_new):
        scored = journal.scored
        spent: Counter[str] = Counter()
        for earlier in scored.values():
            spent.update(earlier.usage)
        calls.take_up(scored.keys(), spent)
        if isinstance(policy, KeepsCalls):
            policy.keep(calls)
        remaining = [task for task in task_list if task.id not in scored]
        known = [scored[task.id].passed for task in task_list if task.id in scored]
        before = [passed for passed in known if passed is not None]

        def play_tasks(again: list[Task]) -> Iterator[Episode]:
            return play(policy, again, dialect, chat, emptied_tools, faults, tools)

        if remaining:  # a score of fewer episodes must not stand beside those that come now
            (out / SCORE).unlink(missing_ok=True)
        with ProgressLine(len(task_list), before, calls, silent=not progress) as line:
            try:
                rest = _play_rounds(play_tasks, remaining, journal, calls, line, rounds)
            except BaseException:
                _leave(policy, calls, line)
                raise
        calls.close(all_done=not rest)
    return _score(out, card, faults, prices)


def floor(tasks: Sequence[Task], dialect: Dialect) -> dict[str, dict[str, Any]]:
    """What anybody reaches: of each baseline without a thought its metrics on these tasks, as
    score.json has them, and its mean reward by each of the domain's as "<name>_reward"."""
    domain, found = domain_of(dialect), dict[str, dict[str, Any]]()
    for name, player in domain.baselines.items():
        if player.is_floor:  # it calls no tool, so that thousands of its episodes fit in memory
            played = [each for each in play(player(), tasks, dialect) if each.scored]
            metrics = score_records((each.record() for each in played), "", {})["metrics"]
            for reward, of in domain.rewards.items():
                metrics[f"{reward}_reward"] = mean([of(each).total for each in played], seed=0)
            found[name] = {"metrics": metrics}
    return found


def _score(
    out: Path, card: dict[str, Any], faults: Faults | None, prices: Prices | None
) -> dict[str, Any]:
    """Of all that the folder holds, written to score.json too."""
    usage, met = Counter[str](), Counter[str]()  # faults by kind, "" for calls without one

    def readable(record: Record) -> Record:
        """The record, where every figure can read it; its usage and its faults are counted."""
        Outcome.of(record)
        transcript = record["transcript"]
        usage.update(transcript.get("usage") or {})
        calls = (segment.get("call") for segment in transcript["segments"])
        met.update((call.get("fault") or "").partition(" ")[0] for call in calls if call)
        return record

    records = (line.read(readable) for line in episode_lines(out / TRANSCRIPTS))
    score = score_records(records, str(card.get("rules", "rules")), card)
    if faults:
        calls, untouched = met.total(), met.pop("", 0)
        hit = {"calls": calls, "hit": calls - untouched, "kinds": dict(met.most_common())}
        score["faults"] = {"settings": card["faults"], **hit}
    if entry := usage_entry(usage, prices):
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
                episode.transcript.usage.update(calls.unused(episode.task.id))
                journal.append(episode.record())
                if episode.verdict is None and UNJUDGED not in episode.more:
                    unscored.add(episode.task.id)
                else:
                    calls.finish(episode.task.id)
                line.add(episode)
        nothing_scored = len(unscored) == len(remaining)
        remaining = [task for task in remaining if task.id in unscored]
        if not remaining or nothing_scored or number == rounds:
            break
        line.unscored -= len(remaining)
        line.say(f"{counted(len(remaining), 'unscored episode')} tried again")
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


# ---- what it cost


def usage_entry(total: Counter[str], prices: Prices | None) -> dict[str, Any] | None:
    """The entry "usage" of score.json; None for a run that asked no endpoint. The tokens of
    `uncounted_requests` are counted by us (`llm/client.py`)."""
    if not total["requests"]:
        return None
    return {
        "requests": int(total["requests"]),
        **{name: int(total[name]) for name in ("prompt_tokens", "completion_tokens")},
        "cached_tokens": int(total["cached_tokens"]) if "cached_tokens" in total else None,
        "uncounted_requests": int(total["uncounted_requests"]),
        "discarded_requests": int(total["discarded_requests"]),
        "cost_usd": prices.usd(total) if prices else None,
        "usd_per_million_tokens": prices.per_million if prices else None,
    }


# ---- where it stands


class ProgressLine:
    """`results`: of the scored episodes, whether each passed; those given are of an earlier start.
    `calls` has tokens, cost and faults, where there are any.

    The interval is Wilson's over the episodes so far: with several samples of a query the true one
    is wider. As a context it also moves while no episode ends, and says at its end how it ended.
    `silent` shows nothing at all.
    """

    def __init__(
        self,
        total: int,
        results: Sequence[bool] = (),
        calls: PaidCalls | None = None,
        silent: bool = False,
    ):
        self.total, self.results, self.unscored = total, list(results), 0
        self._earlier, self._calls, self._silent = len(results), calls, silent
        self._line = StatusLine(TERMINAL_SECONDS, LOG_SECONDS)
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def __enter__(self) -> ProgressLine:
        if self._earlier:
            self.say(f"{self._earlier} of {self.total} episodes are there already")
        threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if len(self.results) + self.unscored > self._earlier:
            self._show(always=True)
        with self._lock:
            self._line.end()

    def _tick(self) -> None:
        while not self._ended.wait(TERMINAL_SECONDS):
            self._show()

    def _show(self, always: bool = False) -> None:
        with self._lock:
            if not self._silent and (always or not self._ended.is_set()):
                self._line.show(self.text(), always)

    def add(self, episode: Episode) -> None:
        if episode.verdict is None:
            self.unscored += 1
        else:
            self.results.append(episode.verdict.final)
        self._show()

    def say(self, text: str) -> None:
        """A line of its own."""
        with self._lock:
            if not self._silent:
                self._line.end()
                print(text, file=sys.stderr, flush=True)

    def text(self) -> str:
        scored, passed = len(self.results), sum(self.results)
        episodes = scored + self.unscored
        parts = [f"{episodes}/{self.total} episodes", "pass -"]
        if scored:
            low, high = wilson(passed, scored)
            parts[1] = f"pass {passed / scored:.1%} [{low:.0%}, {high:.0%}]"
        if self.unscored:
            parts.append(f"{self.unscored} unscored")
        if self._calls is not None:
            parts += _paid(self._calls)
        per_second = (episodes - self._earlier) / max(self._line.seconds, 1e-9)
        parts.append(f"{per_second:.2g}/s" if per_second < 10 else f"{per_second:,.0f}/s")
        if per_second:
            seconds = round((self.total - episodes) / per_second)
            parts.append(f"{timedelta(seconds=seconds)} left")
        return ", ".join(parts)


def _paid(calls: PaidCalls) -> list[str]:
    usage, prices, parts = calls.usage, calls.prices, list[str]()
    if usage["requests"]:
        parts.append(f"{usage['requests']:,} requests")
    if usage["prompt_tokens"]:
        parts.append(f"{usage['prompt_tokens']:,.0f} in {usage['completion_tokens']:,.0f} out")
    if prices is not None:
        limit = f" of ${prices.max_usd:g}" if prices.max_usd is not None else ""
        parts.append(f"${prices.usd(usage):.2f}{limit}")
    if calls.faults:
        parts.append(f"{calls.faults} faults")
    return parts

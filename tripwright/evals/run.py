"""A run: episodes → RUN/transcripts.jsonl → RUN/score.json, killed at any moment and taken up again by the same call.

transcripts.jsonl is only ever appended to, one flushed line per finished episode; what a kill left half written is cut off at the
next start. Scored episodes are not played again; unscored ones are (law 4: our fault is tried again), and their later line counts. What an
endpoint answered in an episode that did not come to its end is in calls.jsonl, and is not asked again (`llm/paid.py`).
"""

from __future__ import annotations

import fcntl
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.episode import Episode, Task, play
from tripwright.errors import UserError
from tripwright.evals.run_card import settle_card
from tripwright.evals.run_progress import ProgressLine
from tripwright.evals.run_usage import UsageByEpisode, sum_usage, usage_entry
from tripwright.evals.scoreboard import score_records
from tripwright.files import write_atomically
from tripwright.llm.paid import PaidCalls
from tripwright.llm.prices import Prices
from tripwright.policies.base import KeepsCalls, Policy
from tripwright.policies.endpoint import count
from tripwright.tools.faults import Faults, fault_kind
from tripwright.tools.toolbox import Tools

__all__ = ["Scorer", "Spending", "run", "score_records"]

Scorer = Callable[[Iterable[Mapping[str, Any]], str, Mapping[str, Any]], dict[str, Any]]  # lines, rules, run card → score.json
TRANSCRIPTS, SCORE, CALLS = "transcripts.jsonl", "score.json", "calls.jsonl"
DRAIN_SECONDS = 60.0  # how long a run that stops waits for answers that are under way: they are paid for


@dataclass(frozen=True)
class Spending:
    """What a run may ask of its endpoint, and of our patience.

    `max_cost_usd` is of the run folder, all starts together; requests that are in flight when it is reached still arrive. `rounds`: how
    often an episode is played that stays unscored, before the run ends; a round in which nothing was scored is the last.
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
    rules: str = "official",
    emptied_tools: bool = False,
    card: dict[str, Any] | None = None,
    progress: bool = True,
    faults: Faults | None = None,
    tools: Tools | None = None,
    scorer: Scorer = score_records,
    spending: Spending | None = None,
) -> dict[str, Any]:
    """Plays what `out` does not hold yet and returns the score of all that it then holds. `card` says what makes the episodes; `scorer`
    reads their lines, for kinds of jobs that have other metrics than T4's.

    With `faults` (row S9) the card and the score say so, and the score counts the calls that were hit. `tools` as in `open_session`.
    A run that asked an endpoint has its `usage` in the score. Raises CostLimitReached, a UserError, when `spending` is used up.
    """
    spending = spending or Spending()
    wanted = list(tasks)
    if len({task.id for task in wanted}) < len(wanted):
        raise ValueError("two tasks of a run have the same id")
    calls = PaidCalls(out / CALLS, spending.prices, spending.max_cost_usd)
    card = _settled(out, card or {}, faults)
    path = out / TRANSCRIPTS
    with path.open("ab+") as lines:
        _own(lines, path)
        earlier = _cut_torn_end_and_read(lines, path)
        calls.take_up(earlier.passed, earlier.usage)
        if isinstance(policy, KeepsCalls):
            policy.keep(calls)
        remaining = [task for task in wanted if task.id not in earlier.passed]
        before = [earlier.passed[task.id] for task in wanted if task.id in earlier.passed]

        def played(again: list[Task]) -> Iterator[Episode]:
            return play(policy, again, dialect, chat, rules, emptied_tools, faults, tools)

        if remaining:  # a score of fewer episodes must not stand beside those that come now
            (out / SCORE).unlink(missing_ok=True)
        with ProgressLine(len(wanted), before, calls, silent=not progress) as line:
            try:
                left = _play_rounds(played, remaining, lines, calls, line, spending.rounds)
            except BaseException:
                _leave(policy, calls, line)
                raise
        calls.close(all_done=not left)
    usage = UsageByEpisode()
    score = scorer(usage.noting(records(path)), rules, card)
    if faults:
        score["faults"] = {"settings": card["faults"], **faults_met(records(path))}
    if entry := usage_entry(usage.total(), spending.prices):
        score["usage"] = entry
    write_atomically(out / SCORE, json.dumps(score, indent=2) + "\n")
    return score


def _play_rounds(
    played: Callable[[list[Task]], Iterator[Episode]],
    remaining: list[Task],
    lines: BinaryIO,
    calls: PaidCalls,
    line: ProgressLine,
    rounds: int,
) -> list[Task]:
    """Plays and writes down; returns what stayed unscored."""
    for number in range(1, rounds + 1):
        unscored: set[str] = set()
        with closing(cast(Any, played(remaining))) as episodes:  # a generator: given up at once when the run is, not when memory is cleaned
            for episode in episodes:
                count(episode.transcript, **calls.unused(episode.task.id))
                lines.write(json.dumps(episode.record()).encode() + b"\n")
                lines.flush()
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
        line.say(f"waiting up to {DRAIN_SECONDS:.0f} s for {waiting} answers under way, to keep them (Ctrl-C: at once)")
    calls.drain(DRAIN_SECONDS)
    calls.close(all_done=False)


def records(path: Path) -> Iterator[dict[str, Any]]:
    """The lines of a transcripts.jsonl, one at a time: token ids make the file large."""
    with path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)


def _settled(out: Path, card: dict[str, Any], faults: Faults | None) -> dict[str, Any]:
    """The folder's card. Episodes on clean tools and on faulty ones are never counted together."""
    asked = json.loads(json.dumps(asdict(faults))) if faults else None
    settled = settle_card(out, {**card, "faults": asked} if asked else card)
    if settled.get("faults") != asked:
        there, here = (json.dumps(found) if found else "no faults" for found in (settled.get("faults"), asked))
        raise UserError(f"'{out}' holds another run: tools with {there} there and with {here} here. Choose a new folder for --out.")
    return settled


def faults_met(lines: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """How many calls of how many were hit, by kind; of an episode that was tried again the last try counts."""
    latest = {str(line["id"]): line["transcript"]["segments"] for line in lines}
    calls = [segment["call"] for segments in latest.values() for segment in segments if segment.get("call")]
    kinds = Counter(fault_kind(call["fault"]) for call in calls if call.get("fault"))
    return {"calls": len(calls), "hit": kinds.total(), "kinds": dict(kinds.most_common())}


def _own(lines: BinaryIO, path: Path) -> None:
    """Two writers would cut off each other's lines. The lock dies with its process."""
    try:
        fcntl.flock(lines, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise UserError(f"Another run is writing '{path}'. Wait for it, or choose a new folder for --out.") from None


@dataclass
class _Earlier:
    """The scored episodes of earlier starts: whether each passed, and what they used together."""

    passed: dict[str, bool] = field(default_factory=dict)
    usage: Counter[str] = field(default_factory=Counter)


def _cut_torn_end_and_read(lines: BinaryIO, path: Path) -> _Earlier:
    """An unfinished last line is removed; any other bad line is the user's to see."""
    earlier = _Earlier()
    lines.seek(0)
    end = 0
    for number, line in enumerate(lines, start=1):
        if not line.endswith(b"\n"):
            break
        try:
            record = json.loads(line)
            key, verdict = str(record["id"]), record["verdict"]
            if verdict is not None:
                earlier.passed[key] = bool(verdict["final"])
                earlier.usage.update(sum_usage([(record.get("transcript") or {}).get("usage") or {}]))
        except (ValueError, KeyError, TypeError):
            raise UserError(f"{path}:{number}: not an episode of a run. Remove this line, or choose a new folder for --out.") from None
        end += len(line)
    lines.truncate(end)
    return earlier

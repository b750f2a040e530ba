"""Files of travellers' requests: one JSON object a line, beside it the proofs that each can be met;
and how hard each is, measured by attempts, which says for which training stage it is (DeepTravel,
Appendix A.3.1; row D8).

An attempt that our side spoilt is no attempt (law 4). A request that was tried less often than
asked for has no difficulty: a share of one attempt is not a measurement.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.request import MADE_BY, Level, TravelRequest
from tripwright.domains.domain import Requests
from tripwright.errors import UserError
from tripwright.files import write_json_lines
from tripwright.runs import episode_lines, transcripts_at


def read_requests(path: Path) -> list[TravelRequest]:
    """At least one, each with an id of its own. Raises UserError."""
    requests: dict[str, TravelRequest] = {}
    for number, request in Requests(TravelRequest, MADE_BY).read(path):
        if not request.id or request.id in requests:
            raise UserError(
                f"{path}:{number}: found the id '{request.id}'. Expected one that no line before"
                f" has, as '{MADE_BY}' gives."
            )
        requests[request.id] = request
    return list(requests.values())


def write_requests(path: Path, requests: Iterable[TravelRequest]) -> None:
    write_json_lines(path, (request.record() for request in requests))


def proofs_beside(path: Path) -> Path:
    """requests.jsonl → requests.proofs.jsonl."""
    return path.with_name(f"{path.stem}.proofs{path.suffix}")


# ---- difficulty: one minus the share of k attempts that passed

EASY, HARD = 0.25, 0.75  # up to which difficulty a request is easy; from which on it is hard


class AttemptCount(NamedTuple):
    attempts: int
    passed: int

    @property
    def difficulty(self) -> float:
        return round(1 - self.passed / self.attempts, 6)

    @property
    def level(self) -> Level:
        return (
            "easy" if self.difficulty <= EASY else "hard" if self.difficulty >= HARD else "medium"
        )


def read_attempts(paths: Iterable[Path]) -> dict[str, AttemptCount]:
    """The words of a request → how often it was tried and passed, over files of episodes (a run's,
    or its folder).

    Unscored ones do not count. Raises UserError for a line that is no episode.
    """
    verdicts: dict[str, list[bool]] = defaultdict(list)
    for file in {transcripts_at(path, "episodes").resolve(): None for path in paths}:
        for line in episode_lines(file):
            text, final = line.read(_attempt)
            if final is not None:
                verdicts[text].append(final)
    return {text: AttemptCount(len(results), sum(results)) for text, results in verdicts.items()}


def _attempt(record: Mapping[str, Any]) -> tuple[str, bool | None]:
    """What was asked, and whether it passed; None where it is unscored."""
    verdict = record["verdict"]
    return str(record["request"]["query"]), None if verdict is None else bool(verdict["final"])


def measured(
    requests: Sequence[TravelRequest], attempts: dict[str, AttemptCount], least: int = 2
) -> dict[str, AttemptCount]:
    """Id → attempts, of the requests that were tried at least so often. Raises UserError where
    there are none."""
    tried = {each.id: attempts[each.query] for each in requests if each.query in attempts}
    rates = {id: count for id, count in tried.items() if count.attempts >= least}
    if not rates:
        raise UserError(
            f"None of the {len(requests)} requests has {least} scored attempts (requests tried at"
            f" all: {len(tried)}). Run each several times first."
        )
    return rates


def staged(
    requests: Sequence[TravelRequest], rates: dict[str, AttemptCount], share: float, seed: int = 0
) -> tuple[list[TravelRequest], list[TravelRequest]]:
    """Of the measured requests, with the levels measured: what the cold start learns from, mostly
    easy, and what RL goes on with, mostly hard; in each about this `share` is of the other kind. No
    request is in both.

    A request that was never passed goes to RL too: the replay of failed groups (row D7) is made for
    it.
    """
    rng = random.Random(f"{seed}/stages")
    levelled = [
        each.model_copy(update={"level": rates[each.id].level})
        for each in requests
        if each.id in rates
    ]
    easy = [each.id for each in levelled if each.level == "easy"]
    hard = [each.id for each in levelled if each.level != "easy"]

    def moved(others: list[str], own: list[str]) -> list[str]:
        """No more than half of the others."""
        count = round(len(own) * share / (1 - share))
        return rng.sample(others, min(count, len(others) // 2))

    to_sft, to_rl = moved(hard, easy), moved(easy, hard)
    sft = {*easy, *to_sft} - set(to_rl)
    return (
        [each for each in levelled if each.id in sft],
        [each for each in levelled if each.id not in sft],
    )

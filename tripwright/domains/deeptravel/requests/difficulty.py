"""How hard a request is, measured by attempts: one minus the share of k attempts that passed; and
which requests are for which training stage (DeepTravel, Appendix A.3.1).

An attempt that our side spoilt is no attempt (law 4). A request that was tried less often than
asked for has no difficulty: a share of one attempt is not a measurement.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.request import Level, TravelRequest
from tripwright.errors import UserError
from tripwright.runs import episode_lines, transcripts_at

EASY, HARD = 0.25, 0.75  # up to which difficulty a request is easy; from which on it is hard
OTHER_SHARE = 0.1  # of a stage's requests that are of the other kind


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


@dataclass(frozen=True)
class Stages:
    """`sft`: what the cold start learns from, mostly easy; `rl`: what reinforcement learning goes
    on with, mostly hard. No request is in both. `left` were not tried often enough, and keep the
    level that they had."""

    sft: list[TravelRequest]
    rl: list[TravelRequest]
    left: list[TravelRequest]


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
    requests: Sequence[TravelRequest],
    rates: dict[str, AttemptCount],
    other_share: float = OTHER_SHARE,
    seed: int = 0,
) -> Stages:
    """Easy requests for the cold start, the others for RL, and in each a small share of the other
    kind. Levels are those measured.

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
    to_sft = rng.sample(hard, _share(len(easy), len(hard), other_share))
    to_rl = rng.sample(easy, _share(len(hard), len(easy), other_share))
    sft = {*easy, *to_sft} - set(to_rl)
    return Stages(
        [each for each in levelled if each.id in sft],
        [each for each in levelled if each.id not in sft],
        [each for each in requests if each.id not in rates],
    )


def _share(own: int, others: int, share: float) -> int:
    """How many of the `others` make up about this share beside `own`; no more than half of them."""
    return min(round(own * share / (1 - share)), others // 2)

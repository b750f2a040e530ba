"""What a reward is: a function from a finished, scored episode to a number with its parts. It may
look at anything in the episode: the facts of its verdict, its turns, its calls, its length.
docs/rewards.md shows two.

A recipe names rewards by a name that its domain registers, or as "module:function" of the user's
own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tripwright.episode import Episode


@dataclass(frozen=True)
class RewardBreakdown:
    """`total` is what is learned from; `parts` are what it is made of, for curves and reports.

    `groups` names the groups of facts that this reward uses. Replay asks whether they passed, and
    not how large `total` is: a penalty does not make a passing episode fail. Without any, the
    verdict as a whole says whether the episode passed.
    """

    total: float
    parts: Mapping[str, float]
    groups: tuple[str, ...] = ()

    def passed(self, episode: Episode) -> bool:
        """Whether every group that this reward uses passed."""
        return episode.verdict is not None and (
            episode.verdict.passed(self.groups) if self.groups else episode.verdict.final
        )


Reward = Callable[[Episode], RewardBreakdown]

"""What was played, as an algorithm sees it: groups of episodes with their rewards, and rollouts to
learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import pstdev

from tripwright.episode import Episode, Task
from tripwright.rewards.reward import Reward, RewardBreakdown


@dataclass
class RolloutGroup:
    """The G episodes of one task, in order. `number` is the task's place in the stream of trips."""

    number: int
    task: Task
    episodes: list[Episode]
    # None: our side failed, unscored (law 4)
    rewards: list[RewardBreakdown | None] = field(default_factory=list)
    replayed: bool = False

    @property
    def scored(self) -> bool:
        return any(e.scored for e in self.episodes)

    @property
    def scored_members(self) -> list[tuple[Episode, RewardBreakdown]]:
        members = zip(self.episodes, self.rewards, strict=True)
        return [(episode, reward) for episode, reward in members if reward is not None]

    @property
    def solved(self) -> bool:
        """Whether any member passes what its reward asks for."""
        return any(reward.passed(episode) for episode, reward in self.scored_members)

    def rewarded(self, reward: Reward) -> list[RewardBreakdown | None]:
        """None: our side failed (law 4)."""
        return [reward(episode) if episode.scored else None for episode in self.episodes]

    def std(self, reward: Reward | None = None) -> float:
        """Of the scored members' rewards, over all of them (population)."""
        rewards = self.rewards if reward is None else self.rewarded(reward)
        totals = [r.total for r in rewards if r is not None]
        return pstdev(totals) if totals else 0.0


@dataclass(frozen=True)
class Rollout:
    """One episode as an update sees it. `old_T` (one number per token id) are the log-probabilities
    that the ratio is taken to: the sampler's, or the trainer's own where the difference between the
    two is corrected for by `weights_T`."""

    episode: Episode
    reward: RewardBreakdown
    advantage: float
    group: int = 0
    old_T: Sequence[float] | None = None
    weights_T: Sequence[float] | None = None
    # of each token id, where credit is finer than the episode
    advantages_T: Sequence[float] | None = None

    @property
    def tokens(self) -> int:
        """Of the agent's own."""
        return sum(self.episode.transcript.loss_mask)

    @property
    def teaches(self) -> bool:
        """Whether any token has an advantage."""
        return any(self.advantages_T) if self.advantages_T is not None else self.advantage != 0.0

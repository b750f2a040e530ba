"""Playing and rewarding: tasks in, groups of rewarded episodes out. What is learned from them is
not said here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tripwright.agent.dialect import Dialect
from tripwright.episode import Episode, Task, close_session, open_session
from tripwright.inference.branching import Branching
from tripwright.inference.local import LocalPolicy
from tripwright.rewards.reward import Reward, RewardBreakdown
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import Tools


@dataclass
class Group:
    """The G episodes of one task, in order. `number` is the task's place in the stream of trips."""

    number: int
    task: Task
    episodes: list[Episode]
    # None: our side failed, unscored (law 4)
    rewards: list[RewardBreakdown | None] = field(default_factory=list)
    replayed: bool = False

    @property
    def passed(self) -> bool:
        """Whether any member passes."""
        return any(episode.passed for episode in self.episodes)

    @property
    def scored(self) -> bool:
        return any(e.scored for e in self.episodes)

    @property
    def solved(self) -> bool:
        """Whether any member passes what its reward asks for."""
        return any(
            made is not None and made.passed(episode)
            for episode, made in zip(self.episodes, self.rewards, strict=True)
        )

    def rewarded(self, reward: Reward) -> list[RewardBreakdown | None]:
        """None: our side failed (law 4)."""
        return [reward(episode) if episode.scored else None for episode in self.episodes]

    def std(self, reward: Reward | None = None) -> float:
        """Of the scored members' rewards, over all of them (population)."""
        made = self.rewards if reward is None else self.rewarded(reward)
        totals = [r.total for r in made if r is not None]
        mean = sum(totals) / len(totals) if totals else 0.0
        return (
            (sum((t - mean) ** 2 for t in totals) / len(totals)) ** 0.5
            if totals and min(totals) < max(totals)
            else 0.0
        )


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

    @property
    def row(self) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
        """(token ids, loss mask, log-probabilities) for `batches.collate`."""
        t = self.episode.transcript
        return t.token_ids, t.loss_mask, t.logprobs if self.old_T is None else self.old_T


@dataclass
class RolloutWorker:
    """Plays groups with one policy under one recipe's conditions. `faults` are of the tools (row
    S9)."""

    policy: LocalPolicy
    dialect: Dialect
    group_size: int
    rules: str = "strict"
    faults: Faults | None = None
    branching: Branching | None = None
    tools: Tools | None = None
    # what the engine computed since someone set it back
    counted: Counter[str] = field(default_factory=Counter)

    def play(self, tasks: Sequence[tuple[int, Task]], reward: Reward) -> list[Group]:
        """Group members are neighbours, so that they share their prompt's prefill; each has its own
        seed, the episode's id."""
        opened = (
            [
                open_session(
                    task.renamed(f"{task.id}/{g}"),
                    self.dialect,
                    self.policy.chat,
                    faults=self.faults,
                    tools=self.tools,
                )
                for g in range(self.group_size)
            ]
            for _, task in tasks
        )
        played = self.policy.play_groups(opened, self.branching)
        found = {
            episode.task.id: episode
            for episode in (close_session(session, self.rules) for session in played)
        }
        self.counted.update(
            {name: count for name, count in self.policy.figures.items() if name != "rows_per_pass"}
        )
        groups = [
            Group(number, task, [found[f"{task.id}/{g}"] for g in range(self.group_size)])
            for number, task in tasks
        ]
        for group in groups:
            group.rewards = group.rewarded(reward)
        return groups

"""What is played, as an algorithm sees it: the settings that every algorithm of reinforcement
learning has (those of one algorithm stand in its own file, beside its loop), groups of episodes
with their rewards, and rollouts to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import pstdev
from typing import Annotated

from annotated_types import Ge, Gt, Interval, Le

from tripwright.episode import Episode, Task
from tripwright.inference.models import AUTO
from tripwright.rewards.curriculum import Curriculum
from tripwright.rewards.reward import Reward, RewardBreakdown
from tripwright.training.optim import OptimizerSettings
from tripwright.training.served import AGENT, RolloutServer


@dataclass(frozen=True, kw_only=True)
class RolloutSettings:
    """How long the stage is, what is played, what is rewarded, and the optimizer. The range of a
    number stands in its type."""

    steps: Annotated[int, Ge(1)] | None = 500  # None: as many as minutes or epochs allow
    max_minutes: Annotated[float, Gt(0)] | None = None
    max_epochs: Annotated[float, Gt(0)] | None = None  # of a query file
    prompts_per_step: Annotated[int, Interval(ge=1, le=100_000)] = 16
    group_size: Annotated[int, Interval(ge=2, le=100_000)] = 8
    minibatches: Annotated[int, Ge(1)] = 2  # optimizer steps per pass over the rollouts
    whole_groups: bool = True  # in a minibatch, as where it counts prompts (verl; row P6)
    epochs_per_batch: Annotated[int, Ge(1)] = 1  # over the rollouts of a step (verl's ppo_epochs)
    micro_batch_size: Annotated[int, Ge(1)] = 8  # episodes per forward pass of the update
    # episodes played at once; None: all of a step's
    max_concurrent_rollouts: Annotated[int, Ge(1)] | None = None
    # threads in which tools run while other episodes go on; for tools over HTTP
    tool_threads: Annotated[int, Ge(0)] = 0
    tools: str | None = None  # address of a tool server with the same world; None: in process
    server: RolloutServer | None = None  # samples the episodes; None: our engine, in process
    temperature: Annotated[float, Gt(0)] = 1.0  # at 0 all members of a group are the same
    # share of the learning rate left at the end of a linear decay; 1: constant (row P6)
    final_rate: Annotated[float, Ge(0), Le(1)] = 1.0
    # Adam's first steps are as large as its largest: from a converged model they undo (measured at
    # 3e-4)
    warm_up_steps: Annotated[int, Ge(0)] = 5
    # what the reward is made of: under official rules RL finds every hole of docs/judging.md
    rules: str | None = None  # by default the domain's strictest
    curriculum: Curriculum = Curriculum()
    dtype: str = AUTO  # of matrix products; one of inference.models.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings(
        name="adamw", adamw_learning_rate=3e-4, weight_decay=0.01
    )

    @property
    def rollouts_at_once(self) -> int:
        return self.max_concurrent_rollouts or self.prompts_per_step * self.group_size

    @property
    def has_reference(self) -> bool:
        """Whether a frozen copy of the model that training started from stays in memory."""
        return False

    @property
    def own(self) -> dict[str, tuple[str, ...]]:
        """The user's own code that it trains with, "module:name" → arguments (`own`)."""
        agent = self.server and self.server.agent
        return {agent: AGENT} if agent else {}


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
        return self.episode.transcript.agent_tokens

    @property
    def teaches(self) -> bool:
        """Whether any token has an advantage."""
        return any(self.advantages_T) if self.advantages_T is not None else self.advantage != 0.0

"""The settings of reinforcement learning: GRPO and its family, PPO, rejection sampling. Each table of a recipe is one of these.

Papers' settings are combinations of them: DAPO (row S7) is `filter.min_std = 0.0`, ARPO a `[grpo.branching]` table, DeepTravel (row D7)
`filter.min_std = 0.1` with `[grpo.replay]` and `[grpo.kl]`. The recipes under recipes/ write them out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tripwright.inference.branching import Branching
from tripwright.inference.precision import AUTO
from tripwright.learning.optim import OptimizerSettings
from tripwright.rewards.curriculum import Curriculum
from tripwright.rl.objectives import Clip, Importance
from tripwright.transcript import StopReason

OVERLONG = (StopReason.CONTEXT_OVERFLOW, StopReason.MAX_TURN_TOKENS)  # cut by a token limit: row S6's overlong rollouts


@dataclass(frozen=True)
class Advantage:
    """`normalise`: by the group's std (row P6), the batch's, or "none". `population` is eq. 9 of Planner-R1; others take the sample's."""

    normalise: str = "group"
    population: bool = False


@dataclass(frozen=True)
class Filter:
    """Groups whose rewards have a std of `min_std` or less are dropped: out of the loss and out of its denominators. None keeps all: those
    that agree have no gradient, and their tokens still count. 0.0 is DAPO's and STAR's rule, 0.1 DeepTravel's η. With `refill`, more
    groups are played until `prompts` of them are kept, in `max_rounds` rounds at most (DAPO's; STAR does without)."""

    min_std: float | None = None
    refill: bool = False
    max_rounds: int = 4


@dataclass(frozen=True)
class Kl:
    """β times the KL divergence to the model that training started from, estimated per token; 0 loads no reference."""

    beta: float = 0.0
    estimator: str = "k3"


@dataclass(frozen=True)
class ReplaySettings:
    """Row D7: every `every` steps (γ, which the paper does not print) failed queries take the place of new ones, `share` of the step's
    prompts at most. The buffer holds `capacity` of them."""

    every: int = 5
    capacity: int = 256
    share: float = 1.0


@dataclass(frozen=True, kw_only=True)
class RolloutSettings:
    """What every kind of reinforcement learning has: how long, what is played, what is rewarded, and the optimizer."""

    steps: int | None = 500  # None: as many as `max_minutes` or `max_epochs` allow
    max_minutes: float | None = None
    max_epochs: float | None = None  # of a query file
    prompts: int = 16
    group: int = 8
    minibatches: int = 2  # optimizer steps per pass over the rollouts
    passes: int = 1  # over the rollouts of a step (verl's ppo_epochs)
    rows: int = 8  # episodes per forward pass of the update
    sampling_rows: int | None = None  # episodes played at once; None: all of a step's
    tool_threads: int = 0  # threads in which tools run while other episodes go on; for tools over HTTP
    tools: str | None = None  # address of a tool server with the same world; None: in process
    temperature: float = 1.0
    final_rate: float = 1.0  # share of the learning rate left at the end of a linear decay; 1: constant (row P6)
    warm_up_steps: int = 5  # Adam's first steps are as large as its largest: from a converged model they undo (measured at 3e-4)
    rules: str = "strict"  # what the reward is made of: under official rules RL finds every hole of docs/judging.md
    curriculum: Curriculum = Curriculum()
    dtype: str = AUTO  # of matrix products; one of inference.precision.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings(name="adamw", adamw_learning_rate=3e-4, weight_decay=0.01)


@dataclass(frozen=True, kw_only=True)
class GrpoSettings(RolloutSettings):
    """GRPO and its family (rows P6, S6, S7, D7)."""

    aggregation: str = "token-mean"
    clip: Clip = Clip()
    advantage: Advantage = Advantage()
    filter: Filter = Filter()
    kl: Kl = Kl()
    entropy_bonus: float = 0.0
    importance: Importance = Importance()
    credit: Literal["episode", "evidence"] = "episode"  # whose advantage a token has: its episode's, or of the constraints that concern it
    out_of_loss: tuple[StopReason, ...] = ()  # episodes that stopped so count in the normalisation, not in the loss; row S6: OVERLONG
    replay: ReplaySettings | None = None
    branching: Branching | None = None


@dataclass(frozen=True, kw_only=True)
class PpoSettings(RolloutSettings):
    """PPO with a value head on the policy's last hidden state, and generalised advantages over the agent's own tokens."""

    group: int = 1
    clip: Clip = Clip(dual=None)
    aggregation: str = "token-mean"
    gamma: float = 1.0
    lam: float = (
        1.0  # below 1 an early token hears little of the reward at the end; whitened, that is a reason against it, in every episode
    )
    value_weight: float = 0.1
    value_clip: float | None = 0.5
    value_rate: float = 1e-3  # learning rate of the value head
    entropy_bonus: float = 0.0
    passes: int = 2


@dataclass(frozen=True, kw_only=True)
class RejectionSettings(RolloutSettings):
    """Rejection-sampling fine-tuning, the plain baseline: play, keep what passes, imitate it. `keep` bounds how many of a group count, so
    that easy queries do not crowd out the others."""

    keep: int = 2

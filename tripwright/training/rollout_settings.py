"""The settings that every algorithm of reinforcement learning has; those of one algorithm stand in
its own file, beside its loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Gt, Interval, Le

from tripwright.inference.models import AUTO
from tripwright.rewards.curriculum import Curriculum
from tripwright.training.optim import OptimizerSettings
from tripwright.training.served import RolloutServer


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
    rules: str = "strict"
    curriculum: Curriculum = Curriculum()
    dtype: str = AUTO  # of matrix products; one of inference.models.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings(
        name="adamw", adamw_learning_rate=3e-4, weight_decay=0.01
    )

    @property
    def has_reference(self) -> bool:
        """Whether a frozen copy of the model that training started from stays in memory."""
        return False

    def check(self, table: str) -> None:
        """Raises UserError for settings of this algorithm that do not go together; `table` is the
        recipe's name for them."""

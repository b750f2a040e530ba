"""The algorithms of reinforcement learning: one row each, under the name of its table in a recipe.
How to add one: docs/training.md."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tripwright.training.grpo import Grpo, GrpoSettings
from tripwright.training.own import OwnSettings, own_loop
from tripwright.training.ppo import Ppo, PpoSettings
from tripwright.training.rejection import Rejection, RejectionSettings
from tripwright.training.rl_loop import RlLoop
from tripwright.training.rollouts import RolloutSettings


@dataclass(frozen=True)
class Algorithm:
    settings: type[RolloutSettings]
    loop: Callable[..., RlLoop[Any]]


ALGORITHMS = {
    "grpo": Algorithm(GrpoSettings, Grpo),
    "ppo": Algorithm(PpoSettings, Ppo),
    "rft": Algorithm(RejectionSettings, Rejection),
    "rl": Algorithm(OwnSettings, own_loop),
}

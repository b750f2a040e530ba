"""The algorithms of reinforcement learning: one row each, under the name of its table in a recipe.
How to add one: docs/training.md."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tripwright.rl.grpo import Grpo, GrpoSettings
from tripwright.rl.ppo import Ppo, PpoSettings
from tripwright.rl.rejection import Rejection, RejectionSettings
from tripwright.rl.rl_loop import RlLoop
from tripwright.rl.settings import RolloutSettings


@dataclass(frozen=True)
class Algorithm:
    settings: type[RolloutSettings]
    loop: type[RlLoop[Any]]


ALGORITHMS = {
    "grpo": Algorithm(GrpoSettings, Grpo),
    "ppo": Algorithm(PpoSettings, Ppo),
    "rft": Algorithm(RejectionSettings, Rejection),
}

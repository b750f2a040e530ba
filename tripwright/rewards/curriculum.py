"""Which reward counts when: by steps (row P5), by epochs (row S5), or adaptive, moving on when a
stage has no more to give.

All three have one face: `Curriculum` is the setting, `CurriculumState` walks through it. Planner-R1
leaves open when to leave a stage; ours does

- when its mean reward has stopped rising: the last `window` steps are not above the `window` before
  them by more than `noise` standard errors of that difference, and
- not before the next stage has something to say: the share of groups whose members would differ
  under it, in the last `window` steps, is at least `least_signal` (in the paper all five 8B runs on
  stage 3 alone collapsed).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import fmean, variance
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le, MinLen

from tripwright.rewards.reward import Reward
from tripwright.rewards.spec import RewardSpec

KEPT = ("stage", "means", "signals", "steps")  # of the state, by a checkpoint


@dataclass(frozen=True)
class Curriculum:
    """`stages`: (reward as `spec.py` understands it, how long) in order; the last one goes on for
    ever. How long is counted in steps or in epochs; "adaptive" takes it as the most steps a stage
    may have, 0 for no limit."""

    kind: Literal["steps", "epochs", "adaptive"] = "steps"
    stages: Annotated[tuple[tuple[RewardSpec, Annotated[float, Ge(0)]], ...], MinLen(1)] = (
        ("dense", 1),
    )
    window: Annotated[int, Ge(2)] = 20  # steps; of the adaptive kind, like the rest
    noise: Annotated[float, Ge(0)] = 1.0
    least_signal: Annotated[float, Ge(0), Le(1)] = 0.2

    @property
    def rewards(self) -> tuple[RewardSpec, ...]:
        return tuple(reward for reward, _ in self.stages)


@dataclass
class CurriculumState:
    """One run's way through a curriculum; `rewards` are those of its stages. `begin` at the start
    of a step, `end` with what the step's rollouts gave."""

    curriculum: Curriculum
    rewards: Sequence[Reward]
    stage: int = 0
    # mean reward of the current stage's steps, at most two windows of them
    means: list[float] = field(default_factory=list)
    # share of groups that would differ under the next stage's reward
    signals: list[float] = field(default_factory=list)
    steps: int = 0  # in the current stage

    @property
    def reward(self) -> Reward:
        return self.rewards[self.stage]

    @property
    def next_reward(self) -> Reward | None:
        """Of the stage after this one; None in the last."""
        return None if self.last else self.rewards[self.stage + 1]

    @property
    def last(self) -> bool:
        return self.stage == len(self.curriculum.stages) - 1

    def begin(self, step: int, epoch: float) -> None:
        """`step` and `epoch` count from 0: what is finished before this step."""
        if self.curriculum.kind == "adaptive":
            if not self.last and self._saturated():
                self._move_on()
            return
        progress, at = float(step if self.curriculum.kind == "steps" else epoch), 0
        for _, length in self.curriculum.stages[:-1]:
            if progress < length:
                break
            progress, at = progress - length, at + 1
        self.stage = at

    def end(self, mean_reward: float, next_signal: float) -> None:
        window = self.curriculum.window
        self.means, self.signals = (
            [*self.means, mean_reward][-2 * window :],
            [*self.signals, next_signal][-window:],
        )
        self.steps += 1

    def _saturated(self) -> bool:
        window, most = self.curriculum.window, self.curriculum.stages[self.stage][1]
        if most and self.steps >= most:
            return True
        if len(self.means) < 2 * window or fmean(self.signals) < self.curriculum.least_signal:
            return False
        before, after = self.means[:window], self.means[window:]
        error = math.sqrt((variance(before) + variance(after)) / window)
        return fmean(after) - fmean(before) <= self.curriculum.noise * error

    def _move_on(self) -> None:
        self.stage, self.means, self.signals, self.steps = self.stage + 1, [], [], 0

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in KEPT}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, state[name])

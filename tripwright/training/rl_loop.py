"""What the algorithms of reinforcement learning have in common: who plays, how far the run is, what
a checkpoint holds."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

import torch

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.episode import Task
from tripwright.inference.decoder import Decoder
from tripwright.rewards.curriculum import CurriculumState
from tripwright.rewards.spec import resolve_reward
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import Tools
from tripwright.training.batches import Batch, RolloutRow, collate, rows_of
from tripwright.training.loop import Loop, StageClock
from tripwright.training.metrics import Meter, describe
from tripwright.training.optim import Optimizers
from tripwright.training.rollout_worker import RolloutWorker, sampling_policy
from tripwright.training.rollouts import Rollout, RolloutGroup, RolloutSettings
from tripwright.training.trips import Trips

S = TypeVar("S", bound=RolloutSettings)


class RlLoop(Loop, Generic[S]):
    """A loop whose `take_step` an algorithm adds: it plays, rewards and learns from one step's
    groups, between `begin_step` and `end_step`. Trains `model` in place on `trips`. `faults` are
    of the rollouts' tools (row S9)."""

    checkpointed = (*Loop.checkpointed, "trips", "curriculum", "meter")
    counted = ("step",)

    def __init__(
        self,
        model: Any,
        chat: ChatFormat,
        dialect: Dialect,
        trips: Trips,
        settings: S,
        seed: int,
        faults: Faults | None = None,
        tools: Tools | None = None,
    ):
        self.model, self.trips, self.settings, self.step = model, trips, settings, 0
        self.decoder = Decoder(model)
        self.optimizers = Optimizers(model, settings.optimizer)
        policy, size = sampling_policy(model, chat, settings, seed), settings.group_size
        self.worker = RolloutWorker(policy, dialect, size, faults, tools=tools)
        rewards = [
            resolve_reward(name, trips.domain.rewards) for name in settings.curriculum.rewards
        ]
        self.curriculum = CurriculumState(settings.curriculum, rewards)
        self.steps, self.clock = settings.steps, StageClock(settings.steps, settings.max_minutes)
        self.shuffle = torch.Generator().manual_seed(seed)
        self.meter = Meter(model, settings.dtype)
        self.step_start = self.update_start = 0.0
        self.set_up()

    def set_up(self) -> None:
        """Makes what an algorithm has beside, as its value head."""

    @property
    def progress(self) -> float:
        by_epochs = self.epochs / self.settings.max_epochs if self.settings.max_epochs else 0.0
        return max(self.clock.progress(self.step), by_epochs)

    @property
    def epochs(self) -> float:
        """Passes over the trips so far; 0 where new ones are made for ever."""
        return self.trips.position / self.trips.per_epoch if self.trips.per_epoch else 0.0

    def play(self, count: int, replays: Sequence[tuple[int, Task]] = ()) -> list[RolloutGroup]:
        """Groups of rewarded episodes: of trips that are played again, known by their number in the
        stream, and of the next `count` ones."""
        trips = [*replays, *((self.trips.position, next(self.trips)) for _ in range(count))]
        groups = self.worker.play(trips, self.curriculum.reward)
        self.update_start = time.monotonic()
        return groups

    def minibatches(self, rollouts: Sequence[Rollout]) -> Iterator[list[Rollout]]:
        """What each optimizer step of a step learns from: all rollouts, `epochs_per_batch` times in
        a new order of groups, in `minibatches` parts; none at all where there is no rollout."""
        return minibatches_of(rollouts, self.settings, self.shuffle)

    def micro_batches(
        self, rollouts: Sequence[Rollout]
    ) -> Iterator[tuple[list[RolloutRow], Batch]]:
        """What each forward pass of an update reads: rows of like length, which need little
        padding."""
        size = self.settings.micro_batch_size
        by_length = sorted((row for r in rollouts for row in rows_of(r)), key=RolloutRow.__len__)
        for start in range(0, len(by_length), size):
            rows = by_length[start : start + size]
            yield rows, collate([row.columns for row in rows]).to(self.decoder.device)

    def begin_step(self) -> float:
        """Starts the step's watch and sets the curriculum's stage. The share of the learning rate
        that this step has."""
        self.step_start = time.monotonic()
        self.curriculum.begin(self.step, self.epochs)
        self.worker.begin_step()
        settings = self.settings
        return share_of_rate(self.step, settings.warm_up_steps, settings.final_rate, self.progress)

    def end_step(
        self,
        groups: Sequence[RolloutGroup],
        rollouts: Sequence[Rollout],
        scale: float,
        figures: dict[str, Any],
    ) -> dict[str, Any]:
        """Counts the step; what it was like, with `figures` of the update. `groups` were played,
        `rollouts` trained on."""
        now, next_reward = time.monotonic(), self.curriculum.next_reward
        seconds, update_seconds = now - self.step_start, now - self.update_start
        passes = self.settings.epochs_per_batch
        row = {
            **describe(groups),
            **figures,
            "curriculum_stage": self.curriculum.stage + 1,
            "learning_rate": self.settings.optimizer.adamw_learning_rate * scale,
            **({"epoch": self.epochs} if self.trips.per_epoch else {}),
            "rollout_seconds": seconds - update_seconds,
            "update_seconds": update_seconds,
            **self.meter.step(groups, rollouts, passes, seconds, update_seconds),
            **self.worker.figures,
            **self.trips.place_figures(),
        }
        scored = [group for group in groups if group.scored]
        if scored:  # a step of which nothing was scored says nothing about the stage
            differing = sum(group.std(next_reward) > 0 for group in scored) if next_reward else 0
            self.curriculum.end(row["reward_mean"], differing / len(scored))
        self.step += 1
        return row

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "shuffle": self.shuffle.get_state()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.shuffle.set_state(state["shuffle"])


def share_of_rate(step: int, warm_up_steps: int, final: float, progress: float) -> float:
    """Up over the warm-up, and on a line down to `final`."""
    return min(1.0, (step + 1) / max(1, warm_up_steps)) * (1 - (1 - final) * progress)


def minibatches_of(
    rollouts: Sequence[Rollout], settings: RolloutSettings, shuffle: torch.Generator
) -> Iterator[list[Rollout]]:
    units: dict[int, list[Rollout]] = {}
    for i, r in enumerate(rollouts):
        units.setdefault(r.group if settings.whole_groups else i, []).append(r)
    parts = list(units.values())
    for _ in range(settings.epochs_per_batch):
        order = torch.randperm(len(parts), generator=shuffle).tolist()
        size = max(1, math.ceil(len(parts) / settings.minibatches))
        for start in range(0, len(parts), size):
            yield [r for unit in order[start : start + size] for r in parts[unit]]

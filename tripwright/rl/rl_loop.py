"""What the algorithms of reinforcement learning have in common: who plays, how far the run is, what
a checkpoint holds."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.episode import Task
from tripwright.inference.decoder import Decoder
from tripwright.inference.local import LocalPolicy, Sampling
from tripwright.inference.precision import autocast, precision_named
from tripwright.learning.batches import Batch, token_logits
from tripwright.learning.loop import Clock
from tripwright.learning.optim import Optimizers
from tripwright.learning.trips import Trips
from tripwright.rewards.curriculum import CurriculumState
from tripwright.rewards.named import reward_named
from tripwright.rl.meter import Meter
from tripwright.rl.metrics import describe
from tripwright.rl.rollouts import Group, Rollout, RolloutWorker
from tripwright.rl.settings import RolloutSettings
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import Tools

S = TypeVar("S", bound=RolloutSettings)
Item = TypeVar("Item")


class RlLoop(ABC, Generic[S]):
    """A `learning.loop.Loop` whose `take_step` an algorithm adds. Trains `model` in place on
    `trips`.

    `faults` are of the rollouts' tools (row S9). `kept` are the attributes whose state a checkpoint
    holds, beside the model's.
    """

    kept: tuple[str, ...] = ("optimizers", "trips", "curriculum", "clock", "meter")

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
        rows = settings.max_concurrent_rollouts or settings.prompts_per_step * settings.group_size
        sampling = Sampling(
            settings.temperature, rows, seed, settings.dtype, tool_threads=settings.tool_threads
        )
        sampling.check_on_policy()
        policy = LocalPolicy(model, chat, sampling)
        self.worker = RolloutWorker(
            policy, dialect, settings.group_size, settings.rules, faults, tools=tools
        )
        rewards = [
            reward_named(named, trips.domain.rewards) for named in settings.curriculum.rewards
        ]
        self.curriculum, self.clock = (
            CurriculumState(settings.curriculum, rewards),
            Clock(settings.steps, settings.max_minutes),
        )
        self.shuffle = torch.Generator().manual_seed(seed)
        self.meter = Meter(model, settings.dtype)
        self.began = self.rolled = 0.0
        self.set_up()

    def set_up(self) -> None:
        """Makes what an algorithm has beside, as its value head."""

    @abstractmethod
    def take_step(self) -> dict[str, Any]:
        """Plays, rewards and learns from one step's groups, between `begin_step` and `end_step`;
        the step's metrics."""

    @property
    def progress(self) -> float:
        by_epochs = self.epochs / self.settings.max_epochs if self.settings.max_epochs else 0.0
        return max(self.clock.progress(self.step), by_epochs)

    @property
    def epochs(self) -> float:
        """Passes over the trips so far; 0 where new ones are made for ever."""
        return self.trips.position / self.trips.per_epoch if self.trips.per_epoch else 0.0

    def draw(self, count: int) -> list[tuple[int, Task]]:
        """The next trips, each with its number in the stream."""
        return [(self.trips.position, next(self.trips)) for _ in range(count)]

    def minibatches(self, items: Sequence[Item]) -> Iterator[list[Item]]:
        """What each optimizer step of a step learns from: `epochs_per_batch` times all of the
        items, in a new order, in `minibatches` parts."""
        for _ in range(self.settings.epochs_per_batch):
            shuffled = [
                items[i] for i in torch.randperm(len(items), generator=self.shuffle).tolist()
            ]
            # none at all where every rollout is unscored
            size = max(1, -(-len(shuffled) // self.settings.minibatches))
            yield from (shuffled[start : start + size] for start in range(0, len(shuffled), size))

    def begin_step(self) -> float:
        """Starts the step's watch and sets the curriculum's stage. The share of the learning rate
        that this step has."""
        self.began = time.monotonic()
        self.curriculum.begin(self.step, self.epochs)
        self.worker.counted.clear()
        settings = self.settings
        return min(1.0, (self.step + 1) / max(1, settings.warm_up_steps)) * (
            1 - (1 - settings.final_rate) * self.progress
        )

    def end_step(
        self,
        groups: Sequence[Group],
        rollouts: Sequence[Rollout],
        scale: float,
        figures: dict[str, Any],
    ) -> dict[str, Any]:
        """Counts the step; what it was like, with `figures` of the update. `groups` were played,
        `rollouts` trained on."""
        now, following = time.monotonic(), self.curriculum.next_reward
        described = describe(groups)
        row = {
            **described,
            **figures,
            "curriculum_stage": self.curriculum.stage + 1,
            "learning_rate": self.settings.optimizer.adamw_learning_rate * scale,
            **({"epoch": self.epochs} if self.trips.per_epoch else {}),
            "rollout_seconds": self.rolled - self.began,
            "update_seconds": now - self.rolled,
            **self.meter.step(
                groups,
                rollouts,
                self.settings.epochs_per_batch,
                now - self.began,
                now - self.rolled,
            ),
            **self.worker.counted,
            **self.trips.place_figures(),
            "rows_per_pass": self.worker.policy.figures["rows_per_pass"],
        }
        scored = [group for group in groups if group.scored]
        if scored:  # a step of which nothing was scored says nothing about the stage
            self.curriculum.end(
                described["reward_mean"],
                sum(g.std(following) > 0 for g in scored) / len(scored) if following else 0.0,
            )
        self.step += 1
        return row

    def state_dict(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "model": self.model.state_dict(),
            "shuffle": self.shuffle.get_state(),
            **{name: getattr(self, name).state_dict() for name in self.kept},
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.step = state["step"]
        self.model.load_state_dict(state["model"])
        self.shuffle.set_state(state["shuffle"])
        for name in self.kept:
            getattr(self, name).load_state_dict(state[name])


def action_logits(decoder: Decoder, batch: Batch, settings: RolloutSettings) -> Tensor:
    """Logits (N, vocabulary) at the agent's own tokens, at the temperature sampled with: what
    ratios, entropy and KL are made of."""
    with autocast(precision_named(settings.dtype), decoder.device.type):
        return token_logits(decoder, batch, batch.mask > 0) / settings.temperature

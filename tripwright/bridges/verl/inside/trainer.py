"""verl's synchronous trainer with our step: which trips are played, what a group's rewards say, and
what is learned from are the local engine's own (`rl/grpo.py`); sampling, gradients, optimizer and
checkpoints are verl's. The clipped loss is the local engine's, and so is the learning rate: verl's
warm-up begins at 0, so that its first step changes nothing, and has no line down to a share of the
rate.

It counts. verl logs an exception of an agent loop, fills the batch up and exits with 0; here a
trajectory that is missing ends the run, and so does one that other weights said than the present
ones, by its own word or by its log-probabilities."""

from __future__ import annotations

import json
import math
import pickle
import time
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import torch
import transfer_queue as tq
from tensordict import TensorDict
from torch.optim.lr_scheduler import LambdaLR
from transfer_queue import KVBatchMeta
from verl.trainer.ppo.core_algos import register_policy_loss
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer as VerlBuffer
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.dataset.rl_dataset import collate_fn
from verl.utils.debug import marked_timer
from verl.utils.tensordict_utils import list_of_dict_to_tensordict
from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

from tripwright.agent.chat import ChatFormat
from tripwright.bridges.verl import NAME, STATE, STEPS, STOP
from tripwright.bridges.verl.step import Update, conditions_of, updates_of
from tripwright.episode import Episode, Task
from tripwright.rewards.curriculum import CurriculumState
from tripwright.rl.grpo import compared
from tripwright.rl.metrics import Meter, describe
from tripwright.rl.objectives import Clip, clipped_loss
from tripwright.rl.replay import ReplayBuffer
from tripwright.rl.rollouts import Rollout, RolloutGroup
from tripwright.rl.token_servers import RolloutServer


@register_policy_loss(NAME)
def weighted_clipped_loss(
    old_log_prob: torch.Tensor,
    log_prob: torch.Tensor,
    advantages: torch.Tensor,
    response_mask: torch.Tensor,
    loss_agg_mode: str,
    config: Any,
    rollout_is_weights: torch.Tensor,
) -> tuple[torch.Tensor, dict[str, Any]]:
    """(N, T) each. The sum over tokens of weight × loss: the weights are shares of the whole
    minibatch (`arranged`), so `loss_agg_mode` is not asked. verl averages gradients over its
    ranks, hence the factor."""
    clip = Clip(config.clip_ratio_low, config.clip_ratio_high, config.clip_ratio_c)
    loss_NT, clipped_NT = clipped_loss(log_prob, old_log_prob, advantages, clip)
    mask_NT = response_mask.to(loss_NT.dtype)
    # padding may hold anything
    loss = torch.where(response_mask.bool(), loss_NT * rollout_is_weights, 0.0).sum()
    tokens = mask_NT.sum().clamp(min=1)
    gap_NT = (log_prob - old_log_prob).detach().abs()
    metrics = {
        "actor/pg_clipfrac": ((clipped_NT * mask_NT).sum() / tokens).item(),
        "actor/logprob_gap": ((gap_NT * mask_NT).sum() / tokens).item(),
    }
    return loss * config.global_batch_info["dp_size"], metrics


def rate_scale(step: int, settings: Any) -> float:
    """`RlLoop.begin_step`'s, of verl's settings: up over the warm-up, then on a line to
    `min_lr_ratio`. `step` counts from 0."""
    steps = max(1, settings.total_training_steps)
    warm_up = min(1.0, (step + 1) / max(1, settings.lr_warmup_steps))
    return warm_up * (1 - (1 - settings.min_lr_ratio) * min(1.0, step / steps))


def _schedule(self: Any, optimizer: Any) -> LambdaLR:
    return LambdaLR(optimizer, lambda step: rate_scale(step, self.optimizer_config))


def register() -> None:
    FSDPEngine._build_lr_scheduler = _schedule


def arranged(
    batch: KVBatchMeta,
    updates: list[Update],
    uids: Sequence[str],
    ranks: int,
    members: int,
    padding_id: int,
) -> tuple[KVBatchMeta, int]:
    """The rows of the updates in the order in which verl deals them out, and how many make an
    update. verl gives each rank a slice and cuts each slice into minibatches; so every update has
    as many rows, filled up with empty ones, and each of its ranks as many of them and about as many
    tokens. The rest of the batch leaves the queue."""
    tags = dict(zip(batch.keys, batch.tags, strict=True))
    keys = [[row.key(uids) for row in update] for update in updates]
    wanted = [key for update in keys for key in update]
    if idle := list(tags.keys() - set(wanted)):
        tq.kv_clear(keys=idle, partition_id=batch.partition_id)
    unit = math.lcm(ranks, members)
    rows = max(-(-len(update) // unit) * unit for update in keys)
    small = KVBatchMeta(wanted, [tags[key] for key in wanted], batch.partition_id)
    if len(wanted) < rows * len(keys):
        small = upsample_batch_to_divisible_size(small, rows * len(keys), padding_id)
    tags = dict(zip(small.keys, small.tags, strict=True))
    padding = small.keys[len(wanted) :]
    slices: list[list[str]] = [[] for _ in range(ranks)]
    for update in keys:
        short = rows - len(update)
        whole, padding = update + padding[:short], padding[short:]
        whole.sort(key=lambda key: -tags[key]["seq_len"])
        for place, key in enumerate(whole):  # there and back again: the long rows are shared out
            turn, at = divmod(place, ranks)
            slices[at if turn % 2 == 0 else ranks - 1 - at].append(key)
    order = [key for part in slices for key in part]
    return KVBatchMeta(order, [tags[key] for key in order], batch.partition_id), rows


def write_update(batch: KVBatchMeta, updates: list[Update], uids: Sequence[str]) -> None:
    """Columns of the response's tokens into verl's queue."""
    rows = {row.key(uids): row for update in updates for row in update}
    nothing = torch.zeros(1)

    def column(name: str) -> torch.Tensor:
        parts = [
            rows[key].response(getattr(rows[key], name)) if key in rows else nothing
            for key in batch.keys
        ]
        return torch.nested.as_nested_tensor(parts, layout=torch.jagged)

    fields = {
        "old_log_probs": column("old_T"),
        "advantages": column("advantages_T"),
        "rollout_is_weights": column("weights_T"),
    }
    tq.kv_batch_put(
        keys=batch.keys,
        partition_id=batch.partition_id,
        fields=TensorDict(fields, batch_size=len(batch.keys)),
    )


POLL_SECONDS = 0.1  # verl's own is 2
# Between sampler and trainer, in nats per token, on a CPU, where both compute in fp32: before
# anything was learned from a step they differ by 1e-6, and weights that are one step old by 3e-3.
# Elsewhere it is what a recipe's own server may have.
MAX_GAP_ON_CPU = 1e-4
# our names for what verl's update says
UPDATE_FIGURES = {
    "grad_norm": "actor/grad_norm",
    "entropy": "actor/entropy_loss",
    "clip_fraction": "actor/pg_clipfrac",
    "logprob_gap": "actor/logprob_gap",
    "kl": "kl_loss",
    "mfu": "perf/mfu/actor",
}


class StepEnded(Exception):
    """The run was asked to stop, and has saved."""


class Submitted(NamedTuple):
    """A trip that is being played: its number in the stream, the group's id, whether again."""

    number: int
    group: str
    replayed: bool


class CountingBuffer(VerlBuffer):
    """verl's buffer, which counts what it gives out: n trajectories of each prompt."""

    def __init__(self, trainer_config: Any, members: int):
        super().__init__("sync", trainer_config, None, "drop", {}, poll_interval=POLL_SECONDS)
        self.members = members

    def sample(
        self, global_steps: int, partition_id: str, batch_size: int
    ) -> tuple[KVBatchMeta, dict[str, Any]]:
        try:
            batch, metrics = super().sample(global_steps, partition_id, batch_size)
            found = len({key.rsplit("_", 1)[0] for key in batch.keys})
        except RuntimeError:  # verl's word for "not one trajectory"
            found = 0
        if found != batch_size * self.members:
            raise RuntimeError(
                f"step {global_steps}: {found} of {batch_size * self.members} trajectories came"
                " back, so an agent loop has raised: look for 'Error in _run_prompt' in the log"
            )
        return batch, metrics


@register_trainer(NAME)
class TripTrainer(PPOTrainerSync):
    def __init__(self, config: Any):
        folder = Path(config.trainer.default_local_dir)
        self.folder, self.conditions = folder, conditions_of(str(folder.parent))
        recipe, settings = self.conditions.recipe, self.conditions.settings
        super().__init__(config)
        self.trainer_mode = "sync"  # verl asks for this name to know what it may keep in flight
        self.settings, self.trips = settings, self.conditions.trips
        self.curriculum = CurriculumState(settings.curriculum, self.conditions.rewards)
        self.replay = ReplayBuffer(settings.replay, self.trips) if settings.replay else None
        self.gpus = config.trainer.nnodes * config.trainer.n_gpus_per_node
        self.seed = recipe.seed
        self.began = time.monotonic()

    def _build_replay_buffer(self) -> CountingBuffer:
        return CountingBuffer({}, self.config.actor_rollout_ref.rollout.n)

    def _init_tokenizer(self) -> None:
        super()._init_tokenizer()
        self.chat = ChatFormat(self.tokenizer, self.conditions.dialect.schemas())
        from transformers import AutoConfig

        model = AutoConfig.from_pretrained(self.config.actor_rollout_ref.model.path)
        shape = SimpleNamespace(config=model, parameters=lambda: iter([torch.empty(0)]))
        self.meter = Meter(shape, self.settings.dtype)

    # ---- a step

    @property
    def epochs(self) -> float:
        return self.trips.position / self.trips.per_epoch if self.trips.per_epoch else 0.0

    def prepare_step(self) -> dict[str, Any]:
        self.began = time.monotonic()
        step, count = self.global_steps - 1, self.settings.prompts_per_step
        self.curriculum.begin(step, self.epochs)
        again = self.replay.due(step, count) if self.replay is not None else []
        replays = [Submitted(number, task.id, True) for number, task in again]
        self.waiting = self._submit([*replays, *self._fresh(count - len(replays))])
        return {}

    def _fresh(self, count: int) -> list[Submitted]:
        first = self.trips.position
        self.trips.position += count
        return [Submitted(n, f"train-{n}", False) for n in range(first, first + count)]

    def _submit(self, trips: Sequence[Submitted]) -> dict[str, Submitted]:
        """Sends trips to the agent loops; by verl's id of each."""
        rows = collate_fn([self.train_dataset[t.number % len(self.train_dataset)] for t in trips])
        uids = [f"{trip.group}-step{self.global_steps}".replace("_", "-") for trip in trips]
        rows["uid"] = np.array(uids, dtype=object)
        rows["trip"] = np.array([trip.number for trip in trips])
        rows["episode"] = np.array([trip.group for trip in trips], dtype=object)
        rows["curriculum_stage"] = np.array([self.curriculum.stage] * len(trips))
        batch = tu.get_tensordict(rows)
        tu.assign_non_tensor_data(batch, "global_steps", self.global_steps)
        self._submit_batch_to_rollout(batch)
        return dict(zip(uids, trips, strict=True))

    def _step_once(
        self, metrics: dict[str, Any], timing_raw: dict[str, float], sample_batch_size: int
    ) -> KVBatchMeta:
        with marked_timer("gen", timing_raw, color="red"):
            batch, groups = self._explore()
            self.on_sample_end()
        played = time.monotonic()
        least = self.settings.filter.min_std
        kept = [n for n, group in enumerate(groups) if least is None or group.std() > least]
        rollouts = compared([groups[n] for n in kept], self.settings, self.chat)
        updates = updates_of(rollouts, self.settings, self.seed + self.global_steps)
        if updates:
            keys = [list(self.uids)[n] for n in kept]
            batch = self._learn(batch, updates, keys, metrics)
        if self.replay is not None:
            self.replay.remember(groups)
        self._write(groups, rollouts, kept, played, metrics)
        return batch

    def _explore(self) -> tuple[KVBatchMeta, list[RolloutGroup]]:
        """The step's groups; with a refill, more until enough of them have something to teach."""
        settings = self.settings
        self.uids = dict(self.waiting)
        batch, groups = self._collect(self.waiting)
        if settings.filter.refill and settings.filter.min_std is not None:
            for _ in range(settings.filter.max_rounds - 1):
                taught = sum(group.std() > settings.filter.min_std for group in groups)
                if taught >= settings.prompts_per_step:
                    break
                more = self._submit(self._fresh(settings.prompts_per_step - taught))
                self.uids |= more
                again, new = self._collect(more)
                batch = KVBatchMeta(
                    batch.keys + again.keys, batch.tags + again.tags, batch.partition_id
                )
                groups += new
        batch.extra_info["temperature"] = self.config.actor_rollout_ref.rollout.temperature
        return batch, groups

    def _collect(self, waiting: dict[str, Submitted]) -> tuple[KVBatchMeta, list[RolloutGroup]]:
        """Waits for the groups of these trips. They are big, so what was read of the queue leaves
        it."""
        batch, _ = self.replay_buffer.sample(self.global_steps, "train", len(waiting))
        self._check_versions(batch)
        firsts = [key for key in batch.keys if key.endswith("_0")]
        rows = tq.kv_batch_get(firsts, partition_id="train", select_fields=["extra_fields"])
        fields = [getattr(row, "data", row) for row in rows["extra_fields"]]
        members = {
            key.rsplit("_", 1)[0]: pickle.loads(row["episode"])
            for key, row in zip(firsts, fields, strict=True)
        }
        empty = list_of_dict_to_tensordict([{"extra_fields": {}} for _ in firsts])
        tq.kv_batch_put(firsts, partition_id="train", fields=empty)
        groups = []
        for uid, trip in waiting.items():
            task = self.trips.at(trip.number).renamed(trip.group)
            whole = [members[f"{uid}_{g}"] for g in range(self.settings.group_size)]
            groups.append(
                RolloutGroup(
                    trip.number,
                    task,
                    [_episode(task, g, *each[:3]) for g, each in enumerate(whole)],
                    [each[3] for each in whole],
                    trip.replayed,
                )
            )
        return batch, groups

    def _check_versions(self, batch: KVBatchMeta) -> None:
        """Of the weights that sampled: those after the last step, or the samplers were not sent
        them."""
        versions = {tag["min_global_steps"] for tag in batch.tags}
        if versions != {self.global_steps - 1}:
            raise RuntimeError(
                f"step {self.global_steps} was sampled with the weights after step"
                f" {sorted(versions)}, expected {self.global_steps - 1}: they were not sent"
            )

    def _learn(
        self, batch: KVBatchMeta, updates: list[Update], uids: list[str], metrics: dict[str, Any]
    ) -> KVBatchMeta:
        """verl's update of the rows that have a gradient; the other rows leave the queue."""
        ranks = 1 + max(self.actor_rollout_wg._query_dispatch_info("actor"))
        members = self.config.actor_rollout_ref.rollout.n
        batch, rows = arranged(batch, updates, uids, ranks, members, self.tokenizer.eos_token_id)
        batch.extra_info["temperature"] = self.config.actor_rollout_ref.rollout.temperature
        write_update(batch, updates, uids)
        if self.use_reference_policy:
            batch = self._compute_ref_log_prob(batch, metrics=metrics)
        actor = self.config.actor_rollout_ref.actor
        actor.ppo_mini_batch_size = rows // members  # verl counts in prompts
        batch = self._update_actor(batch, metrics=metrics)
        self._check_gap(metrics[UPDATE_FIGURES["logprob_gap"]], len(updates))
        return batch

    def _check_gap(self, gap: float, updates: int) -> None:
        """Of all updates of the step; from the second on it holds what was learned, too."""
        on_cpu = self.config.actor_rollout_ref.rollout.name == NAME
        nothing_learned = updates * self.settings.epochs_per_batch == 1
        most = MAX_GAP_ON_CPU if on_cpu and nothing_learned else RolloutServer.max_gap
        if not gap <= most:
            raise RuntimeError(
                f"step {self.global_steps}: sampler and trainer differ by {gap:.2g} nats per token"
                f" (accepted: {most:g}): likely weights that did not arrive"
            )

    # ---- what is written down

    def _write(
        self,
        groups: list[RolloutGroup],
        rollouts: list[Rollout],
        kept: list[int],
        played: float,
        metrics: dict[str, Any],
    ) -> None:
        """The step's line, as `RlLoop.end_step` makes it."""
        now, next_reward = time.monotonic(), self.curriculum.next_reward
        rate = self.config.actor_rollout_ref.actor.optim
        figures = {ours: metrics[name] for ours, name in UPDATE_FIGURES.items() if name in metrics}
        row = {
            **describe(groups),
            "grad_norm": 0.0,
            **{name: float(value) for name, value in figures.items()},
            "trained_groups": len(kept) / len(groups),
            "curriculum_stage": self.curriculum.stage + 1,
            "learning_rate": rate.lr * rate_scale(self.global_steps - 1, rate),
            **({"epoch": self.epochs} if self.trips.per_epoch else {}),
            **({"replay_buffer": len(self.replay)} if self.replay is not None else {}),
            "rollout_seconds": played - self.began,
            "update_seconds": now - played,
            **self.meter.step(
                groups, rollouts, self.settings.epochs_per_batch, now - self.began, now - played
            ),
            "gpus": self.gpus,
        }
        row["device_hours_total"] *= self.gpus
        if "mfu" in figures:
            row["mfu"] = float(figures["mfu"])
        scored = [group for group in groups if group.scored]
        if scored:
            differing = sum(group.std(next_reward) > 0 for group in scored) if next_reward else 0
            self.curriculum.end(row["reward_mean"], differing / len(scored))
        with (self.folder / STEPS).open("a", encoding="utf-8") as steps:
            steps.write(json.dumps({"step": self.global_steps, **row}) + "\n")

    def _compute_metrics(self, *args: Any, **kwargs: Any) -> None:
        """Ours are written; verl's own would need columns that we leave out."""

    def on_step_end(self) -> None:
        super().on_step_end()
        if (self.folder / STOP).exists():
            self._save_checkpoint()
            raise StepEnded(f"stopped after step {self.global_steps}, as asked")

    # ---- checkpoints

    def _save_checkpoint(self) -> None:
        state: dict[str, Any] = {
            "trips": self.trips.state_dict(),
            "curriculum": self.curriculum.state_dict(),
            "meter": self.meter.state_dict(),
            "replay": self.replay.state_dict() if self.replay is not None else None,
        }
        folder = self.folder / f"global_step_{self.global_steps}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STATE).write_text(json.dumps(state), encoding="utf-8")
        super()._save_checkpoint()  # last of all: it names the newest whole checkpoint

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if not self.global_steps:
            return
        path = self.folder / f"global_step_{self.global_steps}" / STATE
        state = json.loads(path.read_text(encoding="utf-8"))
        self.trips.load_state_dict(state["trips"])
        self.curriculum.load_state_dict(state["curriculum"])
        self.meter.load_state_dict(state["meter"])
        if self.replay is not None:
            self.replay.load_state_dict(state["replay"])


def _episode(task: Task, member: int, transcript: Any, verdict: Any, more: Any) -> Episode:
    return Episode(task.renamed(f"{task.id}/{member}"), transcript, verdict, more)

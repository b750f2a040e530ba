"""verl's synchronous trainer with our step: which trips are played, what a group's rewards say, and
what is learned from are the local engine's own (`training/grpo.py`); sampling, gradients, optimizer
and checkpoints are verl's. The clipped loss is the local engine's, and so is the learning rate:
verl's warm-up begins at 0, so that its first step changes nothing, and has no line down to a share
of the rate.

It counts. verl logs an exception of an agent loop, fills the batch up and exits with 0; here a
trajectory that is missing ends the run, and so does one that other weights said than the present
ones, by its own word or by its log-probabilities. Before a step is played, each sampler has proven
on one fixed prompt that the weights have arrived, as a server of the local engine does."""

from __future__ import annotations

import json
import math
import pickle
import zlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import numpy as np
import ray
import torch
import transfer_queue as tq
from safetensors.torch import save_file
from tensordict import TensorDict
from torch.optim.lr_scheduler import LambdaLR
from transfer_queue import KVBatchMeta
from transformers import AutoConfig
from verl.trainer.ppo.core_algos import register_policy_loss
from verl.trainer.ppo.padding_utils import upsample_batch_to_divisible_size
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer as VerlBuffer
from verl.trainer.ppo.v1.trainer_base import register_trainer
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils import tensordict_utils as tu
from verl.utils.checkpoint.fsdp_checkpoint_manager import FSDPCheckpointManager
from verl.utils.dataset.rl_dataset import collate_fn
from verl.utils.fsdp_utils import collect_lora_params
from verl.utils.tensordict_utils import list_of_dict_to_tensordict
from verl.workers.engine.fsdp.transformer_impl import FSDPEngine
from verl.workers.utils.padding import response_from_nested

from tripwright.agent.chat import ChatFormat
from tripwright.bridges.verl import FOLDER, NAME, STATE, STEPS, STOP, policy_loss_name
from tripwright.bridges.verl.launch import newest_checkpoint
from tripwright.bridges.verl.settings import ADAPTER
from tripwright.bridges.verl.step import Update, conditions_of, uid_of, updates_of
from tripwright.episode import Episode, Task
from tripwright.files import open_file, read_object, write_atomically
from tripwright.inference.models import WEIGHTS, base_of, name_base
from tripwright.llm.endpoint import Fault, Reply
from tripwright.rewards.curriculum import CurriculumState
from tripwright.rewards.reward import Reward
from tripwright.runs import VALIDATION_STEP, VERL_MODELS, model_in, stage_of
from tripwright.training.batches import Batch, rows_of, whole_rows
from tripwright.training.grpo import Grpo, ReplayBuffer
from tripwright.training.held_out import is_due, model_identity, player, validation_requests
from tripwright.training.loop import StageClock
from tripwright.training.losses import LOSSES, Clip, clipped_loss
from tripwright.training.metrics import Meter
from tripwright.training.rl_loop import share_of_rate
from tripwright.training.rollouts import Rollout, RolloutGroup
from tripwright.training.served import (
    PROOF_TOKENS,
    RolloutServer,
    TokenRequest,
    Tokens,
    proof_gap,
    proof_prompt,
)
from tripwright.transcript import TokenSequence


def weighted_loss(
    name: str | None,
    old_log_prob: torch.Tensor,
    log_prob: torch.Tensor,
    advantages: torch.Tensor,
    response_mask: torch.Tensor,
    loss_agg_mode: str,
    config: Any,
    rollout_is_weights: torch.Tensor,
) -> tuple[torch.Tensor, dict[str, Any]]:
    """(N, T) each. The sum over tokens of weight × loss, the clipped one or one of `LOSSES`: the
    weights are shares of the whole minibatch (`arranged`), so `loss_agg_mode` is not asked. verl
    averages gradients over its ranks, hence the factor."""
    clip = Clip(config.clip_ratio_low, config.clip_ratio_high, config.clip_ratio_c)
    if name is None:
        loss_NT, clipped_NT = clipped_loss(log_prob, old_log_prob, advantages, clip)
    else:
        columns = (log_prob, old_log_prob, advantages, response_mask.bool())
        loss_NT, clipped_NT = LOSSES[name](*columns, clip)
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


for _name in (None, *LOSSES):
    register_policy_loss(policy_loss_name(_name))(partial(weighted_loss, _name))


def rate_scale(step: int, settings: Any) -> float:
    """Of verl's settings. `step` counts from 0."""
    progress = min(1.0, step / max(1, settings.total_training_steps))
    return share_of_rate(step, settings.lr_warmup_steps, settings.min_lr_ratio, progress)


def register() -> None:
    FSDPEngine._build_lr_scheduler = lambda engine, optimizer: LambdaLR(
        optimizer, lambda step: rate_scale(step, engine.optimizer_config)
    )
    plain = FSDPCheckpointManager.save_checkpoint

    def save_checkpoint(manager: Any, local_path: str, *args: Any, **more: Any) -> None:
        """An adapter is written as our engine writes it, where verl has other runs' whole model; of
        a whole model the config says fp32, as its weights are, where verl's says bf16."""
        plain(manager, local_path, *args, **more)
        folder = Path(local_path) / Path(VERL_MODELS).name
        if manager._has_lora():
            found = collect_lora_params(manager.model, layered_summon=False, base_sync_done=True)
            if manager.rank == 0:
                weights = {name: tensor.contiguous() for name, tensor in found.items()}
                save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})
                manager.model.peft_config["default"].save_pretrained(folder)
                run = folder.parents[3]
                name_base(folder, base_of(run / FOLDER / ADAPTER), run)
        elif manager.rank == 0:
            config = read_object(folder / "config.json") | {"dtype": "float32"}
            write_atomically(folder / "config.json", json.dumps(config, indent=2))

    FSDPCheckpointManager.save_checkpoint = save_checkpoint


def arranged(
    batch: KVBatchMeta, updates: list[Update], step: int, ranks: int, members: int, padding_id: int
) -> tuple[KVBatchMeta, int]:
    """The rows of the updates in the order in which verl deals them out, and how many make an
    update. verl gives each rank a slice and cuts each slice into minibatches; so every update has
    as many rows, filled up with empty ones, and each of its ranks as many of them and about as many
    tokens. The rest of the batch leaves the queue."""
    tags = dict(zip(batch.keys, batch.tags, strict=True))
    keys = [[row.key(step) for row in update] for update in updates]
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


def write_update(batch: KVBatchMeta, updates: list[Update], step: int) -> None:
    """Columns of the response's tokens into verl's queue."""
    rows = {row.key(step): row for update in updates for row in update}
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
    "kl": "actor/kl_loss",
    "mfu": "perf/mfu/actor",
}
WORKER_GIB = "actor/perf/max_memory_allocated_gb"  # the most so far


class StepEnded(Exception):
    """The run was asked to stop, and has saved."""


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


class VerlWorker:
    """In the place of `training.rollout_worker`: trips go to the agent loops, and groups of
    episodes come back with their rewards. `batch` is of the step's rows in verl's queue."""

    def __init__(self, trainer: TripTrainer, chat: ChatFormat):
        self.trainer, self.policy = trainer, SimpleNamespace(chat=chat)
        self.figures: dict[str, Any] = {}
        self.begin_step()

    def begin_step(self) -> None:
        self.batch = KVBatchMeta([], [], "train")

    def play(self, tasks: Sequence[tuple[int, Task]], reward: Reward) -> list[RolloutGroup]:
        """`reward` is known to the loops, by the curriculum's stage."""
        self._submit(tasks)
        batch, _ = self.trainer.replay_buffer.sample(self.trainer.global_steps, "train", len(tasks))
        self._check_versions(batch)
        keys, tags = self.batch.keys + batch.keys, self.batch.tags + batch.tags
        self.batch, members = KVBatchMeta(keys, tags, "train"), self._taken(batch)
        groups = []
        for number, task in tasks:
            uid, episodes, rewards = uid_of(task.id, self.trainer.global_steps), [], []
            for g in range(self.trainer.conditions.settings.group_size):
                transcript, verdict, more, worth = members[f"{uid}_{g}"]
                member = task.renamed(f"{task.id}/{g}")
                episodes.append(Episode(member, transcript, verdict, more))
                rewards.append(worth)
            groups.append(RolloutGroup(number, task, episodes, rewards))
        return groups

    def _submit(self, tasks: Sequence[tuple[int, Task]]) -> None:
        trainer, data = self.trainer, self.trainer.train_dataset
        rows = collate_fn([data[number % len(data)] for number, _ in tasks])
        columns = {
            "uid": [uid_of(task.id, trainer.global_steps) for _, task in tasks],
            "episode": [task.id for _, task in tasks],
        }
        rows |= {name: np.array(values, dtype=object) for name, values in columns.items()}
        rows["trip"] = np.array([number for number, _ in tasks])
        rows["curriculum_stage"] = np.array([trainer.loop.curriculum.stage] * len(tasks))
        batch = tu.get_tensordict(rows)
        tu.assign_non_tensor_data(batch, "global_steps", trainer.global_steps)
        trainer._submit_batch_to_rollout(batch)

    def _check_versions(self, batch: KVBatchMeta) -> None:
        """Of the weights that sampled: those after the last step, or the samplers were not sent
        them."""
        step, versions = self.trainer.global_steps, {tag["min_global_steps"] for tag in batch.tags}
        if versions != {step - 1}:
            raise RuntimeError(
                f"step {step} was sampled with the weights after step {sorted(versions)}, expected"
                f" {step - 1}: they were not sent"
            )

    def _taken(self, batch: KVBatchMeta) -> dict[str, Any]:
        """The episodes of these rows. They are big, so what was read of the queue leaves it."""
        firsts = [key for key in batch.keys if key.endswith("_0")]
        rows = tq.kv_batch_get(firsts, partition_id="train", select_fields=["extra_fields"])
        fields = [getattr(row, "data", row) for row in rows["extra_fields"]]
        empty = list_of_dict_to_tensordict([{"extra_fields": {}} for _ in firsts])
        tq.kv_batch_put(firsts, partition_id="train", fields=empty)
        return {
            key.rsplit("_", 1)[0]: pickle.loads(row["episode"])
            for key, row in zip(firsts, fields, strict=True)
        }


class VerlGrpo(Grpo):
    """The local engine's step, whose episodes are played and learned from by verl."""

    def __init__(self, trainer: TripTrainer, worker: Any, meter: Meter):
        conditions = trainer.conditions
        self.trainer, self.worker, self.meter = trainer, worker, meter
        self.settings, self.trips, self.step = conditions.settings, conditions.trips, 0
        self.trips.place_figures = dict  # trips are played elsewhere
        self.curriculum = CurriculumState(self.settings.curriculum, conditions.rewards)
        self.clock = StageClock(self.settings.steps, None)
        replay = self.settings.replay
        self.replay = ReplayBuffer(replay, self.trips) if replay else None
        self.checkpointed = ("trips", "curriculum", "meter", *(["replay"] if replay else []))

    def update(self, rollouts: list[Rollout], scale: float = 1.0) -> dict[str, float]:
        self.trainer.on_sample_end()
        updates = updates_of(rollouts, self.settings, self.trainer.seed + self.step + 1)
        return self.trainer.learn(updates) if updates else {"grad_norm": 0.0}

    def own_logprobs(self, rollouts: list[Rollout]) -> tuple[Batch, torch.Tensor]:
        """By verl's actor, before it learns; so it is here that the sampler is held to it."""
        whole, trainer = whole_rows(rollouts), self.trainer
        own_NT, rows = torch.zeros_like(whole.logprobs), list[tuple[int, int, TokenSequence]]()
        for n, rollout in enumerate(rollouts):
            prompt = len(rollout.episode.transcript.segments[0].token_ids)
            rows += [(n, prompt, row.sequence) for row in rows_of(rollout)]
        parts = [(s.token_ids[:prompt], s.token_ids[prompt:]) for _, prompt, s in rows]
        found = trainer.scored("recomputed", parts, self.settings.temperature)
        for (n, prompt, sequence), own_T in zip(rows, found, strict=True):
            mask_T = torch.tensor(sequence.loss_mask[prompt:]) > 0
            targets_T = torch.tensor(sequence.places[prompt:]) - 1
            own_NT[n, targets_T[mask_T]] = own_T[mask_T].float()
        gap = (own_NT - whole.logprobs).abs()[whole.mask > 0].mean()
        trainer.hold(float(gap), f"step {trainer.global_steps}")
        return whole, own_NT

    def state_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name).state_dict() for name in self.checkpointed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        for name in self.checkpointed:
            getattr(self, name).load_state_dict(state[name])


@register_trainer(NAME)
class TripTrainer(PPOTrainerSync):
    name = "verl"  # as a server of tokens (`sample`)

    def __init__(self, config: Any):
        self.folder = Path(config.trainer.default_local_dir)
        self.conditions = conditions_of(str(self.folder.parent))
        self.seed, self.worker_mb = self.conditions.recipe.seed, 0.0
        self.requests: Any = None  # of [validation]
        super().__init__(config)
        self.trainer_mode = "sync"  # verl asks for this name to know what it may keep in flight

    def _build_replay_buffer(self) -> CountingBuffer:
        return CountingBuffer({}, self.config.actor_rollout_ref.rollout.n)

    def _init_tokenizer(self) -> None:
        super()._init_tokenizer()
        chat = ChatFormat(self.tokenizer, self.conditions.dialect.schemas())
        model = AutoConfig.from_pretrained(self.config.actor_rollout_ref.model.path)
        config = model.get_text_config()
        shape = SimpleNamespace(config=config, parameters=lambda: iter([torch.empty(0)]))
        self.vocabulary = config.vocab_size
        meter = Meter(shape, self.conditions.settings.dtype)
        self.player = VerlWorker(self, chat)
        self.loop = VerlGrpo(self, self.player, meter)

    # ---- a step

    def prepare_step(self) -> dict[str, Any]:
        return {}  # trips are submitted when the loop asks for them

    def _step_once(
        self, metrics: dict[str, Any], timing_raw: dict[str, float], sample_batch_size: int
    ) -> KVBatchMeta:
        self.step_metrics = metrics
        row, gpus = self.loop.take_step(), self.config.trainer.n_gpus_per_node
        gpus *= self.config.trainer.nnodes
        row |= {"gpus": gpus, "device_hours_total": row["device_hours_total"] * gpus}
        if UPDATE_FIGURES["mfu"] in metrics:
            row["mfu"] = float(metrics[UPDATE_FIGURES["mfu"]])
        # of a worker, not of this process; a step without an update does not tell it again
        self.worker_mb = max(self.worker_mb, float(metrics.get(WORKER_GIB, 0.0)) * 2**30 / 1e6)
        row["peak_memory_mb"] = self.worker_mb or None
        with open_file(self.folder / STEPS, "a", encoding="utf-8") as steps:
            steps.write(json.dumps({"step": self.global_steps, **row}) + "\n")
        return self.player.batch

    def learn(self, updates: list[Update]) -> dict[str, float]:
        """verl's update of the rows that have a gradient; the other rows leave the queue."""
        rollout, padding = self.config.actor_rollout_ref.rollout, self.tokenizer.eos_token_id
        step, ranks = self.global_steps, self._ranks
        batch, rows = arranged(self.player.batch, updates, step, ranks, rollout.n, padding)
        batch.extra_info["temperature"] = rollout.temperature
        write_update(batch, updates, step)
        if self.use_reference_policy:
            batch = self._compute_ref_log_prob(batch, metrics=self.step_metrics)
        actor = self.config.actor_rollout_ref.actor
        actor.ppo_mini_batch_size = rows // rollout.n  # verl counts in prompts
        self.player.batch = self._update_actor(batch, metrics=self.step_metrics)
        found = self.step_metrics
        figures = {ours: float(found[n]) for ours, n in UPDATE_FIGURES.items() if n in found}
        # of all updates of the step; from the second on it holds what was learned, too
        nothing_learned = len(updates) * self.conditions.settings.epochs_per_batch == 1
        self.hold(figures["logprob_gap"], f"step {step}", nothing_learned)
        return figures

    def hold(self, gap: float, when: str, nothing_learned: bool = True) -> None:
        on_cpu = self.config.actor_rollout_ref.rollout.name == NAME
        most = MAX_GAP_ON_CPU if on_cpu and nothing_learned else RolloutServer.max_gap
        if not gap <= most:
            raise RuntimeError(
                f"{when}: sampler and trainer differ by {gap:.2g} nats per token (accepted:"
                f" {most:g}): likely weights that did not arrive"
            )

    @property
    def _ranks(self) -> int:
        return 1 + int(max(self.actor_rollout_wg._query_dispatch_info("actor")))

    def generate(self, number: int, request: TokenRequest) -> Any:
        """Ray's reference of an answer of this one of the samplers."""
        ours = self.config.actor_rollout_ref.rollout.name == NAME
        how = {
            "temperature": request.temperature,
            "top_p": request.top_p,
            "top_k": request.top_k,
            "max_tokens": request.max_tokens,
            "stop_token_ids": [request.stop_id],
            "logprobs": True,
            **({"name": request.id} if ours else {}),
        }
        server = self.llm_server_manager.get_replicas()[number]._server_handle
        return server.generate.remote(
            request_id=uuid4().hex, prompt_ids=list(request.prompt), sampling_params=how
        )

    def _prove(self) -> None:
        """After each load: every sampler goes on after one fixed prompt, and the workers that train
        say what it should have said."""
        name, prompt = f"proof-{self.global_steps}", proof_prompt(self.vocabulary)
        stop_id = self.player.policy.chat.stop_id
        request = TokenRequest(name, prompt, PROOF_TOKENS, stop_id, 0.0, 0)
        servers = range(len(self.llm_server_manager.get_replicas()))
        said = ray.get([self.generate(number, request) for number in servers])
        own = self.scored("proof", [(prompt, list(tokens.token_ids)) for tokens in said], 1.0)
        gaps = [proof_gap(t.log_probs, o.tolist()) for t, o in zip(said, own, strict=True)]
        self.hold(max(gaps), f"a fixed prompt after step {self.global_steps}")

    def scored(
        self, name: str, rows: Sequence[tuple[list[int], list[int]]], temperature: float
    ) -> list[torch.Tensor]:
        """What the actor says of each row's (prompt, answer): of the answer's tokens. They are rows
        in verl's queue, as many as its ranks can share, long and short ones to each."""
        ranks, shortest = self._ranks, min(rows, key=lambda row: len(row[0]) + len(row[1]))
        filled = [*rows, *[shortest] * (-len(rows) % ranks)]
        fields, tags = [], []
        for prompt, answer in filled:
            first, after = torch.tensor(prompt), torch.tensor(answer)
            ids, own = torch.cat([first, after]), torch.ones_like(after)
            row: dict[str, Any] = {"prompts": first, "responses": after, "input_ids": ids}
            row |= {"attention_mask": torch.ones_like(ids), "position_ids": torch.arange(len(ids))}
            fields.append(row | {"response_mask": own, "loss_mask": own, "multi_modal_inputs": {}})
            lengths = {"prompt_len": len(first), "response_len": len(after), "seq_len": len(ids)}
            tags.append({"status": "success", "global_steps": self.global_steps, **lengths})
        keys = [f"{name}-{self.global_steps}_{n}_0" for n in range(len(filled))]
        queue = {"partition_id": name}
        tq.kv_batch_put(keys=keys, fields=list_of_dict_to_tensordict(fields), tags=tags, **queue)
        by_length = sorted(range(len(filled)), key=lambda n: tags[n]["seq_len"])
        order = [n for rank in range(ranks) for n in by_length[rank::ranks]]
        batch = KVBatchMeta([keys[n] for n in order], [tags[n] for n in order], name)
        batch.extra_info |= {"calculate_entropy": False, "compute_loss": False}
        batch.extra_info["temperature"] = temperature
        self.actor_rollout_wg.compute_log_prob(batch)
        found = tq.kv_batch_get(keys=keys, select_fields=["log_probs", "response_mask"], **queue)
        tq.kv_clear(keys=keys, **queue)
        own_NT = response_from_nested(found["log_probs"], found["response_mask"])
        return list(own_NT.unbind()[: len(rows)])

    def _compute_metrics(self, *args: Any, **kwargs: Any) -> None:
        """Ours are written; verl's own would need columns that we leave out."""

    def on_init_end(self) -> None:
        super().on_init_end()
        self._prove()
        self._evaluate()

    def on_step_end(self) -> None:
        """What is asked to end, and what is evaluated, has its checkpoint first, while the samplers
        sleep."""
        asked = (self.folder / STOP).exists()
        saved = newest_checkpoint(self.folder.parent) == self.global_steps
        if (asked or self._evaluates) and not saved:
            self._save_checkpoint()
        if asked:
            raise StepEnded(f"stopped after step {self.global_steps}, as asked")
        super().on_step_end()
        self._prove()
        self._evaluate()

    # ---- [validation]

    def sample(self, request: TokenRequest) -> Reply[Tokens] | Fault:
        """By one of verl's samplers. An episode stays with one of them, which has its beginning in
        its cache."""
        if (self.folder / STOP).exists():
            raise StepEnded("stopped in a validation, as asked")
        episode = zlib.crc32(request.id.rpartition(" @")[0].encode())
        number = episode % len(self.llm_server_manager.get_replicas())
        said = ray.get(self.generate(number, request))
        logprobs = list(said.log_probs or ())
        tokens = Tokens(list(said.token_ids), logprobs, len(request.prompt), 0)
        return Reply(tokens, 0.0, 1, {}, 0)

    @property
    def _evaluates(self) -> bool:
        settings, step = self.conditions.recipe.validation, self.global_steps
        last = step >= self.total_training_steps
        return settings is not None and is_due(settings, self.folder.parent, step, last)

    def _evaluate(self) -> None:
        """The evaluation that is due, by the samplers; whoever follows the run (`launch`) keeps the
        model and the best."""
        recipe, run, step = self.conditions.recipe, self.folder.parent, self.global_steps
        if recipe.validation is None or not self._evaluates:
            return
        if self.requests is None:
            self.requests = validation_requests(recipe, recipe.validation)
        model = run / VERL_MODELS.format(step) if step else model_in(run)
        if model == run:  # no stage was before
            model = Path(recipe.model.pretrained or "")
        identity = model_identity(stage_of(run, model), model)
        policy = player(recipe, self.tokenizer, server=self)
        self.requests.play_model(policy, run / "eval" / f"{VALIDATION_STEP}{step}", identity)

    # ---- checkpoints

    def _save_checkpoint(self) -> None:
        folder = self.folder / f"global_step_{self.global_steps}"
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / STATE, json.dumps(self.loop.state_dict()))
        super()._save_checkpoint()  # last of all: it names the newest whole checkpoint

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        self.loop.step = self.global_steps
        if self.global_steps:
            path = self.folder / f"global_step_{self.global_steps}" / STATE
            self.loop.load_state_dict(read_object(path))

"""GRPO on travel episodes, one step from top to bottom on one page (rows P4–P6, S6; loss without KL).

    queries → G episodes each → judge → reward → advantage within the group → clipped policy gradient on the agent's own tokens

What is special here, each at the line that does it: rollouts whose failure was ours leave their group; groups whose members agree give
no gradient and are not computed, though their tokens stay in the denominator; the old log-probabilities are the sampler's own.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from typing import Any

import torch

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.policies.local import LocalPolicy, Sampling
from tripwright.agent.policies.local_decoder import Decoder
from tripwright.agent.policies.local_precision import AUTO, autocast, precision_named
from tripwright.constraints.evaluate import Rules
from tripwright.constraints.facts import COMMONSENSE_NAMES, HARD_NAMES
from tripwright.episode import Episode, Task, play
from tripwright.rewards.shaped import Curriculum, Reward, reward
from tripwright.tools.faults import Faults
from tripwright.training.batches import Batch, collate, token_logits
from tripwright.training.objectives import Clip, clipped_loss, group_advantages, token_weights
from tripwright.training.optim import Optimizers, OptimizerSettings
from tripwright.training.sft import progress_of


@dataclass(frozen=True)
class GrpoSettings:
    steps: int | None = 500  # None: as many as `max_minutes` allow
    max_minutes: float | None = None
    prompts: int = 16
    group: int = 8
    minibatches: int = 2  # optimizer steps per batch of rollouts
    rows: int = 8  # episodes per forward pass
    aggregation: str = "token-mean"
    clip: Clip = Clip()
    temperature: float = 1.0
    final_rate: float = 1.0  # share of the learning rate left at the end of a linear decay; 1: constant (row P6)
    warm_up_steps: int = 5  # Adam's first steps are as large as its largest: from a converged model they undo (measured at 3e-4)
    rules: Rules = "strict"  # what the reward is made of: under official rules RL finds every hole of docs/judging.md
    curriculum: Curriculum = Curriculum()
    dtype: str = AUTO  # of matrix products; one of local_precision.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings(name="adamw", adamw_learning_rate=3e-4, weight_decay=0.01)


@dataclass(frozen=True)
class Rollout:
    episode: Episode
    reward: Reward
    advantage: float


def train(
    model: Any,
    chat: ChatFormat,
    dialect: Dialect,
    tasks: Iterator[Task],
    settings: GrpoSettings,
    seed: int,
    faults: Faults | None = None,
) -> Iterator[dict[str, Any]]:
    """Trains in place; yields the metrics of every step. `faults` are of the rollouts' tools (row S9); evaluation never has any."""
    optimizers = Optimizers(model, settings.optimizer)
    policy = LocalPolicy(model, chat, Sampling(settings.temperature, settings.prompts * settings.group, seed, settings.dtype))
    shuffle = torch.Generator().manual_seed(seed)
    started = time.monotonic()
    for step in itertools.count():
        progress = progress_of(step, settings.steps, (time.monotonic() - started) / 60, settings.max_minutes)
        if progress >= 1:
            return
        began = time.monotonic()
        queries = [next(tasks) for _ in range(settings.prompts)]
        groups_PG = roll_out(policy, dialect, queries, settings.group, settings.rules, faults)
        weights = settings.curriculum.weights_at(step)
        rewards_PG = [
            [reward(e.verdict, e.asked_hard, e.schema_valid, weights) if e.verdict else None for e in group] for group in groups_PG
        ]
        scored_PG = torch.tensor([[r is not None for r in group] for group in rewards_PG])  # unscored: out of the group, never 0
        totals_PG = torch.tensor([[r.total if r else 0.0 for r in group] for group in rewards_PG])
        advantages_PG = group_advantages(totals_PG, scored_PG)
        rolled = time.monotonic()
        rollouts = [
            Rollout(episode, made, float(advantage))
            for group, rewards_G, advantages_G in zip(groups_PG, rewards_PG, advantages_PG, strict=True)
            for episode, made, advantage in zip(group, rewards_G, advantages_G, strict=True)
            if made is not None
        ]
        scale = min(1.0, (step + 1) / max(1, settings.warm_up_steps)) * (1 - (1 - settings.final_rate) * progress)
        updates = update(model, optimizers, rollouts, settings, scale, shuffle)
        yield {
            **describe(rollouts),
            **updates,
            "kept_groups": float((advantages_PG.abs().sum(1) > 0).float().mean()),
            "unscored": int((~scored_PG).sum()),
            "learning_rate": settings.optimizer.adamw_learning_rate * scale,
            "rollout_seconds": rolled - began,
            "update_seconds": time.monotonic() - rolled,
        }


def roll_out(
    policy: LocalPolicy, dialect: Dialect, queries: list[Task], group: int, rules: Rules = "strict", faults: Faults | None = None
) -> list[list[Episode]]:
    """`group` episodes of each task, in the order of the tasks. Group members are neighbours, so that they share their prompt's prefill."""
    copies = (Task(f"{task.id}/{g}", task.query, task.world) for task in queries for g in range(group))
    found = {episode.task.id: episode for episode in play(policy, copies, dialect, policy.chat, rules, faults=faults)}
    return [[found[f"{task.id}/{g}"] for g in range(group)] for task in queries]


def update(
    model: Any,
    optimizers: Optimizers,
    rollouts: list[Rollout],
    settings: GrpoSettings,
    scale: float = 1.0,
    shuffle: torch.Generator | None = None,
) -> dict[str, float]:
    """One pass over the rollouts in `minibatches` optimizer steps, at `scale` times the learning rate."""
    decoder = Decoder(model)
    gradient_norms, seen = [], Counter[str]()
    shuffled = [rollouts[i] for i in torch.randperm(len(rollouts), generator=shuffle).tolist()]
    size = max(1, -(-len(shuffled) // settings.minibatches))  # none at all where every rollout is unscored
    for start in range(0, len(shuffled), size):
        minibatch = shuffled[start : start + size]
        tokens = sum(sum(r.episode.transcript.loss_mask) for r in minibatch)
        live = [r for r in minibatch if r.advantage != 0.0]  # the others have no gradient; their tokens still count in `tokens`
        live.sort(key=lambda r: len(r.episode.transcript.token_ids))
        for first in range(0, len(live), settings.rows):
            rows = live[first : first + settings.rows]
            batch = collate([(t.token_ids, t.loss_mask, t.logprobs) for t in (r.episode.transcript for r in rows)])
            advantages_N = torch.tensor([r.advantage for r in rows])
            weights_NT = token_weights(batch.mask, settings.aggregation, len(minibatch), tokens)
            loss, counts = policy_loss(decoder, batch, advantages_N, weights_NT, settings)
            loss.backward()
            seen.update(counts)
        if live:
            gradient_norms.append(optimizers.step(scale))
    n = max(1.0, seen["tokens"])
    return {
        "grad_norm": sum(gradient_norms) / max(1, len(gradient_norms)),
        "entropy": seen["entropy"] / n,
        "clip_fraction": seen["clipped"] / n,
        "sampler_gap": seen["gap"] / n,  # mean |log-probability of the trainer − of the sampler|, before and between updates
    }


def policy_loss(
    decoder: Decoder, batch: Batch, advantages_N: torch.Tensor, weights_NT: torch.Tensor, settings: GrpoSettings
) -> tuple[torch.Tensor, Any]:
    """The weighted clipped loss of some rows, and token sums for the log. Only the agent's own tokens are ever looked at."""
    said_NT = batch.mask > 0
    with autocast(precision_named(settings.dtype)):
        logits = token_logits(decoder, batch, said_NT) / settings.temperature
    everything = torch.log_softmax(logits, dim=-1)  # (tokens said, vocabulary)
    logprobs = everything.gather(1, batch.targets[said_NT][:, None])[:, 0]
    old = batch.logprobs[said_NT]
    advantages = advantages_N[:, None].expand_as(batch.mask)[said_NT]
    losses, clipped = clipped_loss(logprobs, old, advantages, settings.clip)
    with torch.no_grad():
        counts = {
            "tokens": float(len(old)),
            "clipped": float(clipped.sum()),
            "entropy": float(-(everything.exp() * everything).sum()),
            "gap": float((logprobs - old).abs().sum()),
        }
    return (losses * weights_NT[said_NT]).sum(), counts


def describe(rollouts: list[Rollout]) -> dict[str, Any]:
    """What the batch of episodes was like: rewards and their parts, lengths, why they stopped, share passing each constraint."""
    n = max(1, len(rollouts))
    totals = torch.tensor([r.reward.total for r in rollouts] or [0.0])
    parts = torch.tensor([astuple(r.reward.parts) for r in rollouts] or [(0.0,) * 5]).mean(0).tolist()
    names = ("commonsense_micro", "hard_micro", "commonsense_macro", "hard_macro", "pass_rate")
    transcripts = [r.episode.transcript for r in rollouts]
    stops = Counter(str(t.stop_reason) for t in transcripts)
    return {
        "reward_mean": float(totals.mean()),
        "reward_std": float(totals.std(correction=0)),
        "schema_rate": sum(r.reward.schema for r in rollouts) / n,
        **dict(zip(names, parts, strict=True)),
        "turns_mean": sum(t.turns for t in transcripts) / n,
        "completion_tokens_mean": sum(sum(t.loss_mask) for t in transcripts) / n,
        "tokens": sum(len(t.token_ids) for t in transcripts),
        "stop_reasons": {reason: count / n for reason, count in stops.items()},
        "faulty_calls": sum(call.fault is not None for t in transcripts for call in t.calls),
        "constraints": constraint_rates([r.episode for r in rollouts]),
    }


def constraint_rates(episodes: list[Episode]) -> dict[str, float]:
    """Share of episodes passing each constraint, among those it applies to; undelivered and gated ones count as failed."""
    passed, asked = Counter[str](), Counter[str]()
    for episode in episodes:
        if episode.verdict is None:
            continue
        facts = {**(episode.verdict.commonsense or {}), **(episode.verdict.hard or {})}
        for name in (*COMMONSENSE_NAMES, *HARD_NAMES):
            fact = facts.get(name)
            asked[name] += fact is None or fact.passed is not None
            passed[name] += fact is not None and fact.passed is True
    return {name: passed[name] / asked[name] for name in asked if asked[name]}

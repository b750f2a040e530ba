"""The sampler is not the trainer: other precision, other kernels, another engine. What is sampled
from one and trained on the other is slightly off-policy. Here the difference is measured and, where
a recipe asks for it, corrected.

Without correction the ratio of the loss is taken to the sampler's own log-probabilities, which is
exact where the two agree (they do here to 1e-4 in fp32, a test says). With it, the ratio is taken
to the trainer's log-probabilities before the update, and every token or episode is weighted by
π_trainer / π_sampler, bounded: truncated importance sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from tripwright.inference.decoder import Decoder
from tripwright.learning.batches import Batch, collate
from tripwright.rl.objectives import Importance, importance_weights
from tripwright.rl.rollouts import Rollout, RolloutGroup
from tripwright.rl.rows import rows_of
from tripwright.rl.scores import action_logprobs
from tripwright.rl.settings import RolloutSettings


@torch.no_grad()
def corrected(
    decoder: Decoder, rollouts: list[Rollout], settings: RolloutSettings, importance: Importance
) -> tuple[list[Rollout], dict[str, float]]:
    """The rollouts with the trainer's log-probabilities as their old ones and a weight per token;
    and what the difference was like."""
    sampled_rollouts = [r for r in rollouts if r.tokens]
    if not sampled_rollouts:
        return sampled_rollouts, {}
    sampled_rollouts.sort(key=lambda r: len(r.episode.transcript.token_ids))
    whole, trainer_NT = trainer_logprobs(decoder, sampled_rollouts, settings)
    weights_NT, figures = importance_weights(
        trainer_NT, whole.logprobs, importance, mask=whole.mask > 0
    )
    weighted_rollouts = []
    for n, r in enumerate(sampled_rollouts):
        own = slice(0, len(r.episode.transcript.token_ids) - 1)
        weighted_rollouts.append(
            replace(
                r,
                old_T=[0.0, *trainer_NT[n, own].tolist()],
                weights_T=[0.0, *weights_NT[n, own].tolist()],
            )
        )
    return weighted_rollouts, {
        f"importance_{name}": float(value) for name, value in figures.items()
    }


@torch.no_grad()
def sampler_gap(
    decoder: Decoder, groups: Sequence[RolloutGroup], settings: RolloutSettings
) -> tuple[float, float, int]:
    """|log π_trainer − log π_sampler|, before the weights move: (mean in nats per token, largest,
    tokens looked at). Of one forward pass of an update, `micro_batch_size` episodes from all over
    the step: as much as a difference of the programs needs to be seen."""
    members = [member for group in groups for member in group.scored_members]
    rollouts = [r for e, reward in members if (r := Rollout(e, reward, 0.0)).tokens]
    rollouts = rollouts[:: -(-len(rollouts) // settings.micro_batch_size) or 1]
    if not rollouts:
        return 0.0, 0.0, 0
    whole, trainer_NT = trainer_logprobs(decoder, rollouts, settings)
    gap = (trainer_NT - whole.logprobs).abs()[whole.mask > 0]
    return float(gap.mean()), float(gap.max()), len(gap)


def trainer_logprobs(
    decoder: Decoder, rollouts: Sequence[Rollout], settings: RolloutSettings
) -> tuple[Batch, Tensor]:
    """The rollouts as whole rows (N, T), and what the trainer says of their own tokens, each turn
    after what it saw: (N, T), 0 elsewhere."""
    whole = collate([_whole(r) for r in rollouts]).to(decoder.device)
    trainer_NT = torch.zeros_like(whole.logprobs)
    rows = [(n, row) for n, r in enumerate(rollouts) for row in rows_of(r)]
    rows.sort(key=lambda numbered: len(numbered[1]))
    for first in range(0, len(rows), settings.micro_batch_size):
        part = rows[first : first + settings.micro_batch_size]
        batch = collate([row.columns for _, row in part]).to(decoder.device)
        action_mask_NT = batch.mask > 0
        logprobs_NT = torch.zeros_like(batch.logprobs)
        logprobs_NT[action_mask_NT] = action_logprobs(decoder, batch, settings)
        for (n, row), logprobs_T, own_T in zip(part, logprobs_NT, action_mask_NT, strict=True):
            # position t is about token t + 1, of the row as of the transcript
            targets = torch.tensor(row.sequence.places[1:], device=decoder.device) - 1
            own_T = own_T[: len(targets)]
            trainer_NT[n, targets[own_T]] = logprobs_T[: len(targets)][own_T]
    return whole, trainer_NT


def _whole(rollout: Rollout) -> tuple[list[int], list[int], list[float]]:
    """All its tokens in one row, whatever they were said after."""
    t = rollout.episode.transcript
    return t.token_ids, t.loss_mask, t.logprobs

"""What an update reads of rollouts: their rows of tokens, each turn after exactly the ids that it
was sampled after (law 5); what the current policy, or a reference, says of the agent's own tokens;
and how that differs from what the sampler said.

The sampler is not the trainer: other precision, other kernels, another engine. What is sampled from
one and trained on the other is slightly off-policy. Without correction the ratio of the loss is
taken to the sampler's own log-probabilities, which is exact where the two agree (they do here to
1e-4 in fp32, a test says). With it, the ratio is taken to the trainer's log-probabilities before
the update, and every token or episode is weighted by π_trainer / π_sampler, bounded: truncated
importance sampling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import torch
from torch import Tensor

from tripwright.inference.decoder import Decoder
from tripwright.inference.models import autocast
from tripwright.training.batches import (
    Batch,
    chunked_scores,
    collate,
    hidden_at,
    keeps_logits,
    logprobs_of,
)
from tripwright.training.losses import Importance, importance_weights, token_entropy
from tripwright.training.rollouts import Rollout, RolloutGroup, RolloutSettings
from tripwright.transcript import TokenSequence

T = TypeVar("T")


@dataclass(frozen=True)
class RolloutRow:
    """One sequence of a rollout, with its own numbers per token."""

    rollout: Rollout
    sequence: TokenSequence

    def __len__(self) -> int:
        return len(self.sequence.places)

    def of(self, whole_T: Sequence[T]) -> list[T]:
        """Of numbers per token of the transcript, those of this row."""
        return [whole_T[place] for place in self.sequence.places]

    def spread(self, whole_T: Sequence[float] | None, alike: float) -> list[float]:
        """The same, or one number for all where there are none."""
        return self.of(whole_T) if whole_T is not None else [alike] * len(self)

    @property
    def columns(self) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
        """(token ids, loss mask, log-probabilities) for `batches.collate`."""
        t, old_T = self.rollout.episode.transcript, self.rollout.old_T
        old = t.logprobs if old_T is None else old_T
        return self.sequence.token_ids, self.sequence.loss_mask, self.of(old)


def rows_of(rollout: Rollout) -> list[RolloutRow]:
    """One row, or several where its context was cut."""
    sequences = rollout.episode.transcript.sequences
    return [RolloutRow(rollout, sequence) for sequence in sequences]


def action_logprobs(decoder: Decoder, batch: Batch, settings: RolloutSettings) -> Tensor:
    """(N,) at the agent's own tokens, at the temperature sampled with: what ratios and KL are made
    of."""
    own_BT = batch.mask > 0
    hidden = hidden_at(decoder, batch, settings.dtype, own_BT)
    return scores_from(decoder, hidden, batch.targets[own_BT], settings, None)[0]


def scores_from(
    decoder: Decoder,
    hidden: Tensor,
    targets: Tensor,
    settings: RolloutSettings,
    entropy_learns: bool | None,
) -> tuple[Tensor, Tensor]:
    """(log-probabilities of the targets, entropies of the next token), both (N,), after hidden
    states (N or more, hidden). Entropies have a gradient where they learn; None: they are not
    asked for."""
    weight, kind = decoder.model.lm_head.weight, decoder.precision(settings.dtype)
    if not keeps_logits(len(targets), len(weight)):
        logprobs, entropies = chunked_scores(hidden, weight, targets, kind, settings.temperature)
        return logprobs, entropies if entropy_learns else entropies.detach()
    with autocast(kind, decoder.device.type):
        logits = decoder.logits(hidden)[: len(targets)] / settings.temperature
    logprobs = logprobs_of(logits, targets)
    if entropy_learns is None:
        return logprobs, torch.zeros_like(logprobs)
    with torch.set_grad_enabled(entropy_learns):
        return logprobs, token_entropy(logits)


# ---- sampler and trainer


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
        old_T, weights_T = ([0.0, *x_NT[n, own].tolist()] for x_NT in (trainer_NT, weights_NT))
        weighted_rollouts.append(replace(r, old_T=old_T, weights_T=weights_T))
    return weighted_rollouts, {f"importance_{name}": value for name, value in figures.items()}


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

"""Transcripts and rollouts as tensors, and what a model says of them: right-padded rows, which
causal attention reads without a mask (no real token comes after the padding), each turn after
exactly the ids that it was sampled after (law 5); log-probabilities and entropies over a
vocabulary, which may be large.

At 151,936 tokens the logits of a row of 8,192 take 5 GB, as much again their gradient, and a loss
made of them a copy or two more. So there are two ways to the same numbers. Up to MOST_KEPT of them,
what the gradient needs is kept: the fastest, and what small vocabularies take. Beyond, logits are
made CHUNK at a time, in the backward pass again, and those of all tokens never exist at once. (The
kernels of Liger do as much, on a GPU alone.)

The sampler is not the trainer: other precision, other kernels, another engine. What is sampled from
one and trained on the other is slightly off-policy. Without correction the ratio of the loss is
taken to the sampler's own log-probabilities, which is exact where the two agree (they do here to
1e-4 in fp32, a test says). With it, the ratio is taken to the trainer's log-probabilities before
the update, and every token or episode is weighted by π_trainer / π_sampler, bounded: truncated
importance sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tripwright.inference.decoder import Decoder, round_up
from tripwright.inference.models import autocast
from tripwright.training.losses import Importance, importance_weights, token_entropy
from tripwright.training.rollouts import Rollout, RolloutGroup, RolloutSettings
from tripwright.transcript import TokenSequence

MOST_KEPT = 1 << 27  # numbers of the logits of one forward pass: half a GB in fp32
CHUNK = 1 << 25  # numbers that are worked on at once beyond it


def keeps_logits(tokens: int, vocabulary: int) -> bool:
    """Whether the logits of so many tokens may exist at once."""
    return tokens * vocabulary <= MOST_KEPT


def logprobs_of(logits: Tensor, targets: Tensor) -> Tensor:
    """(N, vocabulary) and (N,) → the log-probabilities (N,) of the targets."""
    logprobs: Tensor = _LogprobsOf.apply(logits, targets)
    return logprobs


class _LogprobsOf(torch.autograd.Function):
    """log_softmax and gather in one: their gradient goes through two more tensors of the logits'
    size, an eighth of a nano model's step."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor) -> Tensor:
        sums = torch.logsumexp(logits, dim=-1)
        ctx.save_for_backward(logits, targets, sums)
        return logits.gather(1, targets[:, None])[:, 0] - sums

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        logits, targets, sums = ctx.saved_tensors
        each = gradients[0][:, None]
        d_logits = (logits - sums[:, None]).exp_().mul_(-each)
        return d_logits.scatter_add_(1, targets[:, None], each), None


def logprobs_from(hidden: Tensor, weight: Tensor, targets: Tensor, kind: torch.dtype) -> Tensor:
    """Log-probabilities in fp32 (N,) of the targets (N,) after hidden states (N or more, hidden),
    by an output layer of `weight` (vocabulary, hidden) multiplied in `kind`."""
    if not keeps_logits(len(targets), len(weight)):
        return chunked_scores(hidden, weight, targets, kind)[0]
    # Of all rows, asked for or not: in bf16 every new shape is a kernel that is compiled and kept,
    # and these are large. (150 steps at the exact sizes held 2.3 GB at their peak in place of 1.2.)
    padded = torch.nn.functional.pad(targets, (0, len(hidden) - len(targets)))
    logprobs: Tensor = _LogprobsFrom.apply(hidden, weight, padded, kind, torch.is_grad_enabled())
    return logprobs[: len(targets)]


def chunked_scores(
    hidden: Tensor,
    weight: Tensor,
    targets: Tensor,
    kind: torch.dtype,
    temperature: float = 1.0,
) -> tuple[Tensor, Tensor]:
    """(log-probabilities of the targets, entropies in nats), both fp32 (N,), of the distribution at
    `temperature`; otherwise as `logprobs_from`. Both have gradients."""
    scores: tuple[Tensor, Tensor] = _ChunkedScores.apply(hidden, weight, targets, kind, temperature)
    return scores


class _LogprobsFrom(torch.autograd.Function):
    """The output layer, log_softmax and gather in one, ROWS at a time. What the gradient needs of
    the vocabulary is kept in the products' own format, and most numbers never leave the processor's
    cache."""

    ROWS = 256

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, kind: torch.dtype, learns: bool
    ) -> Tensor:
        h, w = hidden.to(kind), weight.to(kind)
        logprobs = torch.empty(len(targets), device=h.device)
        towards = torch.empty(len(targets) if learns else 0, len(w), dtype=kind, device=h.device)
        for begin in range(0, len(targets), _LogprobsFrom.ROWS):
            rows = slice(begin, min(begin + _LogprobsFrom.ROWS, len(targets)))
            logits, which = (h[rows] @ w.T).float(), targets[rows, None]
            sums = torch.logsumexp(logits, dim=-1, keepdim=True)
            logprobs[rows] = (logits.gather(1, which) - sums)[:, 0]
            if learns:
                softmax = logits.sub_(sums).exp_()
                # subtracted in fp32: in a softmax near 1, narrower formats see no difference to 1
                towards[rows] = softmax.scatter_add_(1, which, -torch.ones_like(sums)).neg_()
        ctx.save_for_backward(h, w, towards)
        return logprobs

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor | None, None, None, None]:
        h, w, towards = ctx.saved_tensors
        d_logits = towards * gradients[0][:, None].to(towards.dtype)
        d_hidden = (d_logits @ w).float()
        # beside an adapter the output layer is frozen, and this the largest tensor of a step
        d_weight = (d_logits.T @ h).float() if ctx.needs_input_grad[1] else None
        return d_hidden, d_weight, None, None, None


class _ChunkedScores(torch.autograd.Function):
    """With p the softmax of the logits z and H its entropy: d log p(target) / dz is 1 at the
    target, less p; dH/dz = −p (log p + H)."""

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, targets: Tensor, kind: torch.dtype, heat: float
    ) -> tuple[Tensor, Tensor]:
        h, w = hidden[: len(targets)].to(kind), weight.to(kind)
        logprobs, entropies = torch.empty(2, len(targets), device=h.device).unbind()
        for rows in _chunks(len(targets), len(w)):
            all_logprobs = _logprobs(h[rows], w, heat)
            logprobs[rows] = all_logprobs.gather(1, targets[rows, None])[:, 0]
            entropies[rows] = -all_logprobs.exp().mul_(all_logprobs).sum(1)
        ctx.save_for_backward(hidden, weight, targets, entropies)
        ctx.kind, ctx.heat = kind, heat
        ctx.set_materialize_grads(False)
        return logprobs, entropies

    @staticmethod
    def backward(
        ctx: Any, of_logprobs: Tensor | None, of_entropies: Tensor | None
    ) -> tuple[Tensor, Tensor | None, None, None, None]:
        hidden, weight, targets, entropies = ctx.saved_tensors
        h, w = hidden[: len(targets)].to(ctx.kind), weight.to(ctx.kind)
        d_hidden = torch.zeros_like(hidden)
        d_weight = torch.zeros_like(weight) if ctx.needs_input_grad[1] else None
        for rows in _chunks(len(targets), len(w)):
            all_logprobs = _logprobs(h[rows], w, ctx.heat)
            p = all_logprobs.exp()
            d_logits = torch.zeros_like(p)
            if of_entropies is not None:
                d_logits = all_logprobs.add_(entropies[rows, None]).mul_(p)
                d_logits.mul_(-of_entropies[rows, None])
            if of_logprobs is not None:
                each = of_logprobs[rows, None]
                d_logits.addcmul_(p, each, value=-1).scatter_add_(1, targets[rows, None], each)
            d_products = d_logits.div_(ctx.heat).to(ctx.kind)
            d_hidden[rows] = (d_products @ w).to(hidden.dtype)
            if d_weight is not None:
                d_weight += d_products.T @ h[rows]
        return d_hidden, d_weight, None, None, None


def _logprobs(h: Tensor, w: Tensor, temperature: float) -> Tensor:
    """(rows, vocabulary) in fp32."""
    logits = (h @ w.T).float().div_(temperature)
    return logits.sub_(torch.logsumexp(logits, dim=1, keepdim=True))


def _chunks(tokens: int, vocabulary: int) -> Iterator[slice]:
    rows = max(1, CHUNK // vocabulary)
    return (slice(begin, min(begin + rows, tokens)) for begin in range(0, tokens, rows))


class Batch(NamedTuple):
    """Next-token prediction over B rows of T positions: `targets[b, t]` follows `ids[b, t]`."""

    ids: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64
    mask: Tensor  # (B, T) float: 1 where the target was emitted by the agent
    logprobs: Tensor  # (B, T) float: what the sampler said of the target, 0 elsewhere
    real: Tensor  # (B, T) bool: False where the row is padded

    def to(self, device: torch.device | str) -> Batch:
        return Batch(*(column.to(device) for column in self))


def collate(
    rows: Sequence[tuple[Sequence[int], Sequence[int], Sequence[float]]], pad_id: int = 0
) -> Batch:
    """(token ids, loss mask, log-probabilities) per row → a Batch. Position t predicts token t + 1,
    so every list is shifted by one."""
    length = round_up(max(len(ids) for ids, _, _ in rows) - 1)
    ids = torch.full((len(rows), length), pad_id, dtype=torch.long)
    targets, real = torch.zeros_like(ids), torch.zeros(len(rows), length, dtype=torch.bool)
    mask, logprobs = torch.zeros(2, len(rows), length)
    for b, (tokens, loss_mask, sampler_logprobs) in enumerate(rows):
        n = len(tokens) - 1
        ids[b, :n], targets[b, :n] = torch.tensor(tokens[:-1]), torch.tensor(tokens[1:])
        mask[b, :n] = torch.tensor(loss_mask[1:], dtype=torch.float)
        logprobs[b, :n] = torch.tensor(sampler_logprobs[1:])
        real[b, :n] = True
    return Batch(ids, targets, mask, logprobs, real)


def by_target(rows: Sequence[Sequence[float]], like_NT: Tensor) -> Tensor:
    """Numbers per token id as (N, T) beside a Batch, where position t is about token t + 1; 0 where
    there is none."""
    spread_NT = torch.zeros(like_NT.shape, device=like_NT.device)
    for n, row in enumerate(rows):
        spread_NT[n, : len(row) - 1] = torch.as_tensor(row[1:], dtype=torch.float32)
    return spread_NT


def token_logprobs(decoder: Decoder, batch: Batch, dtype: str, where: Tensor) -> Tensor:
    """Log-probabilities in fp32 of the targets at the places of `where` (B, T) bool: (N,). The
    logits of all places never exist at once. `dtype`: of matrix products, one of `PRECISIONS`."""
    kind = decoder.precision(dtype)
    hidden = hidden_at(decoder, batch, dtype, where)
    return logprobs_from(hidden, decoder.model.lm_head.weight, batch.targets[where], kind)


def hidden_at(decoder: Decoder, batch: Batch, dtype: str, where: Tensor) -> Tensor:
    """(N, hidden) at the places of `where`, and some that are not asked for at the end: processors
    like shapes that come again."""
    positions = torch.arange(batch.ids.shape[1], device=batch.ids.device).expand_as(batch.ids)
    places = where.flatten().nonzero()[:, 0]
    places = torch.nn.functional.pad(places, (0, round_up(len(places), 256) - len(places)))
    with autocast(decoder.precision(dtype), decoder.device.type):
        return decoder.hidden(batch.ids, positions, places=places)


# ---- rollouts


@dataclass(frozen=True)
class RolloutRow:
    """One sequence of a rollout, with its own numbers per token."""

    rollout: Rollout
    sequence: TokenSequence

    def __len__(self) -> int:
        return len(self.sequence.places)

    def spread(self, whole_T: Sequence[float] | None, alike: float = 0.0) -> list[float]:
        """Of numbers per token of the transcript, those of this row; one number for all where there
        are none."""
        places = self.sequence.places
        return [alike if whole_T is None else whole_T[place] for place in places]

    @property
    def columns(self) -> tuple[Sequence[int], Sequence[int], Sequence[float]]:
        """(token ids, loss mask, log-probabilities) for `batches.collate`."""
        t, old_T = self.rollout.episode.transcript, self.rollout.old_T
        old = t.logprobs if old_T is None else old_T
        return self.sequence.token_ids, self.sequence.loss_mask, self.spread(old)


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
    rollouts: list[Rollout],
    trainer_logprobs: Callable[[list[Rollout]], tuple[Batch, Tensor]],
    importance: Importance,
) -> tuple[list[Rollout], dict[str, float]]:
    """The rollouts with the trainer's log-probabilities as their old ones and a weight per token;
    and what the difference was like."""
    sampled_rollouts = [r for r in rollouts if r.tokens]
    if not sampled_rollouts:
        return sampled_rollouts, {}
    sampled_rollouts.sort(key=lambda r: len(r.episode.transcript.token_ids))
    whole, trainer_NT = trainer_logprobs(sampled_rollouts)
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


@torch.no_grad()
def logprobs_after(
    decoder: Decoder, prompt: list[int], said: list[int], settings: RolloutSettings
) -> list[float]:
    """What the trainer says of the tokens `said` after `prompt`, of the plain distribution."""
    ids, mask = [*prompt, *said], [*[0] * len(prompt), *[1] * len(said)]
    batch = collate([(ids, mask, [0.0] * len(ids))]).to(decoder.device)
    logprobs: list[float] = action_logprobs(
        decoder, batch, replace(settings, temperature=1.0)
    ).tolist()
    return logprobs


def whole_rows(rollouts: Sequence[Rollout]) -> Batch:
    """Each transcript from its first token to its last, whatever of it a turn saw."""
    transcripts = [r.episode.transcript for r in rollouts]
    return collate([(t.token_ids, t.loss_mask, t.logprobs) for t in transcripts])


def trainer_logprobs(
    decoder: Decoder, rollouts: Sequence[Rollout], settings: RolloutSettings
) -> tuple[Batch, Tensor]:
    """The rollouts as whole rows (N, T), and what the trainer says of their own tokens, each turn
    after what it saw: (N, T), 0 elsewhere."""
    whole = whole_rows(rollouts).to(decoder.device)
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

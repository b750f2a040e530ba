"""Transcripts as tensors: right-padded rows, which causal attention reads without a mask (no real
token comes after the padding)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from tripwright.inference.cache import Cache, round_up
from tripwright.inference.decoder import Decoder
from tripwright.inference.precision import autocast, precision_named


@dataclass(frozen=True)
class Batch:
    """Next-token prediction over B rows of T positions: `targets[b, t]` follows `ids[b, t]`."""

    ids: Tensor  # (B, T) int64
    targets: Tensor  # (B, T) int64
    mask: Tensor  # (B, T) float: 1 where the target was emitted by the agent
    logprobs: Tensor  # (B, T) float: what the sampler said of the target, 0 elsewhere
    real: Tensor  # (B, T) bool: False where the row is padded

    def to(self, device: torch.device | str) -> Batch:
        return Batch(
            *(
                getattr(self, name).to(device)
                for name in ("ids", "targets", "mask", "logprobs", "real")
            )
        )


def collate(
    rows: Sequence[tuple[Sequence[int], Sequence[int], Sequence[float]]], pad_id: int = 0
) -> Batch:
    """(token ids, loss mask, log-probabilities) per row → a Batch. Position t predicts token t + 1,
    so every list is shifted by one."""
    length = round_up(max(len(ids) for ids, _, _ in rows) - 1)
    ids = torch.full((len(rows), length), pad_id, dtype=torch.long)
    targets, mask, logprobs = (
        torch.zeros_like(ids),
        torch.zeros(len(rows), length),
        torch.zeros(len(rows), length),
    )
    real = torch.zeros(len(rows), length, dtype=torch.bool)
    for b, (tokens, loss_mask, sampler_logprobs) in enumerate(rows):
        n = len(tokens) - 1
        ids[b, :n], targets[b, :n] = torch.tensor(tokens[:-1]), torch.tensor(tokens[1:])
        mask[b, :n], logprobs[b, :n] = (
            torch.tensor(loss_mask[1:], dtype=torch.float),
            torch.tensor(sampler_logprobs[1:]),
        )
        real[b, :n] = True
    return Batch(ids, targets, mask, logprobs, real)


def by_target(rows: Sequence[Sequence[float]], like_NT: Tensor) -> Tensor:
    """Numbers per token id as (N, T) beside a Batch, where position t is about token t + 1; 0 where
    there is none."""
    spread_NT = torch.zeros(like_NT.shape, device=like_NT.device)
    for n, row in enumerate(rows):
        spread_NT[n, : len(row) - 1] = torch.as_tensor(row[1:], dtype=torch.float32)
    return spread_NT


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


def token_logprobs(
    decoder: Decoder,
    batch: Batch,
    dtype: str,
    where: Tensor,
    positions: Tensor | None = None,
    cache: Cache | None = None,
) -> Tensor:
    """Log-probabilities in fp32 of the targets at the places of `where` (B, T) bool: (N,). What
    `logprobs_of(token_logits(…), …)` says, but the logits of all places never exist at once."""
    kind = precision_named(dtype)
    hidden = _hidden(decoder, batch, kind, where, positions, cache)
    weight, targets = decoder.model.lm_head.weight, batch.targets[where]
    logprobs: Tensor = _LogprobsFrom.apply(hidden, weight, targets, kind, torch.is_grad_enabled())
    return logprobs


def token_logits(
    decoder: Decoder,
    batch: Batch,
    dtype: str,
    where: Tensor | None = None,
    positions: Tensor | None = None,
    cache: Cache | None = None,
) -> Tensor:
    """Logits in fp32 at the places of `where` (B, T) bool: (N, vocabulary); at all places without
    it. `dtype` of the matrix products, one of `PRECISIONS`.

    `positions` and `cache` are for rows that hold several transcripts (`packing`); without them a
    row is one transcript.
    """
    kind = precision_named(dtype)
    hidden = _hidden(decoder, batch, kind, where, positions, cache)
    with autocast(kind, decoder.device.type):
        logits = decoder.logits(hidden)
    return logits if where is None else logits[: int(where.sum())]


def _hidden(
    decoder: Decoder,
    batch: Batch,
    kind: torch.dtype,
    where: Tensor | None,
    positions: Tensor | None,
    cache: Cache | None,
) -> Tensor:
    """(N, hidden) at the places of `where`, and some that are not asked for at the end: processors
    like shapes that come again."""
    if positions is None:
        positions = torch.arange(batch.ids.shape[1], device=batch.ids.device).expand_as(batch.ids)
    places = torch.arange(batch.ids.numel(), device=batch.ids.device)
    if where is not None:
        places = where.flatten().nonzero()[:, 0]
        places = torch.nn.functional.pad(places, (0, round_up(len(places), 256) - len(places)))
    with autocast(kind, decoder.device.type):
        return decoder.hidden(batch.ids, positions, cache, places=places)


class _LogprobsFrom(torch.autograd.Function):
    """The output layer, log_softmax and gather in one, ROWS at a time; what there is of `hidden`
    beyond the targets is not read. What the gradient needs of the vocabulary is kept in the
    products' own format, and most numbers never leave the processor's cache."""

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
        d_hidden = torch.zeros_like(h, dtype=torch.float32)
        d_hidden[: len(towards)] = d_logits @ w
        # beside an adapter the output layer is frozen, and this the largest tensor of a step
        d_weight = (d_logits.T @ h[: len(towards)]).float() if ctx.needs_input_grad[1] else None
        return d_hidden, d_weight, None, None, None

"""Transcripts as tensors: right-padded rows, which causal attention reads without a mask (no real
token comes after the padding)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from tripwright.inference.decoder import Cache, Decoder, round_up
from tripwright.inference.models import autocast
from tripwright.learning.vocabulary import logprobs_from


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
    kind = decoder.precision(dtype)
    hidden = hidden_at(decoder, batch, dtype, where, positions, cache)
    return logprobs_from(hidden, decoder.model.lm_head.weight, batch.targets[where], kind)


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
    hidden = hidden_at(decoder, batch, dtype, where, positions, cache)
    with autocast(decoder.precision(dtype), decoder.device.type):
        logits = decoder.logits(hidden)
    return logits if where is None else logits[: int(where.sum())]


def hidden_at(
    decoder: Decoder,
    batch: Batch,
    dtype: str,
    where: Tensor | None,
    positions: Tensor | None = None,
    cache: Cache | None = None,
) -> Tensor:
    """(N, hidden) at the places of `where`, and some that are not asked for at the end: processors
    like shapes that come again."""
    if positions is None:
        positions = torch.arange(batch.ids.shape[1], device=batch.ids.device).expand_as(batch.ids)
    places = torch.arange(batch.ids.numel(), device=batch.ids.device)
    if where is not None:
        places = where.flatten().nonzero()[:, 0]
        places = torch.nn.functional.pad(places, (0, round_up(len(places), 256) - len(places)))
    with autocast(decoder.precision(dtype), decoder.device.type):
        return decoder.hidden(batch.ids, positions, cache, places=places)

"""What a model says at places of a batch, for tests that look at whole distributions."""

from typing import Any

import torch

from tripwright.training.batches import Batch, hidden_at


def token_logits(
    decoder: Any, batch: Batch, dtype: str, where: torch.Tensor | None = None
) -> torch.Tensor:
    """Logits at the places of `where` (B, T): (N, vocabulary); at all places without it."""
    where = torch.ones_like(batch.real) if where is None else where
    hidden = hidden_at(decoder, batch, dtype, where)
    return decoder.logits(hidden)[: int(where.sum())]

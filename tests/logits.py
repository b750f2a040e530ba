"""What a model says, by whole distributions, and what an update did to it."""

from typing import Any

import torch

from tripwright.training.batches import Batch, hidden_at
from tripwright.transcript import Transcript


def token_logits(
    decoder: Any, batch: Batch, dtype: str, where: torch.Tensor | None = None
) -> torch.Tensor:
    """Logits at the places of `where` (B, T): (N, vocabulary); at all places without it."""
    where = torch.ones_like(batch.real) if where is None else where
    hidden = hidden_at(decoder, batch, dtype, where)
    return decoder.logits(hidden)[: int(where.sum())]


def own_logprobs(model: Any, transcript: Transcript) -> torch.Tensor:
    """Of the agent's own tokens."""
    ids = torch.tensor(transcript.token_ids)
    logprobs = model(ids[None]).logits[0, :-1].log_softmax(-1).gather(1, ids[1:, None])[:, 0]
    return logprobs[torch.tensor(transcript.loss_mask[1:]) > 0]


def gradient_norm(model: Any) -> float:
    gradients = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
    return float(torch.cat(gradients).norm())


def same_weights(one: Any, other: Any) -> bool:
    """Of two models, or of lists of their parameters."""
    both = [each if isinstance(each, list) else list(each.parameters()) for each in (one, other)]
    return all(torch.equal(a, b) for a, b in zip(*both, strict=True))

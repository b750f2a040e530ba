"""PPO's clipped policy loss per token, with clip-higher and dual clip (rows P6, S6)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Gt, Lt
from torch import Tensor

# verl's bound. An infinite ratio would give NaN gradients, even for a token that is clipped.
LARGEST_LOG_RATIO = 20.0


@dataclass(frozen=True)
class Clip:
    """PPO's clip range around a ratio of 1, and the dual clip that bounds the loss of unlikely
    actions with negative advantage.

    `low` < `high` is clip-higher (row S6). `dual` is verl's clip_ratio_c and, while dual ≥ 1 +
    high, TRL's delta; None: no bound.
    """

    low: Annotated[float, Gt(0), Lt(1)] = 0.2
    high: Annotated[float, Gt(0)] = 0.2
    dual: Annotated[float, Gt(1)] | None = 3.0


def clipped_loss(
    logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, clip: Clip
) -> tuple[Tensor, Tensor]:
    """Per-token loss to be minimised, and which tokens were clipped. All shapes equal.

    A clipped token has no gradient. Nor has one whose probability changed by more than a factor of
    e^20.
    """
    ratio = (logprobs - old_logprobs).clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
    plain, clipped_terms = (
        -advantages * ratio,
        -advantages * ratio.clamp(1 - clip.low, 1 + clip.high),
    )
    loss = torch.maximum(plain, clipped_terms)
    clipped = clipped_terms > plain
    if clip.dual is not None:
        bounded = -advantages * clip.dual
        clipped = clipped | ((advantages < 0) & (loss > bounded))
        loss = torch.where(advantages < 0, torch.minimum(loss, bounded), loss)
    return loss, clipped

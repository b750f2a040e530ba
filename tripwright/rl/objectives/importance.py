"""The gap between who sampled the tokens and who is trained on them: measured, and corrected by
importance weights.

The same weights in another program, or in another precision, give other probabilities. Then even
the first step is off-policy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import torch
from annotated_types import Gt
from torch import Tensor

Correction = Literal["none", "truncate", "mask"]
Level = Literal["token", "sequence"]
# verl's bound: larger ratios are beyond any cap, and fp32 must hold their squares
LARGEST_LOG_RATIO = 20.0


@dataclass(frozen=True)
class Importance:
    """What to do with ratios π_trainer/π_sampler.

    "none": only measure. "truncate": min(ratio, cap), truncated importance sampling (TIS). "mask":
    0 where the ratio is above the cap. Level "sequence" takes one ratio per row, the product over
    its tokens (unbiased, high variance); "token" one per token (biased, low).
    """

    correction: Correction = "none"
    cap: Annotated[float, Gt(0)] = 2.0
    level: Level = "token"


def importance_weights(
    trainer_logprobs: Tensor,
    sampler_logprobs: Tensor,
    settings: Importance,
    mask: Tensor | None = None,
) -> tuple[Tensor, dict[str, float]]:
    """Weights by which per-token losses are multiplied, without gradient, in the inputs' shape (0
    outside `mask`), and figures.

    `mask` marks the tokens that count; without it, all do. At level "sequence" the last dimension
    is the sequence: give rows (N, T) with their mask, or the tokens (T) of one rollout, never
    tokens of several in a line. Figures, over tokens unless said: gap_mean, gap_max    |log
    π_trainer − log π_sampler|, nats
      kl                   k3 estimate of KL(sampler‖trainer), nats
      capped_share         share of the ratios above the cap (of rows at level "sequence"), whether
      or not they are corrected effective_share      effective sample size of the uncapped ratios
      over their number, (Σw)²/(n Σw²) (rows at "sequence"); 1: no gap
    """
    _check(settings)
    with torch.no_grad():
        mask_NT = torch.ones_like(trainer_logprobs, dtype=torch.bool) if mask is None else mask > 0
        # padding may hold anything, NaN too
        gap = (trainer_logprobs - sampler_logprobs).masked_fill(~mask_NT, 0.0)
        if settings.level == "token":
            log_ratio, ratio_mask = gap, mask_NT
        else:
            log_ratio, ratio_mask = gap.sum(-1, keepdim=True), mask_NT.any(-1, keepdim=True)
        ratio = log_ratio.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO).exp()
        if settings.correction == "truncate":
            weights = ratio.clamp(max=settings.cap)
        elif settings.correction == "mask":
            weights = ratio.masked_fill(ratio > settings.cap, 0.0)
        else:
            weights = torch.ones_like(ratio)
        return weights.expand_as(gap) * mask_NT, _figures(
            gap[mask_NT], ratio[ratio_mask], settings.cap
        )


def _check(settings: Importance) -> None:
    if settings.correction not in get_args(Correction):
        raise ValueError(
            f"unknown correction {settings.correction!r}:"
            f" {', '.join(map(repr, get_args(Correction)))}"
        )
    if settings.level not in get_args(Level):
        raise ValueError(
            f"unknown level {settings.level!r}: {', '.join(map(repr, get_args(Level)))}"
        )
    if not settings.cap > 0:
        raise ValueError(f"the cap of importance weights is {settings.cap}: it must be above 0")


def _figures(gaps: Tensor, ratios: Tensor, cap: float) -> dict[str, float]:
    if not len(gaps):
        return {
            "gap_mean": 0.0,
            "gap_max": 0.0,
            "kl": 0.0,
            "capped_share": 0.0,
            "effective_share": 1.0,
        }
    sizes, clamped = gaps.abs(), gaps.clamp(-LARGEST_LOG_RATIO, LARGEST_LOG_RATIO)
    effective = ratios.sum().square() / ratios.square().sum() / len(ratios)
    figures = torch.stack(
        [
            sizes.mean(),
            sizes.max(),
            (torch.expm1(clamped) - clamped).mean(),
            (ratios > cap).to(sizes.dtype).mean(),
            effective,
        ]
    )
    names = ("gap_mean", "gap_max", "kl", "capped_share", "effective_share")
    # one transfer from the device instead of five
    return dict(zip(names, figures.tolist(), strict=True))

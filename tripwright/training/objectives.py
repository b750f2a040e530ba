"""The arithmetic of GRPO as pure functions on arrays (row P6). Suffixes: _P prompts, _G group members, _N kept rollouts, _T tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

AGGREGATIONS = ("token-mean", "trajectory-mean")


def group_advantages(rewards_PG: Tensor, scored_PG: Tensor, population: bool = False, eps: float = 1e-6) -> Tensor:
    """(r − mean) / std within each group, over its scored members only (P, G); 0 for the unscored and for groups that agree.

    `population` takes eq. 9 of Planner-R1 (divide by G); the default is the sample std that verl and TRL use (divide by G − 1).
    """
    n_P1 = scored_PG.sum(1, keepdim=True)
    kept_PG = torch.where(scored_PG, rewards_PG, torch.zeros_like(rewards_PG))
    mean_P1 = kept_PG.sum(1, keepdim=True) / n_P1.clamp(min=1)
    centred_PG = torch.where(scored_PG, rewards_PG - mean_P1, torch.zeros_like(rewards_PG))
    variance_P1 = centred_PG.square().sum(1, keepdim=True) / (n_P1 - (0 if population else 1)).clamp(min=1)
    # The mean of equal numbers may be off by a rounding error, which the division would blow up to a fair-sized advantage.
    high_P1 = rewards_PG.masked_fill(~scored_PG, float("-inf")).amax(1, keepdim=True)
    low_P1 = rewards_PG.masked_fill(~scored_PG, float("inf")).amin(1, keepdim=True)
    return torch.where(high_P1 > low_P1, centred_PG / (variance_P1.sqrt() + eps), torch.zeros_like(centred_PG))


@dataclass(frozen=True)
class Clip:
    """PPO's clip range around a ratio of 1, and the dual clip that bounds the loss of unlikely actions with negative advantage."""

    low: float = 0.2
    high: float = 0.2
    dual: float | None = 3.0


def clipped_loss(logprobs: Tensor, old_logprobs: Tensor, advantages: Tensor, clip: Clip) -> tuple[Tensor, Tensor]:
    """Per-token loss to be minimised, and which tokens were clipped. All shapes equal."""
    ratio = (logprobs - old_logprobs).exp()
    plain, held = -advantages * ratio, -advantages * ratio.clamp(1 - clip.low, 1 + clip.high)
    loss = torch.maximum(plain, held)
    clipped = held > plain
    if clip.dual is not None:
        bounded = -advantages * clip.dual
        clipped = clipped | ((advantages < 0) & (loss > bounded))
        loss = torch.where(advantages < 0, torch.minimum(loss, bounded), loss)
    return loss, clipped


def token_weights(mask_NT: Tensor, aggregation: str, rollouts: int, tokens: int) -> Tensor:
    """Weights with which per-token losses are summed into the batch loss (N, T).

    "trajectory-mean": mean over rollouts of the mean over their tokens (the formula of P6); "token-mean": mean over all tokens of the
    batch (its config). `rollouts` and `tokens` count the whole batch, including groups left out because their advantage is 0.
    """
    if aggregation == "token-mean":
        return mask_NT / tokens
    if aggregation == "trajectory-mean":
        return mask_NT / mask_NT.sum(1, keepdim=True).clamp(min=1) / rollouts
    raise ValueError(f"unknown aggregation {aggregation!r}: 'token-mean' or 'trajectory-mean'")

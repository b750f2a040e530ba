"""How much better than its group a rollout was (rows P6, S6, D7)."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

Normalisation = Literal["group", "batch", "none"]
NORMALISATIONS: tuple[Normalisation, ...] = get_args(Normalisation)


def group_advantages(
    rewards_PG: Tensor,
    scored_PG: Tensor,
    normalise: str = "group",
    population: bool = False,
    eps: float = 1e-6,
) -> Tensor:
    """(r − mean of the group) / (std + eps), over scored members only (P, G); 0 for the unscored
    and for groups that agree.

    "group": the group's own std (eq. 9 of Planner-R1). "batch": the std of all scored rewards
    around their common mean, as TRL's scale_rewards="batch" takes it, so it also counts how far the
    groups are apart. "none": not divided (Dr. GRPO). `population` divides the squares by their
    number (eq. 9); the default is the sample std that verl and TRL use (number − 1).
    """
    if normalise not in NORMALISATIONS:
        raise ValueError(
            f"unknown normalisation {normalise!r}: {', '.join(map(repr, NORMALISATIONS))}"
        )
    centred_PG = _centred(rewards_PG, scored_PG)
    if normalise == "none":
        advantages_PG = centred_PG
    elif normalise == "group":
        advantages_PG = centred_PG / (_std(centred_PG, scored_PG, population) + eps)
    else:
        everything = rewards_PG.reshape(1, -1), scored_PG.reshape(1, -1)
        advantages_PG = centred_PG / (_std(_centred(*everything), everything[1], population) + eps)
    # The mean of equal numbers may be off by a rounding error, which the division would blow up to
    # a fair-sized advantage.
    high_P1 = rewards_PG.masked_fill(~scored_PG, float("-inf")).amax(1, keepdim=True)
    low_P1 = rewards_PG.masked_fill(~scored_PG, float("inf")).amin(1, keepdim=True)
    return torch.where(high_P1 > low_P1, advantages_PG, torch.zeros_like(advantages_PG))


def _std(centred_PG: Tensor, scored_PG: Tensor, population: bool) -> Tensor:
    """Of each row's scored members (P, 1)."""
    members_P1 = scored_PG.sum(1, keepdim=True) - (0 if population else 1)
    return (centred_PG.square().sum(1, keepdim=True) / members_P1.clamp(min=1)).sqrt()


def _centred(rewards_PG: Tensor, scored_PG: Tensor) -> Tensor:
    """Each row less the mean of its scored members; 0 where unscored."""
    zeros_PG = torch.zeros_like(rewards_PG)
    mean_P1 = torch.where(scored_PG, rewards_PG, zeros_PG).sum(1, keepdim=True) / scored_PG.sum(
        1, keepdim=True
    ).clamp(min=1)
    return torch.where(scored_PG, rewards_PG - mean_P1, zeros_PG)

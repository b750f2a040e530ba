"""How per-token losses become one number: each paper and framework weighs tokens, rollouts and
groups differently."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

# Name, and who uses it:
# "token-mean"        the config of P6; verl token-mean; TRL dapo
# "group-token-mean"  the formula of S6 (1/Σ|H| within each group)
# "trajectory-mean"   the formula of P6 (1/T within each rollout); verl seq-mean-token-mean; TRL
# grpo "trajectory-sum"    verl seq-mean-token-sum; TRL luspo at token level; Dr. GRPO, but for the
# constant length it divides by
Aggregation = Literal["token-mean", "group-token-mean", "trajectory-mean", "trajectory-sum"]


def token_weights(
    mask_NT: Tensor,
    aggregation: str,
    rollouts: int,
    tokens: int,
    group_tokens_N: Tensor | None = None,
    groups: int | None = None,
    rollout_tokens_N: Tensor | None = None,
) -> Tensor:
    """Weights with which per-token losses are summed into the batch loss (N, T); 0 outside the
    mask.

    "token-mean": mean over all tokens of the batch. "group-token-mean": mean over groups of the
    mean over all tokens of the group. "trajectory-mean": mean over rollouts of the mean over their
    tokens. "trajectory-sum": mean over rollouts of the sum over their tokens.

    `rollouts`, `tokens` and `groups` count the whole batch, including what is left out because its
    advantage is 0. `group_tokens_N` is, for each row, the number of tokens of its whole group; only
    "group-token-mean" reads it and `groups`. `rollout_tokens_N` is the same of its rollout, where a
    row may be a part of one; only "trajectory-mean" reads it.
    """
    if aggregation == "token-mean":
        return mask_NT / max(1, tokens)
    if aggregation == "group-token-mean":
        if group_tokens_N is None or groups is None:
            raise ValueError(
                "'group-token-mean' needs group_tokens_N (tokens of each row's group) and groups"
                " (their number)"
            )
        return mask_NT / group_tokens_N.to(torch.float32).clamp(min=1)[:, None] / max(1, groups)
    if aggregation == "trajectory-mean":
        own_N = mask_NT.sum(1) if rollout_tokens_N is None else rollout_tokens_N.to(mask_NT)
        return mask_NT / own_N.clamp(min=1)[:, None] / max(1, rollouts)
    if aggregation == "trajectory-sum":
        return mask_NT / max(1, rollouts)
    raise ValueError(
        f"unknown aggregation {aggregation!r}: {', '.join(map(repr, get_args(Aggregation)))}"
    )

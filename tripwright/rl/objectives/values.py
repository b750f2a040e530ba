"""What PPO with a value head adds: generalised advantage estimation over the agent's own tokens,
whitening, and the value loss."""

from __future__ import annotations

import torch
from torch import Tensor


def gae(
    rewards_NT: Tensor, values_NT: Tensor, mask_NT: Tensor, gamma: float, lam: float
) -> tuple[Tensor, Tensor]:
    """Advantages and returns over the agent's own tokens (mask 1), both without gradient and 0
    elsewhere (N, T); not whitened.

    Observation tokens are skipped as if they were cut out: the step from the last token of a turn
    leads to the first token of the next turn, discounted once. δ_t = r_t + γ V(next) − V_t; A_t =
    δ_t + γ λ A(next); return = A_t + V_t. (Schulman et al. 2015; verl's
    compute_gae_advantage_return gives the same advantages, whitened, and leaves numbers on
    observation tokens.) A reward outside the mask would be lost, so it is refused.
    """
    action_mask_NT = mask_NT > 0
    if bool(rewards_NT.masked_fill(action_mask_NT, 0.0).any()):
        raise ValueError(
            "rewards_NT has a reward on a token outside mask_NT: put it on the last of the agent's"
            " own tokens"
        )
    with torch.no_grad():
        advantages_NT = torch.zeros_like(values_NT)
        advantage_N = next_value_N = torch.zeros_like(values_NT[:, 0])
        # no row says anything at the other positions
        for t in reversed(action_mask_NT.any(0).nonzero().flatten().tolist()):
            said_N, value_N = action_mask_NT[:, t], values_NT[:, t]
            delta_N = rewards_NT[:, t] + gamma * next_value_N - value_N
            advantage_N = torch.where(said_N, delta_N + gamma * lam * advantage_N, advantage_N)
            next_value_N = torch.where(said_N, value_N, next_value_N)
            advantages_NT[:, t] = torch.where(said_N, advantage_N, 0.0)
        return advantages_NT, torch.where(action_mask_NT, advantages_NT + values_NT, 0.0)


def whiten(x_NT: Tensor, mask_NT: Tensor, eps: float = 1e-8) -> Tensor:
    """Shifted to mean 0 and scaled to sample variance 1 over the mask; 0 outside it, and everywhere
    if less than two tokens count."""
    action_mask_NT = mask_NT > 0
    n = action_mask_NT.sum()
    centred_NT = torch.where(
        action_mask_NT, x_NT - torch.where(action_mask_NT, x_NT, 0.0).sum() / n.clamp(min=1), 0.0
    )
    variance = centred_NT.square().sum() / (n - 1).clamp(min=1)
    return centred_NT * (variance + eps).rsqrt()


def value_loss(values: Tensor, old_values: Tensor, returns: Tensor, clip: float | None) -> Tensor:
    """½ (V − return)² per token, all shapes equal. With `clip`, the worse of V and V held within
    `clip` of the old value (PPO2, verl)."""
    squares = (values - returns).square()
    if clip is not None:
        clipped = torch.maximum(torch.minimum(values, old_values + clip), old_values - clip)
        squares = torch.maximum(squares, (clipped - returns).square())
    return squares / 2

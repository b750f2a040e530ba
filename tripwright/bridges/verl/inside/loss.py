"""The local engine's clipped loss as one of verl's, and its learning rate as verl's schedule.

verl's warm-up begins at 0, so that its first step changes nothing, and has no line down to a share
of the rate; both are the recipe's here."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.lr_scheduler import LambdaLR
from verl.trainer.ppo.core_algos import register_policy_loss
from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

from tripwright.bridges.verl import NAME
from tripwright.rl.objectives import Clip, clipped_loss


@register_policy_loss(NAME)
def weighted_clipped_loss(
    old_log_prob: torch.Tensor,
    log_prob: torch.Tensor,
    advantages: torch.Tensor,
    response_mask: torch.Tensor,
    loss_agg_mode: str,
    config: Any,
    rollout_is_weights: torch.Tensor,
) -> tuple[torch.Tensor, dict[str, Any]]:
    """(N, T) each. The sum over tokens of weight × loss: the weights are shares of the whole
    minibatch (`update.py`), so `loss_agg_mode` is not asked. verl averages gradients over its
    ranks, hence the factor."""
    clip = Clip(config.clip_ratio_low, config.clip_ratio_high, config.clip_ratio_c)
    loss_NT, clipped_NT = clipped_loss(log_prob, old_log_prob, advantages, clip)
    mask_NT = response_mask.to(loss_NT.dtype)
    # padding may hold anything
    loss = torch.where(response_mask.bool(), loss_NT * rollout_is_weights, 0.0).sum()
    tokens = mask_NT.sum().clamp(min=1)
    gap_NT = (log_prob - old_log_prob).detach().abs()
    metrics = {
        "actor/pg_clipfrac": ((clipped_NT * mask_NT).sum() / tokens).item(),
        "actor/logprob_gap": ((gap_NT * mask_NT).sum() / tokens).item(),
    }
    return loss * config.global_batch_info["dp_size"], metrics


def rate_scale(step: int, settings: Any) -> float:
    """`RlLoop.begin_step`'s, of verl's settings: up over the warm-up, then on a line to
    `min_lr_ratio`. `step` counts from 0."""
    steps = max(1, settings.total_training_steps)
    warm_up = min(1.0, (step + 1) / max(1, settings.lr_warmup_steps))
    return warm_up * (1 - (1 - settings.min_lr_ratio) * min(1.0, step / steps))


def _schedule(self: Any, optimizer: Any) -> LambdaLR:
    return LambdaLR(optimizer, lambda step: rate_scale(step, self.optimizer_config))


def register() -> None:
    FSDPEngine._build_lr_scheduler = _schedule

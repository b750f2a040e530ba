"""PPO with a value head, for comparison with the group-based methods: the same episodes, rewards,
clip and tokens.

    trips → episodes → judge → reward at the episode's last own token → generalised advantages over
    the agent's own tokens → clipped policy loss + value loss

The value head is one linear layer on the policy's last hidden state, everywhere the first step's
mean reward at the start. It looks at the position from which a token is sampled, so it never sees
the token it judges. Tokens of tools are skipped: from one own token to the next is one step of the
episode.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from annotated_types import Ge, Gt, Le
from torch import Tensor, nn

from tripwright.inference.models import autocast
from tripwright.training.batches import Batch, collate, rows_of, scores_from
from tripwright.training.losses import Clip, clipped_loss, gae, token_weights, value_loss, whiten
from tripwright.training.rl_loop import RlLoop
from tripwright.training.rollouts import Rollout, RolloutSettings


@dataclass(frozen=True, kw_only=True)
class PpoSettings(RolloutSettings):
    group_size: Annotated[int, Ge(1)] = 1
    clip: Clip = Clip(dual=None)
    aggregation: Literal["token-mean", "trajectory-mean"] = "token-mean"
    gamma: Annotated[float, Ge(0), Le(1)] = 1.0
    # Below 1 an early token hears little of the reward at the end; whitened, that is a reason
    # against it, in every episode.
    lam: Annotated[float, Ge(0), Le(1)] = 1.0
    value_weight: Annotated[float, Ge(0)] = 0.1
    value_clip: Annotated[float, Gt(0)] | None = 0.5
    value_rate: Annotated[float, Gt(0)] = 1e-3  # learning rate of the value head
    entropy_bonus: Annotated[float, Ge(0)] = 0.0
    epochs_per_batch: Annotated[int, Ge(1)] = 2


class Ppo(RlLoop[PpoSettings]):
    """Trains a value head beside the model."""

    checkpointed = (*RlLoop.checkpointed, "value_head", "value_optimizer")

    def set_up(self) -> None:
        self.value_head = nn.Linear(self.model.config.hidden_size, 1, device=self.decoder.device)
        nn.init.zeros_(self.value_head.weight)
        nn.init.zeros_(self.value_head.bias)
        self.value_optimizer = torch.optim.AdamW(
            self.value_head.parameters(), lr=self.settings.value_rate, weight_decay=0.0
        )

    def take_step(self) -> dict[str, Any]:
        scale = self.begin_step()
        groups = self.play(self.settings.prompts_per_step)
        rollouts = [
            Rollout(episode, reward, 1.0, p)
            for p, group in enumerate(groups)
            for episode, reward in group.scored_members
        ]
        rollouts = [r for r in rollouts if r.tokens]
        return self.end_step(groups, rollouts, scale, self.update(rollouts, scale))

    def update(self, rollouts: list[Rollout], scale: float) -> dict[str, float]:
        """Advantages from the values as they are now; then `epochs_per_batch` passes in
        `minibatches` optimizer steps each."""
        if not rollouts:
            return {}
        settings, totals, norms = self.settings, Counter[str](), []
        # its first step: else several would go into the usual reward, through the trunk they share
        if not self.value_optimizer.state:
            nn.init.constant_(
                self.value_head.bias, sum(r.reward.total for r in rollouts) / len(rollouts)
            )
        # one row each: recipes with PPO cut no contexts (`training/recipe.py`)
        whole_rows = [row.columns for r in rollouts for row in rows_of(r)]
        whole = collate(whole_rows).to(self.decoder.device)
        values_NT = self._values(whole)
        rewards_NT = at_the_end(whole.mask, torch.tensor([r.reward.total for r in rollouts]))
        advantages_NT, returns_NT = gae(
            rewards_NT, values_NT, whole.mask, settings.gamma, settings.lam
        )
        advantages_NT = whiten(advantages_NT, whole.mask)
        places = {id(rollout): n for n, rollout in enumerate(rollouts)}
        for minibatch in self.minibatches(rollouts):
            tokens = sum(rollout.tokens for rollout in minibatch)
            for rows, batch in self.micro_batches(minibatch):
                at, width = [places[id(row.rollout)] for row in rows], batch.ids.shape[1]
                advantages, values, returns = (
                    x_NT[at, :width] for x_NT in (advantages_NT, values_NT, returns_NT)
                )
                weights_NT = token_weights(batch.mask, settings.aggregation, len(minibatch), tokens)
                loss, sums = self._loss(batch, advantages, values, returns, weights_NT)
                loss.backward()
                totals.update(sums)
            norms.append(self.optimizers.step(scale))
            for group in self.value_optimizer.param_groups:
                group["lr"] = settings.value_rate * scale
            if math.isfinite(norms[-1]):
                self.value_optimizer.step()
            self.value_optimizer.zero_grad(set_to_none=True)
        n = max(1.0, totals["tokens"])
        own = whole.mask > 0
        unexplained = (returns_NT - values_NT)[own].var() / returns_NT[own].var().clamp(min=1e-8)
        return {
            "grad_norm": sum(norms) / len(norms),
            "entropy": totals["entropy"] / n,
            "clip_fraction": totals["clipped"] / n,
            "logprob_gap": totals["gap"] / n,
            "value_loss": totals["value_loss"] / n,
            "value_mean": float(values_NT[own].mean()),
            "explained_variance": float(1 - unexplained),
        }

    def _loss(
        self,
        batch: Batch,
        advantages_NT: Tensor,
        values_NT: Tensor,
        returns_NT: Tensor,
        weights_NT: Tensor,
    ) -> tuple[Tensor, dict[str, float]]:
        settings, action_mask_NT = self.settings, batch.mask > 0
        hidden = self._hidden(batch)[action_mask_NT]
        logprobs, entropy = scores_from(
            self.decoder,
            hidden,
            batch.targets[action_mask_NT],
            settings,
            settings.entropy_bonus != 0,
        )
        old = batch.logprobs[action_mask_NT]
        losses, clipped = clipped_loss(logprobs, old, advantages_NT[action_mask_NT], settings.clip)
        values = self.value_head(hidden.float())[:, 0]
        of_values = value_loss(
            values, values_NT[action_mask_NT], returns_NT[action_mask_NT], settings.value_clip
        )
        total = losses + settings.value_weight * of_values - settings.entropy_bonus * entropy
        return (total * weights_NT[action_mask_NT]).sum(), {
            "tokens": float(len(old)),
            "clipped": float(clipped.sum()),
            "gap": float((logprobs - old).detach().abs().sum()),
            "entropy": float(entropy.detach().sum()),
            "value_loss": float(of_values.detach().sum()),
        }

    @torch.no_grad()
    def _values(self, whole: Batch) -> Tensor:
        """(N, T) of all rollouts, some rows at a time."""
        parts = []
        for first in range(0, len(whole.ids), self.settings.micro_batch_size):
            rows = slice(first, first + self.settings.micro_batch_size)
            batch = Batch(*(column[rows] for column in whole))
            parts.append(self.value_head(self._hidden(batch).float())[..., 0])
        return torch.cat(parts) * whole.mask

    def _hidden(self, batch: Batch) -> Tensor:
        positions = torch.arange(batch.ids.shape[1], device=batch.ids.device).expand_as(batch.ids)
        with autocast(self.decoder.precision(self.settings.dtype), self.decoder.device.type):
            return self.decoder.hidden(batch.ids, positions)


def at_the_end(mask_NT: Tensor, rewards_N: Tensor) -> Tensor:
    """(N, T): an episode's reward at its last own token, 0 elsewhere."""
    last_N = mask_NT.shape[1] - 1 - mask_NT.flip(1).argmax(1)
    rewards_NT = torch.zeros_like(mask_NT)
    rewards_NT[torch.arange(len(mask_NT), device=mask_NT.device), last_N] = rewards_N.to(mask_NT)
    return rewards_NT

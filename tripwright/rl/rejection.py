"""Rejection-sampling fine-tuning, the plain baseline: play, keep what the judge passes, imitate it.

The same episodes as GRPO's, without advantages: cross-entropy on the agent's own tokens of passing
episodes, each task with `keep` of them at most, identical ones once. What fails teaches nothing,
and what passes already is taught again: that is the point of the comparison.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, Any

import torch.nn.functional as F
from annotated_types import Ge

from tripwright.inference.precision import autocast, precision_named
from tripwright.learning.batches import collate, token_logits
from tripwright.rl.rl_loop import RlLoop
from tripwright.rl.rollouts import Group, Rollout
from tripwright.rl.settings import RolloutSettings


@dataclass(frozen=True, kw_only=True)
class RejectionSettings(RolloutSettings):
    """`keep` bounds how many episodes of a group count, so that easy queries do not crowd out the
    others."""

    keep: Annotated[int, Ge(1)] = 2


class Rejection(RlLoop[RejectionSettings]):
    def take_step(self) -> dict[str, Any]:
        scale = self.begin_step()
        groups = self.worker.play(self.draw(self.settings.prompts_per_step), self.curriculum.reward)
        self.rolled = time.monotonic()
        rollouts = [r for p, group in enumerate(groups) for r in kept(group, p, self.settings.keep)]
        figures = self.update(rollouts, scale)
        return self.end_step(
            groups, rollouts, scale, {**figures, "trained_episodes": len(rollouts)}
        )

    def update(self, rollouts: list[Rollout], scale: float) -> dict[str, float]:
        settings, norms, total, tokens_seen = self.settings, [], 0.0, 0
        for minibatch in self.minibatches(rollouts):
            minibatch.sort(key=lambda r: len(r.row[0]))
            tokens = sum(r.tokens for r in minibatch)
            for first in range(0, len(minibatch), settings.micro_batch_size):
                batch = collate(
                    [r.row for r in minibatch[first : first + settings.micro_batch_size]]
                ).to(self.decoder.device)
                action_mask_NT = batch.mask > 0
                with autocast(precision_named(settings.dtype), self.decoder.device.type):
                    logits = token_logits(self.decoder, batch, action_mask_NT)
                nll = F.cross_entropy(logits, batch.targets[action_mask_NT], reduction="sum")
                (nll / tokens).backward()
                total += float(nll.detach())
            tokens_seen += tokens
            norms.append(self.optimizers.step(scale))
        return {"loss": total / max(1, tokens_seen), "grad_norm": sum(norms) / max(1, len(norms))}


def kept(group: Group, number: int, most: int) -> list[Rollout]:
    """Passing episodes of one task, different ones, `most` at most."""
    found: dict[tuple[int, ...], Rollout] = {}
    for episode, made in zip(group.episodes, group.rewards, strict=True):
        if made is not None and episode.passed and episode.transcript.has_tokens:
            found.setdefault(
                tuple(episode.transcript.token_ids), Rollout(episode, made, 1.0, number)
            )
    return list(found.values())[:most]

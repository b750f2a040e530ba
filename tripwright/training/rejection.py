"""Rejection-sampling fine-tuning, the plain baseline: play, keep what the judge passes, imitate it.

The same episodes as GRPO's, without advantages: cross-entropy on the agent's own tokens of passing
episodes, each task with `keep` of them at most, identical ones once. What fails teaches nothing,
and what passes already is taught again: that is the point of the comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge

from tripwright.training.batches import token_logprobs
from tripwright.training.rl_loop import RlLoop
from tripwright.training.rollouts import Rollout, RolloutGroup, RolloutSettings


@dataclass(frozen=True, kw_only=True)
class RejectionSettings(RolloutSettings):
    """`keep` bounds how many episodes of a group count, so that easy queries do not crowd out the
    others."""

    keep: Annotated[int, Ge(1)] = 2


class Rejection(RlLoop[RejectionSettings]):
    def take_step(self) -> dict[str, Any]:
        scale = self.begin_step()
        groups = self.play(self.settings.prompts_per_step)
        most = self.settings.keep
        rollouts = [r for p, group in enumerate(groups) for r in distinct_passing(group, p, most)]
        figures = {**self.update(rollouts, scale), "trained_episodes": len(rollouts)}
        return self.end_step(groups, rollouts, scale, figures)

    def update(self, rollouts: list[Rollout], scale: float) -> dict[str, float]:
        norms, total, tokens_seen = list[float](), 0.0, 0
        for minibatch in self.minibatches(rollouts):
            tokens = sum(r.tokens for r in minibatch)
            for _, batch in self.micro_batches(minibatch):
                nll = -token_logprobs(
                    self.decoder, batch, self.settings.dtype, batch.mask > 0
                ).sum()
                (nll / tokens).backward()
                total += float(nll.detach())
            tokens_seen += tokens
            norms.append(self.optimizers.step(scale))
        return {"loss": total / max(1, tokens_seen), "grad_norm": sum(norms) / max(1, len(norms))}


def distinct_passing(group: RolloutGroup, number: int, most: int) -> list[Rollout]:
    """Passing episodes of one task, different ones, `most` at most."""
    rollouts: dict[tuple[int, ...], Rollout] = {}
    for episode, reward in group.scored_members:
        if episode.passed and episode.transcript.has_tokens:
            ids = tuple(episode.transcript.token_ids)
            rollouts.setdefault(ids, Rollout(episode, reward, 1.0, number))
    return list(rollouts.values())[:most]

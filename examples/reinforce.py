"""REINFORCE: the policy gradient with the step's mean reward as its baseline. An example of an
algorithm in one file (docs/training.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal

from annotated_types import Ge

from tripwright.errors import UserError
from tripwright.training.batches import action_logprobs, by_target
from tripwright.training.rl_loop import RlLoop
from tripwright.training.rollouts import Rollout, RolloutSettings


@dataclass(frozen=True, kw_only=True)
class ReinforceSettings(RolloutSettings):
    group_size: Annotated[int, Ge(1)] = 1  # members are not compared with each other
    baseline: Literal["mean", "none"] = "mean"

    def __post_init__(self) -> None:
        if self.epochs_per_batch > 1:
            raise UserError(
                f"epochs_per_batch must be 1, found {self.epochs_per_batch}: nothing here"
                " corrects for a policy that has moved on."
            )


class Reinforce(RlLoop[ReinforceSettings]):
    def take_step(self) -> dict[str, Any]:
        scale = self.begin_step()
        groups = self.play(self.settings.prompts_per_step)
        scored = [  # the failures of our own side are left out: nobody learns from them
            (episode, reward, number)
            for number, group in enumerate(groups)
            for episode, reward in group.scored_members
        ]
        mean = sum(reward.total for _, reward, _ in scored) / max(1, len(scored))
        baseline = mean if self.settings.baseline == "mean" else 0.0
        rollouts = [
            Rollout(episode, reward, reward.total - baseline, number)
            for episode, reward, number in scored
        ]
        figures = self.update(rollouts, scale)
        return self.end_step(groups, rollouts, scale, {**figures, "baseline": baseline})

    def update(self, rollouts: list[Rollout], scale: float) -> dict[str, float]:
        norms = []
        for minibatch in self.minibatches(rollouts):
            tokens = sum(r.tokens for r in minibatch)
            for rows, batch in self.micro_batches(minibatch):
                action_mask_NT = batch.mask > 0
                logprobs = action_logprobs(self.decoder, batch, self.settings)
                advantages_NT = by_target(
                    [[row.rollout.advantage] * len(row) for row in rows], batch.mask
                )
                (-(advantages_NT[action_mask_NT] * logprobs).sum() / tokens).backward()
            norms.append(self.optimizers.step(scale))
        return {"grad_norm": sum(norms) / max(1, len(norms))}

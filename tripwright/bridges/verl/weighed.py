"""From rollouts with advantages to the rows of verl's update: whole groups in a minibatch, and on
every token the weight that the local engine gives it.

verl's own ways of summing a loss do not know rollouts that left it. So a token's weight (`rl/
objectives/aggregation.py`) is sent along in the column that is for importance weights, and the loss
(`inside/loss.py`) adds up what it weighs. A rollout without a gradient is not sent at all: it
counts in the weights of the others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from tripwright.rl.grpo import GrpoSettings, has_gradient
from tripwright.rl.objectives import token_weights
from tripwright.rl.rl_loop import minibatches_of
from tripwright.rl.rollouts import Rollout
from tripwright.rl.rows import RolloutRow, rows_of


@dataclass(frozen=True)
class UpdateRow:
    """A row of a minibatch. `index`: which of its rollout's sequences it is. Of each token of the
    sequence (T): the sampler's log-probability, the advantage, the weight in the loss."""

    rollout: Rollout
    index: int
    prompt: int
    old_T: list[float]
    advantages_T: list[float]
    weights_T: list[float]

    def key(self, uids: Sequence[str]) -> str:
        """In verl's queue: prompt, member, sequence."""
        member = self.rollout.episode.task.id.rsplit("/", 1)[1]
        return f"{uids[self.rollout.group]}_{member}_{self.index}"

    def response(self, values_T: Sequence[float]) -> torch.Tensor:
        return torch.tensor(values_T[self.prompt :], dtype=torch.float32)


Update = list[UpdateRow]  # what one step of the optimizer learns from


def updates_of(rollouts: list[Rollout], settings: GrpoSettings, seed: int) -> list[Update]:
    """One pass over the rollouts; those of it in which something is to be learned. (verl repeats
    the pass `epochs_per_batch` times.)"""
    once = replace(settings, epochs_per_batch=1)
    shuffle = torch.Generator().manual_seed(seed)
    updates = (update_of(part, settings) for part in minibatches_of(rollouts, once, shuffle))
    return [update for update in updates if update]


def update_of(minibatch: list[Rollout], settings: GrpoSettings) -> Update:
    tokens, tokens_of = sum(r.tokens for r in minibatch), Counter[int]()
    for r in minibatch:
        tokens_of[r.group] += r.tokens
    rows = []
    for rollout in minibatch:
        if not has_gradient(rollout, settings):
            continue
        for index, row in enumerate(rows_of(rollout)):
            weights_1T = token_weights(
                torch.tensor([row.sequence.loss_mask], dtype=torch.float32),
                settings.aggregation,
                len(minibatch),
                tokens,
                torch.tensor([tokens_of[rollout.group]]),
                len(tokens_of),
                torch.tensor([rollout.tokens]),
            )
            rows.append(_row(rollout, index, row, weights_1T[0].tolist()))
    return rows


def _row(rollout: Rollout, index: int, row: RolloutRow, weights_T: list[float]) -> UpdateRow:
    old_T = list(row.columns[2])
    prompt = len(rollout.episode.transcript.segments[0].token_ids)
    advantages_T = row.spread(rollout.advantages_T, rollout.advantage)
    return UpdateRow(rollout, index, prompt, old_T, advantages_T, weights_T)

"""The sampler is not the trainer: other precision, other kernels, another engine. What is sampled from one and trained on the other is
slightly off-policy. Here the difference is measured and, where a recipe asks for it, corrected.

Without correction the ratio of the loss is taken to the sampler's own log-probabilities, which is exact where the two agree (they do
here to 1e-4 in fp32, a test says). With it, the ratio is taken to the trainer's log-probabilities before the update, and every token
or episode is weighted by π_trainer / π_sampler, bounded: truncated importance sampling.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from tripwright.agent.policies.local_decoder import Decoder
from tripwright.agent.policies.local_precision import autocast, precision_named
from tripwright.training.batches import collate, token_logits
from tripwright.training.objectives import importance_weights
from tripwright.training.rollouts import Rollout
from tripwright.training.settings import GrpoSettings


@torch.no_grad()
def corrected(model: Any, rollouts: list[Rollout], settings: GrpoSettings) -> tuple[list[Rollout], dict[str, float]]:
    """The rollouts with the trainer's log-probabilities as their old ones and a weight per token; and what the difference was like."""
    decoder, made, sums, seen = Decoder(model), [], dict[str, float](), 0
    ordered = sorted((r for r in rollouts if r.tokens), key=lambda r: len(r.episode.transcript.token_ids))
    for first in range(0, len(ordered), settings.rows):
        rows = ordered[first : first + settings.rows]
        batch = collate([r.row for r in rows])
        said_NT = batch.mask > 0
        with autocast(precision_named(settings.dtype)):
            logits = token_logits(decoder, batch, said_NT) / settings.temperature
        trainer_NT = torch.zeros_like(batch.logprobs)
        trainer_NT[said_NT] = torch.log_softmax(logits, dim=-1).gather(1, batch.targets[said_NT][:, None])[:, 0]
        for n, r in enumerate(rows):  # one by one, since a weight of level "sequence" is of one episode
            said, length = said_NT[n], len(r.row[0])
            weights, figures = importance_weights(trainer_NT[n][said], batch.logprobs[n][said], settings.importance)
            weights_T = torch.zeros(len(said))
            weights_T[said] = weights.float()
            made.append(replace(r, old_T=[0.0, *trainer_NT[n, : length - 1].tolist()], weights_T=[0.0, *weights_T[: length - 1].tolist()]))
            for name, value in figures.items():
                sums[name] = sums.get(name, 0.0) + float(value) * r.tokens
            seen += r.tokens
    return made, {f"importance_{name}": value / max(1, seen) for name, value in sums.items()}

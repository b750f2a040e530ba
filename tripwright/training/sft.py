"""Supervised fine-tuning on transcripts: cross-entropy on what the agent emitted (rows S4, D6), a small weight on what it read.

The weight on observations is an option (0 masks them, as the papers do); a little of it teaches a model made from nothing the
language of the tools. Each step takes `rows_per_step` fresh transcripts from a stream: nothing is seen twice.
"""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch.nn.functional as F

from tripwright.agent.policies.local_decoder import Decoder
from tripwright.agent.policies.local_precision import AUTO, autocast, precision_named
from tripwright.training.batches import collate, token_logits
from tripwright.training.optim import Optimizers, OptimizerSettings, warm_up_and_decay
from tripwright.transcript import Transcript


@dataclass(frozen=True)
class SftSettings:
    steps: int | None = 5000  # None: as many as `max_minutes` allow
    rows_per_step: int = 4
    observation_weight: float = 0.1
    max_minutes: float | None = None  # the learning rate follows whichever of steps and minutes is further
    dtype: str = AUTO  # of matrix products; one of local_precision.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings()


def fine_tune(model: Any, transcripts: Iterator[Transcript], settings: SftSettings) -> Iterator[dict[str, float]]:
    """Trains in place; yields metrics every step."""
    decoder, optimizers = Decoder(model), Optimizers(model, settings.optimizer)
    started, tokens, batches = time.monotonic(), 0, of_like_length(transcripts, settings.rows_per_step)
    for step, rows in enumerate(batches):
        progress = progress_of(step, settings.steps, (time.monotonic() - started) / 60, settings.max_minutes)
        if progress >= 1:
            return
        batch = collate([(row.token_ids, row.loss_mask, row.logprobs) for row in rows])
        with autocast(precision_named(settings.dtype)):
            logits = token_logits(decoder, batch, batch.real)
        nll = F.cross_entropy(logits, batch.targets[batch.real], reduction="none")
        said = batch.mask[batch.real]
        weight = said + settings.observation_weight * (1 - said)
        loss = (nll * weight).sum() / weight.sum()
        loss.backward()
        scale = warm_up_and_decay(progress)
        norm = optimizers.step(scale)
        tokens += int(batch.real.sum())
        yield {
            "loss": float((nll.detach() * said).sum() / said.sum()),
            "observation_loss": float((nll.detach() * (1 - said)).sum() / (1 - said).sum()),
            "grad_norm": norm,
            "learning_rate": settings.optimizer.learning_rate * scale,
            "tokens": tokens,
            "tokens_per_second": tokens / (time.monotonic() - started),
        }


def progress_of(step: int, steps: int | None, minutes: float, max_minutes: float | None) -> float:
    """How far a stage is, 1 at its end: by steps or by minutes, whichever is further."""
    return max(step / steps if steps is not None else 0.0, minutes / max_minutes if max_minutes is not None else 0.0)


def of_like_length(transcripts: Iterator[Transcript], rows: int, pool: int = 8) -> Iterator[list[Transcript]]:
    """Batches of `rows` transcripts, cut from `pool` batches at a time sorted by length: a quarter of every step would be padding."""
    order = random.Random(0)
    while True:
        drawn = sorted(itertools.islice(transcripts, rows * pool), key=lambda transcript: len(transcript.token_ids))
        batches = [drawn[i : i + rows] for i in range(0, len(drawn), rows)]
        if not batches:
            return
        order.shuffle(batches)
        yield from batches

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

import torch
import torch.nn.functional as F

from tripwright.agent.policies.local_decoder import Decoder
from tripwright.training.batches import collate, token_logits
from tripwright.training.optim import Optimizers, OptimizerSettings, warm_up_and_decay
from tripwright.transcript import Transcript


@dataclass(frozen=True)
class SftSettings:
    steps: int = 2500
    rows_per_step: int = 4
    observation_weight: float = 0.1
    max_minutes: float = 12.0  # a slower machine stops here; the learning rate follows whichever of steps and minutes is further
    optimizer: OptimizerSettings = OptimizerSettings()


def fine_tune(model: Any, transcripts: Iterator[Transcript], settings: SftSettings) -> Iterator[dict[str, float]]:
    """Trains in place; yields metrics every step."""
    decoder, optimizers = Decoder(model), Optimizers(model, settings.optimizer)
    started, tokens, batches = time.monotonic(), 0, of_like_length(transcripts, settings.rows_per_step)
    for step in range(1, settings.steps + 1):
        progress = max(step / settings.steps, (time.monotonic() - started) / 60 / settings.max_minutes)
        if progress > 1:
            return
        rows = next(batches)
        batch = collate([(row.token_ids, row.loss_mask, row.logprobs) for row in rows])
        real = batch.targets != 0
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits = token_logits(decoder, batch, real)
        nll = F.cross_entropy(logits, batch.targets[real], reduction="none")
        said = batch.mask[real]
        weight = said + settings.observation_weight * (1 - said)
        loss = (nll * weight).sum() / weight.sum()
        loss.backward()  # type: ignore[no-untyped-call]
        scale = warm_up_and_decay(progress)
        norm = optimizers.step(scale)
        tokens += int(real.sum())
        yield {
            "loss": float((nll.detach() * said).sum() / said.sum()),
            "observation_loss": float((nll.detach() * (1 - said)).sum() / (1 - said).sum()),
            "grad_norm": norm,
            "learning_rate": settings.optimizer.learning_rate * scale,
            "tokens": tokens,
            "tokens_per_second": tokens / (time.monotonic() - started),
        }


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

"""The copy warm-up: random token strings repeated once, their length doubling as soon as each is learned.

Planning from tool answers is copying names out of context. A small model does not find the copying circuit from transcripts alone in
minutes (measured: no progress in 2M tokens); from short repeated strings it finds it in about one minute.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F

from tripwright.agent.policies.local_decoder import Decoder
from tripwright.agent.policies.local_precision import AUTO, autocast, precision_named
from tripwright.training.optim import Optimizers, OptimizerSettings


@dataclass(frozen=True)
class CopySettings:
    lengths: tuple[int, ...] = (8, 16, 32, 64, 128, 256)
    learned_at: float = 0.3  # loss on the repetition at which the length doubles
    tokens_per_step: int = 2048
    max_steps: int = 900
    dtype: str = AUTO  # of matrix products; one of local_precision.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings()


def warm_up(model: Any, settings: CopySettings, seed: int) -> Iterator[dict[str, float]]:
    """Trains in place; yields metrics every step. Stops when the longest length is learned, or at `max_steps`."""
    decoder, optimizers = Decoder(model), Optimizers(model, settings.optimizer)
    rng = torch.Generator().manual_seed(seed)
    stage, smoothed, started, tokens = 0, 10.0, time.monotonic(), 0
    for step in range(1, settings.max_steps + 1):
        length = settings.lengths[stage]
        rows = max(1, settings.tokens_per_step // (2 * length))
        once = torch.randint(0, model.config.vocab_size, (rows, length), generator=rng)
        ids = torch.cat((once, once), dim=1)
        positions = torch.arange(2 * length - 1).expand(rows, -1)
        with autocast(precision_named(settings.dtype)):
            logits = decoder.logits(decoder.hidden(ids[:, :-1], positions)[:, length:])
        loss = F.cross_entropy(logits.flatten(0, 1), ids[:, length + 1 :].flatten())
        loss.backward()
        norm = optimizers.step(min(1.0, step / 20))
        tokens += ids.numel()
        value = float(loss.detach())
        smoothed = 0.8 * smoothed + 0.2 * value if smoothed < 9 else value
        yield {
            "loss": value,
            "copy_length": length,
            "grad_norm": norm,
            "tokens": tokens,
            "tokens_per_second": tokens / (time.monotonic() - started),
        }
        if smoothed < settings.learned_at:
            stage, smoothed = stage + 1, 10.0
            if stage == len(settings.lengths):
                return

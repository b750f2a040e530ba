"""The copy warm-up: strings of random tokens repeated once.

Planning from tool answers is copying names out of context. A small model does not find the copying
circuit from transcripts alone in minutes (measured: no progress in 2M tokens); from repeated
strings it finds it in less than one.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt, MinLen
from torch import Tensor

from tripwright.inference.decoder import Decoder
from tripwright.inference.models import AUTO
from tripwright.training.batches import collate, token_logprobs
from tripwright.training.loop import SavedLoop, StageClock
from tripwright.training.optim import Optimizers, OptimizerSettings

UNKNOWN = 10.0  # in place of the smoothed loss before a length's first step; no loss gets there
# Up to this share of a string stands between it and its repetition: at one distance, a model learns
# to look so far back, and not for what is the same.
GAP = 0.15


@dataclass(frozen=True)
class CopyPretrainingSettings:
    lengths: Annotated[tuple[Annotated[int, Ge(2)], ...], MinLen(1)] = (64,)
    # loss on the repetition at which the next length begins
    learned_at: Annotated[float, Gt(0)] = 0.3
    tokens_per_step: Annotated[int, Ge(1)] = 2048
    max_steps: Annotated[int, Ge(1)] = 400
    dtype: str = AUTO  # of matrix products; one of inference.models.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings()


class CopyPretraining(SavedLoop):
    """The warm-up as a `Loop`: trains in place, and ends when the last length is learned, or at
    `max_steps`."""

    counted = (*SavedLoop.counted, "seed", "level", "smoothed")

    def __init__(self, model: Any, settings: CopyPretrainingSettings, seed: int):
        self.model, self.settings, self.seed = model, settings, seed
        self.decoder, self.optimizers = Decoder(model), Optimizers(model, settings.optimizer)
        self.clock = StageClock(settings.max_steps, None)
        self.step, self.tokens = 0, 0
        self.level, self.smoothed = 0, UNKNOWN  # which length, and the loss on it

    @property
    def progress(self) -> float:
        return 1.0 if self.level == len(self.settings.lengths) else self.clock.progress(self.step)

    def take_step(self) -> dict[str, Any]:
        length = self.settings.lengths[self.level]
        loss, tokens = self._loss(length)
        loss.backward()
        self.step += 1
        left = 1 - self.step / self.settings.max_steps
        norm = self.optimizers.step(min(1.0, self.step / 20, max(0.05, 2 * left)))
        self.tokens += tokens
        now = float(loss.detach())
        self.smoothed = now if self.smoothed == UNKNOWN else 0.8 * self.smoothed + 0.2 * now
        if self.smoothed < self.settings.learned_at:
            self.level, self.smoothed = self.level + 1, UNKNOWN
        return {
            "loss": now,
            "copy_length": length,
            "grad_norm": norm,
            "tokens": self.tokens,
            "tokens_per_second": self.tokens / (60 * self.clock.minutes),
        }

    def _loss(self, length: int) -> tuple[Tensor, int]:
        """Of the repetition; and how many tokens were read."""
        rng = random.Random(f"{self.seed}-{self.step}")
        strings = [
            string(rng, self.model.config.vocab_size, length)
            for _ in range(max(1, self.settings.tokens_per_step // (2 * length)))
        ]
        batch = collate([(ids, mask, [0.0] * len(ids)) for ids, mask in strings])
        batch = batch.to(self.optimizers.parameters[0].device)
        nll = -token_logprobs(self.decoder, batch, self.settings.dtype, batch.mask.bool())
        return nll.mean(), sum(len(ids) for ids, _ in strings)


def string(rng: random.Random, vocabulary: int, length: int) -> tuple[list[int], list[int]]:
    """Ids, and 1 for what is to be learned: the repetition but for its first token, which nothing
    announces."""
    drawn = [rng.randrange(vocabulary) for _ in range(length)]
    gap = [rng.randrange(vocabulary) for _ in range(rng.randint(0, int(GAP * length)))]
    return drawn + gap + drawn, [0] * (length + len(gap) + 1) + [1] * (length - 1)

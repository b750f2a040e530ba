"""The copy warm-up: random token strings repeated once, their length doubling as soon as each is
learned.

Planning from tool answers is copying names out of context. A small model does not find the copying
circuit from transcripts alone in minutes (measured: no progress in 2M tokens); from short repeated
strings it finds it in about one minute.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import torch
import torch.nn.functional as F
from annotated_types import Ge, Gt

from tripwright.inference.decoder import Decoder
from tripwright.inference.precision import AUTO, autocast, precision_named
from tripwright.learning.loop import StageClock
from tripwright.learning.optim import Optimizers, OptimizerSettings

UNKNOWN = 10.0  # in place of the smoothed loss before a length's first step; no loss gets there


@dataclass(frozen=True)
class CopyPretrainingSettings:
    # from 8 it takes a third longer (docs/log.md)
    lengths: tuple[Annotated[int, Ge(2)], ...] = (16, 32, 64, 128, 256)
    learned_at: Annotated[float, Gt(0)] = 0.3  # loss on the repetition at which the length doubles
    tokens_per_step: Annotated[int, Ge(1)] = 2048
    max_steps: Annotated[int, Ge(1)] = 900
    dtype: str = AUTO  # of matrix products; one of inference.precision.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings()


class CopyPretraining:
    """The warm-up as a `Loop`: trains in place, and ends when the longest length is learned, or at
    `max_steps`."""

    def __init__(self, model: Any, settings: CopyPretrainingSettings, seed: int):
        self.model, self.settings = model, settings
        self.decoder, self.optimizers = Decoder(model), Optimizers(model, settings.optimizer)
        # on the CPU: the same strings whatever trains on them
        self.rng = torch.Generator().manual_seed(seed)
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
        norm = self.optimizers.step(min(1.0, self.step / 20))
        self.tokens += tokens
        value = float(loss.detach())
        self.smoothed = value if self.smoothed == UNKNOWN else 0.8 * self.smoothed + 0.2 * value
        if self.smoothed < self.settings.learned_at:
            self.level, self.smoothed = self.level + 1, UNKNOWN
        return {
            "loss": value,
            "copy_length": length,
            "grad_norm": norm,
            "tokens": self.tokens,
            "tokens_per_second": self.tokens / (60 * self.clock.minutes),
        }

    def _loss(self, length: int) -> tuple[torch.Tensor, int]:
        """Of the repetition alone, and how many tokens were read."""
        rows = max(1, self.settings.tokens_per_step // (2 * length))
        device = self.optimizers.parameters[0].device
        once = torch.randint(
            0, self.model.config.vocab_size, (rows, length), generator=self.rng
        ).to(device)
        ids = torch.cat((once, once), dim=1)
        positions = torch.arange(2 * length - 1, device=device).expand(rows, -1)
        with autocast(precision_named(self.settings.dtype), self.decoder.device.type):
            logits = self.decoder.logits(self.decoder.hidden(ids[:, :-1], positions)[:, length:])
        return F.cross_entropy(logits.flatten(0, 1), ids[:, length + 1 :].flatten()), ids.numel()

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizers": self.optimizers.state_dict(),
            "clock": self.clock.state_dict(),
            "rng": self.rng.get_state(),
            "step": self.step,
            "tokens": self.tokens,
            "level": self.level,
            "smoothed": self.smoothed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizers.load_state_dict(state["optimizers"])
        self.clock.load_state_dict(state["clock"])
        self.rng.set_state(state["rng"])
        self.step, self.tokens = state["step"], state["tokens"]
        self.level, self.smoothed = state["level"], state["smoothed"]

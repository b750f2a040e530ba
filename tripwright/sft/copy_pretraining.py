"""The copy warm-up: strings of random tokens repeated once; as soon as that is learned, the same
with a list between, whose tokens carry a sign in the repetition.

Planning from tool answers is copying names out of context. A small model does not find the copying
circuit from transcripts alone in minutes (measured: no progress in 2M tokens); from repeated
strings it finds it in about one minute. To see that a word of a row also stands in the list of what
was asked for is a second circuit, which transcripts alone do not teach either (docs/log.md,
2026-11-23):

    once  a b c d e b     list  b ! e !     again  a b ! c d e ! b !
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt
from torch import Tensor

from tripwright.inference.decoder import Decoder
from tripwright.inference.precision import AUTO
from tripwright.learning.batches import by_target, collate, logprobs_of, token_logits
from tripwright.learning.loop import StageClock
from tripwright.learning.optim import Optimizers, OptimizerSettings

UNKNOWN = 10.0  # in place of the smoothed loss before an exercise's first step; no loss gets there
# Up to this share of a string stands between it and its repetition: at one distance, a model learns
# to look so far back, and not for what is the same.
GAP = 0.15
GIVEN, COPIED, SIGN = range(3)  # what a token of a string is


@dataclass(frozen=True)
class CopyPretrainingSettings:
    lengths: tuple[Annotated[int, Ge(2)], ...] = (64,)
    marked_lengths: tuple[Annotated[int, Ge(4)], ...] = (64,)  # of strings with a list between
    # loss on what there is to learn (the repetition, or its signs alone) at which the next begins
    learned_at: Annotated[float, Gt(0)] = 0.3
    tokens_per_step: Annotated[int, Ge(1)] = 2048
    max_steps: Annotated[int, Ge(1)] = 400
    dtype: str = AUTO  # of matrix products; one of inference.precision.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings()


class CopyPretraining:
    """The warm-up as a `Loop`: trains in place, and ends when the last exercise is learned, or at
    `max_steps`."""

    def __init__(self, model: Any, settings: CopyPretrainingSettings, seed: int):
        self.model, self.settings, self.seed = model, settings, seed
        self.decoder, self.optimizers = Decoder(model), Optimizers(model, settings.optimizer)
        self.exercises = [(length, False) for length in settings.lengths] + [
            (length, True) for length in settings.marked_lengths
        ]
        self.clock = StageClock(settings.max_steps, None)
        self.step, self.tokens = 0, 0
        self.level, self.smoothed = 0, UNKNOWN  # which exercise, and the loss on it

    @property
    def progress(self) -> float:
        return 1.0 if self.level == len(self.exercises) else self.clock.progress(self.step)

    def take_step(self) -> dict[str, Any]:
        length, is_marked = self.exercises[self.level]
        loss, to_learn, tokens = self._loss(length, is_marked)
        loss.backward()
        self.step += 1
        left = 1 - self.step / self.settings.max_steps
        norm = self.optimizers.step(min(1.0, self.step / 20, max(0.05, 2 * left)))
        self.tokens += tokens
        self.smoothed = (
            to_learn if self.smoothed == UNKNOWN else 0.8 * self.smoothed + 0.2 * to_learn
        )
        if self.smoothed < self.settings.learned_at:
            self.level, self.smoothed = self.level + 1, UNKNOWN
        return {
            "loss": float(loss.detach()),
            "copy_length": length,
            **({"sign_loss": to_learn} if is_marked else {}),
            "grad_norm": norm,
            "tokens": self.tokens,
            "tokens_per_second": self.tokens / (60 * self.clock.minutes),
        }

    def _loss(self, length: int, is_marked: bool) -> tuple[Tensor, float, int]:
        """Of the repetition; of what there is to learn in it; and how many tokens were read."""
        rng = random.Random(f"{self.seed}-{self.step}")
        strings = [
            string(rng, self.model.config.vocab_size, length, is_marked)
            for _ in range(max(1, self.settings.tokens_per_step // (2 * length)))
        ]
        rows = [(ids, [min(kind, 1) for kind in kinds], [0.0] * len(ids)) for ids, kinds in strings]
        batch = collate(rows).to(self.optimizers.parameters[0].device)
        where = batch.mask.bool()
        logits = token_logits(self.decoder, batch, self.settings.dtype, where)
        nll = -logprobs_of(logits, batch.targets[where])
        to_learn = nll.detach()
        if is_marked:
            kinds_NT = by_target([kinds for _, kinds in strings], batch.mask)
            to_learn = to_learn[kinds_NT[where] == SIGN]
        return nll.mean(), float(to_learn.mean()), sum(len(ids) for ids, _, _ in rows)

    def state_dict(self) -> dict[str, Any]:
        return {
            "model": self.model.state_dict(),
            "optimizers": self.optimizers.state_dict(),
            "clock": self.clock.state_dict(),
            "seed": self.seed,
            "step": self.step,
            "tokens": self.tokens,
            "level": self.level,
            "smoothed": self.smoothed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.model.load_state_dict(state["model"])
        self.optimizers.load_state_dict(state["optimizers"])
        self.clock.load_state_dict(state["clock"])
        self.seed, self.step, self.tokens = state["seed"], state["step"], state["tokens"]
        self.level, self.smoothed = state["level"], state["smoothed"]


def string(
    rng: random.Random, vocabulary: int, length: int, is_marked: bool
) -> tuple[list[int], list[int]]:
    """Ids, and what each is. The first token of the repetition is given: nothing announces it."""
    drawn = [rng.randrange(vocabulary) for _ in range(length)]
    if not is_marked:
        gap = [rng.randrange(vocabulary) for _ in range(rng.randint(0, int(GAP * length)))]
        ids = drawn + gap + drawn
        return ids, [GIVEN] * (length + len(gap) + 1) + [COPIED] * (length - 1)
    some = rng.sample if rng.random() < 0.5 else rng.choices  # each once, or some more than once
    once = some(drawn, k=rng.randint(length // 2, length))
    each = sorted(set(once))
    listed = rng.sample(each, min(len(each), rng.randint(1, length // 4)))
    sign = rng.randrange(vocabulary)
    ids = once + [token for one in listed for token in (one, sign)]
    kinds = [GIVEN] * len(ids)
    for number, token in enumerate(once):
        ids.append(token)
        kinds.append(COPIED if number else GIVEN)
        if token in listed:
            ids.append(sign)
            kinds.append(SIGN)
    return ids, kinds

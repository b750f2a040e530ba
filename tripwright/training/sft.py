"""Supervised training: fine-tuning, which is cross-entropy on what the agent emitted (rows S4, D6),
with what it read masked; and before it, for a new model, the copy warm-up.

Where the transcripts come from is the source's affair: an endless stream of the expert's, in which
nothing is seen twice, or a file that is read for some epochs (`sft_data`).

The copy warm-up is on strings of random tokens repeated once. Planning from tool answers is copying
names out of context. A small model does not find the copying circuit from transcripts alone in
minutes (measured: no progress in 2M tokens); from repeated strings it finds it in less than one.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from annotated_types import Ge, Gt, Le, Lt, MinLen

from tripwright.errors import UserError
from tripwright.inference.decoder import Decoder
from tripwright.inference.models import AUTO
from tripwright.training.batches import collate, token_logprobs
from tripwright.training.loop import Loop, StageClock
from tripwright.training.optim import Optimizers, OptimizerSettings, warm_up_and_decay
from tripwright.training.trips import ExpertTranscripts, FileSamples, TokenizedRow
from tripwright.transcript import TokenSequence, Transcript

# steps whose transcripts are drawn together and sorted by length: unsorted, a quarter of every step
# would be padding
POOL = 8


@dataclass(frozen=True)
class SftSettings:
    """`data` None: the expert's transcripts, on fresh trips or some number of them. What is reached
    first ends the stage."""

    # None: as many as `max_minutes` or `max_epochs` allow
    steps: Annotated[int, Ge(1)] | None = 5000
    batch_size: Annotated[int, Ge(1)] = 4  # transcripts whose gradients make one step
    # the learning rate follows whichever of steps, epochs and minutes is furthest
    max_minutes: Annotated[float, Gt(0)] | None = None
    dtype: str = AUTO  # of matrix products; one of inference.models.PRECISIONS
    optimizer: OptimizerSettings = OptimizerSettings()
    data: str | None = None  # a file of transcripts or messages; see `sft_data`
    expert: str = "expert"  # one of the domain's `teachers`: whose transcripts, without `data`
    # So many of the expert's, read in epochs (1,198 in row S4); None: without end
    expert_transcripts: Annotated[int, Ge(1)] | None = None
    max_epochs: Annotated[float, Gt(0)] | None = None  # of `data` or of so many transcripts
    # transcripts per forward pass; None: all of the step's
    micro_batch_size: Annotated[int, Ge(1)] | None = None
    # share of the stage in which the learning rate rises; 0.1 in row S4
    warm_up: Annotated[float, Ge(0), Lt(1)] = 0.02
    # how the rate falls after that, and the share of it that is left at the end
    schedule: Literal["linear", "cosine"] = "linear"
    final_rate: Annotated[float, Ge(0), Le(1)] = 0.05
    # of one transcript of `data`; None: the dialect's context_tokens
    max_tokens: Annotated[int, Ge(2)] | None = None
    too_long: Literal["drop", "cut", "refuse"] = "drop"  # what becomes of a longer one

    def __post_init__(self) -> None:
        if self.data is None and self.max_tokens is not None:
            raise UserError("max_tokens is of a file: give data as well.")
        if self.data is None and self.expert_transcripts is None and self.max_epochs is not None:
            raise UserError("max_epochs is of data or of expert_transcripts: give one of them.")
        if self.data is not None and self.expert_transcripts is not None:
            raise UserError("data and expert_transcripts exclude each other: give one of them.")


class FineTuning(Loop):
    """A file's source says by `count` how many samples an epoch has; the expert's has no epochs."""

    checkpointed = (*Loop.checkpointed, "batches")

    def __init__(self, model: Any, source: FileSamples | ExpertTranscripts, settings: SftSettings):
        self.model, self.settings = model.train(), settings  # an adapter's dropout
        self.decoder, self.optimizers = Decoder(model), Optimizers(model, settings.optimizer)
        self.batches = BatchesOfLikeLength(source, settings.batch_size)
        self.step, self.tokens, self.count = 0, 0, getattr(source, "count", None)
        steps = settings.steps
        if settings.max_epochs is not None and self.count is not None:
            of_epochs = math.ceil(settings.max_epochs * self.count / settings.batch_size)
            steps = of_epochs if steps is None else min(steps, of_epochs)
        self.steps, self.clock = steps, StageClock(steps, settings.max_minutes)

    @property
    def progress(self) -> float:
        progress = self.clock.progress(self.step)
        return 1.0 if progress < 1 and self.batches.over else progress

    def take_step(self) -> dict[str, Any]:
        settings, progress = self.settings, self.clock.progress(self.step)
        cosine = settings.schedule == "cosine"
        scale = warm_up_and_decay(progress, settings.warm_up, settings.final_rate, cosine)
        samples = list[TokenizedRow | TokenSequence]()
        for sample in next(self.batches):  # an episode has a row for each context it was said in
            samples += sample.sequences if isinstance(sample, Transcript) else [sample]
        said, sums = max(1, sum(sum(sample.loss_mask[1:]) for sample in samples)), Counter[str]()
        size = self.settings.micro_batch_size or len(samples)
        for first in range(0, len(samples), size):
            rows = samples[first : first + size]
            batch = collate([(s.token_ids, s.loss_mask, [0.0] * len(s.token_ids)) for s in rows])
            batch = batch.to(self.decoder.device)
            nll = -token_logprobs(self.decoder, batch, self.settings.dtype, batch.mask > 0).sum()
            (nll / said).backward()
            real = batch.real
            sums.update({"nll": nll.item(), "tokens": int(real.sum()), "places": real.numel()})
        norm = self.optimizers.step(scale)
        self.step, self.tokens = self.step + 1, self.tokens + sums["tokens"]
        row: dict[str, Any] = {
            "loss": sums["nll"] / said,
            "grad_norm": norm,
            "learning_rate": self.settings.optimizer.first_rate * scale,
            "tokens": self.tokens,
            "tokens_per_second": self.tokens / max(1e-9, self.clock.minutes * 60),
            "padding": 1 - sums["tokens"] / max(1, sums["places"]),
        }
        for name in ("left_out", "cut_turns"):
            if share := getattr(self.batches.source, name, 0):
                row[name] = share
        if self.count:
            row["epoch"] = self.step * self.settings.batch_size / self.count
        return row


class BatchesOfLikeLength:
    """Batches of `rows` samples, cut from pools of POOL batches that are sorted by length and then
    shuffled.

    The state is that of the source where the present pool began, with the batch's place in the
    pool: a pool is drawn again, not kept.
    """

    def __init__(self, source: FileSamples | ExpertTranscripts, rows: int):
        self.source, self.rows = source, rows
        self.number, self.at = -1, 0  # of the present pool, of the next batch in it
        self.began: dict[str, Any] = {}
        self.pool: list[list[Transcript | TokenizedRow]] = []

    @property
    def over(self) -> bool:
        """The source has ended, and everything that it gave was handed out."""
        if self.at == len(self.pool):
            self._draw()
        return not self.pool

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> list[Transcript | TokenizedRow]:
        if self.over:
            raise StopIteration
        self.at += 1
        return self.pool[self.at - 1]

    def _draw(self) -> None:
        self.began, self.number, self.at = self.source.state_dict(), self.number + 1, 0
        drawn: Iterator[Transcript | TokenizedRow]
        drawn = itertools.islice(self.source, POOL * self.rows)
        samples = sorted(drawn, key=lambda sample: len(sample.token_ids))
        self.pool = [samples[i : i + self.rows] for i in range(0, len(samples), self.rows)]
        random.Random(self.number).shuffle(self.pool)

    def state_dict(self) -> dict[str, Any]:
        if self.at == len(self.pool):  # between two pools: nothing needs to be drawn again
            return {"source": self.source.state_dict(), "number": self.number, "at": None}
        return {"source": self.began, "number": self.number, "at": self.at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.source.load_state_dict(state["source"])
        self.number, self.at, self.pool = state["number"], 0, []
        if state["at"] is not None:
            self.number -= 1
            self._draw()
            self.at = state["at"]


# ---- the copy warm-up

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


class CopyPretraining(Loop):
    """The warm-up: trains in place, and ends when the last length is learned, or at
    `max_steps`."""

    counted = (*Loop.counted, "seed", "level", "smoothed")

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
        length, rng = self.settings.lengths[self.level], random.Random(f"{self.seed}-{self.step}")
        count = max(1, self.settings.tokens_per_step // (2 * length))
        strings = [string(rng, self.model.config.vocab_size, length) for _ in range(count)]
        batch = collate([(ids, mask, [0.0] * len(ids)) for ids, mask in strings])
        batch = batch.to(self.decoder.device)
        # of the repetition
        loss = -token_logprobs(self.decoder, batch, self.settings.dtype, batch.mask > 0).mean()
        loss.backward()
        self.step += 1
        left = 1 - self.step / self.settings.max_steps
        norm = self.optimizers.step(min(1.0, self.step / 20, max(0.05, 2 * left)))
        self.tokens += sum(len(ids) for ids, _ in strings)
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


def string(rng: random.Random, vocabulary: int, length: int) -> tuple[list[int], list[int]]:
    """Ids, and 1 for what is to be learned: the repetition but for its first token, which nothing
    announces."""
    drawn = [rng.randrange(vocabulary) for _ in range(length)]
    gap = [rng.randrange(vocabulary) for _ in range(rng.randint(0, int(GAP * length)))]
    return drawn + gap + drawn, [0] * (length + len(gap) + 1) + [1] * (length - 1)

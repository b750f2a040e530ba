"""How much work a step of a recipe is, and how long it takes here: FLOPs counted (`flops`), rates
measured for a second on this machine.

The rates are those of products of the model's own sizes, because a small model reaches a fraction
of what a large product does: one for the rows of an update, one for a single token of every row
that plays. To these come what moves through memory, and what every operation costs however small it
is. A GPU's time is not estimated: this engine computes on the CPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from tripwright.inference.models import precision_named
from tripwright.learning.flops import flops, rollout_flops, update_flops
from tripwright.learning.trips import expert_sessions
from tripwright.rl.settings import RolloutSettings
from tripwright.training.data_source import RL, trips_of
from tripwright.training.fit import (
    FP32,
    activation_bytes,
    copied,
    episode_tokens,
    precision_name,
    sft_tokens,
)
from tripwright.training.model_shapes import BYTES, ModelSize
from tripwright.training.recipe import Recipe

SAMPLE = 16  # of the expert's episodes, from which lengths are taken
# Characters a token: of a large tokenizer (English and JSON), and of a new small one, measured on
# the compact dialect and on the others, whose texts it was not made for.
LARGE_TOKENIZER, NEW_TOKENIZER, NEW_TOKENIZER_ELSEWHERE = 3.6, 3.8, 1.6
OPERATIONS = 40  # of a layer's forward pass for one token a row
# Calibrated on steps of the nano model (then 3.4 million parameters, fp32, one thread): a whole
# pass reaches this share of what its products do by themselves, and playing takes so many times
# what its products and its memory would.
EFFICIENCY, PLAYING = 0.45, 2.4
UNEVEN = 1.4  # turns of different length: a batch decodes for longer than its mean row does
_SECONDS = 0.2  # of each measurement


@dataclass(frozen=True)
class Lengths:
    """Tokens of an episode in the mean, and how many of them the agent says. `measured`: from the
    expert's episodes, else at most."""

    episode: int
    agent: int
    measured: bool


@dataclass(frozen=True)
class StepWork:
    """Of one step of a stage. `seconds` is None where no rate was measured."""

    stage: str
    tokens: int
    update_flops: float
    rollout_flops: float = 0.0
    update_seconds: float | None = None
    rollout_seconds: float | None = None

    @property
    def seconds(self) -> float | None:
        if self.update_seconds is None:
            return None
        return self.update_seconds + (self.rollout_seconds or 0.0)


@dataclass(frozen=True)
class Rates:
    """Of this machine, for one model and recipe: FLOP/s of an update and of decoding, bytes/s of
    memory, seconds of a tiny operation."""

    update: float
    decode: float
    memory: float
    operation: float


def lengths(recipe: Recipe, model: ModelSize, tokens: int | None = None) -> Lengths:
    """`tokens` is what the user says. On generated trips the expert plays some; on a user's own, an
    episode is as long as it can be."""
    most = episode_tokens(recipe, model)
    if tokens is not None:
        return Lengths(min(tokens, most), max(1, min(tokens, most) // 4), False)
    if recipe.data.world is not None:
        return Lengths(most, max(1, most // 8), False)
    trips = trips_of(recipe, RL)
    requests = [trips.request_at(number) for number in range(SAMPLE)]
    sessions = [
        session.transcript for session in expert_sessions(requests, recipe.dialect.dialect(), None)
    ]
    new = model.shape.vocabulary < 20_000
    ratio = (
        (NEW_TOKENIZER if recipe.dialect.name == "compact" else NEW_TOKENIZER_ELSEWHERE)
        if new
        else LARGE_TOKENIZER
    )
    everything = sum(
        len(segment.text) for transcript in sessions for segment in transcript.segments
    )
    agent_tokens = sum(
        len(segment.text)
        for transcript in sessions
        for segment in transcript.segments
        if segment.role == "assistant"
    )
    # plans are where a new tokenizer has its longest words
    share = 1.3 if new and recipe.dialect.name == "compact" else 1.0
    return Lengths(
        min(most, round(everything / SAMPLE / ratio)),
        max(1, round(agent_tokens / SAMPLE / ratio / share)),
        True,
    )


def steps_of(
    recipe: Recipe, model: ModelSize, lengths: Lengths, device: str = "cpu"
) -> list[StepWork]:
    """One entry for each stage that the recipe has, in order; with seconds where `device` is this
    CPU."""
    works = []
    measure = device == "cpu"
    if recipe.copy_pretraining is not None:
        rows, length = copied(recipe.copy_pretraining)
        works.append(
            _update(
                "copy_pretraining",
                recipe,
                model,
                rows,
                rows,
                length,
                length // 2,
                recipe.copy_pretraining.dtype,
                measure,
            )
        )
    if (sft := recipe.sft) is not None:
        length = min(lengths.episode, sft_tokens(sft, recipe, model))
        works.append(
            _update(
                "sft",
                recipe,
                model,
                sft.batch_size,
                sft.micro_batch_size or sft.batch_size,
                length,
                length,
                sft.dtype,
                measure,
            )
        )
    if recipe.rl is not None:
        works.append(_rl(recipe, model, lengths, *recipe.rl, measure))
    return works


def _update(
    stage: str,
    recipe: Recipe,
    model: ModelSize,
    rows: int,
    at_once: int,
    length: int,
    heads: int,
    dtype: str,
    measure: bool,
) -> StepWork:
    flops_count = update_flops(model.shape, [length] * rows, heads * rows)
    if not measure:
        return StepWork(stage, rows * length, flops_count)
    dtype = precision_name(dtype, weights=recipe.model.weights)
    rates = measured(model, dtype, at_once * length, 1, recipe.threads)
    moved = (
        1.2 * rows * length * model.shape.layers * activation_bytes(model, dtype)
        + 5.0 * heads * rows * model.shape.vocabulary * 4
    )
    # an optimizer step reads and writes weights, gradients and states
    weights = model.parameters * FP32 * 8
    again = (
        flops(model.shape, rows * length, rows * length**2, 0)
        if recipe.model.checkpoint_activations
        else 0.0
    )
    computing = (flops_count + again) / (EFFICIENCY * rates.update)
    seconds = computing + (moved + weights) / rates.memory
    return StepWork(stage, rows * length, flops_count, update_seconds=seconds)


def _rl(
    recipe: Recipe,
    model: ModelSize,
    lengths: Lengths,
    name: str,
    settings: RolloutSettings,
    measure: bool,
) -> StepWork:
    """Groups that agree are not computed in an update; here all are counted."""
    episodes = settings.prompts_per_step * settings.group_size
    update = _update(
        name,
        recipe,
        model,
        episodes * settings.epochs_per_batch,
        settings.micro_batch_size,
        lengths.episode,
        lengths.agent,
        settings.dtype,
        measure,
    )
    played = rollout_flops(model.shape, [(0, lengths.episode)] * episodes, lengths.agent * episodes)
    tokens = episodes * lengths.episode
    if not measure:
        return StepWork(name, tokens, update.update_flops, played)
    rows = min(settings.max_concurrent_rollouts or episodes, episodes)
    dtype = precision_name(settings.dtype, weights=recipe.model.weights)
    rates, s = (
        measured(model, dtype, settings.micro_batch_size * lengths.episode, rows, recipe.threads),
        model.shape,
    )
    read = flops(
        s, episodes * (lengths.episode - lengths.agent), episodes * lengths.episode**2 / 2, 0
    )
    steps = lengths.agent * UNEVEN * -(-episodes // rows)
    one = flops(s, rows, rows * lengths.episode / 2, rows) / rates.decode
    size = BYTES[dtype]
    moved = (
        s.layers * rows * s.kv_heads * s.head_size * lengths.episode * size
        + rows * s.vocabulary * 4.0 * 4
    )
    decoding = steps * (one + moved / rates.memory + s.layers * OPERATIONS * rates.operation)
    return StepWork(
        name,
        tokens,
        update.update_flops,
        played,
        update.update_seconds,
        PLAYING * (read / rates.update + decoding),
    )


def measured(
    model: ModelSize, dtype: str, update_rows: int, decode_rows: int, threads: int
) -> Rates:
    """With the recipe's threads, and the threads as they were afterwards."""
    before, s = torch.get_num_threads(), model.shape
    torch.set_num_threads(threads)
    try:
        kind = precision_named(dtype)
        wide = torch.randn(s.hidden, s.feed_forward).to(kind)

        def product(rows: int) -> float:
            x = torch.randn(rows, s.hidden).to(kind)
            return 2.0 * rows * s.hidden * s.feed_forward / _seconds(lambda: x @ wide)

        large, one = torch.zeros(1 << 22), torch.zeros(1)
        return Rates(
            update=product(min(update_rows, 1024)),
            decode=product(decode_rows),
            memory=2 * large.nbytes / _seconds(lambda: large.clone()),
            operation=_seconds(lambda: one + one),
        )
    finally:
        torch.set_num_threads(before)


def _seconds(work: Callable[[], object]) -> float:
    """Of one call: the best of several, because anything else on the machine can only slow one
    down."""
    work()
    best, began = float("inf"), time.perf_counter()
    while time.perf_counter() - began < _SECONDS:
        started = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - started)
    return best

"""The range of every number in a recipe, as a table: what is a count, a share, a rate. A number of no range must still be finite."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

from tripwright.errors import UserError

# (pattern of dotted names, least, whether the least itself is accepted, most)
RANGES: tuple[tuple[str, float, bool, float], ...] = (
    ("seed", 0, True, 2**63 - 1),
    ("threads", 1, True, math.inf),
    ("data.mix.levels.*", 0, True, math.inf),
    ("data.rl_mix.levels.*", 0, True, math.inf),
    ("data.*mix.slack.*", 1, True, math.inf),
    ("data.*mix.cuisines.*", 0, True, math.inf),
    ("data.queries_per_world", 1, True, math.inf),
    ("data.rl_trips", 1, True, math.inf),
    ("dialect.*", 1, True, math.inf),
    ("model.shape.*", 1, True, math.inf),
    ("model.tokenizer_transcripts", 1, True, math.inf),
    ("model.superwords", 0, True, math.inf),
    ("model.subwords", 256, True, math.inf),  # every byte
    ("evaluation.*", 1, True, math.inf),
    ("copy.learned_at", 0, False, math.inf),
    ("copy.tokens_per_step", 1, True, math.inf),
    ("*.optimizer.learning_rate", 0, False, math.inf),
    ("*.optimizer.adamw_learning_rate", 0, False, math.inf),
    ("*.optimizer.weight_decay", 0, True, math.inf),
    ("*.optimizer.betas.*", 0, True, 0.999999),
    ("*.optimizer.momentum", 0, True, 0.999999),
    ("*.optimizer.grad_clip", 0, False, math.inf),
    ("*.entropy_bonus", 0, True, math.inf),
    ("*.clip.low", 0, False, 0.999999),
    ("*.clip.high", 0, False, math.inf),
    ("*.clip.dual", 1, False, math.inf),
    ("*.filter.min_std", 0, True, math.inf),
    ("sft.rows_per_step", 1, True, math.inf),
    ("sft.expert_transcripts", 1, True, math.inf),
    ("*.minibatches", 1, True, math.inf),
    ("*.passes", 1, True, math.inf),
    ("*.rows", 1, True, math.inf),
    ("*.sampling_rows", 1, True, math.inf),
    ("*.filter.max_rounds", 1, True, math.inf),
    ("*.importance.cap", 0, False, math.inf),
    ("*.curriculum.window", 2, True, math.inf),
    ("*.tool_threads", 0, True, math.inf),
    ("*.warm_up_steps", 0, True, math.inf),
    ("*.curriculum.stages.*", 0, True, math.inf),
    ("*.curriculum.noise", 0, True, math.inf),
    ("*.curriculum.least_signal", 0, True, 1),
    ("ppo.gamma", 0, True, 1),
    ("ppo.lam", 0, True, 1),
    ("ppo.value_weight", 0, True, math.inf),
    ("ppo.value_clip", 0, False, math.inf),
    ("ppo.value_rate", 0, False, math.inf),
    ("rft.keep", 1, True, math.inf),
)


def check_ranges(recipe: Any) -> None:
    """Raises UserError for the first number out of its range, by its dotted name."""
    for name, value in numbers(recipe):
        if not math.isfinite(value):
            raise UserError(f"{name} must be a number, found {value}.")
        for pattern, least, least_too, most in RANGES:
            if fnmatchcase(name, pattern):
                if value < least or (value == least and not least_too) or value > most:
                    wanted = f"{'at least' if least_too else 'above'} {least:g}" + (f", at most {most:g}" if most < math.inf else "")
                    raise UserError(f"{name} must be {wanted}, found {value:g}.")
                break


def numbers(value: Any, name: str = "") -> Iterator[tuple[str, float]]:
    """(dotted name, number) of every number in nested dataclasses and tuples; members of a tuple are called by their place."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            yield from numbers(getattr(value, field.name), f"{name}.{field.name}" if name else field.name)
    elif isinstance(value, tuple):
        for place, inner in enumerate(value):
            yield from numbers(inner, f"{name}.{place}")
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value

"""A recipe: everything that decides a training run, in one TOML file; defaults stand in the dataclasses and nowhere else.

Unknown keys and wrong types are refused before anything is loaded: a misspelt knob that is silently ignored costs a night.
TOML has no null: where a setting may be none, it is written "none".
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
import types
import typing
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from tripwright.agent.dialect import Dialect, dialect_named
from tripwright.agent.policies.local_precision import AUTO, PRECISIONS
from tripwright.errors import UserError
from tripwright.queries.sample import Mix
from tripwright.rewards.shaped import STAGES
from tripwright.tools.faults import Faults
from tripwright.training.copying import CopySettings
from tripwright.training.grpo import GrpoSettings
from tripwright.training.nano import NanoShape
from tripwright.training.objectives import AGGREGATIONS
from tripwright.training.optim import OPTIMIZERS
from tripwright.training.sft import SftSettings

NONE = "none"


@dataclass(frozen=True)
class DataSettings:
    """Where trips come from: generated worlds, many of them; or, with `world` and `queries`, one given world and a query file.

    `mix` is what the exam and the cold start ask. RL may dwell on what is hard (row S8): `rl_mix`, None for the same.
    """

    scale: str = "nano"
    queries_per_world: int = 16
    mix: Mix = Mix()
    rl_mix: Mix | None = None
    world: str | None = None
    queries: str | None = None


@dataclass(frozen=True)
class DialectSettings:
    """A dialect by name, with single limits changed where they are given."""

    name: str = "compact"
    max_turns: int | None = None
    max_calls: int | None = None
    max_tool_tokens: int | None = None
    max_turn_tokens: int | None = None
    context_tokens: int | None = None
    page_rows: int | None = None
    system_prompt: str | None = None

    def dialect(self) -> Dialect:
        changed = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "name" and getattr(self, f.name) is not None}
        return dataclasses.replace(dialect_named(self.name), **changed)


@dataclass(frozen=True)
class ModelSettings:
    """`pretrained` (a folder, or a name that `from_pretrained` finds) or a new model of `shape` with a tokenizer made on the spot."""

    pretrained: str | None = None
    shape: NanoShape = NanoShape()
    tokenizer_transcripts: int = 160
    superwords: int = 320
    subwords: int = 1000


@dataclass(frozen=True)
class EvaluationSettings:
    """`difficulty_queries` (the exam's trips and more like them) are for policies without a mind, which cost nothing."""

    queries: int = 400
    difficulty_queries: int = 1000
    per_world: int = 20
    rows: int = 100
    dtype: str = AUTO


@dataclass(frozen=True)
class Recipe:
    """`faults` are of the tools that RL rolls out with (row S9); cold start and examinations have none."""

    name: str = "nano"
    seed: int = 0
    threads: int = 2
    data: DataSettings = DataSettings()
    dialect: DialectSettings = DialectSettings()
    model: ModelSettings = ModelSettings()
    copy: CopySettings | None = None
    sft: SftSettings | None = None
    grpo: GrpoSettings | None = None
    faults: Faults | None = None
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)

    def record(self) -> dict[str, Any]:
        """The resolved recipe as plain JSON."""
        return dataclasses.asdict(self)


def load_recipe(path: str | Path) -> Recipe:
    """Raises UserError in one line: file, key, what was found and what is accepted."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"No recipe at '{path}'. Recipes are TOML files; see the folder recipes/.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML ({error}).") from None
    recipe: Recipe = _build(Recipe, data, str(path))
    _check(recipe, str(path))
    return recipe


def _build(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise UserError(f"{where}: expected a table of settings, found {data!r}.")
    hints = typing.get_type_hints(kind)
    for key in data:
        if key not in hints:
            raise UserError(f"{where}: unknown setting '{key}'. Accepted: {', '.join(hints)}.")
    values: dict[str, Any] = {}
    for key, value in data.items():
        hint = _without_none(hints[key])
        if value == NONE and hint is not hints[key]:
            values[key] = None
            continue
        if is_dataclass(hint):
            values[key] = _build(hint, value, f"{where}: {key}")
            continue
        try:  # as JSON, where "strict" takes an array for a tuple and a whole number for a fraction, but no "3" and no true for a number
            values[key] = TypeAdapter(hints[key]).validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            raise UserError(f"{where}: setting '{key}': {error.errors()[0]['msg']} (found {value!r}).") from None
    try:
        return kind(**values)
    except UserError as error:  # settings that check themselves
        raise UserError(f"{where}: {error}") from None


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(arg for arg in typing.get_args(hint) if arg is not type(None))
    return hint


def _check(recipe: Recipe, where: str) -> None:
    dialect = recipe.dialect.dialect()
    if dialect.max_turn_tokens >= dialect.context_tokens:
        raise UserError(f"{where}: max_turn_tokens ({dialect.max_turn_tokens}) must be below context_tokens ({dialect.context_tokens}).")
    if recipe.model.pretrained is None and recipe.model.shape.positions < dialect.context_tokens:
        raise UserError(f"{where}: the model has {recipe.model.shape.positions} positions, the dialect needs {dialect.context_tokens}.")
    if (recipe.data.world is None) != (recipe.data.queries is None):
        raise UserError(f"{where}: data.world and data.queries belong together: give both, or neither for generated worlds.")
    if recipe.evaluation.dtype not in PRECISIONS:
        raise UserError(f"{where}: unknown evaluation.dtype '{recipe.evaluation.dtype}'. Accepted: {', '.join(PRECISIONS)}.")
    for name, settings in (("copy", recipe.copy), ("sft", recipe.sft), ("grpo", recipe.grpo)):
        if settings and settings.dtype not in PRECISIONS:
            raise UserError(f"{where}: unknown {name}.dtype '{settings.dtype}'. Accepted: {', '.join(PRECISIONS)}.")
        if settings and settings.optimizer.name not in OPTIMIZERS:
            raise UserError(f"{where}: unknown {name}.optimizer.name '{settings.optimizer.name}'. Accepted: {', '.join(OPTIMIZERS)}.")
    if recipe.copy and (recipe.copy.max_steps < 1 or not recipe.copy.lengths or min(recipe.copy.lengths) < 2):
        raise UserError(f"{where}: copy needs max_steps ≥ 1 and lengths ≥ 2.")
    if recipe.sft:
        _check_end("sft", recipe.sft.steps, recipe.sft.max_minutes, where)
        if recipe.sft.rows_per_step < 1:
            raise UserError(f"{where}: sft.rows_per_step must be at least 1, found {recipe.sft.rows_per_step}.")
    if recipe.grpo:
        _check_end("grpo", recipe.grpo.steps, recipe.grpo.max_minutes, where)
        _check_grpo(recipe.grpo, where)


def _check_end(stage: str, steps: int | None, max_minutes: float | None, where: str) -> None:
    if steps is None and max_minutes is None:
        raise UserError(f"{where}: {stage} would never end: give steps, max_minutes or both.")
    if (steps is not None and steps < 1) or (max_minutes is not None and max_minutes <= 0):
        raise UserError(f"{where}: {stage} needs steps ≥ 1 and max_minutes above 0, found {steps} and {max_minutes}.")


def _check_grpo(settings: GrpoSettings, where: str) -> None:
    if settings.group < 2 or settings.prompts < 1:
        raise UserError(f"{where}: grpo needs group ≥ 2 and prompts ≥ 1, found {settings.group} and {settings.prompts}.")
    if settings.minibatches < 1 or settings.rows < 1:
        raise UserError(f"{where}: grpo needs minibatches ≥ 1 and rows ≥ 1, found {settings.minibatches} and {settings.rows}.")
    if not 0 <= settings.final_rate <= 1:
        raise UserError(f"{where}: grpo.final_rate is a share of the learning rate, from 0 to 1; found {settings.final_rate}.")
    if settings.temperature <= 0:
        raise UserError(f"{where}: grpo.temperature must be above 0, found {settings.temperature}: a greedy group has nothing to compare.")
    if settings.aggregation not in AGGREGATIONS:
        raise UserError(f"{where}: unknown grpo.aggregation '{settings.aggregation}'. Accepted: {', '.join(AGGREGATIONS)}.")
    unknown = [name for name, _ in settings.curriculum.stages if name not in STAGES]
    if unknown or not settings.curriculum.stages:
        raise UserError(
            f"{where}: grpo.curriculum.stages: unknown {unknown or 'empty list'}. Accepted: {', '.join(STAGES)}, with steps each."
        )

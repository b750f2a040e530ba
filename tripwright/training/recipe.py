"""A recipe: everything that decides a training run, in one TOML file.

Unknown keys and wrong types are refused before anything is loaded: a misspelt knob that is silently
ignored costs a night. TOML has no null: where a setting may be none, it is written "none". The
settings are in `recipe_tables`, what must hold between them in `recipe_checks`.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import tomllib
import types
import typing
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from tripwright.errors import UserError
from tripwright.files import json_object
from tripwright.rl.algorithms import ALGORITHMS
from tripwright.runs import RECIPE
from tripwright.training.recipe_checks import check
from tripwright.training.recipe_tables import (
    DataSettings,
    DialectSettings,
    EvaluationSettings,
    ModelSettings,
    Recipe,
    Reinforcement,
    ValidationSettings,
)

__all__ = [
    "DataSettings",
    "DialectSettings",
    "EvaluationSettings",
    "ModelSettings",
    "Recipe",
    "Reinforcement",
    "ValidationSettings",
    "load_recipe",
    "recipe_of_run",
]
NONE = "none"
# (name in older recipes, name now); where a name has two, the one that its table has
RENAMED = (
    ("copy", "copy_pretraining"),
    ("sinks", "loggers"),
    ("prompts", "prompts_per_step"),
    ("group", "group_size"),
    ("passes", "epochs_per_batch"),
    ("rows", "micro_batch_size"),
    ("rows", "max_concurrent_rollouts"),
    ("rows_per_step", "batch_size"),
    ("sampling_rows", "max_concurrent_rollouts"),
)


def load_recipe(path: str | Path) -> Recipe:
    """Raises UserError in one line: file, key, what was found and what is accepted."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"No recipe at '{path}'. Recipes are TOML files; see the folder recipes/.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML ({error}).") from None
    return _recipe(data, str(path))


def recipe_of_run(folder: Path) -> Recipe:
    """The recipe that a run folder was made by. Raises UserError where it holds none, or one of
    another version."""
    path = folder / RECIPE
    record = json_object(path) if path.is_file() else None
    if record is None:
        raise UserError(f"No training in '{folder}': expected a run folder with {RECIPE}.")
    return _recipe(_without_null(record), str(path))


def _without_null(value: Any) -> Any:
    """JSON's null as TOML writes it here."""
    if isinstance(value, dict):
        return {key: _without_null(each) for key, each in value.items()}
    return NONE if value is None else value


def _recipe(data: dict[str, Any], where: str) -> Recipe:
    tables = {name: algorithm.settings for name, algorithm in ALGORITHMS.items()}
    values = _values(
        {name: hint for name, hint in _hints(Recipe).items() if name != "rl"} | tables,
        data,
        where,
    )
    reinforcements = [Reinforcement(name, values.pop(name)) for name in tables if name in values]
    if len(reinforcements) > 1:
        raise UserError(
            f"{where}: One kind of reinforcement learning a recipe: found"
            f" [{']['.join(rl.algorithm for rl in reinforcements)}]."
        )
    recipe = Recipe(**values, rl=reinforcements[0] if reinforcements else None)
    mixes = {
        name: mix for name in ("mix", "rl_mix") if (mix := getattr(recipe.data, name)) is not None
    }
    mixes = {
        name: _build(recipe.domain.mix, mix, f"{where}: data.{name}") for name, mix in mixes.items()
    }
    recipe = dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, **mixes))
    recipe = _with_rules(recipe, data)
    try:
        check(recipe)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return recipe


def _with_rules(recipe: Recipe, data: dict[str, Any]) -> Recipe:
    """Training and examinations are held to the domain's strictest rules where the recipe does not
    say."""
    if not recipe.domain.rules:
        return recipe
    strictest = recipe.domain.rules[0]
    if "rules" not in data.get("evaluation", {}):
        recipe = dataclasses.replace(
            recipe, evaluation=dataclasses.replace(recipe.evaluation, rules=strictest)
        )
    if recipe.rl is not None and "rules" not in data[recipe.rl.algorithm]:
        settings = dataclasses.replace(recipe.rl.settings, rules=strictest)
        recipe = dataclasses.replace(recipe, rl=recipe.rl._replace(settings=settings))
    return recipe


def _build(kind: Any, data: Any, where: str) -> Any:
    if not isinstance(data, dict):
        raise UserError(f"{where}: expected a table of settings, found {data!r}.")
    values = _values(_hints(kind), data, where)
    for name, parameter in inspect.signature(kind).parameters.items():
        if parameter.default is parameter.empty and name not in values:
            raise UserError(f"{where}: setting '{name}' is missing.")
    try:
        return kind(**values)
    except UserError as error:  # settings that check themselves
        raise UserError(f"{where}: {error}") from None


def _hints(kind: Any) -> dict[str, Any]:
    """The types of a table's settings, with the ranges that stand beside them."""
    return typing.get_type_hints(kind, include_extras=True)


def _values(hints: dict[str, Any], data: dict[str, Any], where: str) -> dict[str, Any]:
    """The values of a table's settings, which have these types."""
    for key in data:
        if key not in hints:
            for old, new in RENAMED:
                if key == old and new in hints:
                    raise UserError(f"{where}: '{key}' is called '{new}' now.")
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
        # as JSON, where "strict" takes an array for a tuple and a whole number for a fraction, but
        # no "3" and no true for a number
        try:
            adapter = TypeAdapter(hints[key], config=ConfigDict(allow_inf_nan=False))
            values[key] = adapter.validate_json(json.dumps(value, default=str), strict=True)
        except ValidationError as error:
            raise UserError(
                f"{where}: setting '{key}': {error.errors()[0]['msg']} (found {value!r})."
            ) from None
    return values


def _without_none(hint: Any) -> Any:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return next(arg for arg in typing.get_args(hint) if arg is not type(None))
    return hint

"""A recipe: everything that decides a training run, in one TOML file.

Unknown keys and wrong types are refused before anything is loaded: a misspelt knob that is silently
ignored costs a night. TOML has no null: where a setting may be none, it is written "none". The
settings are in `recipe_tables`, what must hold between them in `recipe_checks`.

A recipe may begin from another one and say only what differs, so that two recipes of a comparison
cannot differ in anything else:

    base = "nano/grpo"   another recipe, by its name in `tripwright recipes` or a file beside this
    [grpo]
    group_size = 16      goes over the base's setting
    replay = "none"      takes a table of the base away
"""

from __future__ import annotations

import dataclasses
import tomllib
from pathlib import Path
from typing import Any

from tripwright.domains.judging import judging_settings
from tripwright.errors import UserError
from tripwright.files import json_object
from tripwright.rl.algorithms import ALGORITHMS
from tripwright.runs import RECIPE
from tripwright.settings import NONE, hints_of, settings_of, settings_values
from tripwright.training.recipe_checks import check
from tripwright.training.recipe_list import recipe_named
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


def load_recipe(path: str | Path) -> Recipe:
    """Raises UserError in one line: file, key, what was found and what is accepted."""
    return _recipe(_with_base(Path(path), ()), str(path))


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
    values = settings_values(
        {name: hint for name, hint in hints_of(Recipe).items() if name != "rl"} | tables,
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
        name: settings_of(recipe.domain.mix, mix, f"{where}: data.{name}")
        for name, mix in mixes.items()
    }
    recipe = dataclasses.replace(recipe, data=dataclasses.replace(recipe.data, **mixes))
    if recipe.judging is not None:
        dialect = recipe.dialect.dialect()
        settings = judging_settings(recipe.domain, dialect, recipe.judging, f"{where}: judging")
        recipe = dataclasses.replace(recipe, judging=settings)
    recipe = _with_rules(recipe, data)
    try:
        check(recipe)
    except UserError as error:
        raise UserError(f"{where}: {error}") from None
    return recipe


def _with_base(path: Path, above: tuple[Path, ...]) -> dict[str, Any]:
    """The tables of a file over those of its base. `above`: the files that begin from this one."""
    if not path.is_file():
        raise UserError(f"No recipe at '{path}'. Recipes are TOML files; see the folder recipes/.")
    if path.resolve() in above:
        raise UserError(f"{path}: its base begins from this recipe again.")
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: not TOML ({error}).") from None
    base = data.pop("base", None)
    if base is None:
        return data
    if not isinstance(base, str):
        raise UserError(f"{path}: base is the name or the file of another recipe, found {base!r}.")
    beside = path.parent / base
    try:
        file = beside if beside.is_file() else Path(recipe_named(base).path)
    except UserError as error:
        raise UserError(f"{path}: base: {error}") from None
    return _merged(_with_base(file, (*above, path.resolve())), data)


def _merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Table by table; what is no table is replaced. "none" takes a table of the base away."""
    merged = dict(base)
    for key, value in changes.items():
        before = merged.get(key)
        if isinstance(before, dict) and value == NONE:
            del merged[key]
        elif isinstance(before, dict) and isinstance(value, dict):
            merged[key] = _merged(before, value)
        else:
            merged[key] = value
    return merged


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

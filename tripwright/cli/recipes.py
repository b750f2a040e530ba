"""`tripwright recipes`: the recipes that come with the package. What is said of each stands in the
comments at its head."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import typer

from tripwright.cli.options import Json, argument
from tripwright.files import toml_text
from tripwright.training.recipe_list import all_recipes, recipe_named, recipes_folder


def recipes(
    name: str | None = argument("A recipe to print, such as nano/grpo.", default=None),
    as_json: Json = False,
) -> None:
    """List the recipes that come with tripwright: what each does, which rows of the papers it has,
    and what it needs. With a name, print that recipe.

    A run that differs from a recipe in a setting or two needs no file: --set of 'train', 'sft',
    'fit' and 'examine'. docs/recipes.md has such commands for the papers' other rows.

    Examples:
      tripwright recipes
      tripwright recipes nano/grpo > mine.toml
      tripwright recipes --json
    """
    if name is not None:
        recipe = recipe_named(name)
        text = toml_text(Path(recipe.path)).rstrip()
        typer.echo(json.dumps(asdict(recipe)) if as_json else text)
        return
    entries = all_recipes(recipes_folder())
    if as_json:
        typer.echo(json.dumps([asdict(recipe) for recipe in entries]))
        return
    for recipe in entries:
        typer.echo(
            f"{recipe.name}  [{', '.join(recipe.rows)}]\n  {recipe.does}\n"
            f"  needs: {recipe.needs}\n  memory: {recipe.memory}; time: {recipe.time}"
        )
    typer.echo("\nOne to edit: tripwright recipes NAME > mine.toml")

"""`tripwright recipes`: the recipes that come with the package. What is said of each stands in the
comments at its head."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, Restart
from tripwright.errors import UserError
from tripwright.files import check_new, make_parent, write_atomically
from tripwright.training.recipe_list import RecipeEntry, all_recipes, recipe_named, recipes_folder


def recipes(
    name: Annotated[
        str | None, typer.Argument(help="A recipe to print, such as nano/grpo.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Copy the recipe to this file, to edit it.", show_default=False),
    ] = None,
    restart: Restart = False,
    as_json: Json = False,
) -> None:
    """List the recipes that come with tripwright: what each does, which rows of the papers it has,
    and what it needs.

    With a name, print that recipe; with --out as well, copy it to a file of yours.

    A run that differs from a recipe in a setting or two needs no file: --set of 'train', 'sft',
    'fit' and 'examine'. docs/recipes.md has such commands for the papers' other rows.

    Examples:
      tripwright recipes
      tripwright recipes nano/grpo
      tripwright recipes nano/grpo --out mine.toml
      tripwright recipes --json
    """
    if name is None:
        if out is not None:
            raise UserError(
                "--out copies one recipe: name it, such as: tripwright recipes nano/grpo --out"
                " mine.toml"
            )
        entries = all_recipes(recipes_folder())
        typer.echo(
            json.dumps([asdict(recipe) for recipe in entries], indent=2, ensure_ascii=False)
            if as_json
            else _table(entries)
        )
        return
    recipe = recipe_named(name)
    text = Path(recipe.path).read_text(encoding="utf-8")
    if out is not None:
        check_new(out, restart)
        make_parent(out)
        write_atomically(out, text)
        typer.echo(str(out))
        return
    typer.echo(
        json.dumps(asdict(recipe), indent=2, ensure_ascii=False) if as_json else text.rstrip()
    )


def _table(entries: list[RecipeEntry]) -> str:
    blocks = []
    for recipe in entries:
        blocks.append(
            f"{recipe.name}  [{', '.join(recipe.rows)}]\n  {recipe.does}\n"
            f"  needs: {recipe.needs}\n  memory: {recipe.memory}; time: {recipe.time}"
        )
    return (
        "\n".join(blocks)
        + "\n\nPrint one: tripwright recipes NAME. Copy one to edit: tripwright recipes NAME --out"
        " mine.toml"
    )

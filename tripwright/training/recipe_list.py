"""The recipes that come with the package, by name: what is said of each stands in the comments at
its head.

No torch: a recipe that is not there is noticed before anything is loaded.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tripwright.errors import UserError, nearest
from tripwright.files import toml_text

HEAD = ("does", "rows", "needs", "memory", "time")
FIRST = ("quickstart", "cold_start", "sft")  # of a folder: what the others begin with


@dataclass(frozen=True)
class RecipeEntry:
    """`command` runs it where it lies under recipes/. `memory` and `time` say where a figure is
    from, or that none was taken."""

    name: str
    command: str
    does: str
    rows: tuple[str, ...]
    needs: str
    memory: str
    time: str
    path: str


def recipes_folder() -> Path:
    """In an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "recipes", package.parent / "recipes"):
        if any(folder.glob("*/*.toml")):
            return folder
    raise UserError(f"No recipes at '{package / 'recipes'}'. Install tripwright again.")


def all_recipes(folder: Path) -> list[RecipeEntry]:
    """Smallest first: the nano recipes, then the papers'."""

    def order(path: Path) -> tuple[bool, str, bool, str]:
        group = path.parent.relative_to(folder).as_posix()
        return group != "nano", group, path.stem not in FIRST, path.stem

    return [entry_of(path, folder) for path in sorted(folder.rglob("*.toml"), key=order)]


def entry_of(path: Path, folder: Path) -> RecipeEntry:
    """From the comments at the head of a recipe: the command, then one line each of HEAD."""
    lines = toml_text(path).splitlines()
    pairs = (line[2:].partition(": ") for line in lines if line.startswith("# "))
    texts: dict[str, str] = {}
    for key, _, value in pairs:
        if key in HEAD:
            texts.setdefault(key, value)
    name = path.relative_to(folder).with_suffix("").as_posix()
    rows = tuple(row.strip() for row in texts.get("rows", "").split(",") if row.strip())
    texts = {key: texts.get(key, "") for key in HEAD if key != "rows"}
    return RecipeEntry(
        name, lines[0].removeprefix("# ") if lines else "", rows=rows, path=str(path), **texts
    )


def recipe_named(name: str) -> RecipeEntry:
    """By its name, such as nano/grpo, or by the last part of it where no other has that."""
    recipes = all_recipes(recipes_folder())
    stem = name.removesuffix(".toml").removeprefix("recipes/")
    matches = [recipe for recipe in recipes if recipe.name == stem] or [
        recipe for recipe in recipes if recipe.name.rpartition("/")[2] == stem
    ]
    if len(matches) == 1:
        return matches[0]
    several = " or ".join(recipe.name for recipe in matches)
    meant = f" Did you mean {several}?" if several else nearest(stem, [r.name for r in recipes])
    raise UserError(f"No recipe '{name}'.{meant} All of them: tripwright recipes")


def recipe_file(recipe: Path) -> Path:
    """Your own file, or one of those that come with the package by its name. Raises UserError."""
    return recipe if recipe.is_file() else Path(recipe_named(str(recipe)).path)

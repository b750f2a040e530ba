"""`tripwright recipes`: the recipes that come with the package. What is said of each stands in the
comments at its head."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated

import typer

from tripwright.errors import UserError
from tripwright.files import write_atomically

HEAD = ("does", "rows", "needs", "memory", "time")
FIRST = ("quickstart", "cold_start", "sft")  # of a folder: what the others begin with


@dataclass(frozen=True)
class Described:
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


def recipes(
    name: Annotated[
        str | None, typer.Argument(help="A recipe to print, such as nano/grpo.", show_default=False)
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Copy the recipe to this file, to edit it.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the recipes that come with tripwright: what each does, which rows of the papers it has,
    and what it needs.

    With a name, print that recipe; with --out as well, copy it to a file of yours.

    Examples:
      tripwright recipes
      tripwright recipes nano/grpo
      tripwright recipes nano/grpo --out mine.toml
      tripwright recipes --json
    """
    found = all_recipes(recipes_folder())
    if name is None:
        if out is not None:
            raise UserError(
                "--out copies one recipe: name it, such as: tripwright recipes nano/grpo --out"
                " mine.toml"
            )
        typer.echo(
            json.dumps([asdict(recipe) for recipe in found], indent=2, ensure_ascii=False)
            if as_json
            else _table(found)
        )
        return
    recipe = _named(name, found)
    text = Path(recipe.path).read_text(encoding="utf-8")
    if out is not None:
        if out.exists():
            raise UserError(f"'{out}' is there already. Choose another name for the copy.")
        out.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(out, text)
        typer.echo(str(out))
        return
    typer.echo(
        json.dumps(asdict(recipe), indent=2, ensure_ascii=False) if as_json else text.rstrip()
    )


def recipes_folder() -> Path:
    """In an installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "recipes", package.parent / "recipes"):
        if any(folder.glob("*/*.toml")):
            return folder
    raise UserError(
        f"No recipes at '{package / 'recipes'}' or '{package.parent / 'recipes'}'. Install"
        " tripwright again, or use a checkout."
    )


def all_recipes(folder: Path) -> list[Described]:
    """Smallest first: the nano recipes, then the papers'."""
    found = [(path.parent.relative_to(folder).as_posix(), path) for path in folder.rglob("*.toml")]
    paths = [
        path
        for _, path in sorted(
            found,
            key=lambda each: (each[0] != "nano", each[0], each[1].stem not in FIRST, each[1].stem),
        )
    ]
    return [described(path, folder) for path in paths]


def described(path: Path, folder: Path) -> Described:
    """From the comments at the head of a recipe: the command, then one line each of HEAD."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line[2:].partition(": ") for line in lines if line.startswith("# "))
    said: dict[str, str] = {}
    for key, _, value in pairs:
        if key in HEAD:
            said.setdefault(key, value)
    name = path.relative_to(folder).with_suffix("").as_posix()
    rows = tuple(row.strip() for row in said.get("rows", "").split(",") if row.strip())
    texts = {key: said.get(key, "") for key in HEAD if key != "rows"}
    return Described(
        name, lines[0].removeprefix("# ") if lines else "", rows=rows, path=str(path), **texts
    )


def _named(name: str, found: list[Described]) -> Described:
    """By its name, or by the last part of it where that is one recipe's alone."""
    wanted = name.removesuffix(".toml").removeprefix("recipes/")
    named = [recipe for recipe in found if recipe.name == wanted] or [
        r for r in found if r.name.rpartition("/")[2] == wanted
    ]
    if len(named) == 1:
        return named[0]
    near = [recipe.name for recipe in named] or get_close_matches(
        wanted, [recipe.name for recipe in found], n=3, cutoff=0.5
    )
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    raise UserError(f"No recipe '{name}'.{meant} All of them: tripwright recipes")


def _table(found: list[Described]) -> str:
    blocks = []
    for recipe in found:
        blocks.append(
            f"{recipe.name}  [{', '.join(recipe.rows)}]\n  {recipe.does}\n"
            f"  needs: {recipe.needs}\n  memory: {recipe.memory}; time: {recipe.time}"
        )
    return (
        "\n".join(blocks)
        + "\n\nPrint one: tripwright recipes NAME. Copy one to edit: tripwright recipes NAME --out"
        " mine.toml"
    )

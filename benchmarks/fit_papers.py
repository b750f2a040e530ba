"""What the papers' recipes would take by `tripwright fit`, beside what the papers say.

    python benchmarks/fit_papers.py            # the table of docs/recipes.md
    python benchmarks/fit_papers.py --write    # puts it there, and a line "engine" into each recipe

Nothing is measured: every figure is of `tripwright.training.fit`, and not verified on a GPU. A
recipe that begins with another one's model is reckoned with the one that this begins with. A test
holds table and lines to what is printed here (tests/training/test_recipes.py).
"""

from __future__ import annotations

import argparse
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from tripwright.bridges.verl.settings import check_for_verl
from tripwright.errors import UserError
from tripwright.training.fit import (
    CARDS_GB,
    NUMBERS_OF_DEVICES,
    Change,
    DevicePeak,
    ModelSize,
    changes,
    clusters,
    memory,
    peak,
    size_of,
    trl_peak,
    verl_peak,
)
from tripwright.training.recipe import Recipe, load_recipe
from tripwright.training.recipe_list import RecipeEntry, all_recipes

ROOT = Path(__file__).resolve().parents[1]
DOCUMENT = ROOT / "docs" / "recipes.md"
FOLDERS = ("planner_r1", "star", "deeptravel")
HEAD = """| recipes | model | the paper | one GPU, as written | of 8 | of 16 | one GPU, with |
|---|---|---|---|---|---|---|
"""


@functools.cache
def papers_recipes() -> list[RecipeEntry]:
    entries = all_recipes(ROOT / "recipes")
    return [entry for entry in entries if entry.name.partition("/")[0] in FOLDERS]


@functools.cache
def loaded(path: str) -> Recipe:
    return load_recipe(Path(path))


def size_at_start(recipe: Recipe) -> ModelSize:
    """Of the model that it begins with, or that the recipe begins with which makes it."""
    made = re.match(r"runs/[^/]+", recipe.model.pretrained or "")
    if made is None:
        return size_of(recipe)
    maker = next(each for each in papers_recipes() if each.command.endswith(f" {made[0]}"))
    return size_at_start(loaded(maker.path))


def one_gpu(recipe: Recipe, size: ModelSize) -> tuple[int, float, list[Change]] | None:
    """(GB of the smaller card that is enough, the peak in GB, with these changes), where the same
    model in the same context fits on one at all."""
    for card in CARDS_GB:
        needed, enough = changes(recipe, size, card, "cuda")
        if enough:
            return (
                card,
                needed[-1].peak_gb if needed else peak(memory(recipe, size, "cuda")),
                needed,
            )
    return None


def sharded(recipe: Recipe, size: ModelSize) -> dict[int, DevicePeak | None]:
    """What each of 8 and of 16 GPUs holds by verl, or in fine-tuning by TRL; None where verl
    refuses the recipe."""
    if recipe.rl is None:
        return {number: trl_peak(recipe, size, number) for number in NUMBERS_OF_DEVICES[1:]}
    found: dict[int, DevicePeak | None] = {}
    for machines in clusters(recipe):
        peak_of_each = verl_peak(machines, size)
        try:
            check_for_verl(machines)
        except UserError:
            found[peak_of_each.devices] = None
        else:
            found[peak_of_each.devices] = peak_of_each
    return found


def cluster_words(recipe: Recipe, size: ModelSize) -> Iterator[str]:
    """Of its [verl]'s machines first, each with the smaller card that is enough."""
    own = recipe.verl.gpus if recipe.verl is not None else 0
    for devices, held in sorted(sharded(recipe, size).items(), key=lambda item: item[0] != own):
        if held is None:
            yield "verl refuses it"
            return
        if cards := [card for card in CARDS_GB if held.fits[f"{card}_gb"]]:
            how = "" if devices == own else f" (--set verl.nodes={devices // 8})"
            yield f"verl on {devices} of {cards[0]} GB{how}, {held.peak_gb:.1f} GB of each"


def engine_line(entry: RecipeEntry) -> str:
    """Which engine runs it, and on what."""
    recipe = loaded(entry.path)
    size, engines = size_at_start(recipe), []
    if recipe.verl is not None:
        engines += cluster_words(recipe, size)
    if "--engine trl" in entry.command:
        of_each = trl_peak(recipe, size, 8).peak_gb
        engines.append(f"TRL on 8 of 80 GB (docs/sft.md), {of_each:.1f} GB of each")
    if (fitting := one_gpu(recipe, size)) is None:
        engines.append("ours on no GPU of 141 GB")
    else:
        card, gb, _ = fitting
        engines.append(
            f"ours on one of {card} GB, {gb:.1f} GB of it, changed as docs/recipes.md has it"
        )
    return f"# engine: {'; '.join(engines)} (by fit, not verified)"


def table() -> str:
    """Recipes that take the same share a row."""
    rows: dict[tuple[str, ...], list[str]] = {}
    for entry in papers_recipes():
        recipe = loaded(entry.path)
        size, how = size_at_start(recipe), "not on 141 GB"
        if (fitting := one_gpu(recipe, size)) is not None:
            card, gb, needed = fitting
            settings = ", ".join(f"`{change.setting}`" for change in needed)
            how = f"{card} GB, {gb:.1f} of it: {settings or 'as it is'}"
        paper = entry.memory.partition(" in the paper")[0]
        written = f"{peak(memory(recipe, size, 'cuda')):.1f}"
        several = [
            "refused" if held is None else f"{held.peak_gb:.1f}"
            for held in sharded(recipe, size).values()
        ]
        figures = size.name.removeprefix("Qwen/"), paper, written, *several, how
        rows.setdefault(figures, []).append(f"`{entry.name}`")
    return HEAD + "".join(
        f"| {', '.join(names)} | {' | '.join(figures)} |\n" for figures, names in rows.items()
    )


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--write", action="store_true")
    if not asked.parse_args().write:
        print(table(), end="")
        return
    text = DOCUMENT.read_text(encoding="utf-8")
    before, _, rest = text.partition(HEAD)
    after = rest[rest.index("\n\n") + 1 :] if rest else ""
    DOCUMENT.write_text(before + table() + after, encoding="utf-8")
    for entry in papers_recipes():
        lines = Path(entry.path).read_text(encoding="utf-8").splitlines(keepends=True)
        lines = [line for line in lines if not line.startswith("# engine: ")]
        at = next(n for n, line in enumerate(lines) if line.startswith("# memory: "))
        lines.insert(at + 1, engine_line(entry) + "\n")
        Path(entry.path).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()

"""What recipes say of the engine that runs them, and of its memory, is what `tripwright fit`
reckons."""

import importlib.util
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

from tripwright.training.fit import memory, peak, size_of
from tripwright.training.recipe import Recipe, differing, load_recipe

ROOT = Path(__file__).parents[2]
REAL = {
    path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "recipes/real").glob("*.toml")
}


def recipe(name: str) -> Recipe:
    return load_recipe(ROOT / "recipes" / f"{name}.toml")


def peak_gb(loaded: Recipe) -> float:
    return peak(memory(loaded, size_of(loaded), "cuda"))


@pytest.mark.parametrize("name", REAL)
def test_it_fits_the_card_that_it_is_for(name):
    (stated,) = re.findall(r"^# memory: ([\d.]+) GB .*not verified on a GPU", REAL[name], re.M)
    card = 141 if "of 141 GB" in REAL[name] else 80
    found = peak_gb(recipe(f"real/{name}"))
    assert stated == f"{found:.1f}" and found < card


@pytest.mark.parametrize("name", ["planner_r1_8b", "star_7b"])
def test_offloaded_state_lets_a_smaller_card_do_as_it_says(name):
    loaded = recipe(f"real/{name}")

    def away(table: Any) -> Any:
        return table and replace(table, optimizer=replace(table.optimizer, state="offloaded"))

    rl = loaded.rl._replace(settings=away(loaded.rl.settings))
    moved = replace(loaded, sft=away(loaded.sft), rl=rl)
    stages = memory(moved, size_of(moved), "cuda")
    host = max(sum(stage.host.values()) for stage in stages) / 1e9
    words = " ".join(REAL[name].replace("\n#", "").split())
    assert f"{peak(stages):.1f}" in words and f"{host:.1f}" in words and peak(stages) < 80


def test_stars_cold_start_on_one_gpu_differs_in_formats_alone():
    own, papers = (recipe(name).record()["sft"] for name in ("real/star_7b", "star/sft"))
    assert {path for path, *_ in differing(papers, own)} == {"dtype", "optimizer.state"}


def test_the_papers_recipes_and_the_table_say_what_fit_reckons():
    """`python benchmarks/fit_papers.py --write` makes them again."""
    found = importlib.util.spec_from_file_location("fit_papers", ROOT / "benchmarks/fit_papers.py")
    fit_papers = importlib.util.module_from_spec(found)
    found.loader.exec_module(fit_papers)
    assert f"\n{fit_papers.table()}\n" in (ROOT / "docs/recipes.md").read_text(encoding="utf-8")
    for entry in fit_papers.papers_recipes():
        lines = Path(entry.path).read_text(encoding="utf-8").splitlines()
        assert [line for line in lines if line.startswith("# engine: ")] == [
            fit_papers.engine_line(entry)
        ], entry.name

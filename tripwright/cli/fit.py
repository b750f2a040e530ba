"""`tripwright fit`: what a recipe will take, before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import typer

from tripwright.cli.options import Changes, Json, RecipeFile, option
from tripwright.cli.table import print_figures
from tripwright.errors import UserError
from tripwright.training.recipe_list import recipe_file


def fit(
    recipe: RecipeFile,
    changes: Changes = None,
    most: float | None = option(
        None, "GB there are; default: this machine's.", "--memory", min=0.001, max=1e6
    ),
    device: Literal["cpu", "cuda"] = option("cpu", "What it would run on."),
    model: str | None = option(None, "Reckon with this model, a folder or a name."),
    tokens: int | None = option(None, "Mean tokens of an episode, where you know them.", min=2),
    as_json: Json = False,
) -> None:
    """Estimate memory and time of a recipe before it starts, and say what to change where it does
    not fit.

    Nothing is loaded or downloaded; the recipe's own functions are tried, as training does. Memory
    is what the stages may need at most, with episodes as long as the dialect allows. Time is rough,
    on this processor, with episodes as long as the expert's, validations left out. The exit code is
    1 where --memory is not enough. The changes are to be made in their order; where all of them do
    not suffice, a smaller model, [model.lora], a shorter context or more GPUs are needed. What each
    of several GPUs would hold, by verl with the recipe's [verl] (or its defaults), or by TRL where
    it fine-tunes alone, is not verified; it is left out where these refuse the recipe.

    Examples:
      tripwright fit nano/quickstart
      tripwright fit planner_r1/8b --set model.checkpoint_activations=true --device cuda
      tripwright fit star/7b_sum --model Qwen/Qwen2.5-7B-Instruct --memory 80 \\
        --device cuda --json
    """
    path = recipe_file(recipe)
    from tripwright.training.recipe import load_recipe

    read = load_recipe(path, changes or ())
    from tripwright.bridges.trl import check as check_for_trl
    from tripwright.bridges.verl.settings import check_for_verl
    from tripwright.rewards.spec import resolve_reward
    from tripwright.training.fit import clusters, estimate
    from tripwright.training.own import try_out

    if read.rl is not None:
        for spec in read.rl.settings.curriculum.rewards:
            resolve_reward(spec, read.domain.rewards)
        for name, arguments in read.rl.settings.own.items():
            try_out(name, arguments)
    found = estimate(read, device, most, model, tokens)
    for row in found["devices"][2:]:  # nothing is promised that a start refuses
        machines = {each.verl.gpus: each for each in clusters(read) if each.verl is not None}
        try:
            check_for_trl(read) if read.rl is None else check_for_verl(machines[row["devices"]])
        except UserError as error:
            found["devices"].remove(row)
            found["several_gpus"] = str(error)
    print_figures(found if as_json else _shown(found), as_json, hidden=("memory",))
    if most is not None and not found["fits"]:
        raise typer.Exit(1)


def _shown(found: Mapping[str, Any]) -> dict[str, Any]:
    """For people: the memory as a table, a column for each stage and a row for each use."""
    memory = dict[str, dict[str, float]]()
    for stage in found["memory"]:
        uses = {"peak": stage["peak"]}
        for kind in ("held", "learning", "playing", "host"):
            uses |= stage[kind]
        for use, size in uses.items():
            memory.setdefault(use, {})[stage["stage"]] = size / 1e9
    return {**found, "memory_gb": memory}

"""`tripwright fit`: what a recipe will take, before it starts."""

from __future__ import annotations

import json
import math
from typing import Annotated

import typer

from tripwright.cli.options import Changes, Json, RecipeFile
from tripwright.errors import UserError
from tripwright.training.recipe_list import recipe_file

DEVICES = ("cpu", "cuda")


def fit(
    recipe: RecipeFile,
    changes: Changes = None,
    most: Annotated[
        float | None,
        typer.Option("--memory", help="GB there are; default: this machine's.", show_default=False),
    ] = None,
    device: Annotated[
        str, typer.Option(help=f"What it would run on: {', '.join(DEVICES)}.")
    ] = "cpu",
    model: Annotated[
        str | None,
        typer.Option(help="Reckon with this model, a folder or a name.", show_default=False),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(help="Mean tokens of an episode, where you know them.", show_default=False),
    ] = None,
    as_json: Json = False,
) -> None:
    """Estimate memory and time of a recipe before it starts, and say what to change where it does
    not fit.

    Nothing is loaded or downloaded. Memory is what the stages may need at most, with episodes as
    long as the dialect allows. Time is of one step with episodes as long as the expert's, at rates
    measured here for a second. The exit code is 1 where --memory is not enough.

    Examples:
      tripwright fit nano/quickstart
      tripwright fit planner_r1/8b --memory 80 --device cuda
      tripwright fit planner_r1/8b --set model.checkpoint_activations=true --device cuda
      tripwright fit star/7b_sum --model Qwen/Qwen2.5-7B-Instruct --memory 80 \\
        --device cuda --json
    """
    if device not in DEVICES:
        raise UserError(f"Unknown device '{device}'. Accepted: {', '.join(DEVICES)}.")
    if most is not None and not 0 < most < math.inf:
        raise UserError(f"--memory is in GB and above 0, found {most}.")
    if tokens is not None and tokens < 2:
        raise UserError(f"--tokens must be at least 2, found {tokens}.")
    path = recipe_file(recipe)
    from tripwright.cli.fit_tables import estimate_lines
    from tripwright.training.fit_estimate import estimate
    from tripwright.training.recipe import load_recipe

    result = estimate(load_recipe(path, changes or ()), str(path), device, most, model, tokens)
    typer.echo(
        json.dumps(result.record(), indent=2) if as_json else "\n".join(estimate_lines(result))
    )
    if most is not None and not result.fits:
        raise typer.Exit(1)

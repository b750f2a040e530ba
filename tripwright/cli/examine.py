"""`tripwright examine`: what a trained run passes in worlds that it has never seen, with intervals
and controls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.options import Changes, Json, RecipeOut, argument, check_folders
from tripwright.cli.table import print_figures
from tripwright.policies.settings import URL_NAMES
from tripwright.training.recipe_list import recipe_file


def examine(
    recipe: Path = argument(
        "A TOML file or a name of 'tripwright recipes'; or a run folder, which holds its recipe.",
        metavar="RECIPE|RUN",
    ),
    out: RecipeOut = None,
    changes: Changes = None,
    step: Annotated[
        str | None,
        typer.Option(help="A checkpoint that validation or verl kept: its step of RL, or 'best'."),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            *URL_NAMES,
            help="Server (vLLM, SGLang, serve model) that was started with a model of this run, and"
            " plays it.",
        ),
    ] = None,
    api_key_env: Annotated[
        str, typer.Option(help="With --base-url: environment variable with the server's key.")
    ] = "ROLLOUT_API_KEY",
    as_json: Json = False,
) -> None:
    """Examine a trained run on requests that no stage trains on, with 95% intervals.

    Every stage that is finished (cold start, RL) is examined, the last one once more with every
    tool answer emptied: what passes then was memorised. Policies that take the first or the
    cheapest row of every answer, and the expert, say how hard the requests are. Which requests, how
    they are decoded and by which rules they are judged is in the recipe's [evaluation]: queries (so
    many, in worlds of their own) or file, decoding, rules. With --step only that checkpoint is
    examined. With --base-url nothing is loaded here, and the stage that the server has is examined.
    Writes OUT/eval, OUT/difficulty.json and OUT/report.html. What was examined is not
    examined again; a stopped examination goes on. Two examined runs are compared trip by trip by
    'tripwright compare'.

    Examples:
      tripwright examine nano/cold_start --out runs/nano/cold_start
      tripwright examine runs/nano/grpo --set evaluation.queries=100
      tripwright examine runs/nano/grpo --step best
      tripwright examine runs/planner_r1_8b --step best --base-url http://localhost:8000/v1
    """
    path = recipe if recipe.is_dir() else recipe_file(recipe)
    folder = out or (path if path.is_dir() else Path("runs") / path.stem)
    check_folders([folder])
    from tripwright.training.recipe import load_recipe, recipe_of_run

    read = (recipe_of_run if path.is_dir() else load_recipe)(path, changes or ())
    from tripwright.training.held_out import examine as examine_run

    figures = examine_run(read, folder, step, base_url, api_key_env)
    print_figures(figures if as_json else compared_in_points(figures), as_json)


def compared_in_points(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of an examination, with a line for each metric of a comparison."""
    from tripwright.evals.report.markup import Difference

    tables = {
        words: {
            metric: {"difference": found.words, "95% interval": found.interval, "p": found.p}
            for metric, record in comparison.items()
            if (found := Difference.of(record)) is not None
        }
        for words, comparison in figures["comparisons"].items()
    }
    return {name: value for name, value in figures.items() if name != "comparisons"} | tables

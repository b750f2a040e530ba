"""`tripwright examine`: what a trained run passes in worlds that it has never seen, with intervals
and controls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json, RecipeFile, RecipeOut, check_folders
from tripwright.training.recipe_list import recipe_file


def examine(
    recipe: RecipeFile,
    out: RecipeOut = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Another examined run, to compare with trip by trip.", show_default=False
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Examine a trained run on trips in worlds that no stage trains in: greedy, 95% intervals.

    Every stage that is finished (cold start, RL) is examined, the last one once more with every
    tool answer emptied: what passes then was memorised. Policies that take the first or the
    cheapest row of every answer, and the expert, say how hard the trips are. How many trips, and by
    which rules, is in the recipe: [evaluation] queries, rules. Writes OUT/eval, OUT/difficulty.json
    and OUT/report.html. What was examined is not examined again; a stopped examination goes on.

    Examples:
      tripwright examine nano/cold_start --out runs/nano/cold_start
      tripwright examine nano/evidence --out runs/nano/evidence --against runs/nano/cold_start
    """
    path = recipe_file(recipe)
    folder = out or Path("runs") / path.stem
    check_folders([folder, *([against] if against else [])])
    from tripwright.training.examination import examine as examine_run
    from tripwright.training.examination import in_words
    from tripwright.training.recipe import load_recipe

    figures = examine_run(load_recipe(path), folder, against)
    typer.echo(json.dumps(figures) if as_json else "\n".join(in_words(figures)))

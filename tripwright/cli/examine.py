"""`tripwright examine`: what a trained run passes in worlds that it has never seen, with intervals
and controls."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tripwright.training import examination
from tripwright.training.recipe import load_recipe


def examine(
    recipe: Annotated[Path, typer.Argument(help="TOML recipe that the run was trained by.")],
    out: Annotated[
        Path | None, typer.Option(help="Its run folder; default runs/RECIPE.", show_default=False)
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Another examined run, to compare with trip by trip.", show_default=False
        ),
    ] = None,
) -> None:
    """Examine a trained run on trips in worlds that no stage trains in: greedy, 95% intervals.

    Every stage that is finished (cold start, RL) is examined, the last one once more with every
    tool answer emptied: what passes then was memorised. Policies that take the first or the
    cheapest row of every answer, and the expert, say how hard the trips are. How many trips, and by
    which rules, is in the recipe: [evaluation] queries, rules. Writes OUT/eval, OUT/difficulty.json
    and OUT/report.html. What was examined is not examined again; a stopped examination goes on.

    Examples:
      tripwright examine recipes/nano/cold_start.toml --out runs/nano/cold_start
      tripwright examine recipes/nano/evidence.toml --out runs/nano/evidence \\
        --against runs/nano/cold_start
    """
    lines = examination.examine(load_recipe(recipe), out or Path("runs") / recipe.stem, against)
    typer.echo("\n".join(lines))

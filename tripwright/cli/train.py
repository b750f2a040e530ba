"""`tripwright sft` and `tripwright train`: one stage of a recipe in a run folder.

What trains is imported when the recipe is there: torch takes seconds to load.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import typer

from tripwright.cli.options import Changes, RecipeFile, RecipeOut, flag, option
from tripwright.errors import UserError
from tripwright.training.recipe_list import recipe_file


def sft(
    recipe: RecipeFile,
    out: RecipeOut = None,
    changes: Changes = None,
    engine: Literal["local", "trl"] = option(
        "local", "Who trains: local, or trl (TRL's SFTTrainer; GPUs; needs the 'trl' extra)."
    ),
) -> None:
    """Fine-tune a model on transcripts (cold start): OUT/model/sft, OUT/metrics.jsonl. The recipe
    has an [sft] table.

    Stopped at any moment, the same command goes on from the newest checkpoint, step for step as if
    it had never stopped.

    Examples:
      tripwright sft nano/cold_start --out runs/nano/cold_start
      tripwright sft nano/cold_start --set seed=1 --set sft.steps=600 --out runs/seed1
      tripwright sft star/sft --engine trl --out runs/star_sft
    """
    path = _checked(recipe, changes)
    from tripwright.training.stages import train as take

    run = take(path, out, changes or (), engine, until="sft")
    if run.leads:
        typer.echo(f"model {run.model('sft')}  report {run.folder / 'report.html'}")


def train(
    recipe: RecipeFile,
    out: RecipeOut = None,
    changes: Changes = None,
    engine: Literal["local", "verl"] = option(
        "local", "Who trains: local, or verl (GPUs on one machine or many; 'make verl')."
    ),
    dry_run: bool = flag(
        "--dry-run",
        "verl: print its command and configuration, and what is missing; start nothing.",
    ),
) -> None:
    """Train a model by reinforcement learning: OUT/model/rl, OUT/metrics.jsonl. The
    recipe has a [grpo], [ppo], [rft] or [rl] table; its stages before RL are run first.

    Stopped at any moment, the same command goes on from the newest checkpoint, step for step as if
    it had never stopped. Ctrl-C and SIGTERM write a checkpoint first. How often else is in the
    recipe: [checkpoint] every_steps, every_minutes.

    Examples:
      tripwright train nano/quickstart --out runs/nano
      tripwright train star/7b_sum --set grpo.clip.high=0.3 --out runs/mine
      tripwright train planner_r1/8b --engine verl --dry-run
    """
    path = _checked(recipe, changes)
    if dry_run:
        if engine != "verl":
            raise UserError(
                "--dry-run is for --engine verl; 'tripwright fit' estimates any recipe."
            )
        from tripwright.bridges.verl.launch import check, plan_lines
        from tripwright.training.recipe import load_recipe

        folder = out or Path("runs") / path.stem
        read = load_recipe(path, changes or ())
        typer.echo("\n".join(plan_lines(read, folder)))
        return check(read)
    from tripwright.training.stages import train as take

    run = take(path, out, changes or (), engine)
    typer.echo(f"model {run.model('rl')}  report {run.folder / 'report.html'}")


def _checked(recipe: Path, changes: list[str] | None) -> Path:
    """Its file. What is misspelt is said before the stages are imported, which takes longer."""
    path = recipe_file(recipe)
    from tripwright.training.recipe import load_recipe

    load_recipe(path, changes or ())
    return path

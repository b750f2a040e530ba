"""`tripwright sft` and `tripwright train`: one stage of a recipe in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tripwright.errors import UserError
from tripwright.evals.report import write_report
from tripwright.training import stages
from tripwright.training.recipe import Recipe, load_recipe
from tripwright.training.run_folder import RunFolder

ENGINES = ("local",)
Resume = Annotated[bool, typer.Option("--resume", help="Only continue: refuse where there is no run to go on with.")]


def sft(
    recipe: Annotated[Path, typer.Argument(help="TOML recipe with an [sft] table.")],
    out: Annotated[Path | None, typer.Option(help="Run folder; default runs/RECIPE.", show_default=False)] = None,
    resume: Resume = False,
) -> None:
    """Fine-tune a model on transcripts (cold start): OUT/model/sft, OUT/metrics.jsonl.

    Stopped at any moment, the same command goes on from the newest checkpoint, step for step as if it had never stopped.

    Examples:
      tripwright sft recipes/nano/quickstart.toml --out runs/nano
    """
    read = load_recipe(recipe)
    if read.sft is None:  # said before a folder is made
        raise UserError(f"{recipe}: no [sft] table, so there is nothing to fine-tune.")
    run = _open(recipe, read, out, resume)
    with run.alone():
        _cold_start(run)
        typer.echo(f"{run.model('sft')}  {write_report(run.folder)}")


def train(
    recipe: Annotated[Path, typer.Argument(help="TOML recipe with a [grpo], [ppo] or [rft] table.")],
    out: Annotated[Path | None, typer.Option(help="Run folder; default runs/RECIPE.", show_default=False)] = None,
    engine: Annotated[str, typer.Option(help=f"Where it trains: {', '.join(ENGINES)}.")] = "local",
    resume: Resume = False,
) -> None:
    """Train a model by reinforcement learning: OUT/model/rl, OUT/metrics.jsonl. Stages before RL that the recipe has are run first.

    Stopped at any moment, the same command goes on from the newest checkpoint, step for step as if it had never stopped. Ctrl-C and
    SIGTERM write a checkpoint first. How often else is in the recipe: [checkpoint] every_steps, every_minutes.

    Examples:
      tripwright train recipes/nano/quickstart.toml --out runs/nano
      tripwright train recipes/nano/quickstart.toml --out runs/nano --resume
    """
    if engine not in ENGINES:
        raise UserError(f"Unknown engine '{engine}'. Accepted: {', '.join(ENGINES)}.")
    read = load_recipe(recipe)
    if read.rl is None:
        raise UserError(f"{recipe}: no [grpo], [ppo] or [rft] table, so there is nothing to reinforce.")
    run = _open(recipe, read, out, resume)
    with run.alone():
        stages.reinforce(run, after=_cold_start(run))
        typer.echo(f"{run.model('rl')}  {write_report(run.folder)}")


def _open(path: Path, recipe: Recipe, out: Path | None, resume: bool) -> RunFolder:
    folder = out or Path("runs") / path.stem
    if resume and not RunFolder.begun(folder):
        raise UserError(f"--resume: nothing to go on with in '{folder}': no checkpoint and no finished stage. Leave --resume out to begin.")
    return RunFolder(folder, recipe)


def _cold_start(run: RunFolder) -> str:
    """Everything before RL; returns the last stage there is."""
    stages.make(run)
    stages.copy(run)
    last = "copy" if run.recipe.copy else "start"
    stages.cold_start(run, after=last)
    return "sft" if run.recipe.sft else last

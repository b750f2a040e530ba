"""`tripwright sft` and `tripwright train`: one stage of a recipe in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tripwright.errors import UserError
from tripwright.evals.report import write_report
from tripwright.rewards.spec import resolve_reward
from tripwright.sft.trl import check_for_trl, fine_tune_with_trl
from tripwright.training import stages
from tripwright.training.recipe import Recipe, load_recipe
from tripwright.training.recipe_checks import check_needs
from tripwright.training.run_folder import RunFolder

ENGINES, SFT_ENGINES = ("local",), ("local", "trl")
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Only continue: refuse where there is no run to go on with."),
]


def sft(
    recipe: Annotated[Path, typer.Argument(help="TOML recipe with an [sft] table.")],
    out: Annotated[
        Path | None, typer.Option(help="Run folder; default runs/RECIPE.", show_default=False)
    ] = None,
    engine: Annotated[
        str,
        typer.Option(
            help="Who trains: local, or trl (TRL's SFTTrainer; GPUs; needs the 'trl' extra)."
        ),
    ] = "local",
    resume: Resume = False,
) -> None:
    """Fine-tune a model on transcripts (cold start): OUT/model/sft, OUT/metrics.jsonl.

    Stopped at any moment, the same command goes on from the newest checkpoint, step for step as if
    it had never stopped.

    Examples:
      tripwright sft recipes/nano/cold_start.toml --out runs/nano/cold_start
      tripwright sft recipes/star/sft.toml --engine trl --out runs/star_sft
    """
    _one_of(engine, SFT_ENGINES)
    read = load_recipe(recipe)
    if read.sft is None:  # said before a folder is made
        raise UserError(f"{recipe}: no [sft] table, so there is nothing to fine-tune.")
    if engine == "trl":
        check_for_trl(read.sft, read.model.pretrained)
    run = _open(recipe, read, out, resume)
    with run.alone():
        if engine == "trl":
            fine_tune_with_trl(
                read.sft, read.model.pretrained or "", read.dialect.dialect(), read.seed, run.folder
            )
        else:
            _cold_start(run)
        typer.echo(f"model {run.model('sft')}  report {write_report(run.folder)}")


def train(
    recipe: Annotated[
        Path, typer.Argument(help="TOML recipe with a [grpo], [ppo] or [rft] table.")
    ],
    out: Annotated[
        Path | None, typer.Option(help="Run folder; default runs/RECIPE.", show_default=False)
    ] = None,
    engine: Annotated[str, typer.Option(help=f"Where it trains: {', '.join(ENGINES)}.")] = "local",
    resume: Resume = False,
) -> None:
    """Train a model by reinforcement learning: OUT/model/rl, OUT/metrics.jsonl. Stages before RL
    that the recipe has are run first.

    Stopped at any moment, the same command goes on from the newest checkpoint, step for step as if
    it had never stopped. Ctrl-C and SIGTERM write a checkpoint first. How often else is in the
    recipe: [checkpoint] every_steps, every_minutes.

    Examples:
      tripwright train recipes/nano/quickstart.toml --out runs/nano
      tripwright train recipes/nano/quickstart.toml --out runs/nano --resume
    """
    _one_of(engine, ENGINES)
    read = load_recipe(recipe)
    if read.rl is None:
        raise UserError(
            f"{recipe}: no [grpo], [ppo] or [rft] table, so there is nothing to reinforce."
        )
    # a function that cannot be had is said before a cold start is spent
    for named in read.rl.settings.curriculum.rewards:
        resolve_reward(named, read.domain.rewards)
    run = _open(recipe, read, out, resume)
    with run.alone():
        stages.reinforce(run, after=_cold_start(run))
        typer.echo(f"model {run.model('rl')}  report {write_report(run.folder)}")


def _one_of(engine: str, engines: tuple[str, ...]) -> None:
    if engine not in engines:
        raise UserError(f"Unknown engine '{engine}'. Accepted: {', '.join(engines)}.")


def _open(path: Path, recipe: Recipe, out: Path | None, resume: bool) -> RunFolder:
    check_needs(recipe)
    folder = out or Path("runs") / path.stem
    if resume and not RunFolder.begun(folder):
        raise UserError(
            f"--resume: nothing to go on with in '{folder}': no checkpoint and no finished stage."
            " Leave --resume out to begin."
        )
    return RunFolder(folder, recipe)


def _cold_start(run: RunFolder) -> str:
    """Everything before RL; returns the last stage there is."""
    stages.make(run)
    stages.copy_pretraining(run)
    last = "copy_pretraining" if run.recipe.copy_pretraining else "start"
    stages.cold_start(run, after=last)
    return "sft" if run.recipe.sft else last

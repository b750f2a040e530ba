"""`tripwright sft` and `tripwright train`: one stage of a recipe in a run folder.

What trains is imported when the recipe is there: torch takes seconds to load.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from tripwright.cli.options import Changes, RecipeFile, RecipeOut, flag, option
from tripwright.errors import UserError
from tripwright.training.recipe_list import recipe_file

if TYPE_CHECKING:
    from tripwright.training.recipe import Recipe
    from tripwright.training.run_folder import RunFolder


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
    path = recipe_file(recipe)
    from tripwright.evals.report import write_report
    from tripwright.training import stages
    from tripwright.training.recipe import load_recipe
    from tripwright.training.trl import check_for_trl, fine_tune_with_trl

    read = load_recipe(path, changes or ())
    if read.sft is None:  # said before a folder is made
        raise UserError(f"{path}: no [sft] table, so there is nothing to fine-tune.")
    if engine == "trl":
        check_for_trl(read.sft, read.model.pretrained)
        if read.validation is not None and read.rl is None:
            raise UserError(f"{path}: [validation] is not done by TRL: examine the run afterwards.")
    run = _open(path, read, out)
    with run.alone():
        if engine == "trl":
            fine_tune_with_trl(
                read.sft, read.model.pretrained or "", read.dialect.dialect(), read.seed, run.folder
            )
        else:
            stages.before_rl(run)
        typer.echo(f"model {run.model('sft')}  report {write_report(run.folder)}")


def train(
    recipe: RecipeFile,
    out: RecipeOut = None,
    changes: Changes = None,
    engine: Literal["local", "verl"] = option(
        "local", "Who trains: local, or verl (GPUs on one machine or many; 'make verl')."
    ),
    dry_run: bool = flag("--dry-run", "verl: print its command and configuration; start nothing."),
) -> None:
    """Train a model by reinforcement learning: OUT/model/rl, OUT/metrics.jsonl. The
    recipe has a [grpo], [ppo] or [rft] table; its stages before RL are run first.

    Stopped at any moment, the same command goes on from the newest checkpoint, step for step as if
    it had never stopped. Ctrl-C and SIGTERM write a checkpoint first. How often else is in the
    recipe: [checkpoint] every_steps, every_minutes.

    Examples:
      tripwright train nano/quickstart --out runs/nano
      tripwright train star/7b_sum --set grpo.clip.high=0.3 --out runs/mine
      tripwright train planner_r1/8b --engine verl --dry-run
    """
    path = recipe_file(recipe)
    from tripwright.evals.report import write_report
    from tripwright.rewards.spec import resolve_reward
    from tripwright.training import stages
    from tripwright.training.recipe import load_recipe

    read = load_recipe(path, changes or ())
    if read.rl is None:
        raise UserError(
            f"{path}: no [grpo], [ppo] or [rft] table, so there is nothing to reinforce."
        )
    if dry_run and engine != "verl":
        raise UserError("--dry-run is for --engine verl; 'tripwright fit' estimates any recipe.")
    if engine == "verl":
        from tripwright.bridges.verl.launch import check_environment, plan_lines
        from tripwright.bridges.verl.settings import check_for_verl

        check_for_verl(read)
        if dry_run:
            typer.echo("\n".join(plan_lines(read, _folder(path, out))))
            return
        check_environment()  # what cannot be had is said before a cold start is spent
    for name in read.rl.settings.curriculum.rewards:
        resolve_reward(name, read.domain.rewards)
    run = _open(path, read, out, engine)
    with run.alone():
        if engine == "verl":
            _by_verl(run)
        else:
            stages.before_rl(run)
            stages.reinforce(run)
        typer.echo(f"model {run.model('rl')}  report {write_report(run.folder)}")


def _by_verl(run: RunFolder) -> None:
    """A model that exists and goes straight to RL is loaded by verl's workers alone."""
    from tripwright.bridges.verl.launch import reinforce_with_verl
    from tripwright.inference.local import inspect_model
    from tripwright.training import stages

    recipe, start = run.recipe, run.recipe.model.pretrained
    if start is not None and not recipe.copy_pretraining and not recipe.sft:
        run.settle_data()
        if Path(start).is_dir():
            stages.check_starting_model(recipe, *inspect_model(start))
        reinforce_with_verl(run, start)
    else:
        stages.before_rl(run)
        reinforce_with_verl(run, str(run.model(stages.before(run, "rl")).absolute()))


def _folder(path: Path, out: Path | None) -> Path:
    return out or Path("runs") / path.stem


def _open(path: Path, recipe: Recipe, out: Path | None, engine: str = "local") -> RunFolder:
    from tripwright.training.recipe import check_needs
    from tripwright.training.run_folder import RunFolder
    from tripwright.training.stages import check_start

    check_needs(recipe)
    folder = _folder(path, out)
    if engine != "verl" and not RunFolder.begun(folder):  # whose memory is other machines'
        check_start(recipe)
    return RunFolder(folder, recipe)

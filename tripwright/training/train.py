"""A training from a recipe to its run folder: what the command line, a notebook and the quickstart
call. Its stages stand in `stages`, in their one order.

The quickstart is the whole loop on two CPU cores in minutes, from nothing to a trained, judged
travel agent (row B4):

    tokenizer and model → copy warm-up → cold start on a teacher's trips → GRPO → difficulty of the
    exam → exam before, after, and blind

The teacher never looks at the price of a place to stay, so a quarter of its trips break the budget,
and a model that imitates it does no better. What RL adds is what no transcript shows: to spend
less, learned from the one fact of the verdict that says whether the budget was kept. (A perfect
expert leaves RL of minutes nothing to show: docs/log.md, 2026-11-24.)

Every part leaves its files behind and is skipped when they are there, so a stopped run goes on.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from tripwright.errors import UserError
from tripwright.evals.report import write_report
from tripwright.evals.run_card import environment
from tripwright.files import json_object, write_atomically
from tripwright.rewards.spec import resolve_reward
from tripwright.runs import CARD, COMPARISON, SCORE
from tripwright.training.held_out import AFTER, examine_models, in_words
from tripwright.training.own import own
from tripwright.training.recipe import Recipe, check_needs, load_recipe
from tripwright.training.recipe_list import recipe_file, recipe_named
from tripwright.training.run_folder import RunFolder
from tripwright.training.stages import check_start, take_stages

# Of each engine but ours, the stage that it takes and its module, which has `check(recipe)` and
# `train(run)`. Bridges come after this room, so they are imported by name when they are asked for.
ENGINES = {
    "trl": ("sft", "tripwright.bridges.trl"),
    "verl": ("rl", "tripwright.bridges.verl.launch"),
}
ABSENT = {
    "sft": "no [sft] table, so there is nothing to fine-tune",
    "rl": "no [grpo], [ppo], [rft] or [rl] table, so there is nothing to reinforce",
}


def train(
    recipe: str | Path,
    out: str | Path | None = None,
    changes: Sequence[str] = (),
    engine: Literal["local", "trl", "verl"] = "local",
    until: Literal["sft", "rl"] = "rl",
) -> RunFolder:
    """Takes the recipe's stages up to `until`, in order, and writes the report; the run folder,
    with its `folder`, its `model(until)` and its `rows` of metrics. Stopped at any moment, the same
    call goes on.

        run = tripwright.train("nano/quickstart", "runs/mine", ["sft.steps=300", "grpo.steps=8"])
        print(run.rows[-1]["reward_mean"], run.model("rl"))

    `recipe` is a TOML file or a name of 'tripwright recipes', `changes` are settings that go over
    it ("grpo.clip.high=0.28"), and `out` is the run folder (None: runs/RECIPE). TRL as the engine
    takes the stage "sft", and verl the stage "rl"; the stages before are our engine's.

    Raises UserError for what cannot work, as far as it can be seen before a folder is made.
    """
    path = recipe_file(Path(recipe))
    read = load_recipe(path, changes)
    if until not in read.stages:
        raise UserError(f"{path}: {ABSENT[until]}.")
    others = None
    if engine != "local":
        stage, module = ENGINES[engine]
        if stage != until:
            raise UserError(f"Engine '{engine}' takes the stage '{stage}', not '{until}'.")
        others = import_module(module)
        others.check(read)
    if read.rl is not None and until == "rl":
        for spec in read.rl.settings.curriculum.rewards:
            resolve_reward(spec, read.domain.rewards)
        for name, arguments in read.rl.settings.own.items():
            own(name, arguments)
    check_needs(read)
    folder = Path(out) if out is not None else Path("runs") / path.stem
    if engine != "verl" and not RunFolder.trained(folder):  # whose memory is other machines'
        check_start(read)
    run = RunFolder(folder, read)
    with run.alone():
        if others is not None:
            others.train(run)
        else:
            take_stages(run, until)
        write_report(run.folder)
    return run


# ---- the quickstart

# tokenizer, copy warm-up and the examinations, which do not shrink with the time given
FIXED_MINUTES = 7.0
COLD_START_SHARE, RL_SHARE = 0.7, 0.3  # of the minutes left
# A little fewer than two idle cores with bf16 instructions manage (93 and 4.6), so that on these it
# is the steps that end a run.
COLD_START_STEPS, RL_STEPS = 87, 4  # in a minute


def quickstart_recipe(minutes: float) -> Recipe:
    """`nano/quickstart`: a cold start, then RL for the rest of `minutes`. A shorter run has shorter
    schedules, not cut-off ones: so many steps, or, on a processor that does not manage them, so
    many minutes.
    """
    minutes_left = max(1.0, minutes - FIXED_MINUTES)
    cold_start, rl = COLD_START_SHARE * minutes_left, RL_SHARE * minutes_left
    lengths = {
        "sft.steps": math.ceil(COLD_START_STEPS * cold_start),
        "sft.max_minutes": round(cold_start, 2),
        "grpo.steps": math.ceil(RL_STEPS * rl),
        "grpo.max_minutes": round(rl, 2),
    }
    changes = [f"{key}={value}" for key, value in lengths.items()]
    return load_recipe(recipe_named("nano/quickstart").path, changes)


def quickstart(
    out: str | Path, minutes: float = 30.0, seed: int = 0, threads: int = 2
) -> list[str]:
    """Trains, examines and reports in about so many minutes: OUT/score.json, OUT/report.html. Lines
    to read: pass rates, and RL against the cold start."""
    run = RunFolder(out, replace(quickstart_recipe(minutes), seed=seed, threads=threads))
    with run.alone():
        card = {
            "recipe": run.recipe.name,
            "seed": seed,
            "minutes": minutes,
            "threads": threads,
            "torch": version("torch"),
            **environment(),
        }
        write_atomically(run.folder / CARD, json.dumps(card, indent=2))
        take_stages(run)
        figures = examine_models(run, ["sft", "rl"])
        score = json_object(run.folder / "eval" / AFTER / SCORE) or {}
        comparison = json_object(run.folder / COMPARISON)
        whole = json.dumps({**score, "comparison": comparison}, indent=2) + "\n"
        write_atomically(run.folder / SCORE, whole)
        write_report(run.folder)
    return in_words(figures)

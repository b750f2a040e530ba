"""The whole loop on two CPU cores in minutes, from nothing to a trained, judged travel agent (row
B4): its recipe, and its parts in order.

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

from tripwright.evals.report import write_report
from tripwright.files import json_object, write_atomically
from tripwright.runs import COMPARISON, SCORE
from tripwright.training import stages
from tripwright.training.examination import AFTER, examine_models, in_words
from tripwright.training.recipe import Recipe, load_recipe
from tripwright.training.recipe_list import recipe_named
from tripwright.training.run_folder import RunFolder

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


def train_and_examine(run: RunFolder) -> list[str]:
    """Lines to read: pass rates, and RL against the cold start. The report is written, too."""
    stages.before_rl(run)
    stages.reinforce(run)
    figures = examine_models(run, ["sft", "rl"])
    score = json_object(run.folder / "eval" / AFTER / SCORE) or {}
    comparison = json_object(run.folder / COMPARISON)
    whole = json.dumps({**score, "comparison": comparison}, indent=2) + "\n"
    write_atomically(run.folder / SCORE, whole)
    write_report(run.folder)
    return in_words(figures)

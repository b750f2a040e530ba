"""The recipe of `tripwright quickstart`: nano worlds, a model of 3.4 million parameters, minutes on two CPU cores."""

from __future__ import annotations

from tripwright.domains.travelplanner.queries.sample import Mix
from tripwright.learning.optim import OptimizerSettings
from tripwright.rl.grpo import GrpoSettings
from tripwright.sft.copying import CopySettings
from tripwright.sft.trainer import SftSettings
from tripwright.training.recipe import DataSettings, Recipe, Reinforcement

FIXED_MINUTES = 6.5  # tokenizer, copy warm-up and the examinations, which do not shrink with the time given
COLD_START_SHARE, RL_SHARE = 0.6, 0.4  # of the minutes left


def quickstart_recipe(minutes: float) -> Recipe:
    """A cold start, then RL for the rest of `minutes`; a shorter run has shorter schedules, not cut-off ones.

    Names of stays are the last thing that imitation learns to copy, rather suddenly, after some 1.1M tokens: a cold start that ends just
    before passes nothing, and RL finds no plan to reward (500 steps: 2.0% of 500; docs/log.md, 2026-11-22). So it has the larger share.
    """
    left = max(1.0, minutes - FIXED_MINUTES)
    rate = OptimizerSettings(name="adamw", adamw_learning_rate=1e-4, weight_decay=0.01)
    grpo = GrpoSettings(steps=None, max_minutes=round(RL_SHARE * left, 2), prompts=8, final_rate=0.1, optimizer=rate)
    return Recipe(
        name="quickstart",
        data=DataSettings(rl_mix=Mix(levels=(1, 3, 3))),  # groups that all pass teach nothing; the exam keeps 4:3:3
        copy=CopySettings(),
        sft=SftSettings(steps=None, max_minutes=round(COLD_START_SHARE * left, 2)),
        rl=Reinforcement("grpo", grpo),
    )

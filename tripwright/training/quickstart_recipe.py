"""The recipe of `tripwright quickstart`: nano worlds, a model of 3.4 million parameters, minutes on two CPU cores."""

from __future__ import annotations

from tripwright.queries.sample import Mix
from tripwright.training.copying import CopySettings
from tripwright.training.optim import OptimizerSettings
from tripwright.training.recipe import DataSettings, Recipe
from tripwright.training.settings import GrpoSettings
from tripwright.training.sft import SftSettings

FIXED_MINUTES = 6.5  # tokenizer, copy warm-up and the examinations, which do not shrink with the time given
COLD_START_STEPS = 500
COLD_START_SHARE, RL_SHARE = 0.45, 0.65  # of the minutes left, at most: the cold start rarely needs its share


def quickstart_recipe(minutes: float) -> Recipe:
    """A cold start of some steps, then RL for the rest of `minutes`; a shorter run has shorter schedules, not cut-off ones.

    The cold start is short on purpose (500 steps; 750 pass far more by themselves): where imitation has nearly converged, the few thousand
    episodes that RL can play in minutes move nothing (docs/log.md, 2026-11-21).
    """
    left = max(1.0, minutes - FIXED_MINUTES)
    rate = OptimizerSettings(name="adamw", adamw_learning_rate=1e-4, weight_decay=0.01)
    return Recipe(
        name="quickstart",
        data=DataSettings(rl_mix=Mix(levels=(1, 3, 3))),  # groups that all pass teach nothing; the exam keeps 4:3:3
        copy=CopySettings(),
        sft=SftSettings(steps=COLD_START_STEPS, max_minutes=round(COLD_START_SHARE * left, 2)),
        grpo=GrpoSettings(steps=None, max_minutes=round(RL_SHARE * left, 2), prompts=8, final_rate=0.1, optimizer=rate),
    )

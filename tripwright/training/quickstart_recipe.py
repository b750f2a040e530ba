"""The recipe of `tripwright quickstart`: nano worlds, a model of 3.4 million parameters, minutes on two CPU cores."""

from __future__ import annotations

from tripwright.queries.sample import Mix
from tripwright.training.copying import CopySettings
from tripwright.training.grpo import GrpoSettings
from tripwright.training.recipe import DataSettings, Recipe
from tripwright.training.sft import SftSettings

FIXED_MINUTES = 4.0  # tokenizer, copy warm-up and the examinations, which do not shrink with the time given
COLD_START_SHARE = 0.45


def quickstart_recipe(minutes: float) -> Recipe:
    """Cold start and RL share what `minutes` leaves; a shorter run has shorter schedules, not cut-off ones."""
    left = max(1.0, minutes - FIXED_MINUTES)
    return Recipe(
        name="quickstart",
        data=DataSettings(rl_mix=Mix(levels=(1, 3, 3))),  # groups that all pass teach nothing; the exam keeps 4:3:3
        copy=CopySettings(),
        sft=SftSettings(steps=None, rows_per_step=8, max_minutes=round(COLD_START_SHARE * left, 2)),
        grpo=GrpoSettings(steps=None, max_minutes=round((1 - COLD_START_SHARE) * left, 2)),
    )

"""The recipe of `tripwright quickstart`: nano worlds, a model of 3.5 million parameters, minutes on two CPU cores."""

from __future__ import annotations

from tripwright.training.copying import CopySettings
from tripwright.training.grpo import GrpoSettings
from tripwright.training.recipe import Recipe
from tripwright.training.sft import SftSettings

FIXED_MINUTES = 4.0  # tokenizer, copy warm-up and the examinations, which do not shrink with the time given
COLD_START_SHARE = 0.45


def quickstart_recipe(minutes: float) -> Recipe:
    """Cold start and RL share what `minutes` leaves; a shorter run has shorter schedules, not cut-off ones."""
    left = max(1.0, minutes - FIXED_MINUTES)
    return Recipe(
        name="quickstart",
        copy=CopySettings(),
        sft=SftSettings(steps=None, max_minutes=COLD_START_SHARE * left),
        grpo=GrpoSettings(steps=None, max_minutes=(1 - COLD_START_SHARE) * left),
    )

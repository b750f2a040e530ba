"""`--dry-run`: what verl would be started with, and what each GPU would hold."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from tripwright.bridges.verl.follow import NO_VALIDATION
from tripwright.bridges.verl.launch import command_for
from tripwright.errors import UserError
from tripwright.training.fit_devices import DevicePeak, device_peaks
from tripwright.training.model_shapes import size_of
from tripwright.training.recipe_tables import Recipe


def plan_lines(recipe: Recipe, run: Path) -> Iterator[str]:
    """The command with its environment, the configuration key by key, memory."""
    before = "copy_pretraining" if recipe.copy_pretraining else "start"
    stage = "sft" if recipe.sft else before
    made = recipe.model.pretrained is None or recipe.copy_pretraining or recipe.sft
    model = str((run / "model" / stage).absolute()) if made else str(recipe.model.pretrained)
    command = command_for(recipe, model, run, "python")
    settings = [f"{k}={shlex.quote(v)}" for k, v in command.environment.items() if v is not None]
    yield "# command (python: that of 'make verl')"
    yield " \\\n  ".join([" ".join(settings), shlex.join(command.arguments)])
    yield "# configuration: what is not verl's default"
    for key, value in command.keys.items():
        yield f"{key}: {json.dumps(value)}"
    if recipe.validation is not None:
        yield f"# {NO_VALIDATION}"
    yield "# memory of each GPU, reckoned and not measured"
    yield from _memory(recipe)


def _memory(recipe: Recipe) -> Iterator[str]:
    assert recipe.verl is not None
    try:
        size = size_of(recipe, None)
    except UserError as error:
        yield f"not known: {error}"
        return
    for each in device_peaks(recipe, size, (recipe.verl.gpus,)):
        yield _peak(each)


def _peak(each: DevicePeak) -> str:
    cards = " and ".join(f"{card} GB" for card in each.cards) or "no card of 80 or 141 GB"
    how = "checkpointed" if each.checkpoint_activations else "kept"
    return f"{each.devices} GPUs, activations {how}: {each.peak_gb:.1f} GB, fits {cards}"

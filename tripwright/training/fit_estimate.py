"""What a recipe will take, all of it: memory by stage, the work of a step, what to change."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from tripwright.errors import UserError
from tripwright.inference.models import device_named
from tripwright.training.fit import (
    GB,
    StageMemory,
    memory,
    total_memory_gb,
    trained_parameters,
    weight_bytes,
)
from tripwright.training.fit_advice import Change, changes, peak, with_checkpointed_activations
from tripwright.training.fit_devices import DevicePeak, device_peaks
from tripwright.training.fit_time import Lengths, StepWork, lengths, steps_of
from tripwright.training.model_shapes import ModelSize, size_of
from tripwright.training.recipe import Recipe


@dataclass(frozen=True)
class FitEstimate:
    """What is printed. `available_gb` None: cannot be seen here. `changes_suffice` is True where
    none are needed; `devices` is empty for a CPU; `checkpointed_gb` is the peak with checkpointed
    activations, `kept_gb` without."""

    size: ModelSize
    trained: int  # parameters
    weight_bytes: int
    stages: list[StageMemory]
    kept_gb: float
    checkpointed_gb: float
    devices: list[DevicePeak]
    works: list[StepWork]
    lengths: Lengths
    available_gb: float | None
    changes: list[Change]
    changes_suffice: bool

    @property
    def fits(self) -> bool:
        return self.available_gb is None or peak(self.stages) <= self.available_gb

    def record(self) -> dict[str, Any]:
        """Bytes, FLOPs, seconds, tokens; GB where it says so."""
        return {
            "model": {
                "name": self.size.name,
                "parameters": self.size.parameters,
                "trained_parameters": self.trained,
                "weight_bytes": self.weight_bytes,
                **asdict(self.size.shape),
            },
            "memory": [{**asdict(stage), "peak": stage.peak} for stage in self.stages],
            "peak_gb": peak(self.stages),
            "kept_activations_peak_gb": self.kept_gb,
            "checkpointed_activations_peak_gb": self.checkpointed_gb,
            "devices": [each.record() for each in self.devices],
            "available_gb": self.available_gb,
            "fits": self.fits,
            "changes": [asdict(change) for change in self.changes],
            "changes_suffice": self.changes_suffice,
            "episode": asdict(self.lengths),
            "steps": [{**asdict(work), "seconds": work.seconds} for work in self.works],
        }


def check_memory(recipe: Recipe) -> None:
    """Raises UserError where what a stage holds in any case, and the gradients, is more than there
    is: weights, optimizer state, a reference. (The whole estimate is what a run may need at most,
    so it is no reason to refuse one.)"""
    device = device_named(recipe.model.device).type
    there_gb = total_memory_gb(device)
    try:
        size = size_of(recipe)
    except UserError:  # a name on a hub that is not known here
        return
    for stage in memory(recipe, size, device):
        least_gb = (sum(stage.held.values()) + stage.learning["gradients"]) / GB
        if there_gb is not None and least_gb > there_gb:
            raise UserError(
                f"'{size.name}' is too large to be trained here: {stage.stage} takes at least"
                f" {least_gb:.1f} GB for {', '.join(stage.held)} and gradients, of {there_gb:.1f}"
                " GB. 'tripwright fit' says what to change; [model.lora] trains an adapter alone."
            )


def estimate(
    recipe: Recipe,
    name: str,
    device: str,
    available_gb: float | None,
    model: str | None,
    tokens: int | None,
) -> FitEstimate:
    """`available_gb` None: what this machine has; `model` None: the recipe's; `tokens`: mean length
    of an episode, where it is known."""
    size = size_of(recipe, model)
    stages = memory(recipe, size, device)
    if not stages:
        raise UserError(
            f"{name}: no stage in it ([copy_pretraining], [sft], [grpo], [ppo] or [rft]), so"
            " there is nothing to estimate."
        )
    available = available_gb if available_gb is not None else total_memory_gb(device)
    episode = lengths(recipe, size, tokens)
    needed = changes(recipe, size, available, device) if available is not None else ([], True)
    works = steps_of(recipe, size, episode, device)
    kept_gb, checkpointed_gb = (
        peak(memory(with_checkpointed_activations(recipe, on), size, device))
        for on in (False, True)
    )
    devices = device_peaks(recipe, size) if device == "cuda" else []
    return FitEstimate(
        size,
        trained_parameters(recipe, size),
        weight_bytes(recipe),
        stages,
        kept_gb,
        checkpointed_gb,
        devices,
        works,
        episode,
        available,
        *needed,
    )

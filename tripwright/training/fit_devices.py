"""What each of some GPUs would hold, with activations kept and with activations checkpointed.

Nothing here was measured. One GPU is what our engine uses. Several are reckoned for an engine that
shards (verl, FSDP), which ours, one process, does not: each GPU has its share of weights,
gradients, optimizer state, reference and episodes played, all of the sampler's weights, the
activations and logits of `micro_batch_size` rows, and one layer's gathered weights at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.training.fit import NARROWED, StageMemory, memory
from tripwright.training.fit_advice import peak, with_checkpointed_activations
from tripwright.training.model_shapes import ModelSize
from tripwright.training.recipe import Recipe

NUMBERS_OF_DEVICES, CARDS_GB = (1, 8, 16), (80, 141)
DIVIDED = {
    "weights",
    "masters",
    "adapter",
    "optimizer state",
    "reference model",
    "gradients",
    "keys and values",
    "logits of a token",
}
ONE, SEVERAL = "not verified", "not verified: for an engine that shards (verl, FSDP)"


@dataclass(frozen=True)
class DevicePeak:
    """Of each of so many GPUs, in GB."""

    devices: int
    checkpoint_activations: bool
    peak_gb: float

    @property
    def cards(self) -> list[int]:
        """Those of `CARDS_GB` that have as much."""
        return [card for card in CARDS_GB if self.peak_gb <= card]

    def record(self) -> dict[str, Any]:
        return {
            "devices": self.devices,
            "checkpoint_activations": self.checkpoint_activations,
            "peak_gb": self.peak_gb,
            "fits": {f"{card}_gb": card in self.cards for card in CARDS_GB},
            "state": ONE if self.devices == 1 else SEVERAL,
        }


def device_peaks(
    recipe: Recipe, model: ModelSize, numbers: Sequence[int] = NUMBERS_OF_DEVICES
) -> list[DevicePeak]:
    """Without checkpointed activations and with them, for every number of GPUs."""
    kept, freed = (
        memory(with_checkpointed_activations(recipe, on), model, "cuda") for on in (False, True)
    )
    found = []
    for devices in numbers:
        for on, stages in ((False, kept), (True, freed)):
            shares = [_share(*each, devices) for each in zip(stages, freed, strict=True)]
            found.append(DevicePeak(devices, on, peak(shares if devices > 1 else stages)))
    return found


def _share(stage: StageMemory, freed: StageMemory, devices: int) -> StageMemory:
    """What one of several has; gathered weights go when their layer is done (`freed`)."""

    def shares(parts: dict[str, float]) -> dict[str, float]:
        return {
            name: value / devices if name in DIVIDED else value for name, value in parts.items()
        }

    learning = {**stage.learning, NARROWED: freed.learning[NARROWED]}
    return StageMemory(stage.stage, shares(stage.held), shares(learning), shares(stage.playing))

"""What the steps of a run cost: FLOPs, utilisation, speed, memory (row P12), summed over the whole
run, kills included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tripwright.inference.models import precision_named
from tripwright.learning.flops import (
    ModelShape,
    mfu,
    peak_flops,
    peak_memory_mb,
    rollout_flops,
    update_flops,
)
from tripwright.rl.rollouts import Rollout, RolloutGroup
from tripwright.rl.rows import rows_of
from tripwright.transcript import Transcript


class Meter:
    """`flops_update_total` counts parameter updates alone, as the paper does; `flops_total` the
    rollouts as well."""

    def __init__(self, model: Any, dtype: str):
        weight = next(model.parameters())
        self.shape, self.device = ModelShape.of(model.config), weight.device
        self.peak = peak_flops(self.device, precision_named(dtype, weight))
        self.update_total = self.rollout_total = self.hours_total = 0.0

    def step(
        self,
        groups: Sequence[RolloutGroup],
        rollouts: Sequence[Rollout],
        passes: int,
        seconds: float,
        update_seconds: float,
    ) -> dict[str, float]:
        """`rollouts`: those whose gradients were computed. `seconds` of the whole step,
        `update_seconds` of its training."""
        lengths = [len(row) for r in rollouts for row in rows_of(r)]
        updated = update_flops(self.shape, lengths, sum(r.tokens for r in rollouts)) * passes
        transcripts = [e.transcript for group in groups for e in group.episodes]
        rolled = rollout_flops(
            self.shape,
            [span for group in groups for span in spans(group)],
            sum(sum(t.loss_mask) for t in transcripts),
        )
        self.update_total += updated
        self.rollout_total += rolled
        self.hours_total += seconds / 3600
        utilisation = mfu(updated, update_seconds, self.peak)
        memory = peak_memory_mb(self.device)
        return {
            "tokens_per_second": sum(len(t.token_ids) for t in transcripts) / max(seconds, 1e-9),
            "flops_update": updated,
            "flops_rollout": rolled,
            "flops_update_total": self.update_total,
            "flops_total": self.update_total + self.rollout_total,
            "device_hours_total": self.hours_total,  # of one device, the only one that there is
            **({"mfu": utilisation} if utilisation is not None else {}),
            **({"peak_memory_mb": memory} if memory is not None else {}),
        }

    def state_dict(self) -> dict[str, Any]:
        totals = ("update_total", "rollout_total", "hours_total")
        return {name: getattr(self, name) for name in totals}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.update_total, self.rollout_total = state["update_total"], state["rollout_total"]
        self.hours_total = state["hours_total"]


def spans(group: RolloutGroup) -> list[tuple[int, int]]:
    """The positions that each row computed: the prompt once for the group, then everyone's own
    (from the fork on, if it is a branch), and what is left after the prompt again where a context
    was cut."""
    prompt = len(group.episodes[0].transcript.segments[0].token_ids)
    return [
        (0, prompt),
        *(
            (_start(e.transcript, prompt) if number == 0 else prompt, len(sequence.places))
            for e in group.episodes
            for number, sequence in enumerate(e.transcript.sequences)
        ),
    ]


def _start(transcript: Transcript, prompt: int) -> int:
    return transcript.forked_at if transcript.forked_at is not None else prompt

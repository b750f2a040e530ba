"""DeepTravel's buffer of failed queries (row D7): a query of whose group nothing passed comes back
after `every` steps.

The paper prints γ without its value, and no capacity; both are settings. A query that fails again
goes to the end of the queue; the oldest leave when the buffer is full.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge, Gt, Le

from tripwright.episode import Task
from tripwright.training.rollouts import RolloutGroup
from tripwright.training.trips import Trips


@dataclass(frozen=True)
class ReplaySettings:
    """Every `every` steps (γ, which the paper does not print) failed queries take the place of new
    ones, `share` of the step's prompts at most. The buffer holds `capacity` of them."""

    every: Annotated[int, Ge(1)] = 5
    capacity: Annotated[int, Ge(1)] = 256
    share: Annotated[float, Gt(0), Le(1)] = 1.0


class ReplayBuffer:
    """Failed queries, oldest first, each once. They are known by their number in the stream of
    trips, which is what a checkpoint keeps."""

    def __init__(self, settings: ReplaySettings, trips: Trips):
        self.settings, self.trips = settings, trips
        # number and request: in a later epoch the same request has another number
        self._failed: list[tuple[int, str]] = []

    def __len__(self) -> int:
        return len(self._failed)

    def remember(self, groups: Iterable[RolloutGroup]) -> None:
        """Keeps groups of which no member passed what the reward asks for. Where all members are
        unscored, a replayed group stays and a new one is not added."""
        for group in groups:
            if group.solved or not (group.scored or group.replayed):
                continue
            request = f"{group.task.where}: {group.task.request.query}"
            self._failed = [entry for entry in self._failed if entry[1] != request] + [
                (group.number, request)
            ]
        self._failed = self._failed[-self.settings.capacity :]

    def due(self, step: int, prompts: int) -> list[tuple[int, Task]]:
        """What is to be played again at this step (counted from 0), taken out of the buffer. Ids
        say so: the dice fall anew."""
        if step == 0 or step % self.settings.every:
            return []
        count = min(len(self._failed), int(prompts * self.settings.share))
        entries, self._failed = self._failed[:count], self._failed[count:]
        tasks = [(number, self.trips.at(number)) for number, _ in entries]
        return [(number, task.renamed(f"{task.id}@{step}")) for number, task in tasks]

    def state_dict(self) -> dict[str, Any]:
        return {"failed": [list(entry) for entry in self._failed]}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._failed = [(number, request) for number, request in state["failed"]]

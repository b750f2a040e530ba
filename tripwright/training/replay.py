"""DeepTravel's buffer of failed queries (row D7): a query of whose group nothing passed comes back after `every` steps.

The paper prints γ without its value, and no capacity; both are settings. A query that fails again goes to the end of the queue; the oldest
leave when the buffer is full.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tripwright.episode import Task
from tripwright.training.rollouts import Group
from tripwright.training.settings import ReplaySettings
from tripwright.training.streams import Trips


class ReplayBuffer:
    """Failed queries, oldest first, each once. They are known by their number in the stream of trips, which is what a checkpoint keeps."""

    def __init__(self, settings: ReplaySettings, trips: Trips):
        self.settings, self.trips = settings, trips
        self._failed: list[int] = []

    def __len__(self) -> int:
        return len(self._failed)

    def remember(self, groups: Iterable[Group]) -> None:
        for group in groups:
            self._failed = [number for number in self._failed if number != group.number] + [group.number]
        self._failed = self._failed[-self.settings.capacity :]

    def due(self, step: int, prompts: int) -> list[tuple[int, Task]]:
        """What is to be played again at this step (counted from 0), taken out of the buffer. Ids say so: the dice fall anew."""
        if step == 0 or step % self.settings.every:
            return []
        count = min(len(self._failed), int(prompts * self.settings.share))
        numbers, self._failed = self._failed[:count], self._failed[count:]
        tasks = [(number, self.trips.at(number)) for number in numbers]
        return [(number, Task(f"{task.id}@{step}", task.query, task.world)) for number, task in tasks]

    def state_dict(self) -> dict[str, Any]:
        return {"failed": list(self._failed)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._failed = list(state["failed"])

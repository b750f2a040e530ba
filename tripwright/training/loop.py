"""What every stage of training offers: steps that can be taken one at a time, and a state that
continues them bit for bit.

A stage (`Loop`) does not know about files. Whoever drives it (`run_folder.RunFolder`) writes down
its metrics and its state between two steps; a loop that is built from the same recipe and given
that state goes on as if it had never stopped (row B6).
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Loop(ABC):
    """One stage. `step` counts the steps taken; `progress` runs from 0 to 1, and at 1 the stage is
    over.

    Its state is everything but the recipe that the next steps depend on: tensors, numbers and
    texts, in lists and dicts (`torch.save`). Of a loop that trains `model`, its weights, the states
    of the attributes named in `checkpointed`, and those named in `counted` as they are.
    """

    step: int
    model: Any
    steps: int | None = None  # after so many the stage is over, where steps decide
    checkpointed: tuple[str, ...] = ("optimizers", "clock")
    counted: tuple[str, ...] = ("step", "tokens")

    @property
    @abstractmethod
    def progress(self) -> float: ...

    @abstractmethod
    def take_step(self) -> dict[str, Any]:
        """Trains one step, in place; its metrics."""

    def state_dict(self) -> dict[str, Any]:
        parts = {name: getattr(self, name).state_dict() for name in self.checkpointed}
        counts = {name: getattr(self, name) for name in self.counted}
        return {"model": trained_weights(self.model), **parts, **counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        missing, unexpected = self.model.load_state_dict(state["model"], strict=False)
        if unexpected or trained_weights(self.model).keys() & set(missing):
            raise RuntimeError(f"weights of another model: {unexpected or missing}")
        for name in self.checkpointed:
            getattr(self, name).load_state_dict(state[name])
        for name in self.counted:
            setattr(self, name, state[name])


def trained_weights(model: Any) -> dict[str, Any]:
    """What a checkpoint holds of a model: all of it, or beside a frozen base its adapter."""
    trained = {name for name, p in model.named_parameters() if p.requires_grad}
    whole: dict[str, Any] = model.state_dict()
    if all(p.requires_grad for p in model.parameters()):
        return whole
    return {name: whole[name] for name in whole if name in trained}


class StageClock:
    """How far a stage is, by steps or by minutes, whichever is further. Time counts while the stage
    runs, not while it lies stopped."""

    def __init__(self, steps: int | None, max_minutes: float | None):
        self.steps, self.max_minutes = steps, max_minutes
        self._before, self._began = 0.0, time.monotonic()

    @property
    def minutes(self) -> float:
        return self._before + (time.monotonic() - self._began) / 60

    def progress(self, step: int) -> float:
        by_steps = step / self.steps if self.steps is not None else 0.0
        by_minutes = self.minutes / self.max_minutes if self.max_minutes is not None else 0.0
        return max(by_steps, by_minutes)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """What is done meanwhile takes none of the stage's time."""
        self._before = self.minutes
        try:
            yield
        finally:
            self._began = time.monotonic()

    def state_dict(self) -> dict[str, Any]:
        return {"minutes": self.minutes}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._before, self._began = state["minutes"], time.monotonic()

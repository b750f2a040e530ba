"""RL by verl as a stage of a run folder: its steps come in as those of any loop, so metrics,
warnings, loggers and status are the same, and a run that was killed goes on by the same command.

Two programs keep books. verl's newest checkpoint says how far the training is; what it has written
beyond is taken back here, and what it had written before we read it is taken over.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from tripwright.bridges.verl.launch import (
    VerlProcess,
    command_for,
    newest_checkpoint,
    next_lines,
    prepare,
    saved_model,
    steps_file,
    verl_python,
)
from tripwright.bridges.verl.settings import check_for_verl
from tripwright.errors import UserError
from tripwright.files import keep_lines
from tripwright.runs import logged_steps
from tripwright.training.run_folder import RunFolder

POLL_SECONDS = 0.2
NO_VALIDATION = "[validation] is not done while verl trains: 'tripwright examine RUN' afterwards"
LAST_WORDS_SECONDS = 2  # what Ray's workers said last comes a moment after they ended


class VerlLoop:
    """verl's steps as a `learning.loop.Loop`: a step is taken when its line is there."""

    def __init__(self, process: VerlProcess | None, run: Path, steps: int, step: int):
        self.process, self.path, self.steps, self.step = process, steps_file(run), steps, step
        self._rows: list[dict[str, Any]] = []

    @property
    def progress(self) -> float:
        return self.step / self.steps

    def take_step(self) -> dict[str, Any]:
        try:
            self._wait()
        except (KeyboardInterrupt, SystemExit):  # a second signal: nothing is waited for any more
            if self.process is not None:
                self.process.end()
            raise
        row = self._rows.pop(0)
        self.step = row.pop("step")
        return row

    def _wait(self) -> None:
        while not self._rows:
            ended = self.process.ended if self.process is not None else 0
            self._rows = next_lines(self.path, self.step)
            if self._rows:
                break
            if ended is not None:
                time.sleep(LAST_WORDS_SECONDS)
                assert self.process is not None
                raise self.process.failure(f"after step {self.step} of {self.steps}")
            time.sleep(POLL_SECONDS)

    def state_dict(self) -> dict[str, Any]:
        return {"step": self.step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Nothing: verl's own checkpoint decides, and `step` is of it already."""


def reinforce_with_verl(run: RunFolder, model: str) -> None:
    """The stage "rl" of a run folder; `model` is where it starts from."""
    if run.done("rl"):
        return
    recipe, settings = run.recipe, check_for_verl(run.recipe)
    if recipe.validation is not None:
        print(NO_VALIDATION, file=sys.stderr)
    command = command_for(recipe, model, run.folder, verl_python())
    prepare(recipe, run.folder, command)
    steps, saved = settings.steps or 0, newest_checkpoint(run.folder)
    _check_ranks(run, saved)
    keep_lines(steps_file(run.folder), lambda row: bool(row["step"] <= saved), "not a step of verl")
    rows, _ = logged_steps(run.metrics)
    logged = max((row["step"] for row in rows if row["stage"] == "rl"), default=0)
    device = "cpu" if recipe.verl is not None and recipe.verl.sampler == "cpu" else "cuda"
    before = min(logged, saved)
    if saved >= steps:
        run.drive("rl", VerlLoop(None, run.folder, steps, before), device)
    else:
        with VerlProcess(run.folder, command) as process:
            run.drive("rl", VerlLoop(process, run.folder, steps, before), device)
            process.finish()
    run.adopt("rl", saved_model(run.folder, newest_checkpoint(run.folder)))


def _check_ranks(run: RunFolder, saved: int) -> None:
    """verl's checkpoints are of as many ranks as wrote them."""
    verl = run.recipe.verl
    shards = list(saved_model(run.folder, saved).parent.glob("model_world_size_*_rank_0.pt"))
    if verl is not None and shards and f"_{verl.gpus}_" not in shards[0].name:
        was = shards[0].name.split("_")[3]
        raise UserError(
            f"verl's checkpoint in '{run.folder}' is of {was} GPUs, and [verl] has {verl.gpus}:"
            " go on with as many."
        )

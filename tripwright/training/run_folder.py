"""One training run on disk, and how a stage is driven in it: continued where it was killed, its
metrics and checkpoints written (row B6).

    RUN/recipe.json                  the resolved recipe; a run folder belongs to one recipe
    RUN/data.json                    hashes of what it trains on; and to one set of data
    RUN/metrics.jsonl                one line per step, with stage, step and seconds of work since
                                     the run began
    RUN/warnings.jsonl               patterns that mean trouble, with advice (`health`)
    RUN/checkpoints/<stage>/         of the stage under way; gone once its model is saved
                                     (`checkpoint`)
    RUN/model/<stage>/               weights and tokenizer after each finished stage
    RUN/eval/validation-step-N/      evaluations between steps (`validation`)
    RUN/run.lock                     held by the process that works here; the lock dies with it

Kill it at any moment; the same command continues it, and on a CPU with as many threads every later
step is the same, bit for bit.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import shutil
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.metadata import version
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

import torch
from transformers.utils import logging

import tripwright
from tripwright.domains.judging import FREE as FREE_OF_JUDGING
from tripwright.errors import UserError
from tripwright.files import (
    Journal,
    check_folder,
    check_inside,
    lock,
    open_file,
    read_object,
    whole_folder,
    write_atomically,
    written_by_library,
)
from tripwright.inference.models import base_of, is_adapter, name_base, save_model
from tripwright.progress import StatusLine
from tripwright.runs import (
    METRICS,
    RECIPE,
    STAGES,
    TRANSCRIPTS,
    WARNINGS,
    logged_steps,
    rewind_metrics,
)
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.checkpoint import (
    FORMAT,
    Checkpoints,
    process_generators,
    seed_process_generators,
    set_process_generators,
)
from tripwright.training.data_source import data_identity
from tripwright.training.health import HealthMonitor
from tripwright.training.loggers import Loggers
from tripwright.training.loop import Loop
from tripwright.training.recipe import Recipe, describe_changes

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """While entered, the first signal is only noted; whoever works asks, and leaves when it is
    ready. A second one ends at once."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self._at_once = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stopping:
        # elsewhere Python takes no handlers, and gets no signals
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Meanwhile the first signal ends the work, for what can be stopped anywhere."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None:
            self.leave_if_asked()
        self.asked = number
        if self._at_once:
            self.leave_if_asked()
        # not print: the signal may have come in the middle of one
        os.write(2, b"\nfinishing this step first; the same signal again stops at once\n")

    def leave_if_asked(self) -> None:
        """Exit codes as a shell has them: 130 after Ctrl-C (the command line's own words), 143
        after SIGTERM."""
        if self.asked == signal.SIGINT:
            raise KeyboardInterrupt
        if self.asked is not None:
            raise SystemExit(128 + self.asked)


# tables and settings of a recipe that may change when a run is continued
FREE = ("checkpoint", "loggers", "threads", "evaluation", "validation", "verl")
# and of single tables; checkpointed activations have the same gradients, in less memory, another
# device has them up to rounding, and a server samples from the same distribution wherever it is
FREE_WITHIN = {
    "judging": FREE_OF_JUDGING,
    "model": ("checkpoint_activations", "device"),
    **dict.fromkeys(ALGORITHMS, ("server",)),
}
# of a manifest with the present, or the steps would mean nothing
MUST_AGREE = ("format", "stage", "recipe_sha256", "data", "tripwright")
# or they are equal to rounding only
SHOULD_AGREE = ("torch", "transformers", "threads", "processor", "device")
# of a step's figures, in the line on stderr
SHOWN = (
    *("loss", "left_out", "copy_length", "reward_mean", "pass_rate", "kept_groups"),
    *("grad_norm", "tokens_per_second"),
)


def keep_freed_memory() -> None:
    """What a step frees stays with the process: glibc gives large blocks back to the system, and
    the next step pays for every page of them again (a tenth of a nano model's step). Elsewhere
    nothing happens."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if os.name == "posix" else None
    if mallopt is not None:
        most_maps, trim_threshold = -4, -1  # of <malloc.h>
        mallopt(most_maps, 0)
        mallopt(trim_threshold, 2**31 - 1)


class BetweenSteps(Protocol):
    """What `drive` does between two steps of a stage (`validation`). It leaves the loop and the
    process's random numbers as they are."""

    def begin(self) -> None:
        """The stage begins, or goes on after the loop's present step."""
        ...

    def due(self, last: bool) -> bool: ...

    def take(self) -> dict[str, Any]:
        """Figures for the loggers. It may be stopped anywhere, and goes on when it is called
        again."""
        ...


class RunFolder:
    """A run folder of `recipe`, new or found. Raises UserError if it is of another recipe, or if
    another process works in it.

    Where several processes train together, one `leads`; the others take no lock and write nothing.
    """

    def __init__(self, folder: str | Path, recipe: Recipe, leads: bool = True):
        self.folder, self.recipe = Path(folder), recipe
        self._record = json.loads(json.dumps(recipe.record()))
        self.metrics, self.leads = self.folder / METRICS, leads
        self._held = not leads  # by the process that leads
        if leads:
            self.check(self.folder)
            self.folder.mkdir(parents=True, exist_ok=True)
            for depth in ("*", "*/*"):  # what is out of date there is removed
                for place in self.folder.glob(depth):
                    check_inside(self.folder, place)
            with self.alone():
                self._settle_recipe()
        torch.set_num_threads(recipe.threads)
        keep_freed_memory()

    @staticmethod
    def check(folder: Path) -> None:
        """Raises UserError where no training can have its folder."""
        check_folder(folder)
        if (folder / TRANSCRIPTS).exists() and not (folder / RECIPE).exists():
            raise UserError(f"'{folder}' holds a run of episodes: choose another folder.")

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What was logged of each step (docs/training-metrics.md)."""
        return logged_steps(self.metrics)[0]

    @staticmethod
    def trained(folder: str | Path) -> bool:
        """Whether steps were taken here that are kept. Until then a mistake may be mended: nothing
        hangs on the recipe and the data."""
        stages = {stage.name for stage in Path(folder).glob("model/*")} - {"start"}
        kept = ("checkpoints/*/step-*", "trl/checkpoint-*")
        return bool(stages) or any(any(Path(folder).glob(each)) for each in kept)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Nobody else works in this folder meanwhile."""
        if self._held:
            yield
            return
        with open_file(self.folder / "run.lock", "a+", encoding="utf-8") as file:
            file.seek(0)
            who = f"Process {file.read(20).strip() or 'unknown'} is at work in '{self.folder}'."
            lock(file, f"{who} Wait for it, or choose another folder.")
            file.truncate(0)
            file.write(f"{os.getpid()}\n")
            file.flush()
            self._held = True
            try:
                yield
            finally:
                self._held = False

    # ---- what the run is of

    def _settle_recipe(self) -> None:
        newest, longer = next(filter(self.done, reversed(STAGES)), None), ""
        if newest is not None:
            longer = f" To train longer: model.pretrained = '{self.model(newest)}'."
        self._settle(self.folder / RECIPE, self._record, "holds a run of another recipe", longer)

    def settle_data(self) -> None:
        """Before anything is trained: the data is what it was when the run began."""
        here = data_identity(self.recipe)
        self._settle(self.folder / "data.json", here, "was trained on other data")

    def _settle(self, path: Path, here: dict[str, Any], refusal: str, advice: str = "") -> None:
        """Writes down what the run is of. Raises UserError where steps were taken under something
        else."""
        earlier = read_object(path) if path.is_file() else here
        if differing := describe_changes(_bound(earlier), _bound(here)):
            if self.trained(self.folder):
                raise UserError(
                    f"'{self.folder}' {refusal}: {differing}. Put it back, or choose another"
                    f" folder.{advice}"
                )
            # made for what was there
            shutil.rmtree(self.model("start"), ignore_errors=True)
        if earlier != here or not path.is_file():
            write_atomically(path, json.dumps(here, indent=2))

    def _facts(self, stage: str, device: str) -> dict[str, Any]:
        """What a checkpoint belongs to."""
        bound = json.dumps(_bound(self._record), sort_keys=True)
        return {
            "format": FORMAT,
            "stage": stage,
            "recipe_sha256": hashlib.sha256(bound.encode()).hexdigest(),
            "data": read_object(self.folder / "data.json"),
            "tripwright": tripwright.__version__,
            "torch": torch.__version__,
            "transformers": version("transformers"),
            "threads": torch.get_num_threads(),
            "processor": torch.backends.cpu.get_cpu_capability(),
            "device": device,
        }

    # ---- models

    def model(self, stage: str) -> Path:
        return self.folder / "model" / stage

    def done(self, stage: str) -> bool:
        return self.model(stage).is_dir()

    def save(self, stage: str, model: Any, tokenizer: Any) -> None:
        """The stage is finished: its model is kept, its checkpoints are not."""
        self.save_model(stage, model, tokenizer)
        self._checkpoints(stage).clear()

    def save_model(self, name: str, model: Any, tokenizer: Any) -> None:
        """RUN/model/<name>, whole or not at all."""
        logging.disable_progress_bar()  # a bar per save would drown our own progress
        with whole_folder(self.model(name)) as partial, written_by_library(partial):
            save_model(model, partial)
            tokenizer.save_pretrained(partial)

    def adopt(self, stage: str, model: Path) -> None:
        """The stage is finished, or a step of it validated, and another program has written its
        model to that folder."""
        with whole_folder(self.model(stage)) as partial:
            shutil.copytree(model, partial, dirs_exist_ok=True)
            if is_adapter(model):
                name_base(partial, base_of(model), self.folder)
        self._checkpoints(stage).clear()

    # ---- one stage

    def _checkpoints(self, stage: str) -> Checkpoints:
        return Checkpoints(self.folder / "checkpoints" / stage, self.recipe.checkpoint.keep)

    def drive(
        self, stage: str, loop: Loop, device: str = "cpu", evaluation: BetweenSteps | None = None
    ) -> None:
        """Takes the stage's steps to its end, from its newest checkpoint if there is one."""
        with self.alone(), Stopping() as stopping:
            self.settle_data()
            facts, checkpoints = self._facts(stage, device), self._checkpoints(stage)
            before = self._resume(stage, loop, checkpoints, facts)
            if evaluation is not None:
                evaluation.begin()
            began = written_at = time.monotonic()
            written, first, status = loop.step, loop.progress, StatusLine()
            rows = list[dict[str, Any]]()

            def write(seconds: float) -> None:
                nonlocal written, written_at
                journal.sync()  # never a state without the metrics that led to it
                state = {"loop": loop.state_dict(), "generators": process_generators()}
                checkpoints.write(loop.step, state, {"seconds": seconds, **facts})
                written, written_at = loop.step, time.monotonic()

            loggers = Loggers(self.recipe.loggers, self.folder, self.recipe.record())
            with Journal(self.metrics, rows.append) as journal, closing(loggers):
                watch, seconds = HealthMonitor(rows), before
                while True:
                    if evaluation is not None and evaluation.due(loop.progress >= 1):
                        if loop.step > written:  # what is evaluated can be taken up again
                            write(seconds)
                        pause = time.monotonic()
                        with stopping.at_once():
                            loggers.log("validation", loop.step, evaluation.take())
                        pause = time.monotonic() - pause
                        began, written_at = began + pause, written_at + pause
                    if loop.progress >= 1:
                        break
                    row = loop.take_step()
                    now = time.monotonic()
                    seconds = round(before + now - began, 2)
                    line = {"stage": stage, "step": loop.step, "seconds": seconds, **row}
                    journal.append(line)
                    loggers.log(stage, loop.step, line)
                    self._warn(watch, line)
                    status.show(_standing(stage, loop, row, first, status.seconds / 60))
                    due = self.recipe.checkpoint.due(loop.step - written, (now - written_at) / 60)
                    if (due and loop.progress < 1) or stopping.asked:
                        write(seconds)
                    stopping.leave_if_asked()
            status.end()

    def _warn(self, watch: HealthMonitor, line: dict[str, Any]) -> None:
        """New warnings on stderr; all of them, with the last step of those that are over, in
        warnings.jsonl."""
        before = watch.text()
        for warning in watch.look(line):
            print(f"\n{warning}", file=sys.stderr)
        if (now := watch.text()) != before:
            write_atomically(self.folder / WARNINGS, now)

    def _resume(
        self, stage: str, loop: Loop, checkpoints: Checkpoints, facts: dict[str, Any]
    ) -> float:
        """Brings loop and metrics to where the newest checkpoint was, or to the stage's beginning.
        Seconds of work behind the run."""
        checkpoint = checkpoints.newest()
        if checkpoint is None:
            seed_process_generators(self.recipe.seed)
        else:
            self._refuse_changes(checkpoint.manifest, facts)
            state = checkpoint.state()
            loop.load_state_dict(state["loop"])
            set_process_generators(state["generators"])
            print(f"{stage}: going on after step {loop.step}", file=sys.stderr)
        seconds = rewind_metrics(self.metrics, stage, loop.step)
        return float(checkpoint.manifest["seconds"]) if checkpoint else seconds

    def _refuse_changes(self, then: dict[str, Any], now: dict[str, Any]) -> None:
        def changes(keys: tuple[str, ...]) -> str:
            return describe_changes(*({key: each.get(key) for key in keys} for each in (then, now)))

        if differing := changes(MUST_AGREE):
            raise UserError(
                f"The checkpoint of step {then['step']} was made under other conditions:"
                f" {differing}. Restore them, or remove '{self.folder / 'checkpoints'}'."
            )
        if differing := changes(SHOULD_AGREE):
            print(f"going on, but not bit for bit: {differing}", file=sys.stderr)


def _standing(stage: str, loop: Loop, row: dict[str, Any], first: float, minutes: float) -> str:
    """Where a stage stands that was begun or continued `minutes` ago, at the progress `first`; and
    what is left at that pace. (It may end sooner: by time, or because it has learned.)"""
    done, left = loop.progress - first, ""
    if done > 0:
        left = f", about {max(0.0, 1 - loop.progress) / done * minutes:.1f} min left"
    numbers = (key for key in SHOWN if isinstance(row.get(key), int | float))
    figures = "  ".join(f"{key} {row[key]:.4g}" for key in numbers)
    of = f" of {loop.steps}" if loop.steps else ""
    return f"{stage} step {loop.step}{of}{left}  {figures}"


def _bound(record: dict[str, Any]) -> dict[str, Any]:
    """The part of a recipe that a run cannot change."""
    bound = {key: value for key, value in record.items() if key not in FREE}
    for table, free in FREE_WITHIN.items():
        if isinstance(bound.get(table), dict):
            bound[table] = {k: v for k, v in bound[table].items() if k not in free}
    return bound

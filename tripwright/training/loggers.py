"""Other places that a run's metrics go to, beside RUN/metrics.jsonl: TensorBoard and Weights &
Biases (row D9). Both are extras.

    loggers = Loggers(("tensorboard",), run_folder, recipe.record())  # UserError: one is unusable
    loggers.log("rl", step, row)       # nested figures become a/b; texts are left out
    loggers.close()

A logger that fails while the run goes on is named on stderr and left out from then on: no run is
lost for a chart. Nothing leaves this machine unless the user's environment says so
(WANDB_MODE=online). A resumed run takes some steps again: TensorBoard is told to forget them, W&B
gets the same points a second time, which on a CPU lie on each other bit for bit.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from tripwright.errors import UserError


class TensorBoard:
    """Event files in RUN/tensorboard/<stage>: `tensorboard --logdir RUN/tensorboard`."""

    def __init__(self, folder: Path, config: dict[str, Any]):
        self._folder, self._config = folder / "tensorboard", config
        self._make = importlib.import_module("torch.utils.tensorboard").SummaryWriter
        self._writers: dict[str, Any] = {}

    def log(self, stage: str, step: int, figures: dict[str, float]) -> None:
        # what an earlier start of this stage logged from this step on is to be forgotten
        if stage not in self._writers:
            self._writers[stage] = self._make(str(self._folder / stage), purge_step=step)
            recipe = f"```\n{json.dumps(self._config, indent=2)}\n```"
            self._writers[stage].add_text("recipe", recipe, step)
        for name, value in figures.items():
            self._writers[stage].add_scalar(name, value, step)
        self._writers[stage].flush()

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()


class WeightsAndBiases:
    """Files in RUN/wandb, uploaded by `wandb sync`; live with WANDB_MODE=online. Each stage has its
    own step axis."""

    def __init__(self, folder: Path, config: dict[str, Any]):
        wandb, resolved = importlib.import_module("wandb"), folder.resolve()
        self._stages: set[str] = set()
        with redirect_stdout(sys.stderr):  # it greets; stdout is for figures
            self._run = wandb.init(
                project="tripwright",
                name=resolved.name,
                # the same folder is the same run
                id=hashlib.sha256(str(resolved).encode()).hexdigest()[:16],
                resume="allow",
                dir=str(resolved),
                config=config,
                mode=os.environ.get("WANDB_MODE", "offline"),
            )

    def log(self, stage: str, step: int, figures: dict[str, float]) -> None:
        if stage not in self._stages:
            self._stages.add(stage)
            self._run.define_metric(f"{stage}/step")
            self._run.define_metric(f"{stage}/*", step_metric=f"{stage}/step")
        named = {f"{stage}/{name}": value for name, value in figures.items()}
        self._run.log({f"{stage}/step": step, **named})

    def close(self) -> None:
        with redirect_stdout(sys.stderr):
            self._run.finish()


# by the package that each needs
LOGGERS: dict[str, Any] = {"tensorboard": TensorBoard, "wandb": WeightsAndBiases}


def check_loggers(names: Sequence[str]) -> None:
    """Raises UserError for one whose package is not installed. Loads nothing."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise UserError(
                f"The logger '{name}' needs the '{name}' extra: pip install 'tripwright[{name}]'"
            )


class Loggers:
    """All loggers of one run, opened here. With no names it does nothing and writes nothing."""

    def __init__(self, names: Sequence[str], folder: str | Path, config: dict[str, Any]):
        check_loggers(names)
        self._open: dict[str, Any] = {}
        for name in dict.fromkeys(names):
            try:
                self._open[name] = LOGGERS[name](Path(folder), config)
            except Exception as error:  # whatever a tracker's own start may raise
                self.close()
                raise UserError(f"The logger '{name}' does not start: {_one_line(error)}") from None

    def log(self, stage: str, step: int, row: dict[str, Any]) -> None:
        """The figures of one step, as they stand in metrics.jsonl."""
        figures = flatten({key: row[key] for key in row if key not in ("stage", "step")})
        for name, logger in list(self._open.items()):
            try:
                logger.log(stage, step, figures)
            except Exception as error:
                # a full disk or a dead network costs the charts, not the run
                where = f"failed at {stage} step {step} and is left out"
                print(f"logger '{name}' {where}: {_one_line(error)}", file=sys.stderr)
                del self._open[name]

    def close(self) -> None:
        while self._open:
            name, logger = self._open.popitem()
            try:
                logger.close()
            except Exception as error:
                print(f"logger '{name}' did not close: {_one_line(error)}", file=sys.stderr)


def flatten(row: dict[str, Any], above: str = "") -> dict[str, float]:
    """{"a": {"b": 1}} → {"a/b": 1.0}. What is no number is left out; NaN and infinity are kept, for
    a chart should show where they are."""
    flat: dict[str, float] = {}
    for key, value in row.items():
        if isinstance(value, dict):
            flat |= flatten(value, f"{above}{key}/")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            flat[f"{above}{key}"] = float(value)
    return flat


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]

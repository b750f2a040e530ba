"""Evaluation while training: every so many steps of RL, or of SFT where a recipe has no RL, the
model plays requests that no stage trains on, and the best checkpoint so far is kept (rows P10, S10,
D7).

    RUN/eval/validation/             its requests, and what two validations must have in common
    RUN/eval/validation-step-N/      a run of `evals.run` for the model after N steps
    RUN/model/<stage>-step-N/        that model, which `from_pretrained` reads: the best one's, or
                                     every one's (validation.keep)
    RUN/best.json                    which step is the best, by which metric, with its interval

The training's state is on disk before an evaluation of it begins, so one that was killed goes on
with the same weights. It draws from none of training's random numbers, and its time is not the
stage's.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.evals.run_card import model_fingerprint
from tripwright.files import json_object, write_atomically
from tripwright.rl.rl_loop import RlLoop
from tripwright.runs import BEST, CARD, VALIDATION_STEP
from tripwright.sft.trainer import FineTuning
from tripwright.training.checkpoint import process_generators, set_process_generators
from tripwright.training.data_source import VALIDATION_WORLDS
from tripwright.training.held_out import (
    conditions,
    finished_score,
    held_out,
    play_model,
    settle,
)
from tripwright.training.recipe import ValidationSettings
from tripwright.training.run_folder import RunFolder

_STEP = "-step-"


def checkpoint_name(stage: str, step: int) -> str:
    """Of a model folder in RUN/model."""
    return f"{stage}{_STEP}{step}"


def checkpoint_models(folder: Path) -> dict[int, Path]:
    """The kept ones of a run, by their step."""
    models = ((_step_of(model), model) for model in (folder / "model").glob(f"*{_STEP}*"))
    return {step: model for step, model in models if step is not None}


def _step_of(model: Path) -> int | None:
    """None of one that is not whole."""
    number = model.name.rpartition("-")[2]
    return int(number) if number.isdigit() else None


def model_identity(run: RunFolder, stage: str) -> dict[str, Any]:
    """What a run card says of a model of this run."""
    fingerprint = model_fingerprint(str(run.model(stage)))
    return {"kind": "local", "stage": stage, "fingerprint": fingerprint}


class Validation:
    """The evaluations of one stage, for `RunFolder.drive`. `start`: the stage whose model the loop
    began with, which is that of step 0."""

    def __init__(
        self,
        run: RunFolder,
        settings: ValidationSettings,
        stage: str,
        loop: RlLoop[Any] | FineTuning,
        tokenizer: Any,
        start: str,
    ):
        self.run, self.settings, self.stage, self.start = run, settings, stage, start
        self.loop, self.tokenizer = loop, tokenizer
        self.requests = held_out(run.recipe, settings.file, settings.queries, VALIDATION_WORLDS)

    def begin(self) -> None:
        """The stage goes on after the loop's step: evaluations of later ones led nowhere. Raises
        UserError where earlier ones were of other requests or conditions."""
        step, start = self.loop.step, model_identity(self.run, self.start)
        for number, folder in evaluations(self.run.folder):
            card = json_object(folder / CARD) or {}
            if number > step or (number == 0 and card.get("policy") != start):
                shutil.rmtree(folder)
        for model in (self.run.folder / "model").glob(f"*{_STEP}*"):
            if model.suffix == ".partial" or (_step_of(model) or 0) > step:
                shutil.rmtree(model)
        settle(
            self.run.folder / "eval" / "validation",
            self.requests,
            conditions(self.run.recipe, self.requests),
            f"'{self.run.folder}' was validated under other conditions",
            "Put [validation] and [evaluation] back, or remove its folders eval/validation*.",
        )

    def due(self, last: bool) -> bool:
        """Whether the model is to be evaluated as it is now, and was not. `last`: training has come
        to its end."""
        step = self.loop.step
        wanted = last or (step % self.settings.every == 0 and (step > 0 or self.settings.at_start))
        return wanted and finished_score(self._folder(step)) is None

    def take(self) -> dict[str, Any]:
        """Saves the model, evaluates it and keeps what is to be kept; the evaluation's metrics."""
        step, run = self.loop.step, self.run
        name = checkpoint_name(self.stage, step) if step else self.start
        if step and not run.done(name):
            run.save_model(name, self.loop.model, self.tokenizer)
        identity, folder = model_identity(run, name), self._folder(step)
        print(f"\nvalidating after step {step}", file=sys.stderr)
        chat = ChatFormat(self.tokenizer, run.recipe.dialect.dialect().schemas())
        model, training = self.loop.model, self.loop.model.training
        generators = process_generators()
        with self.loop.clock.stopped():
            score = play_model(run.recipe, self.requests, model.eval(), chat, folder, identity)
        model.train(training)
        set_process_generators(generators)
        self._keep_best()
        return {metric: rate["value"] for metric, rate in score["metrics"].items()}

    def _folder(self, step: int) -> Path:
        return self.run.folder / "eval" / f"{VALIDATION_STEP}{step}"

    def _keep_best(self) -> None:
        """The highest rate, of equal ones the earliest."""
        metric = self.settings.metric
        rates = {
            step: score["metrics"][metric]
            for step, folder in evaluations(self.run.folder)
            if (score := finished_score(folder)) is not None
        }
        known = [step for step, rate in rates.items() if rate["value"] is not None]
        if not known:  # nothing was scored yet
            return
        best = max(known, key=lambda step: (rates[step]["value"], -step))
        model = checkpoint_name(self.stage, best) if best else self.start
        record = {"metric": metric, "step": best, **rates[best], "model": f"model/{model}"}
        write_atomically(self.run.folder / BEST, json.dumps(record, indent=2) + "\n")
        if self.settings.keep == "best":
            for kept in checkpoint_models(self.run.folder).values():
                if kept.name != model:
                    shutil.rmtree(kept)


def evaluations(folder: Path) -> list[tuple[int, Path]]:
    """(step, folder) of a run's validations, finished or not, in order."""
    folders = (folder / "eval").glob(f"{VALIDATION_STEP}*")
    return sorted((int(place.name.rpartition("-")[2]), place) for place in folders)

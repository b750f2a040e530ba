"""The stages of a run, each from a model folder to a model folder, with its metrics beside: make, copy, sft, grpo.

    RUN/recipe.json           the resolved recipe; a run folder belongs to one recipe
    RUN/metrics.jsonl         one line per step, with stage, step and seconds since the run began
    RUN/model/<stage>/        weights and tokenizer after each finished stage

A stage that was killed starts again from the last finished one; its half-told metrics are dropped first. A finished stage is skipped.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch

from tripwright.agent.chat import ChatFormat
from tripwright.agent.policies.local import load_model
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.files import write_atomically
from tripwright.progress import StatusLine
from tripwright.training import copying, grpo, sft
from tripwright.training.cold_start import TRAINING_WORLDS, content_words, expert_sessions, tasks
from tripwright.training.nano import new_model
from tripwright.training.recipe import Recipe
from tripwright.training.tokenizer import train_tokenizer
from tripwright.transcript import Transcript
from tripwright.trip.query import Query, read_queries
from tripwright.world.store import World

# Each stage draws from its own range of training worlds, so that no stage repeats another's trips.
WORLDS_APART = 100_000
MAKING, COLD_START, RL = 0, 1, 2
# Trips without an answer of the expert's after which the cold start gives up: limits too tight for any plan would keep it looking for ever.
MOST_IN_VAIN = 200
SHOWN = ("loss", "copy_length", "reward_mean", "pass_rate", "tokens_per_second")  # of a step's figures, in the line on stderr


class RunFolder:
    """One training run on disk."""

    def __init__(self, folder: str | Path, recipe: Recipe):
        self.folder, self.recipe = Path(folder), recipe
        self.folder.mkdir(parents=True, exist_ok=True)
        written, record = self.folder / "recipe.json", json.loads(json.dumps(recipe.record()))
        if written.is_file():
            if (found := json.loads(written.read_text(encoding="utf-8"))) != record:
                differing = [key for key in record if found.get(key) != record[key]]
                raise UserError(
                    f"'{self.folder}' holds a run of another recipe (differs in: {', '.join(differing)}). Choose another folder."
                )
        else:
            write_atomically(written, json.dumps(record, indent=2))
        torch.set_num_threads(recipe.threads)
        self.metrics = self.folder / "metrics.jsonl"

    def model(self, stage: str) -> Path:
        return self.folder / "model" / stage

    def done(self, stage: str) -> bool:
        return self.model(stage).is_dir()

    def save(self, stage: str, model: Any, tokenizer: Any) -> None:
        partial = self.folder / "model" / f"{stage}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        model.save_pretrained(partial)
        tokenizer.save_pretrained(partial)
        os.replace(partial, self.model(stage))

    def log(self, stage: str, steps: Iterable[dict[str, Any]], end: str, every: int = 1) -> None:
        """Runs a stage: writes one line per `every` steps, and says where it stands on stderr."""
        kept = [line for line in self._lines() if line.get("stage") != stage]
        write_atomically(self.metrics, "".join(json.dumps(line) + "\n" for line in kept))
        before, began = (kept[-1]["seconds"] if kept else 0.0), time.monotonic()
        status = StatusLine()
        with self.metrics.open("a", encoding="utf-8") as out:
            for step, row in enumerate(steps, start=1):
                seconds = before + time.monotonic() - began
                if step % every == 0 or step == 1:
                    out.write(json.dumps({"stage": stage, "step": step, "seconds": round(seconds, 2), **row}) + "\n")
                    out.flush()
                figures = "  ".join(f"{key} {row[key]:.4g}" for key in SHOWN if key in row)
                status.show(f"{stage} step {step}, {status.seconds / 60:.1f} min (ends after {end})  {figures}")
        status.end()

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self.metrics.is_file():
            return
        for line in self.metrics.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:  # the last line of a killed run may be torn
                continue


# ---- the stages


def make(run: RunFolder) -> None:
    """The starting model: loaded, or new with a tokenizer made from expert transcripts."""
    recipe, settings = run.recipe, run.recipe.model
    if run.done("start"):
        return
    if settings.pretrained is not None:
        model, tokenizer = load_model(settings.pretrained)
        ChatFormat(tokenizer, recipe.dialect.dialect().schemas())  # refuse unfit templates now
    else:
        print("making a tokenizer and a model", file=sys.stderr)
        drawn = list(itertools.islice(trips(recipe, MAKING), settings.tokenizer_transcripts))
        sessions = list(expert_sessions(iter(drawn), recipe.dialect.dialect(), None))
        words = set().union(*(content_words(world) for world in {id(world): world for _, world in drawn}.values()))
        texts = [segment.text for session in sessions for segment in session.transcript.segments]
        tokenizer = train_tokenizer(texts, words, settings.superwords, settings.subwords)
        model = new_model(settings.shape, tokenizer, recipe.seed)
    run.save("start", model, tokenizer)


def copy(run: RunFolder, after: str = "start") -> None:
    """The copy warm-up."""
    if run.recipe.copy is None or run.done("copy"):
        return
    model, tokenizer = load_model(run.model(after))
    run.log("warmup", copying.warm_up(model, run.recipe.copy, run.recipe.seed), f"{run.recipe.copy.max_steps} steps at most", every=5)
    run.save("copy", model, tokenizer)


def cold_start(run: RunFolder, after: str = "copy") -> None:
    """SFT on the expert's transcripts, each trip new."""
    if run.recipe.sft is None or run.done("sft"):
        return
    model, tokenizer = load_model(run.model(after))
    steps = sft.fine_tune(model, expert_transcripts(run.recipe, tokenizer), run.recipe.sft)
    run.log("sft", steps, _end(run.recipe.sft.steps, run.recipe.sft.max_minutes), every=5)
    run.save("sft", model, tokenizer)


def reinforce(run: RunFolder, after: str = "sft") -> None:
    """GRPO on fresh trips."""
    recipe = run.recipe
    if recipe.grpo is None or run.done("rl"):
        return
    model, tokenizer = load_model(run.model(after))
    dialect = recipe.dialect.dialect()
    chat = ChatFormat(tokenizer, dialect.schemas())
    stream = (Task(f"train-{i}", query, world) for i, (query, world) in enumerate(trips(recipe, RL)))
    steps = grpo.train(model, chat, dialect, stream, recipe.grpo, recipe.seed, recipe.faults)
    run.log("rl", steps, _end(recipe.grpo.steps, recipe.grpo.max_minutes))
    run.save("rl", model, tokenizer)


def _end(steps: int | None, max_minutes: float | None) -> str:
    limits = [f"{steps} steps"] if steps is not None else []
    limits += [f"{max_minutes:.1f} min"] if max_minutes is not None else []
    return " or ".join(limits) or "no limit"


def trips(recipe: Recipe, stage: int) -> Iterator[tuple[Query, World]]:
    """An endless stream of trips to train on: fresh generated ones, or the given queries in a new order every epoch."""
    data = recipe.data
    if data.world is None or data.queries is None:
        mix = data.rl_mix if stage == RL and data.rl_mix is not None else data.mix
        yield from tasks(data.scale, TRAINING_WORLDS + WORLDS_APART * stage, data.queries_per_world, mix)
        return
    world, queries = World.open(data.world), read_queries(data.queries)
    if not queries:
        raise UserError(f"'{data.queries}' holds no queries.")
    rng = random.Random(recipe.seed)
    while True:
        for query in rng.sample(queries, len(queries)):
            yield query, world


def expert_transcripts(recipe: Recipe, tokenizer: Any) -> Iterator[Transcript]:
    dialect = recipe.dialect.dialect()
    chat = ChatFormat(tokenizer, dialect.schemas())
    in_vain = 0
    for session in expert_sessions(trips(recipe, COLD_START), dialect, chat):
        if session.transcript.answer is not None:
            in_vain = 0
            yield session.transcript
            continue
        in_vain += 1  # a trip that the expert could not plan teaches nothing
        if in_vain == MOST_IN_VAIN:
            why = f"{in_vain} trips in a row, the last one ended by {session.transcript.stop_reason}; max_turns is {dialect.max_turns}"
            raise UserError(f"The expert finds no answer within the limits of dialect '{dialect.name}' ({why}).")

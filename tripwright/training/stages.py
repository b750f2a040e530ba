"""A training from a recipe to its run folder: what the command line, a notebook and the quickstart
call; and its stages, each from a model folder to a model folder, in the order of `runs.STAGES`: the
starting model, the copy warm-up, fine-tuning (the cold start), reinforcement learning.

A finished stage is skipped, and so is one that the recipe has not. One that was stopped is built
again from the model before it, and goes on from its newest checkpoint.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

import torch

from tripwright.agent.chat import ChatFormat, ExactTokens, check_prompt
from tripwright.agent.dialect import Dialect
from tripwright.domains import open_folder
from tripwright.domains.judging import Judged
from tripwright.errors import UserError
from tripwright.evals.report import write_report
from tripwright.evals.run_card import environment
from tripwright.files import json_object, write_atomically
from tripwright.inference.local import inspect_model, load_model
from tripwright.inference.models import (
    adapter_parameters,
    add_adapter,
    device_named,
    has_adapter,
    merged,
    precision_named,
)
from tripwright.rewards.spec import resolve_reward
from tripwright.runs import CARD, COMPARISON, RECIPE, SCORE, STAGES
from tripwright.tools.remote import RemoteToolBox
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.data_source import COLD_START, MAKING, RL, trips_of
from tripwright.training.fit import check_memory
from tripwright.training.held_out import AFTER, Validation, check_apart, examine
from tripwright.training.nano import make_tokenizer, new_model
from tripwright.training.own import try_out
from tripwright.training.recipe import (
    Recipe,
    changed,
    check_needs,
    check_positions,
    load_recipe,
)
from tripwright.training.recipe_list import recipe_file, recipe_named
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import CopyPretraining, FineTuning
from tripwright.training.sft_data import expert_samples, file_samples
from tripwright.training.trips import (
    ExpertTranscripts,
    FileSamples,
    TokenizedRow,
    expert_sessions,
)


def check_starting_model(recipe: Recipe, config: Any, tokenizer: Any) -> None:
    """Raises UserError where model and dialect do not go together."""
    name, dialect = recipe.model.pretrained, recipe.dialect.dialect()
    check_positions(recipe, f"'{name}'", config.max_position_embeddings)
    chat = ChatFormat(tokenizer, dialect.schemas())
    check_prompt(dialect, ExactTokens(chat, f"of {name or 'the new tokenizer'}"))


def make(run: RunFolder) -> None:
    """The starting model: loaded, or new with a tokenizer made from expert transcripts."""
    recipe, settings = run.recipe, run.recipe.model
    run.settle_data()
    if run.done("start"):
        return
    dialect = recipe.dialect.dialect()
    if settings.pretrained is not None:
        model, tokenizer = load_model(settings.pretrained)
        model = merged(model)  # what stages add to is a plain model
    else:
        print("making a tokenizer and a model", file=sys.stderr)
        trips, generator = trips_of(recipe, MAKING), recipe.domain.generated()
        requests = [trips.request_at(number) for number in range(settings.tokenizer_transcripts)]
        expert = settings.tokenizer_expert
        sessions = list(expert_sessions(requests, dialect, None, expert))
        worlds = {id(world): world for _, world in requests}.values()
        words = {word for world in worlds for word in generator.names(world)}
        texts = [segment.text for session in sessions for segment in session.transcript.segments]
        tokenizer = make_tokenizer(texts, words, generator.closed_lists, settings.superwords)
        model = new_model(settings.shape, tokenizer, recipe.seed)
    check_starting_model(recipe, model.config, tokenizer)
    run.save("start", model, tokenizer)


def load_trainable(run: RunFolder, stage: str) -> tuple[Any, Any]:
    """(model, tokenizer) that the stage begins with, on the recipe's device, the weights in the
    format that it names, whatever the checkpoint holds. With [model.lora] an adapter is trained, of
    the folder or new, in fp32, and the base stays as it is."""
    folder, settings = run.model(stage_before(run, stage)), run.recipe.model
    place = device_named(settings.device), precision_named(settings.weights)
    model, tokenizer = load_model(folder, *place)
    if settings.lora is not None:
        if not has_adapter(model):
            add_adapter(model, settings.lora, f"../{folder.name}", run.recipe.seed)
        for _, parameter in adapter_parameters(model):
            parameter.requires_grad_(True)
    return model.eval(), tokenizer


def stage_before(run: RunFolder, stage: str) -> str:
    """The stage whose model this one begins with: the last finished one that comes before it."""
    earlier = STAGES[: STAGES.index(stage)]
    return next(filter(run.done, reversed(earlier)), "start")


def take(run: RunFolder, stage: str) -> None:
    """A stage that trains: its steps to its end, and its model. Validation is of the recipe's last
    stage, and a model that judges takes part in RL alone."""
    recipe, during = run.recipe, None
    if stage not in recipe.stages or run.done(stage):
        return
    model, tokenizer = load_trainable(run, stage)
    judging = recipe.judging if stage == "rl" else None
    with recipe.domain.judge.opened(judging, run.folder) as judged:
        loop = loop_of(recipe, stage, model, tokenizer, judged)
        loop.decoder.checkpoint_activations = recipe.model.checkpoint_activations
        if recipe.validation is not None and stage == recipe.stages[-1]:
            start = stage_before(run, stage)
            during = Validation(run, recipe.validation, stage, loop, tokenizer, start)
        run.drive(stage, loop, loop.model.device.type, during)
        run.save(stage, loop.model, tokenizer)


def loop_of(recipe: Recipe, stage: str, model: Any, tokenizer: Any, judged: Judged) -> Any:
    """The copy warm-up; SFT on the expert's transcripts, each trip new, or on a file's; or RL on
    fresh trips, by the recipe's table of it."""
    dialect, seed, sft = recipe.dialect.dialect(), recipe.seed, recipe.sft
    if stage == "copy_pretraining" and recipe.copy_pretraining is not None:
        return CopyPretraining(model, recipe.copy_pretraining, seed)
    if stage == "sft" and sft is not None and sft.data is not None:
        positions = model.config.max_position_embeddings
        return FineTuning(model, file_samples(sft, dialect, tokenizer, positions, seed), sft)
    chat = ChatFormat(tokenizer, dialect.schemas())
    if stage == "sft" and sft is not None:
        fresh = ExpertTranscripts(trips_of(recipe, COLD_START), dialect, chat, sft.expert)
        few = sft.expert_transcripts is not None
        return FineTuning(model, expert_samples(fresh, sft, seed) if few else fresh, sft)
    assert recipe.rl is not None
    name, settings = recipe.rl
    tools, trips = tools_of(recipe, settings.tools, dialect), trips_of(recipe, RL, judged)
    return ALGORITHMS[name].loop(model, chat, dialect, trips, settings, seed, recipe.faults, tools)


def tools_of(recipe: Recipe, url: str | None, dialect: Dialect) -> RemoteToolBox | None:
    """Those of a server, which must have the recipe's world; None for tools in process."""
    if url is None:
        return None
    assert recipe.data.world is not None  # recipes are checked for it
    with open_folder(Path(recipe.data.world), recipe.domain) as (_, place):
        world = place.identity.get("content_hash")
    return RemoteToolBox(url, dialect.face, page_rows=dialect.page_rows, world_hash=world)


def take_stages(run: RunFolder, until: str = "rl") -> None:
    """Every stage up to `until`, in order."""
    make(run)
    for stage in STAGES[1 : STAGES.index(until) + 1]:
        take(run, stage)


# ---- a training from its recipe on

# Of each engine but ours, the stage that it takes and its module, which has `check(recipe)` and
# `train(run)`. Bridges come after this room, so they are imported by name when they are asked for.
ENGINES = {
    "trl": ("sft", "tripwright.bridges.trl"),
    "verl": ("rl", "tripwright.bridges.verl.launch"),
}
TABLES = {"sft": "[sft]", "rl": "[grpo], [ppo], [rft] or [rl]"}


def train(
    recipe: str | Path,
    out: str | Path | None = None,
    changes: Sequence[str] = (),
    engine: Literal["local", "trl", "verl"] = "local",
    until: Literal["sft", "rl"] = "rl",
) -> RunFolder:
    """Takes the recipe's stages up to `until`, in order, and writes the report; the run folder,
    with its `folder`, its `model(until)` and its `rows` of metrics. Stopped at any moment, the same
    call goes on.

        run = tripwright.train("nano/quickstart", "runs/mine", ["sft.steps=300", "grpo.steps=8"])
        print(run.rows[-1]["reward_mean"], run.model("rl"))

    `recipe` is a TOML file or a name of 'tripwright recipes', `changes` are settings that go over
    it ("grpo.clip.high=0.28"), and `out` is the run folder (None: runs/RECIPE). TRL as the engine
    takes the stage "sft", and verl the stage "rl"; the stages before are our engine's.

    Raises UserError for what cannot work, as far as it can be seen before a folder is made.
    """
    path = recipe_file(Path(recipe))
    read = load_recipe(path, [changes] if isinstance(changes, str) else changes)
    if until not in TABLES or engine not in ("local", *ENGINES):
        accepted = f"until {' or '.join(TABLES)}; engine local, {' or '.join(ENGINES)}"
        raise UserError(f"Found until='{until}', engine='{engine}'. Accepted: {accepted}.")
    if until not in read.stages:
        raise UserError(f"{path}: no {TABLES[until]} table, so there is nothing to train.")
    others: Any = None
    if engine != "local":
        stage, module = ENGINES[engine]
        if stage != until:
            raise UserError(f"Engine '{engine}' takes the stage '{stage}', not '{until}'.")
        others = import_module(module)
        others.check(read)
    if read.rl is not None and until == "rl":
        for spec in read.rl.settings.curriculum.rewards:
            resolve_reward(spec, read.domain.rewards)
        for name, arguments in read.rl.settings.own.items():
            try_out(name, arguments)
    check_needs(read)
    check_apart(read)
    folder = Path(out) if out is not None else Path("runs") / path.stem
    if engine != "verl" and not RunFolder.trained(folder):  # whose memory is other machines'
        if (model := read.model.pretrained) is not None and Path(model).is_dir():
            check_starting_model(read, *inspect_model(model))  # of a hub: when it is here
        check_memory(read, others.shards() if engine == "trl" else 1)
    run = RunFolder(folder, read, leads=engine != "trl" or others.leads())
    with run.alone():
        if others is not None:
            others.train(run)
        else:
            take_stages(run, until)
        if run.leads:
            write_report(run.folder)
    return run


# ---- the quickstart: the whole loop on two CPU cores in minutes, from nothing to a trained, judged
# travel agent (row B4)
#
#     tokenizer and model → copy warm-up → cold start on a teacher's trips → GRPO → difficulty of
#     the exam → exam before, after, and blind
#
# The teacher never looks at the price of a place to stay, so a quarter of its trips break the
# budget, and a model that imitates it does no better. What RL adds is what no transcript shows: to
# spend less, learned from the one fact of the verdict that says whether the budget was kept. (A
# perfect expert leaves RL of minutes nothing to show: dev/LOG.md, 2026-11-24.) Every part leaves
# its files behind and is skipped when they are there, so a stopped run goes on.

COLD_START_SHARE = 0.7  # of the steps that a given time leaves
# In steps of imitation: a step of RL; and tokenizer, copy warm-up and examinations together.
RL_STEP, FIXED = 28, 600
TIMED_TOKENS, TIMED_SECONDS = 864, 8.0  # of a transcript, as the expert's are; of the timing


def seconds_of_imitation(recipe: Recipe, threads: int) -> float:
    """Of one step of imitation on this processor: the fastest of some, on transcripts made up.
    Whatever else runs can only slow one down."""
    assert recipe.sft is not None
    torch.set_num_threads(threads)
    model = new_model(recipe.model.shape, make_tokenizer([], []), 0)
    ids = [n % 1000 for n in range(TIMED_TOKENS)]
    row = TokenizedRow(ids, [n % 2 for n in ids])
    loop, seconds = FineTuning(model, FileSamples([row], 0), recipe.sft), list[float]()
    until = time.monotonic() + TIMED_SECONDS
    while len(seconds) < 2 or time.monotonic() < until:  # the first one sets up its kernels
        began = time.perf_counter()
        loop.take_step()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def minutes_of(steps: tuple[int, int], seconds: float) -> float:
    """A whole quickstart of so many steps of imitation and of RL takes about so long."""
    return (FIXED + steps[0] + RL_STEP * steps[1]) * seconds / 60


def steps_within(minutes: float, seconds: float) -> tuple[int, int]:
    """(steps of imitation, of RL) that take about so long where one of imitation takes `seconds`:
    shorter schedules than the recipe's or longer ones, not cut-off ones."""
    left = max(60.0, 60 * minutes / seconds - FIXED)
    return math.ceil(COLD_START_SHARE * left), math.ceil((1 - COLD_START_SHARE) * left / RL_STEP)


def quickstart_recipe(out: Path, minutes: float | None, seed: int, threads: int) -> Recipe:
    """`nano/quickstart`, which goes by steps and never by a clock; with `minutes`, by as many steps
    as this processor takes in these; or as a run found in `out` began. Says on stderr what is to
    come."""
    RunFolder.check(out)  # before the processor is timed
    recipe, begun = load_recipe(recipe_named("nano/quickstart").path), json_object(out / RECIPE)
    if begun is not None and begun.get("name") == recipe.name:
        steps = begun["sft"]["steps"], begun["grpo"]["steps"]
        for_new = "" if minutes is None else " (--minutes is for a new run)"
        plan = f"'{out}' goes on as it began{for_new}:"
    else:
        print(f"timing this processor, {TIMED_SECONDS:.0f} seconds", file=sys.stderr)
        seconds = seconds_of_imitation(recipe, threads)
        assert recipe.sft is not None and recipe.rl is not None
        usual = recipe.sft.steps or 0, recipe.rl.settings.steps or 0
        steps = usual if minutes is None else steps_within(minutes, seconds)
        plan = f"about {minutes_of(steps, seconds):.0f} minutes while it is as busy as now:"
    exam = f"3 examinations of {recipe.evaluation.queries} trips"
    print(f"{plan} {steps[0]} steps of imitation, {steps[1]} of GRPO, {exam}", file=sys.stderr)
    recipe = changed(recipe, [f"sft.steps={steps[0]}", f"grpo.steps={steps[1]}"])
    return replace(recipe, seed=seed, threads=threads)


def quickstart(
    out: str | Path, minutes: float | None = None, seed: int = 0, threads: int = 2
) -> dict[str, Any]:
    """Trains, examines and reports: OUT/score.json, OUT/report.html; `minutes` None: by the
    recipe's steps. The figures are those of `examine`."""
    run = RunFolder(out, quickstart_recipe(Path(out), minutes, seed, threads))
    with run.alone():
        card = {
            "recipe": run.recipe.name,
            "seed": seed,
            "threads": threads,
            "torch": version("torch"),
            "products": f"{precision_named('auto')} on {torch.backends.cpu.get_cpu_capability()}",
            **environment(),
        }
        write_atomically(run.folder / CARD, json.dumps(card, indent=2))
        take_stages(run)
    figures = examine(run.recipe, run.folder)
    score = json_object(run.folder / "eval" / AFTER / SCORE) or {}
    comparison = json_object(run.folder / COMPARISON)
    whole = json.dumps({**score, "comparison": comparison}, indent=2) + "\n"
    write_atomically(run.folder / SCORE, whole)
    write_report(run.folder)
    return figures

"""The stages of a run, each from a model folder to a model folder, in the order of `runs.STAGES`:
the starting model, the copy warm-up, fine-tuning (the cold start), reinforcement learning.

A finished stage is skipped, and so is one that the recipe has not. One that was stopped is built
again from the model before it, and goes on from its newest checkpoint.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat, ExactTokens, check_prompt
from tripwright.agent.dialect import Dialect
from tripwright.domains import open_folder
from tripwright.errors import UserError
from tripwright.inference.local import inspect_model, load_model
from tripwright.inference.models import (
    adapter_parameters,
    add_adapter,
    device_named,
    has_adapter,
    merged,
    precision_named,
)
from tripwright.llm.endpoint import shown_url
from tripwright.runs import STAGES
from tripwright.tools.remote import RemoteToolBox
from tripwright.training.algorithms import ALGORITHMS
from tripwright.training.data_source import COLD_START, MAKING, RL, trips_of
from tripwright.training.fit import check_memory
from tripwright.training.held_out import Validation
from tripwright.training.nano import make_tokenizer, new_model
from tripwright.training.recipe import Recipe, check_positions
from tripwright.training.run_folder import RunFolder
from tripwright.training.sft import CopyPretraining, FineTuning
from tripwright.training.sft_data import FileSamples, expert_samples, file_samples
from tripwright.training.trips import ExpertTranscripts, expert_sessions


def check_starting_model(recipe: Recipe, config: Any, tokenizer: Any) -> None:
    """Raises UserError where model and dialect do not go together."""
    name, dialect = recipe.model.pretrained, recipe.dialect.dialect()
    check_positions(recipe, f"'{name}'", config.max_position_embeddings)
    chat = ChatFormat(tokenizer, dialect.schemas())
    check_prompt(dialect, ExactTokens(chat, f"of {name or 'the new tokenizer'}"))


def check_start(recipe: Recipe) -> None:
    """`check_starting_model` and what files and memory must be, before anything is written or a
    weight read. (Of a model on a hub, the files are looked at when they are here.)"""
    name = recipe.model.pretrained
    if name is not None and Path(name).is_dir():
        check_starting_model(recipe, *inspect_model(name))
    check_memory(recipe)


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
        words = set().union(
            *(
                generator.names(world)
                for world in {id(world): world for _, world in requests}.values()
            )
        )
        texts = [segment.text for session in sessions for segment in session.transcript.segments]
        tokenizer = make_tokenizer(texts, words, generator.closed_lists, settings.superwords)
        model = new_model(settings.shape, tokenizer, recipe.seed)
    check_starting_model(recipe, model.config, tokenizer)
    run.save("start", model, tokenizer)


def load_trainable(folder: Path, recipe: Recipe) -> tuple[Any, Any]:
    """(model, tokenizer) on the recipe's device, the weights in the format that it names, whatever
    the checkpoint holds. With [model.lora] an adapter is trained, of the folder or new, in fp32,
    and the base stays as it is."""
    settings = recipe.model
    place = device_named(settings.device), precision_named(settings.weights)
    model, tokenizer = load_model(folder, *place)
    if settings.lora is not None:
        if not has_adapter(model):
            add_adapter(model, settings.lora, f"../{folder.name}", recipe.seed)
        for _, parameter in adapter_parameters(model):
            parameter.requires_grad_(True)
    return model.eval(), tokenizer


def stage_before(run: RunFolder, stage: str) -> str:
    """The stage whose model this one begins with: the last finished one that comes before it."""
    earlier = STAGES[: STAGES.index(stage)]
    return next(filter(run.done, reversed(earlier)), "start")


def copy_pretraining(run: RunFolder) -> None:
    """The copy warm-up."""
    if run.recipe.copy_pretraining is None or run.done("copy_pretraining"):
        return
    model, tokenizer = load_trainable(run.model("start"), run.recipe)
    loop = CopyPretraining(model, run.recipe.copy_pretraining, run.recipe.seed)
    loop.decoder.checkpoint_activations = run.recipe.model.checkpoint_activations
    run.drive("copy_pretraining", loop, model.device.type)
    run.save("copy_pretraining", model, tokenizer)


def cold_start(run: RunFolder) -> None:
    """SFT on the expert's transcripts, each trip new, or on a file's."""
    recipe = run.recipe
    if recipe.sft is None or run.done("sft"):
        return
    model, tokenizer = load_trainable(run.model(stage_before(run, "sft")), run.recipe)
    source: FileSamples | ExpertTranscripts
    dialect = recipe.dialect.dialect()
    if recipe.sft.data is not None:
        source = file_samples(
            recipe.sft, dialect, tokenizer, model.config.max_position_embeddings, recipe.seed
        )
        print(source.figures.line(recipe.sft.max_tokens or dialect.context_tokens), file=sys.stderr)
    else:
        source = ExpertTranscripts(
            trips_of(recipe, COLD_START),
            dialect,
            ChatFormat(tokenizer, dialect.schemas()),
            recipe.sft.expert,
        )
        if recipe.sft.expert_transcripts is not None:
            source = expert_samples(source, recipe.sft, recipe.seed)
    loop = FineTuning(model, source, recipe.sft)
    loop.decoder.checkpoint_activations = recipe.model.checkpoint_activations
    during = _validation(run, "sft", loop, tokenizer) if recipe.rl is None else None
    run.drive("sft", loop, model.device.type, during)
    run.save("sft", model, tokenizer)


def _validation(run: RunFolder, stage: str, loop: Any, tokenizer: Any) -> Validation | None:
    settings, start = run.recipe.validation, stage_before(run, stage)
    return Validation(run, settings, stage, loop, tokenizer, start) if settings else None


def reinforce(run: RunFolder) -> None:
    """Reinforcement learning on fresh trips, by the recipe's table of it."""
    recipe = run.recipe
    if recipe.rl is None or run.done("rl"):
        return
    name, settings = recipe.rl
    model, tokenizer = load_trainable(run.model(stage_before(run, "rl")), run.recipe)
    dialect = recipe.dialect.dialect()
    chat = ChatFormat(tokenizer, dialect.schemas())
    with (
        tools_of(recipe, settings.tools, dialect) as tools,
        recipe.domain.judge.opened(recipe.judging, run.folder) as judged,
    ):
        trips = trips_of(recipe, RL, judged)
        loop = ALGORITHMS[name].loop(
            model, chat, dialect, trips, settings, recipe.seed, recipe.faults, tools
        )
        loop.decoder.checkpoint_activations = recipe.model.checkpoint_activations
        during = _validation(run, "rl", loop, tokenizer)
        run.drive("rl", loop, model.device.type, during)
    run.save("rl", model, tokenizer)


@contextmanager
def tools_of(recipe: Recipe, url: str | None, dialect: Dialect) -> Iterator[RemoteToolBox | None]:
    """Those of a server, which must have the recipe's world; None for tools in process."""
    if url is None:
        yield None
        return
    if recipe.data.world is None:
        raise UserError(
            f"Tools at '{shown_url(url)}' serve one world, and this recipe trains on many: give"
            " data.world and data.queries."
        )
    with open_folder(Path(recipe.data.world), recipe.domain) as (_, place):
        tools = RemoteToolBox(
            url,
            dialect.face,
            page_rows=dialect.page_rows,
            world_hash=place.identity.get("content_hash"),
        )
    try:
        yield tools
    finally:
        tools.close()


TAKE = {"start": make, "copy_pretraining": copy_pretraining, "sft": cold_start, "rl": reinforce}


def take_stages(run: RunFolder, until: str = "rl") -> None:
    """Every stage up to `until`, in order."""
    for stage in STAGES[: STAGES.index(until) + 1]:
        TAKE[stage](run)

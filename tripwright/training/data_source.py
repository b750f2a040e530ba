"""What a recipe trains on: the stream of trips of each of its stages, and hashes of the data by content."""

from __future__ import annotations

import atexit
import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.domains.deeptravel.tools.live_source import LiveSource, live_source
from tripwright.domains.domain import PlaceOptions
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.learning.trips import ExpertTranscripts, GeneratedTrips, GivenTrips, RepeatedTrips, Trips
from tripwright.runs import TRANSCRIPTS
from tripwright.training.kinds import kind_of
from tripwright.training.recipe_tables import LiveSettings, Recipe
from tripwright.world.generator.build import build_tables
from tripwright.world.generator.scales import SCALES
from tripwright.world.store import World

# Generated worlds are numbered by their seed. Each stage draws from its own range of training worlds, so that no stage repeats another's
# trips, and no examination asks about a world that was trained in.
TRAINING_WORLDS, UNSEEN_WORLDS, WORLDS_APART = 0, 1_000_000, 100_000
MAKING, COLD_START, RL = 0, 1, 2  # stages
_OPENED = ExitStack()  # sources of live answers, which stay open as long as the process


def trips_of(recipe: Recipe, stage: int) -> Trips:
    """From generated worlds, many of them, or of a query file in one world or with one source of live answers."""
    data, kind = recipe.data, kind_of(recipe.dialect.dialect())
    by_turns = stage == RL and recipe.rl is not None and recipe.rl.settings.curriculum.reads_every_turn

    def task(id: str, request: Any, place: Any) -> Task:
        made = kind.job(id, request, place)
        return kind.with_every_turn(made) if by_turns and kind.with_every_turn is not None else made

    if data.queries is not None and (recipe.live is not None or data.world is not None):
        requests = kind.read(data.queries)
        if not requests:
            raise UserError(f"'{data.queries}' holds no queries.")
        if recipe.live is not None:
            source = opened_source(recipe.live, data.world)
            return Trips(GivenTrips(source, requests, recipe.seed), task, len(requests), partial(_sandbox_counts, source))
        return Trips(GivenTrips(World.open(data.world or ""), requests, recipe.seed), task, len(requests))
    mix = data.rl_mix if stage == RL and data.rl_mix is not None else data.mix
    generated = GeneratedTrips(data.scale, TRAINING_WORLDS + WORLDS_APART * stage, data.queries_per_world, kind.draw(mix))
    if stage == RL and data.rl_trips is not None:
        return Trips(RepeatedTrips(generated, data.rl_trips, recipe.seed), task, data.rl_trips)
    return Trips(generated, task)


def expert_transcripts(recipe: Recipe, chat: ChatFormat) -> ExpertTranscripts:
    """What the cold start imitates (rows S4, B3, B4)."""
    dialect = recipe.dialect.dialect()
    kind = kind_of(dialect)
    return ExpertTranscripts(trips_of(recipe, COLD_START), partial(kind.show, dialect=dialect, chat=chat), kind.keeps)


def _sandbox_counts(source: LiveSource) -> Mapping[str, int]:
    """How far the sandbox has helped since this process began (row D2)."""
    if source.sandbox is None:
        return {}
    total = source.sandbox.counts.as_dict()["total"]
    return {f"sandbox_{name}": total[name] for name in ("asked", "hits", "missed", "live_calls")}


# ---- what the data is, by content


def data_identity(recipe: Recipe) -> dict[str, Any]:
    """Hashes that change when the recipe would train on something else: of the world and files it names, of what the generator makes."""
    found: dict[str, Any] = {}
    if recipe.sft is not None and recipe.sft.data is not None:
        data = Path(recipe.sft.data)
        found["sft_data"] = file_hash(data / TRANSCRIPTS if data.is_dir() else data)
    if recipe.live is not None and recipe.data.queries is not None:
        found |= {"live": opened_source(recipe.live, recipe.data.world).identity, "queries": file_hash(recipe.data.queries)}
    elif recipe.data.world is None or recipe.data.queries is None:
        found["generator"] = generator_fingerprint(recipe.data.scale)
    else:
        found["world"] = World.open(recipe.data.world).content_hash
        found["queries"] = file_hash(recipe.data.queries)
    return found


def file_hash(path: str | Path) -> str:
    """SHA-256. Raises UserError where there is no file."""
    if not Path(path).is_file():
        raise UserError(f"No file at '{path}'.")
    with Path(path).open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@cache
def opened_source(live: LiveSettings, world: str | None) -> LiveSource:
    """One for all stages of a process: open until it ends."""
    options = PlaceOptions(Path(world) if world else None, Path(live.services) if live.services else None, live.store, live.snapshot)
    atexit.register(_OPENED.close)  # before the modules go that closing needs
    return _OPENED.enter_context(live_source(replace(options, replay=live.replay)))


@cache
def generator_fingerprint(scale: str) -> str:
    """Of the first nano world, its first queries, and the settings of `scale`: a generator that was changed makes others."""
    if scale not in SCALES:
        raise UserError(f"Unknown scale '{scale}'. Accepted: {', '.join(SCALES)}.")
    world = World.in_memory(build_tables("nano", TRAINING_WORLDS))
    queries = [query.record() for query in make_queries(world, 4, TRAINING_WORLDS)]
    return hashlib.sha256(f"{world.content_hash} {queries} {SCALES[scale]}".encode()).hexdigest()

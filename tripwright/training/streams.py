"""Endless sources of training data that can be left and taken up again: what comes next depends on a number or two, not on the past.

Trips are numbered. Trip n of a generated stream is in world n // per_world, so that going on at trip 50,000 makes one world and not
three thousand; trip n of a query file is in epoch n // queries, whose order depends on seed and epoch alone.
"""

from __future__ import annotations

import atexit
import hashlib
import random
from contextlib import ExitStack
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.domains.deeptravel.tools.live_source import LiveSource, live_source
from tripwright.domains.domain import PlaceOptions
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.errors import UserError
from tripwright.runs import TRANSCRIPTS
from tripwright.training.cold_start import TRAINING_WORLDS, GeneratedTrips
from tripwright.training.kinds import kind_of
from tripwright.transcript import Transcript
from tripwright.world.generator.build import build_tables
from tripwright.world.generator.scales import SCALES
from tripwright.world.store import World

if TYPE_CHECKING:  # a recipe is made of the stages' settings, and the stages read streams
    from tripwright.training.recipe import Recipe
    from tripwright.training.recipe_tables import LiveSettings

# Each stage draws from its own range of training worlds, so that no stage repeats another's trips.
WORLDS_APART = 100_000
MAKING, COLD_START, RL = 0, 1, 2
# Trips without an answer of the expert's after which the cold start gives up: limits too tight for any plan would keep it looking for ever.
MOST_IN_VAIN = 200
_OPENED = ExitStack()  # sources of live answers, which stay open as long as the process


class GivenTrips:
    """The queries of a file in one world, or with one source of live answers, in a new order every epoch."""

    def __init__(self, place: World | LiveSource, queries: list[Any], seed: int):
        self.place, self.queries, self.seed = place, queries, seed
        self._ordered: tuple[int, list[Any]] | None = None

    def at(self, position: int) -> tuple[Any, Any]:
        epoch, number = divmod(position, len(self.queries))
        if self._ordered is None or self._ordered[0] != epoch:
            self._ordered = epoch, random.Random(f"{self.seed}-{epoch}").sample(self.queries, len(self.queries))
        return self._ordered[1][number], self.place


class RepeatedTrips:
    """The first `count` of generated trips, again every epoch. Worlds come in a new order, the trips of one world after another."""

    def __init__(self, source: GeneratedTrips, count: int, seed: int):
        self.source, self.count, self.seed = source, count, seed
        self._ordered: tuple[int, list[int]] | None = None

    def at(self, position: int) -> tuple[Any, World]:
        epoch, place = divmod(position, self.count)
        if self._ordered is None or self._ordered[0] != epoch:
            per_world = self.source.per_world
            firsts = list(range(0, self.count, per_world))
            random.Random(f"{self.seed}-{epoch}").shuffle(firsts)
            numbers = [number for first in firsts for number in range(first, min(first + per_world, self.count))]
            self._ordered = epoch, numbers
        return self.source.at(self._ordered[1][place])


class Trips:
    """The trips of one stage of a recipe. `position` is the number of the next one; its task is called train-<number>."""

    def __init__(self, recipe: Recipe, stage: int):
        data, self.position = recipe.data, 0
        self.live: LiveSource | None = None
        self.per_epoch: int | None = None  # trips in an epoch; None where trips are made, and none comes twice
        self.kind = kind_of(recipe.dialect.dialect())
        by_turns = stage == RL and recipe.rl is not None and recipe.rl[1].curriculum.reads_every_turn
        self._prepared = self.kind.with_every_turn if by_turns else None
        self._source: GeneratedTrips | GivenTrips | RepeatedTrips
        if recipe.live is not None and data.queries is not None:
            self.live = opened_source(recipe.live, data.world)
            requests = self.kind.read(data.queries)
            self._source, self.per_epoch = GivenTrips(self.live, requests, recipe.seed), len(requests)
            return
        if data.world is None or data.queries is None:
            mix = data.rl_mix if stage == RL and data.rl_mix is not None else data.mix
            self._source = GeneratedTrips(data.scale, TRAINING_WORLDS + WORLDS_APART * stage, data.queries_per_world, self.kind.draw(mix))
            if stage == RL and data.rl_trips is not None:
                self._source, self.per_epoch = RepeatedTrips(self._source, data.rl_trips, recipe.seed), data.rl_trips
            return
        queries = self.kind.read(data.queries)
        if not queries:
            raise UserError(f"'{data.queries}' holds no queries.")
        self._source, self.per_epoch = GivenTrips(World.open(data.world), queries, recipe.seed), len(queries)

    @property
    def epoch(self) -> int | None:
        """Of the next trip, from 0; None where there is no end."""
        return self.position // self.per_epoch if self.per_epoch else None

    def at(self, number: int) -> TripTask:
        """Any trip of the stream, by its number."""
        request, world = self.made(number)
        job = self.kind.job(f"train-{number}", request, world)
        return self._prepared(job) if self._prepared is not None else job

    def made(self, number: int) -> tuple[Any, Any]:
        """The same as a request and its world, or its source of live answers."""
        return self._source.at(number)

    def __iter__(self) -> Trips:
        return self

    def __next__(self) -> TripTask:
        job = self.at(self.position)
        self.position += 1
        return job

    def state_dict(self) -> dict[str, Any]:
        return {"position": self.position}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.position = state["position"]


class ExpertTranscripts:
    """The expert's transcripts of trips, as token ids. A trip that the expert could not plan well teaches nothing and is passed over."""

    def __init__(self, trips: Trips, dialect: Dialect, chat: ChatFormat):
        self.trips, self.dialect, self.chat = trips, dialect, chat
        self._in_vain = 0  # trips in a row without an answer

    @property
    def position(self) -> int:
        """Trips used up, those in vain included."""
        return self.trips.position

    def __iter__(self) -> ExpertTranscripts:
        return self

    def __next__(self) -> Transcript:
        while True:
            request, world = self.trips.made(self.trips.position)
            self.trips.position += 1
            session = self.trips.kind.show(request, world, self.dialect, self.chat)
            if self.trips.kind.keeps(session):
                self._in_vain = 0
                return session.transcript
            self._in_vain += 1
            if self._in_vain == MOST_IN_VAIN:
                why = f"{self._in_vain} trips in a row, the last one ended by {session.transcript.stop_reason}"
                limits = f"max_turns is {self.dialect.max_turns}"
                raise UserError(f"The expert finds no answer within the limits of dialect '{self.dialect.name}' ({why}; {limits}).")

    def state_dict(self) -> dict[str, Any]:
        return {"trips": self.trips.state_dict(), "in_vain": self._in_vain}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.trips.load_state_dict(state["trips"])
        self._in_vain = state["in_vain"]


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

"""What a recipe trains on: the stream of trips of each of its stages, and hashes of the data by
content."""

from __future__ import annotations

import atexit
import hashlib
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

from tripwright.domains import domain_named
from tripwright.domains.judging import Judged, unchanged
from tripwright.domains.place import Place, PlaceOptions, same_place
from tripwright.episode import Task
from tripwright.errors import UserError
from tripwright.files import open_file
from tripwright.runs import transcripts_in
from tripwright.training.own import source_of
from tripwright.training.recipe import Recipe
from tripwright.training.trips import (
    TRAINING_WORLDS,
    WORLDS_APART,
    GeneratedTrips,
    GivenTrips,
    Trips,
)

MAKING, COLD_START, RL = 0, 1, 2  # stages
_OPENED = ExitStack()  # places that answer, which stay open as long as the process


def trips_of(recipe: Recipe, stage: int, judged: Judged = unchanged) -> Trips:
    """From generated worlds, many of them, or of a file of requests in one place; `judged` with the
    help of a model."""
    domain, data = recipe.domain, recipe.data
    settings = recipe.rl.settings if stage == RL and recipe.rl else None
    rewards, rules = (settings.curriculum.rewards, settings.rules) if settings else ((), None)
    ungated = domain.judge.ungated
    looked_at = next((ungated[spec] for spec in map(str, rewards) if spec in ungated), unchanged)

    def whole(task: Task) -> Task:
        return looked_at(judged(task))

    if data.queries is not None:
        place, numbered = requests_in(recipe, data.queries)
        requests = [request for _, request in numbered]
        given = GivenTrips(place.source, requests, recipe.seed)
        return Trips(domain, given, len(requests), place.figures, whole, rules)
    mix = data.rl_mix if stage == RL and data.rl_mix is not None else data.mix
    first_world = TRAINING_WORLDS + WORLDS_APART * stage + data.first_world
    generated = GeneratedTrips(
        domain, data.trained_scales, first_world, data.queries_per_world, mix
    )
    return Trips(domain, generated, judged=whole, rules=rules)


def requests_in(recipe: Recipe, file: str) -> tuple[Place, list[tuple[int, Any]]]:
    """The place of a recipe that names its requests, and the (line number, request) of a file that
    is about it. Raises UserError where it holds none, and for what the domain says of them."""
    requests = recipe.domain.requests
    numbered, place = list(requests.read(Path(file))), place_of(recipe)
    requests.check(numbered, place, Path(file))
    return place, numbered


def place_of(recipe: Recipe) -> Place:
    """What answers the tools of a recipe that names its requests: its world, or live services,
    opened once for all stages."""
    data, live = recipe.data, recipe.live
    world = Path(data.world) if data.world is not None else None
    if live is None:
        return _opened(recipe.domain.name, PlaceOptions(world))
    services = Path(live.services) if live.services is not None else None
    options = PlaceOptions(world, services, live.store, live.snapshot, live.replay)
    return _opened_once(recipe.domain.name, options)


def _opened(domain: str, options: PlaceOptions) -> Place:
    atexit.register(_OPENED.close)  # before the modules go that closing needs
    return _OPENED.enter_context(domain_named(domain).open(options))


_opened_once = cache(_opened)


# ---- what the data is, by content


def data_identity(recipe: Recipe) -> dict[str, Any]:
    """Hashes that change when the recipe would train on something else: of the world and files it
    names, of what the generator makes, of the files of the user's own code."""
    identity: dict[str, Any] = {}
    if recipe.rl is not None and (names := recipe.rl.settings.own):
        identity["code"] = {name: file_hash(source_of(name)) for name in names}
    if recipe.sft is not None and recipe.sft.data is not None:
        data = Path(recipe.sft.data)
        identity["sft_data"] = file_hash(transcripts_in(data))
    if recipe.data.queries is None:
        scales = recipe.data.trained_scales
        identity["generator"] = " ".join(
            generator_fingerprint(recipe.domain.name, scale) for scale in scales
        )
        return identity
    place = place_of(recipe).identity
    identity |= {"world": same_place(place)} if recipe.live is None else {"live": place}
    return identity | {"queries": file_hash(recipe.data.queries)}


def file_hash(path: str | Path) -> str:
    """SHA-256. Raises UserError where there is no file."""
    if not Path(path).is_file():
        raise UserError(f"No file at '{path}'.")
    with open_file(Path(path), follow=True) as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


@cache
def generator_fingerprint(domain: str, scale: str) -> str:
    """Of the first world, its first requests, and the settings of `scale`: a generator that was
    changed makes others."""
    source = domain_named(domain).generated()
    world = source.world(next(iter(source.scales)), TRAINING_WORLDS)
    requests = [request.record() for request in source.draw(world, 4, TRAINING_WORLDS)]
    return hashlib.sha256(
        f"{getattr(world, 'content_hash', '')} {requests} {source.scales[scale]}".encode()
    ).hexdigest()

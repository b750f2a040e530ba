"""What `tripwright request make` asks: a closed world, or live services about the cities and days
that were named."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from tripwright.domains.deeptravel.requests.intents import Combination
from tripwright.domains.deeptravel.requests.intents_draw import RequestScope
from tripwright.domains.deeptravel.requests.intents_live import (
    LiveAsker,
    named_places,
    possible_with,
)
from tripwright.domains.deeptravel.requests.intents_proof import TripSurvey
from tripwright.domains.deeptravel.tools.live_source import LiveSource, live_source
from tripwright.domains.deeptravel.worlds.worlds import WorldProvider
from tripwright.domains.domain import PlaceOptions
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.store import World


@dataclass(frozen=True)
class Field:
    """Where requests are found. `identity` says in the summary what they are for."""

    survey: TripSurvey
    places: RequestScope
    possible: Callable[[Combination], bool]
    identity: dict[str, Any]


@contextmanager
def field_of(
    world: Path | None,
    nano_seed: int | None,
    live: PlaceOptions,
    cities: str | None,
    days: str | None,
) -> Iterator[Field]:
    """Raises UserError for options that do not go together."""
    is_live = live.services is not None or live.replay
    if not is_live:
        options = {
            "--cities": cities,
            "--days": days,
            "--store": live.store,
            "--snapshot": live.snapshot,
        }
        if names := [name for name, value in options.items() if value is not None]:
            raise UserError(
                f"{names[0]} is of live services: give --services FILE too, or --store with"
                " --snapshot and --replay."
            )
        place = _world(world, nano_seed)
        places = RequestScope(tuple(place.cities), place.dates)
        yield Field(
            TripSurvey(WorldProvider(place)),
            places,
            lambda combination: True,
            {"world": place.content_hash},
        )
        return
    if world is not None or nano_seed is not None:
        raise UserError(
            "Requests are for a world or for live services: leave --world and --nano-seed out, or"
            " --services."
        )
    if cities is None or days is None:
        raise UserError(
            "Live services have no list of cities and days. Give --cities 'London,Paris,…' and"
            " --days 2026-06-26..2026-06-30."
        )
    places = named_places(cities, days)
    with live_source(live) as source:
        possible = possible_with(source.ask.tools)
        yield Field(
            TripSurvey(LiveAsker(source.ask, _kept(source))),
            places,
            possible,
            {"services": source.identity},
        )


def _kept(source: LiveSource) -> str:
    sandbox = source.sandbox
    if sandbox is None or sandbox.store is None:
        return " Nothing was kept: give --store, and the next try need not ask again."
    return (
        f" What was answered is kept in {sandbox.store.name}: the same command goes on from there."
    )


def _world(folder: Path | None, nano_seed: int | None) -> World:
    if (folder is None) == (nano_seed is None):
        raise UserError(
            "Which world? Give either --world DIR or --nano-seed SEED (or live services with"
            " --services)."
        )
    place = (
        World.open(folder)
        if folder is not None
        else World.in_memory(build_tables("nano", cast(int, nano_seed)))
    )
    if len(place.cities) < 2 or not place.dates:
        raise UserError(
            f"The world '{place.name}' has {len(place.cities)} cities and {len(place.dates)} days"
            " with flights; requests need 2 and 1."
        )
    return place

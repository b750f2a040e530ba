"""Expert transcripts from many generated worlds: what the cold start learns from (rows S4, B3, B4).

Every world is used for a few queries and thrown away, so that names and prices can only be copied from tool answers. Worlds are
numbered; training takes one range of numbers, evaluation another, and the two never meet.
"""

from __future__ import annotations

import itertools
from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.session import Session
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.training.kinds import Draw, kind_of
from tripwright.world.generator.build import build_tables
from tripwright.world.generator.names import ACCOMMODATION_NOUNS, ATTRACTION_NOUNS, RESTAURANT_NOUNS
from tripwright.world.store import World

TRAINING_WORLDS = 0  # first seed of training worlds
UNSEEN_WORLDS = 1_000_000  # first seed of evaluation worlds: never trained on
MOST_OPEN = 4  # worlds kept at hand; trips that are asked for again lie near those that come next


class GeneratedTrips:
    """Numbered trips, `per_world` from each of the worlds first_world, first_world + 1, … Any can be asked for; in order is fastest."""

    def __init__(self, scale: str, first_world: int, per_world: int, draw: Draw = make_queries):
        self.scale, self.first_world, self.per_world, self.draw = scale, first_world, per_world, draw
        self._open: OrderedDict[int, OpenWorld] = OrderedDict()  # by number, the one used last at the end

    def at(self, position: int) -> tuple[Any, World]:
        number, place = divmod(position, self.per_world)
        if number not in self._open:
            seed = self.first_world + number
            world = World.in_memory(build_tables(self.scale, seed))
            self._open[number] = OpenWorld(world, [], self.draw(world, self.per_world, seed))
        self._open.move_to_end(number)
        if len(self._open) > MOST_OPEN:
            self._open.popitem(last=False)
        found = self._open[number]
        found.queries.extend(itertools.islice(found.drawn, max(0, place + 1 - len(found.queries))))
        return found.queries[place], found.world


class OpenWorld(NamedTuple):
    """A world, its queries so far, and where the next ones come from: each depends on those before it."""

    world: World
    queries: list[Any]
    drawn: Iterator[Any]


def tasks(scale: str, first_world: int, per_world: int, mix: Mix | None = None) -> Iterator[tuple[Query, World]]:
    """An endless stream of (query, world), `per_world` queries from each of the worlds first_world, first_world + 1, …"""
    return map(GeneratedTrips(scale, first_world, per_world, partial(make_queries, mix=mix)).at, itertools.count())


def expert_sessions(stream: Iterator[tuple[Any, World]], dialect: Dialect, chat: ChatFormat | None) -> Iterator[Session]:
    """Sessions played by the expert of the dialect's kind of trips; with a ChatFormat, as token ids."""
    return (kind_of(dialect).show(request, world, dialect, chat) for request, world in stream)


def content_words(world: World) -> set[str]:
    """Words of a world that a tokenizer must not merge into fixed text: they are what is copied and compared."""
    names = [*world.cities, *world.states, *RESTAURANT_NOUNS, *ACCOMMODATION_NOUNS, *ATTRACTION_NOUNS]
    for city in world.cities:
        names += [row.name for row in world.attractions(city)]
        for restaurant in world.restaurants(city):
            names += [restaurant.name, restaurant.cuisines.replace(",", " ")]
        for accommodation in world.accommodations(city):
            names += [accommodation.name, accommodation.house_rules.replace("No ", " ")]
    return ({word for name in names for word in name.split()} - {"&", "No", "under"}) | {"F"}  # F: flight numbers

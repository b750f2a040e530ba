"""Sessions that a model plays: the same ten trips of one world."""

from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, open_session
from tripwright.world.store import World


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    return list(make_queries(world, 10, 3))


def opened(
    queries: list[Query], world: World, chat: Any, tools: Any = None, **changed: Any
) -> list[Session]:
    dialect = replace(dialect_named("compact"), **{"max_turn_tokens": 24, **changed})
    tasks = [TripTask(str(i), query, world) for i, query in enumerate(queries)]
    return [open_session(task, dialect, chat, tools=tools) for task in tasks]

"""The expert passes the judge through the real tools, and says nothing that it has not read."""

from __future__ import annotations

import json

import pytest

from tripwright.agent.dialect import dialect_named
from tripwright.agent.policies.expert import ExpertPolicy, expert_turns
from tripwright.episode import Episode, Task, play
from tripwright.queries.sample import Mix, make_queries
from tripwright.tools.faces import face_named
from tripwright.transcript import StopReason
from tripwright.trip.query import Query
from tripwright.world.generator import build_tables
from tripwright.world.store import World


@pytest.fixture(scope="module")
def world() -> World:
    return World.in_memory(build_tables("nano", 11))


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    return list(make_queries(world, 24, 5, Mix(days=(3,)))) + list(make_queries(world, 12, 6, Mix(days=(5, 7))))


def episodes(world: World, queries: list[Query], dialect: str) -> list[Episode]:
    return list(play(ExpertPolicy(), [Task(str(i), query, world) for i, query in enumerate(queries)], dialect_named(dialect)))


def test_it_passes_every_query_that_can_be_met(world: World, queries: list[Query]) -> None:
    for episode in episodes(world, queries, "planner_r1"):
        assert episode.verdict is not None and episode.verdict.final, episode.task.query.query


def test_it_passes_three_day_trips_within_the_small_dialect(world: World, queries: list[Query]) -> None:
    for episode in episodes(world, [query for query in queries if query.days == 3], "compact"):
        assert episode.verdict is not None and episode.verdict.final, episode.task.query.query


@pytest.mark.parametrize("dialect", ["planner_r1", "compact"])
def test_it_has_read_whatever_it_names(world: World, queries: list[Query], dialect: str) -> None:
    for episode in episodes(world, queries[:24], dialect):
        read = "\n".join(call.result for call in episode.transcript.calls)
        for day in json.loads(episode.transcript.answer or ""):
            sights = [] if day["attraction"] == "-" else day["attraction"]
            named = [day["accommodation"], *(day[meal] for meal in ("breakfast", "lunch", "dinner")), *sights]
            leg = day["transportation"]
            facts = [] if leg == "-" else [leg.get(key, "-") for key in ("flight_number", "duration", "departure_time", "arrival_time")]
            assert all(name == "-" or json.dumps(name, ensure_ascii=False)[1:-1] in read for name in [*named, *facts])


def test_it_never_repeats_a_call(world: World, queries: list[Query]) -> None:
    for episode in episodes(world, queries, "planner_r1"):
        calls = [(call.name, json.dumps(call.arguments)) for call in episode.transcript.calls]
        assert len(set(calls)) == len(calls)


def test_where_no_plan_exists_it_says_so_and_gives_none(world: World, queries: list[Query]) -> None:
    poor = queries[0].model_copy(update={"budget": 1})
    (episode,) = episodes(world, [poor], "planner_r1")
    assert episode.transcript.stop_reason is StopReason.FORMAT_ERROR and episode.plan is None
    nowhere = queries[0].model_copy(update={"dest": "Atlantis"})
    (turn,) = expert_turns(nowhere, world, face_named("compact"))
    assert "'Atlantis' is not a destination" in turn

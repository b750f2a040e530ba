"""The expert passes the judge through the real tools, and says nothing that it has not read."""

import json
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy, expert_turns
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import BUDGET_SPENT, TripTask
from tripwright.episode import Episode, play
from tripwright.tools.faults import Faults
from tripwright.transcript import StopReason
from tripwright.world.store import World

NANO = 11  # of `world`


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    return list(make_queries(world, 24, 5, Mix(days=(3,)))) + list(
        make_queries(world, 12, 6, Mix(days=(5, 7)))
    )


def episodes(
    world: World, queries: list[Query], dialect: str, faults: Faults | None = None, **changed: Any
) -> list[Episode]:
    tasks = [TripTask(str(i), query, world) for i, query in enumerate(queries)]
    return list(
        play(ExpertPolicy(), tasks, replace(dialect_named(dialect), **changed), faults=faults)
    )


@pytest.mark.parametrize(("dialect", "lengths"), [("planner_r1", (3, 5, 7)), ("compact", (3,))])
def test_it_passes_every_query_that_can_be_met(world, queries, dialect, lengths):
    for episode in episodes(world, [q for q in queries if q.days in lengths], dialect):
        assert episode.verdict is not None and episode.verdict.final, episode.task.request.query
        calls = [(call.name, json.dumps(call.arguments)) for call in episode.transcript.calls]
        assert len(set(calls)) == len(calls)


def test_a_spender_keeps_every_wish_but_not_the_budget(world, queries):
    """Its plans pass or break the budget alone; the same request gets the same answer."""
    tasks = [TripTask(str(i), query, world) for i, query in enumerate(queries[:24])]
    compact = dialect_named("compact")
    spent, again, thrifty = (
        list(play(ExpertPolicy(STYLES[style]), tasks, compact))
        for style in ("spender", "spender", "direct")
    )
    assert [e.transcript.answer for e in spent] == [e.transcript.answer for e in again]
    broken = set()
    for episode in spent:
        for group in episode.verdict.groups:
            broken |= {name for name in group.asked if (group.facts or {})[name].passed is False}
    assert broken == {"valid_cost"}
    pairs = [
        (a.more["measures"][BUDGET_SPENT][0], b.more["measures"][BUDGET_SPENT][0])
        for a, b in zip(spent, thrifty, strict=True)
        if "measures" in a.more
    ]
    assert all(dear >= cheap for dear, cheap in pairs) and len(pairs) < len(tasks)


def test_where_no_plan_exists_it_says_so_and_gives_none(world, queries):
    poor = queries[0].model_copy(update={"budget": 1})
    (episode,) = episodes(world, [poor], "planner_r1")
    assert episode.transcript.stop_reason is StopReason.FORMAT_ERROR
    assert episode.more["plan"] is None
    nowhere = queries[0].model_copy(update={"dest": "Atlantis"})
    (turn,) = expert_turns(nowhere, world, dialect_named("compact"))
    assert "'Atlantis' is not a destination" in turn


@pytest.mark.parametrize("dialect", ["planner_r1", "star"])
def test_it_turns_pages_until_it_has_read_what_it_names(world, queries, dialect):
    turned = 0
    for episode in episodes(world, queries, dialect, page_rows=3, max_calls=100, max_turns=101):
        assert episode.verdict is not None and episode.verdict.final
        read = "\n".join(call.result for call in episode.transcript.calls)
        for day in episode.more["plan"] or []:
            for key in ("breakfast", "lunch", "dinner", "accommodation"):
                assert day[key].rpartition(", ")[0] in read
        turned += sum("page" in call.arguments for call in episode.transcript.calls)
    assert turned > len(queries) // 2


def test_it_asks_again_where_a_fault_kept_the_answer(world, queries):
    faults = Faults(probability=0.2)
    found = episodes(world, queries, "planner_r1", faults)
    passed = [episode.verdict is not None and episode.verdict.final for episode in found]
    assert sum(passed) >= len(queries) - 1
    calls = [episode.transcript.calls for episode in found]
    assert sum(call.fault is not None for each in calls for call in each) > 20
    for each in calls:
        answered = [(c.name, json.dumps(c.arguments)) for c in each if c.fault is None]
        assert len(set(answered)) == len(answered)

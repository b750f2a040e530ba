"""Queries with proof: each can be met, no two are alike, a seed gives the same ones, and their text
says what their fields say."""

from __future__ import annotations

from collections import Counter

import pytest

from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World


@pytest.fixture(scope="module")
def world() -> World:
    return World.in_memory(build_tables("nano", 21))


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    return list(make_queries(world, 90, 3, Mix(days=(3, 5, 7))))


def test_every_query_can_be_met_and_carries_a_plan_that_passes(
    world: World, queries: list[Query]
) -> None:
    city_of = city_lookup(world)
    for query in queries:
        proof = (query.model_extra or {})["oracle"]
        assert proof["cheapest_cost_usd"] <= proof["plan_cost_usd"] <= query.budget
        assert solve(query, world).cost_usd == proof["cheapest_cost_usd"]
        days = parse_days(proof["plan"]).days
        assert days is not None
        verdict = judge(query, to_official(days, city_of), world)
        assert verdict.final and verdict.total_cost == pytest.approx(proof["plan_cost_usd"]), (
            query.query
        )


def test_no_two_are_alike_and_a_seed_gives_the_same(world: World, queries: list[Query]) -> None:
    assert len({query.query for query in queries}) == len(queries)
    assert [q.record() for q in make_queries(world, 90, 3, Mix(days=(3, 5, 7)))] == [
        q.record() for q in queries
    ]
    assert [q.query for q in make_queries(world, 5, 4)] != [
        q.query for q in make_queries(world, 5, 3)
    ]


def test_levels_and_lengths_are_as_asked(world: World, queries: list[Query]) -> None:
    assert set(Counter(query.level for query in queries)) == {"easy", "medium", "hard"}
    assert {(query.days, query.visiting_city_number) for query in queries} == {
        (3, 1),
        (5, 2),
        (7, 3),
    }
    assert {query.level for query in make_queries(world, 5, 0, Mix(levels=(0, 0, 1)))} == {"hard"}
    for query in queries:
        wishes = sum(wish is not None for wish in query.local_constraint.model_dump().values())
        assert wishes == {"easy": 0, "medium": 1, "hard": 3}[str(query.level)]
        assert (query.party_size == 1) == (query.level == "easy")
        assert len(query.date) == query.days
        assert (query.dest in world.states) == (query.days > 3)


def test_the_text_says_what_the_fields_say(queries: list[Query]) -> None:
    for query in queries:
        wishes = query.local_constraint
        for said in (
            query.org,
            query.dest,
            f"{query.days}-day",
            query.date[0],
            query.date[-1],
            f"${query.budget:,}",
            *(wishes.cuisine or ()),
        ):
            assert said in query.query
        assert wishes.house_rule is None or f"must allow {wishes.house_rule}" in query.query
        assert wishes.room_type is None or wishes.room_type.removeprefix("not ") in query.query
        assert ("rather not have a shared room" in query.query) == (
            wishes.room_type == "not shared room"
        )
        assert ("do not want to fly" in query.query) == (wishes.transportation == "no flight")
        assert ("do not want to drive" in query.query) == (
            wishes.transportation == "no self-driving"
        )


def test_a_world_that_cannot_give_them_says_so() -> None:
    empty = World.in_memory(
        WorldTables(
            cities=[("Aston", "Westland"), ("Brook", "Eastland")],
            flights=[
                ("F1", "1", "08:00", "09:00", "1 hours", f"2022-03-0{day}", "Aston", "Brook", "9")
                for day in (1, 2, 3)
            ],
            grounds=[],
            restaurants=[],
            attractions=[],
            accommodations=[],
        )
    )
    with pytest.raises(UserError, match="gave 0 feasible queries of 2"):
        list(make_queries(empty, 2, 0))
    with pytest.raises(UserError, match="no state with more than 2 cities"):
        list(make_queries(empty, 2, 0, Mix(days=(5,))))

"""Which cities can be part of a plan: agrees with the exact planner, and with what is taken away
from the world."""

from __future__ import annotations

import random

import pytest

from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.queries.make_cities import VisitableCities, served_cities
from tripwright.domains.travelplanner.queries.make_elements import draw_elements
from tripwright.domains.travelplanner.query import Query
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World


@pytest.fixture(scope="module")
def tables() -> WorldTables:
    made = build_tables("nano", 21)
    made.flights, made.grounds = list(made.flights), list(made.grounds)
    return made


@pytest.fixture(scope="module")
def world(tables: WorldTables) -> World:
    return World.in_memory(tables)


def drafts(world: World, count: int) -> list[Query]:
    rng = random.Random(8)
    return [
        Query.model_validate(
            {**draw_elements(world, rng, "uniform", level, days), "budget": 0, "query": ""}
        )
        for _ in range(count)
        for level in ("easy", "medium", "hard")
        for days in (3, 5, 7)
    ]


def test_no_city_is_served_exactly_where_the_planner_proves_that_there_is_no_plan(
    world: World,
) -> None:
    missing = set()
    for query in drafts(world, 25):
        served, found = served_cities(query, world), solve(query, world)
        assert (served.lack is None) == (found.cost_usd is not None), query
        assert {choice.city for choice in found.cities} <= set(served.cities)
        assert bool(served.cities) == (served.lack is None)
        if query.days == 3:
            assert served.cities in ((), (query.dest,))
        missing.add(served.lack)
    assert {None, "no stay that fits", "no transport", "wanted cuisines not served"} <= missing


def test_a_city_is_served_exactly_if_some_plan_goes_there(
    world: World, tables: WorldTables
) -> None:
    """Proved the long way: every pair of cities on its own, all others made unreachable by having
    nowhere to stay."""
    checked = 0
    for query in drafts(world, 2):
        if query.days != 5:
            continue
        pool = [city for city in world.states[query.dest] if city != query.org]
        reached = set()
        for i, first in enumerate(pool):
            for second in pool[i + 1 :]:
                kept = [row for row in tables.accommodations if row[-1] in (first, second)]
                less = World.in_memory(
                    WorldTables(
                        tables.cities,
                        tables.flights,
                        tables.grounds,
                        tables.restaurants,
                        tables.attractions,
                        kept,
                    )
                )
                if solve(query, less).cost_usd is not None:
                    reached |= {first, second}
        assert set(served_cities(query, world).cities) == reached, query
        checked += 1
    assert checked == 6


@pytest.mark.parametrize(
    "changed",
    [{"dest": "Nowhere"}, {"date": ["2022-03-01"]}, {"local_constraint": {"room type": "igloo"}}],
)
def test_a_request_that_makes_no_sense_is_served_by_no_city(
    world: World, changed: dict[str, object]
) -> None:
    query = drafts(world, 1)[0]
    odd = Query.model_validate({**query.record(), **changed})
    assert served_cities(odd, world) == VisitableCities((), "unknown place, wish or number of days")

"""The planner against CP-SAT, which knows the same options and shares none of the search."""

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest

from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.query import Query
from tripwright.world.generator import build_tables
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

MODEL = Path(__file__).parents[4] / "benchmarks" / "cpsat.py"


@pytest.fixture(scope="module")
def solve_cpsat() -> Any:
    if not MODEL.is_file():
        pytest.skip("benchmarks/ is not part of this copy")
    spec = importlib.util.spec_from_file_location("cpsat", MODEL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.solve_cpsat


def any_query(world: World, rng: random.Random) -> Query:
    """Any length from two days, any number of cities that fits, big parties, up to five cuisines;
    many such requests have no plan."""
    days = rng.choice([2, 3, 4, 5, 6, 7, 7])
    state = rng.choice(list(world.states))
    cities = world.states[state]
    first = rng.randrange(len(world.dates) - days + 1)
    wishes = {
        "house rule": rng.choice([None, None, "pets", "smoking"]),
        "cuisine": rng.choice([None, *(rng.sample(CUISINES, count) for count in (1, 2, 4, 5))]),
        "room type": rng.choice([None, None, None, "entire room", "not shared room"]),
        "transportation": rng.choice([None, None, "no flight", "no self-driving"]),
    }
    home = rng.choice([city for city in world.cities if world.cities[city] != state])
    fields = {"org": home, "dest": rng.choice(cities) if days <= 3 else state, "days": days}
    most = 1 if days <= 3 else min(4, days - 1, len(cities))
    fields |= {"visiting_city_number": rng.randint(1, most), "people_number": rng.randint(1, 12)}
    fields |= {"date": world.dates[first : first + days], "local_constraint": wishes}
    return Query.model_validate(fields | {"budget": 1, "query": "?"})


@pytest.mark.parametrize(("seed", "count"), [(1, 25), (2, 25)])
def test_both_find_the_same_least_cost_or_none(solve_cpsat, seed, count):
    pytest.importorskip("ortools")
    world, rng = World.in_memory(build_tables("nano", seed)), random.Random(f"cpsat-{seed}")
    planned = unequal = 0
    for _ in range(count):
        query = any_query(world, rng)
        ours, theirs = solve(query, world), solve_cpsat(query, world, 30)
        assert theirs.status == ("infeasible" if ours.cost_usd is None else "optimal"), query
        assert theirs.cost_usd == ours.cost_usd and theirs.best_bound_usd == ours.cost_usd, query
        nights = [choice.nights for choice in ours.cities] or [0]
        planned += ours.cost_usd is not None
        unequal += max(nights) > min(nights)
    assert planned >= 6 and unequal >= 1


def test_both_find_the_same_in_a_world_with_larger_states(solve_cpsat):
    pytest.importorskip("ortools")
    world, rng = World.in_memory(build_tables("small", 3)), random.Random("cpsat-small")
    planned = 0
    while planned < 5:
        query = any_query(world, rng)
        ours, theirs = solve(query, world), solve_cpsat(query, world, 60)
        assert theirs.cost_usd == ours.cost_usd, query
        planned += ours.cost_usd is not None


@pytest.mark.parametrize(("seed", "count"), [(4, 40), (5, 40)])
def test_both_find_the_same_livable_plan(solve_cpsat, seed, count):
    """Of seed 5 some ask for more cuisines than full days have meals: none may be counted twice."""
    pytest.importorskip("ortools")
    world, rng = World.in_memory(build_tables("nano", seed)), random.Random(f"livable-{seed}")
    planned = 0
    for _ in range(count):
        query = any_query(world, rng)
        ours, theirs = (
            solve(query, world, livable=True),
            solve_cpsat(query, world, 30, livable=True),
        )
        assert theirs.status == ("infeasible" if ours.cost_usd is None else "optimal"), query
        assert theirs.cost_usd == ours.cost_usd, query
        planned += ours.cost_usd is not None
    assert planned >= 5

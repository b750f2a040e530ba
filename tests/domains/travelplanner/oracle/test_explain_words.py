"""What an explanation says is true and enough: its words are held against the tables, on worlds
with few ways to travel."""

import dataclasses
import functools
import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest

from tripwright.domains.travelplanner.oracle.explanation import Explanation, explain
from tripwright.domains.travelplanner.oracle.options import Problem, city_pool, road_legs
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.world.generator import build_tables
from tripwright.world.store import World

NO_SUCH_STAYS = [f"no {kind} room" for kind in "shared private entire unshared".split()]
NO_SUCH_STAYS += ["no stay"]
TOO_FEW = (" qualify",)
NOT_SHARED = ("cannot be shared out",)
NO_TRANSPORT = ("no way from", "but no route through")
NOT_SERVED = ("no restaurant in", "serves every wanted")
WISHES = (
    {"room type": "shared room"},
    {"room type": "private room", "transportation": "no self-driving"},
    {"house rule": "parties", "transportation": "no flight"},
    {"room type": "not shared room", "house rule": "pets"},
    {"cuisine": ["French", "Indian", "Mexican"], "transportation": "no flight"},
    {"transportation": "no self-driving"},
)


@functools.cache
def explained(seed: int) -> tuple[World, list[tuple[Query, Explanation]]]:
    """A world with a part of its flights and roads, and requests that money does not mend."""
    full, tables = World.in_memory(build_tables("nano", 40 + seed)), build_tables("nano", 40 + seed)
    flights, grounds = list(tables.flights)[:: 5 + seed], list(tables.grounds)[:: 2 + seed]
    thin = World.in_memory(dataclasses.replace(tables, flights=flights, grounds=grounds))
    found = []
    mix = Mix(days=(3, 5, 7), levels=(1, 0, 0))
    for number, query in enumerate(make_queries(full, 24, seed, mix)):
        wishes = query.local_constraint.model_dump(by_alias=True) | WISHES[number % len(WISHES)]
        rich = Query.model_validate(query.record() | {"local_constraint": wishes, "budget": 10**7})
        if explanation := explain(rich, thin):
            found += [(rich, each) for each in (explanation, *explanation.also)]
    return thin, found


def kept(query: Query, explanation: Explanation) -> tuple[Query, range]:
    """The request with the conflict alone, and how many cities it may have."""
    named = [(each.kind, each.value) for each in explanation.conflict]
    single = ("house rule", "room type", "transportation")
    wishes: dict[str, Any] = {kind: value for kind, value in named if kind in single}
    wishes["cuisine"] = [value for kind, value in named if kind == "cuisine"] or None
    asked = query.visiting_city_number
    alone = Query.model_validate(query.record() | {"local_constraint": wishes})
    return alone, range(asked if "cities" in dict(named) else 1, asked + 1)


def shares(query: Query, counts: range, world: World) -> Iterator[int]:
    """For every choice of cities and nights that has its stays, meals and sights: the cuisines
    served, as masks. By trying all."""
    for count in counts:
        problem = Problem(query.model_copy(update={"visiting_city_number": count}), world)
        for cities in itertools.permutations(city_pool(query, world), count):
            for nights in itertools.product(range(1, query.days), repeat=count):
                if sum(nights) == query.days - 1:
                    offers = map(problem.offer, cities, nights)
                    meals = [offer.meals if offer else () for offer in offers]
                    for picked in itertools.product(*meals):
                        yield functools.reduce(lambda mask, meals: mask | meals[0], picked, 0)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_missing_is_said_and_nothing_else_is(seed):
    world, found = explained(seed)
    seen = set()
    for query, explanation in found:
        alone, counts = kept(query, explanation)
        masks = set(shares(alone, counts, world))
        every = (1 << len(alone.local_constraint.cuisine or ())) - 1
        words, several = explanation.words, len(city_pool(query, world)) > 1
        lack = "cities" if not masks else "cuisines" if every not in masks else "transport"
        seen.add(lack)
        assert any(said in words for said in NO_TRANSPORT) == (lack == "transport"), words
        assert (lack == "cuisines") == any(said in words for said in NOT_SERVED), words
        of_cities = TOO_FEW if several else (*NO_SUCH_STAYS, "nights")
        assert (lack == "cities") <= any(said in words for said in of_cities), words
        if qualify := re.search(r"(\d+) of \d+ cities of [^;]*? qualify", words):
            too_short = any(said in words for said in NOT_SHARED)
            assert too_short == (lack == "cities" and int(qualify[1]) >= counts[0]), words
        assert not re.search(" 0 nights|1 nights|None|;;", words)
    assert {"cities", "transport"} <= seen, seen


@pytest.mark.parametrize("seed", range(3))
def test_a_way_that_is_said_to_be_missing_is_missing(seed):
    world, found = explained(seed)
    checked = 0
    for query, explanation in found:
        alone, _ = kept(query, explanation)
        fixed = any(each.kind == "dates" for each in explanation.conflict)
        for origin, destination in re.findall(r"no way from (.+?) to (.+?) \(", explanation.words):
            checked += 1
            assert not road_legs(alone, world, origin, destination), explanation.words
            if alone.local_constraint.transportation != "no flight":
                day = query.date[0 if origin == query.org else -1]
                for date in [day] if fixed else world.dates:
                    assert not world.flights(origin, destination, date), explanation.words
    assert checked >= 5

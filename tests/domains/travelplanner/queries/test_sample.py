"""Queries with proof: each can be met, no two are alike, a seed gives the same ones, and their text
says what their fields say; and what is drawn, as often as the official sampler's formulas say."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from functools import cache
from itertools import permutations
from typing import Any

import pytest

from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS
from tripwright.domains.travelplanner.queries.sample import (
    KINDS,
    LEVELS,
    OFFICIAL_MIX,
    Mix,
    draw_fields,
    make_queries,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.scales import CUISINES
from tripwright.world.store import World


@pytest.fixture(scope="module")
def world() -> World:
    return World.in_memory(build_tables("nano", 21))


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    return list(make_queries(world, 60, 3, Mix(days=(3, 5, 7))))


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
    assert [q.record() for q in make_queries(world, 60, 3, Mix(days=(3, 5, 7)))] == [
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


def bare(cities: Iterable[tuple[str, str]], days: Iterable[str]) -> World:
    """Cities, and a flight on each of these days."""
    flights = [("F1", "1", "08:00", "09:00", "1 hours", day, "A0", "B0", "9") for day in days]
    return World.in_memory(WorldTables(list(cities), flights, [], [], [], []))


def test_a_world_that_cannot_give_them_says_so() -> None:
    march = [f"2022-03-0{day}" for day in range(1, 8)]
    empty = bare([("Aston", "Westland"), ("Brook", "Eastland")], march)
    with pytest.raises(UserError, match="gave 0 feasible queries of 2"):
        list(make_queries(empty, 2, 0))
    for official in (False, True):
        assert draw_fields(empty, random.Random(0), "easy", 3, Mix(), official)["days"] == 3
        with pytest.raises(UserError, match="no other state with"):
            draw_fields(empty, random.Random(0), "easy", 5, Mix(), official)


# ---- what is drawn

SIZES = {"A": 6, "B": 4, "C": 3, "D": 8}  # of states; C is too small to be visited officially
CITIES = {f"{state}{n}": state for state, size in SIZES.items() for n in range(size)}
DAYS = (
    *(f"2022-02-{day}" for day in range(25, 29)),
    *(f"2022-03-{day:02d}" for day in range(1, 32)),
    *("2022-04-01", "2022-04-02"),
)
PLACE = bare(CITIES.items(), DAYS)
HOUSE_RULES = ("parties", "smoking", "children under 10", "visitors", "pets")
ROOMS = ("shared room", "not shared room", "private room", "entire room")


@cache
def draws(level: str, days: int, official: bool = True) -> list[dict[str, Any]]:
    rng, mix = random.Random(f"{level} {days}"), OFFICIAL_MIX if official else Mix()
    return [draw_fields(PLACE, rng, level, days, mix, official) for _ in range(4000)]


def assert_as_often(found: Iterable[Hashable], expected: Mapping[Any, float]) -> None:
    """Pearson's chi-square within five standard deviations of its mean, which is the degrees of
    freedom."""
    counts, total = Counter(found), sum(expected.values())
    assert set(counts) <= set(expected)
    free, drawn = len(expected) - 1, counts.total()
    exact = {value: drawn * share / total for value, share in expected.items()}
    chi_square = sum((counts[value] - each) ** 2 / each for value, each in exact.items())
    assert chi_square < free + 5 * (2 * free) ** 0.5, (chi_square, free, counts)


def equally(values: Iterable[Any]) -> dict[Any, float]:
    return dict.fromkeys(values, 1.0)


@pytest.mark.parametrize("days", [3, 5, 7])
def test_official_routes_and_dates(days: int) -> None:
    drawn = draws("easy", days)
    assert_as_often((each["org"] for each in drawn), equally(CITIES))
    windows = DAYS[4 : 36 - days]
    assert_as_often((each["date"][0] for each in drawn), equally(windows))
    expected: Counter[str] = Counter()
    # given the origin, a city of another state uniformly; of one with more than 3, for a state
    for home in CITIES.values():
        there = [c for c, s in CITIES.items() if s != home and (days == 3 or SIZES[s] > 3)]
        for city in there:
            expected[city if days == 3 else CITIES[city]] += 1 / len(there)
    assert_as_often((each["dest"] for each in drawn), expected)
    lengths = {(each["days"], each["visiting_city_number"], len(each["date"])) for each in drawn}
    assert lengths == {(days, CITIES_BY_DAYS[days], days)}


def test_official_parties_and_wishes() -> None:
    easy, medium, hard = (draws(level, 3) for level in LEVELS)
    assert {(each["people_number"], *each["local_constraint"].values()) for each in easy} == {
        (1, None, None, None, None)
    }
    for drawn in (medium, hard):
        assert_as_often((each["people_number"] for each in drawn), {2: 6, **equally(range(3, 9))})
    wishes = [each["local_constraint"] for each in medium]
    kinds = (tuple(kind for kind, wish in each.items() if wish) for each in wishes)
    assert_as_often(kinds, equally([("house rule",), ("cuisine",), ("room type",)]))
    # Left out of the hard ones is the kind that is drawn last, one after the other by weight.
    left_out: Counter[str] = Counter()
    for *drawn, last in permutations(KINDS):
        share, left = 1.0, 1.0
        for kind in drawn:
            share, left = share * KINDS[kind] / left, left - KINDS[kind]
        left_out[last] += share
    wishes = [each["local_constraint"] for each in hard]
    assert_as_often((next(kind for kind in KINDS if not each[kind]) for each in wishes), left_out)


@pytest.mark.parametrize(("level", "cuisines"), [("medium", 2), ("hard", 4)])
def test_official_values(level: str, cuisines: int) -> None:
    drawn = [(each["people_number"], each["local_constraint"]) for each in draws(level, 3)]

    def values(kind: str, least: int = 1, most: int = 8) -> list[Any]:
        return [wish[kind] for size, wish in drawn if wish[kind] and least <= size <= most]

    assert_as_often(values("house rule"), equally(HOUSE_RULES))
    assert_as_often(values("room type", most=2), equally(ROOMS))
    assert_as_often(values("room type", least=3), equally(ROOMS[2:]))
    assert {(len(each), len({*each})) for each in values("cuisine")} == {(cuisines, cuisines)}
    assert_as_often((each[0] for each in values("cuisine")), equally(CUISINES))
    if level == "hard":
        assert_as_often(values("transportation"), equally(("no flight", "no self-driving")))


@pytest.mark.parametrize(("level", "cuisines"), [("medium", 1), ("hard", 2)])
def test_default_asks_for_one_cuisine_or_two_and_uses_all_days(level: str, cuisines: int) -> None:
    drawn = draws(level, 5, official=False)
    assert {len(each["local_constraint"]["cuisine"] or ()) for each in drawn} == {0, cuisines}
    assert {each["date"][0] for each in drawn} == set(DAYS[:-4])
    # C has three cities, more than are visited
    assert {each["dest"] for each in drawn} == {"A", "B", "C", "D"}


def test_a_world_outside_march_gives_its_own_days() -> None:
    later = bare(CITIES.items(), [f"2023-07-{day}" for day in range(10, 15)])
    rng = random.Random(0)
    drawn = [draw_fields(later, rng, "easy", 3, Mix(), official=True) for _ in range(60)]
    assert {each["date"][0] for each in drawn} == {f"2023-07-{day}" for day in (10, 11, 12)}
    for official in (False, True):
        with pytest.raises(UserError, match="flights on 5 days; a trip of 7 days needs"):
            draw_fields(later, rng, "easy", 7, Mix(), official)

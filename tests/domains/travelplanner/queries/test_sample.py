"""Queries with proof: each can be met, no two are alike, a seed gives the same ones, and their text
says what their fields say; and what is drawn, as often as the official sampler's formulas say."""

import random
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import replace
from functools import cache
from itertools import permutations
from typing import Any

import pytest

from tests.made import flight, made_world, proven
from tripwright.domains.grammar import Gazetteer
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS, mismatches
from tripwright.domains.travelplanner.queries.sample import (
    KINDS,
    OFFICIAL_MIX,
    Exhausted,
    Maker,
    Mix,
    draw_fields,
    make_queries,
    official_budget,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.wording import LEVELS
from tripwright.errors import UserError
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

ALL = Mix(days=(3, 5, 7), levels=(1, 1, 1))
NANO = 21  # of `world`


def numbered(world: World, mix: Mix, count: int, seed: int = 3) -> list[Query]:
    maker = Maker(world, mix)
    return [maker.numbered(seed, n, lambda query: None, Counter()) for n in range(count)]


@pytest.fixture(scope="module")
def made(world: World) -> list[Query]:
    """Requests of a stream, and numbered ones."""
    return [*make_queries(world, 40, 3, ALL), *numbered(world, replace(ALL, style="rich"), 20)]


def proof_of(query: Query) -> dict[str, Any]:
    proof: dict[str, Any] = (query.model_extra or {})["oracle"]
    return proof


def test_each_can_be_met_and_says_so_in_words(world, made):
    places = Gazetteer(world.cities)
    for query in made:
        proof, comfortable = proof_of(query), solve(query, world, comfortable=True).cost_usd
        assert proof["cheapest_cost_usd"] == solve(query, world).cost_usd
        assert comfortable is not None and proof["plan_cost_usd"] == comfortable
        assert comfortable * 1.05 <= query.budget <= comfortable * 1.3 + 10
        assert query.budget % 10 == 0
        plan = proven(query, world)
        verdict = judge(query, plan, world)
        assert verdict.final and verdict.details["total_cost"] == pytest.approx(comfortable)
        assert judge(query, plan, world, "strict").final
        assert mismatches(query, query.query, places) == []
        wishes = sum(wish is not None for wish in query.local_constraint.model_dump().values())
        assert wishes == {"easy": 0, "medium": 1, "hard": 3}[str(query.level)]
        assert (query.dest in world.states) == (query.days > 3)
    assert {query.level for query in made} == {"easy", "medium", "hard"}
    assert {query.days for query in made} == {3, 5, 7}


def test_no_two_of_a_stream_are_alike_and_a_seed_gives_the_same(world, made):
    assert len({query.query for query in made[:40]}) == 40
    assert list(make_queries(world, 40, 3, ALL)) == made[:40]
    assert list(make_queries(world, 5, 4, ALL)) != made[:5]
    assert {query.level for query in make_queries(world, 5, 0, Mix(levels=(0, 0, 1)))} == {"hard"}


def test_a_numbered_one_depends_on_its_seed_and_number_alone(world, made):
    rejected = Counter[str]()
    maker, unwanted = Maker(world, replace(ALL, style="rich")), made[45]
    assert maker.numbered(3, 5, lambda query: None, Counter()) == unwanted
    other = maker.numbered(3, 5, lambda query: "unwanted" if query == unwanted else None, rejected)
    assert other != unwanted and rejected["unwanted"] == 1
    assert (other.level, other.days) == (unwanted.level, unwanted.days)


@pytest.mark.parametrize("source", ["numbers", "stream"])
def test_infeasible_ones_are_proved_so_and_say_why(world, source):
    mix = replace(ALL, keep="infeasible", slack=(0.6, 0.95))
    drawn = numbered(world, mix, 16) if source == "numbers" else make_queries(world, 16, 3, mix)
    kinds: Counter[bool] = Counter()
    for query in drawn:
        found, extra, proof = solve(query, world), query.model_extra or {}, proof_of(query)
        assert extra["feasible"] is False
        assert proof == {"cheapest_cost_usd": found.cost_usd, "plan_cost_usd": None, "plan": None}
        kinds[found.cost_usd is None] += 1
        if found.cost_usd is None:
            assert extra["why"] == found.why
            no_wishes = query.local_constraint.model_validate({})
            free = query.model_copy(update={"local_constraint": no_wishes})
            without = solve(free, world).cost_usd
            assert without is not None and without < query.budget  # the wishes are the only reason
        else:
            assert query.budget < found.cost_usd
            costs = r"the cheapest plan costs \$[\d,.]+, the budget is \$[\d,]+\."
            assert re.fullmatch(costs, extra["why"])
    assert kinds[True] >= 3 and kinds[False] >= 3


def test_official_budgets_are_the_statistics_and_kept_only_where_a_plan_is_proved(world):
    official, rejected = replace(OFFICIAL_MIX, budget="official"), Counter[str]()
    for number in range(18):
        query = Maker(world, official).numbered(2, number, lambda query: None, rejected)
        comfortable = solve(query, world, comfortable=True).cost_usd
        assert query.budget == official_budget(query, world)
        is_kept = comfortable is not None and comfortable <= query.budget
        cost = comfortable if is_kept else solve(query, world).cost_usd
        assert proof_of(query)["plan_cost_usd"] == cost and cost <= query.budget
    assert rejected["the cheapest plan is over the official budget"] > 0
    for query in numbered(world, replace(official, keep="infeasible", slack=(0.5, 0.9)), 6):
        cost = solve(query, world).cost_usd
        assert query.budget == official_budget(query, world)
        assert cost is None or cost > query.budget


@pytest.mark.parametrize(
    "wrong",
    [
        {"days": (4,)},
        {"days": ()},
        {"levels": (0, 0, 0)},
        {"slack": (1.5, 1.2)},
        {"slack": (0.9, 1.2)},
        {"slack": (float("nan"), float("nan"))},
        {"keep": "infeasible"},
    ],
)
def test_a_mix_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(UserError):
        Mix(**wrong)


def bare(cities: Iterable[tuple[str, str]], days: Iterable[str]) -> World:
    """Cities, and a flight on each of these days."""
    return made_world(dict(cities), [flight("F1", "A0", "B0", date=day) for day in days])


def test_a_world_that_cannot_give_them_says_so():
    march = [f"2022-03-0{day}" for day in range(1, 8)]
    empty = bare([("Aston", "Westland"), ("Brook", "Eastland")], march)
    with pytest.raises(Exhausted, match=r"gave 0 feasible .*: no stay that fits \(3000\)"):
        list(make_queries(empty, 2, 0))
    for mix in (Mix(), OFFICIAL_MIX):
        assert draw_fields(empty, random.Random(0), "easy", 3, mix)["days"] == 3
        with pytest.raises(UserError, match="no other state with"):
            draw_fields(empty, random.Random(0), "easy", 5, mix)


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
    return [draw_fields(PLACE, rng, level, days, mix) for _ in range(4000)]


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
def test_official_routes_and_dates(days):
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


def test_official_parties_and_wishes():
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
def test_official_values(level, cuisines):
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
def test_default_asks_for_one_cuisine_or_two_and_uses_all_days(level, cuisines):
    drawn = draws(level, 5, official=False)
    assert {len(each["local_constraint"]["cuisine"] or ()) for each in drawn} == {0, cuisines}
    assert {each["date"][0] for each in drawn} == set(DAYS[:-4])
    # C has three cities, more than are visited
    assert {each["dest"] for each in drawn} == {"A", "B", "C", "D"}


def test_a_world_outside_march_gives_its_own_days():
    later = bare(CITIES.items(), [f"2023-07-{day}" for day in range(10, 15)])
    rng = random.Random(0)
    drawn = [draw_fields(later, rng, "easy", 3, OFFICIAL_MIX) for _ in range(60)]
    assert {each["date"][0] for each in drawn} == {f"2023-07-{day}" for day in (10, 11, 12)}
    for mix in (Mix(), OFFICIAL_MIX):
        with pytest.raises(UserError, match="flights on 5 days; a trip of 7 days needs"):
            draw_fields(later, rng, "easy", 7, mix)

"""Elements of requests: as often as the official sampler's formulas say, and each way of drawing
what it says of itself."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import pytest

from tripwright.domains.travelplanner.queries.make_elements import draw_elements
from tripwright.domains.travelplanner.queries.sample import CITIES_VISITED
from tripwright.errors import UserError
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

HOUSE_RULES = ("parties", "smoking", "children under 10", "visitors", "pets")
ROOMS = ("shared room", "not shared room", "private room", "entire room")
DRAWS = 6000


@pytest.fixture(scope="module")
def world() -> World:
    """Three states of different sizes with flights on 40 days from 25 February; one of the states
    is too small to be visited."""
    cities = [
        (f"{state}{n}", state)
        for state, size in (("A", 6), ("B", 4), ("C", 3), ("D", 8))
        for n in range(size)
    ]
    days = (
        [f"2022-02-{day}" for day in range(25, 29)]
        + [f"2022-03-{day:02d}" for day in range(1, 32)]
        + ["2022-04-01", "2022-04-02"]
    )
    flights = [("F1", "1", "08:00", "09:00", "1 hours", day, "A0", "B0", "9") for day in days]
    return World.in_memory(
        WorldTables(
            cities=cities,
            flights=flights,
            grounds=[],
            restaurants=[],
            attractions=[],
            accommodations=[],
        )
    )


@pytest.fixture(scope="module")
def draws(world: World) -> Callable[[str, str, int], list[dict[str, Any]]]:
    def draw(kind: Any, level: str, days: int) -> list[dict[str, Any]]:
        rng = random.Random(f"{kind} {level} {days}")
        return [draw_elements(world, rng, kind, level, days) for _ in range(DRAWS)]

    return draw


def assert_as_often(found: list[Hashable], expected: Mapping[Any, float]) -> None:
    """Pearson's chi-square within five standard deviations of its mean, which is the degrees of
    freedom."""
    counts, total = Counter(found), sum(expected.values())
    assert set(counts) <= set(expected)
    free = len(expected) - 1
    chi_square = sum(
        (counts[value] - len(found) * share / total) ** 2 / (len(found) * share / total)
        for value, share in expected.items()
    )
    assert chi_square < free + 5 * (2 * free) ** 0.5, (chi_square, free, counts)


def equally(values: Any) -> dict[Any, float]:
    return dict.fromkeys(values, 1.0)


def test_official_routes_and_dates(
    world: World, draws: Callable[..., list[dict[str, Any]]]
) -> None:
    for days in (3, 5, 7):
        drawn = draws("official", "easy", days)
        assert_as_often([each["org"] for each in drawn], equally(world.cities))
        assert_as_often(
            [each["date"][0] for each in drawn],
            equally(f"2022-03-{day:02d}" for day in range(1, 33 - days)),
        )
        expected: Counter[str] = Counter()
        # given the origin, a city of another state uniformly; of one with more than 3, for a state
        for state in world.cities.values():
            there = [
                c
                for c, s in world.cities.items()
                if s != state and (days == 3 or len(world.states[s]) > 3)
            ]
            for city in there:
                expected[city if days == 3 else world.cities[city]] += 1 / len(there)  # type: ignore[assignment]
        assert_as_often([each["dest"] for each in drawn], expected)
        assert {
            (each["days"], each["visiting_city_number"], len(each["date"])) for each in drawn
        } == {(days, CITIES_VISITED[days], days)}
        assert all(
            world.cities[each["org"]] != world.cities.get(each["dest"], each["dest"])
            for each in drawn
        )


def test_official_parties_and_wishes(draws: Callable[..., list[dict[str, Any]]]) -> None:
    easy, medium, hard = (draws("official", level, 3) for level in ("easy", "medium", "hard"))
    assert {(each["people_number"], tuple(each["local_constraint"].values())) for each in easy} == {
        (1, (None,) * 4)
    }
    for drawn in (medium, hard):
        assert_as_often([each["people_number"] for each in drawn], {2: 6, **equally(range(3, 9))})
    kinds = [
        tuple(kind for kind, wish in each["local_constraint"].items() if wish) for each in medium
    ]
    assert_as_often(kinds, equally([("house rule",), ("cuisine",), ("room type",)]))
    # Left out of the hard ones is the kind that is drawn last, one after the other by weight.
    weights = {"house rule": 0.3, "cuisine": 0.1, "room type": 0.3, "transportation": 0.3}
    left_out: Counter[str] = Counter()
    for a in weights:
        for b in weights.keys() - {a}:
            for c in weights.keys() - {a, b}:
                (last,) = weights.keys() - {a, b, c}
                share = (
                    weights[a]
                    * weights[b]
                    / (1 - weights[a])
                    * weights[c]
                    / (1 - weights[a] - weights[b])
                )
                left_out[last] += share  # type: ignore[assignment]
    assert_as_often(
        [
            next(kind for kind, wish in each["local_constraint"].items() if not wish)
            for each in hard
        ],
        left_out,
    )


def test_official_values(draws: Callable[..., list[dict[str, Any]]]) -> None:
    for level, cuisines in (("medium", 2), ("hard", 4)):
        drawn = [
            (each["people_number"], each["local_constraint"])
            for each in draws("official", level, 3)
        ]
        assert_as_often(
            [w["house rule"] for _, w in drawn if w["house rule"]], equally(HOUSE_RULES)
        )
        assert_as_often(
            [w["room type"] for people, w in drawn if w["room type"] and people <= 2],
            equally(ROOMS),
        )
        assert_as_often(
            [w["room type"] for people, w in drawn if w["room type"] and people > 2],
            equally(ROOMS[2:]),
        )
        chosen = [w["cuisine"] for _, w in drawn if w["cuisine"]]
        assert {(len(each), len(set(each))) for each in chosen} == {(cuisines, cuisines)}
        assert_as_often([each[0] for each in chosen], equally(CUISINES))
        if level == "hard":
            assert_as_often(
                [w["transportation"] for _, w in drawn if w["transportation"]],
                equally(("no flight", "no self-driving")),
            )


def test_uniform_is_uniform(world: World, draws: Callable[..., list[dict[str, Any]]]) -> None:
    drawn = draws("uniform", "hard", 5)
    expected: Counter[str] = Counter()
    for home in world.cities.values():
        for state in world.states.keys() - {home}:
            expected[state] += 1
    assert_as_often([each["dest"] for each in drawn], expected)
    assert_as_often([each["people_number"] for each in drawn], equally(range(1, 9)))
    assert_as_often(
        [each["date"][0] for each in drawn], equally(world.dates[: len(world.dates) - 4])
    )
    wishes = [each["local_constraint"] for each in drawn]
    assert_as_often(
        [next(kind for kind, wish in w.items() if not wish) for w in wishes], equally(wishes[0])
    )
    assert_as_often([w["room type"] for w in wishes if w["room type"]], equally(ROOMS))
    assert_as_often([len(w["cuisine"]) for w in wishes if w["cuisine"]], equally(range(1, 5)))
    assert {each["people_number"] for each in draws("uniform", "easy", 3)} == {1}


def test_default_asks_for_one_cuisine_or_two_and_uses_all_days(
    world: World, draws: Callable[..., list[dict[str, Any]]]
) -> None:
    for level, cuisines in (("medium", 1), ("hard", 2)):
        drawn = draws("default", level, 5)
        assert {len(each["local_constraint"]["cuisine"] or ()) for each in drawn} == {0, cuisines}
        assert {each["date"][0] for each in drawn} == set(world.dates[: len(world.dates) - 4])
        # C has three cities, more than are visited
        assert {each["dest"] for each in drawn} == {"A", "B", "C", "D"}


def test_a_world_outside_march_gives_its_own_days() -> None:
    tables = build_tables("nano", 3)
    later = World.in_memory(
        WorldTables(
            cities=tables.cities,
            flights=[
                ("F1", "1", "08:00", "09:00", "1 hours", f"2023-07-{day:02d}", "A", "B", "9")
                for day in range(10, 15)
            ],
            grounds=[],
            restaurants=[],
            attractions=[],
            accommodations=[],
        )
    )
    rng = random.Random(0)
    assert {draw_elements(later, rng, "official", "easy", 3)["date"][0] for _ in range(60)} == {
        f"2023-07-{day}" for day in (10, 11, 12)
    }
    with pytest.raises(UserError, match="2023-07-10 to 2023-07-14; a trip of 7 days does not fit"):
        draw_elements(later, rng, "official", "easy", 7)
    with pytest.raises(UserError, match="flights on 5 days; a trip of 7 days needs"):
        draw_elements(later, rng, "default", "easy", 7)


@pytest.mark.parametrize("kind", ["official", "uniform"])
def test_a_world_without_such_a_state_says_so(kind: Any) -> None:
    tiny = World.in_memory(
        WorldTables(
            cities=[("Aston", "Westland"), ("Brook", "Eastland")],
            flights=[
                ("F1", "1", "08:00", "09:00", "1 hours", f"2022-03-0{day}", "Aston", "Brook", "9")
                for day in range(1, 8)
            ],
            grounds=[],
            restaurants=[],
            attractions=[],
            accommodations=[],
        )
    )
    assert draw_elements(tiny, random.Random(0), kind, "easy", 3)["days"] == 3
    with pytest.raises(UserError, match="has no (other|another) state"):
        draw_elements(tiny, random.Random(0), kind, "easy", 5)

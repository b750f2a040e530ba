"""Beside the cheapest plan: one within the budget, the k cheapest; and the rules'
corners that the optimum may turn on."""

import itertools
import random
from typing import Any

import pytest

from tests.made import DATES, flight, made_world, meal, sight, stay, trip
from tripwright.domains.travelplanner.oracle.options import MEALS, restaurants, stays
from tripwright.domains.travelplanner.oracle.planner import (
    Solution,
    has_plan,
    k_best,
    plan_days,
    solve,
    within_budget,
)
from tripwright.domains.travelplanner.planning import judge_plan
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.world.generator import build_tables
from tripwright.world.store import World

ANY = Mix(days=(3, 5, 7), levels=(1, 2, 3), cuisines=(2, 4))
ONE_NIGHT: dict[str, Any] = {"dest": "Aston", "visiting_city_number": 1, "days": 2}
IN_ASTON = ONE_NIGHT | {"people_number": 1, "days": 3}


def kind(solution: Solution) -> tuple[Any, ...]:
    return solution.legs[0].mode == "self-driving", tuple(
        (choice.city, choice.nights, choice.stay.accommodation.name) for choice in solution.cities
    )


@pytest.fixture(scope="module")
def nano() -> tuple[World, list[Query]]:
    world = World.in_memory(build_tables("nano", 41))
    return world, list(make_queries(world, 60, 41, ANY))


def test_a_plan_within_the_budget_is_found_exactly_where_the_cheapest_keeps_it(
    nano, passes_at_its_cost
):
    world, queries = nano
    rng = random.Random(3)
    for query in queries:
        cheapest_usd = solve(query, world).cost_usd
        about = cheapest_usd * rng.uniform(0.8, 1.2)
        for budget in (cheapest_usd, cheapest_usd - 0.01, about, -1, 0):
            tight = query.model_copy(update={"budget": budget})
            assert has_plan(tight, world) == (budget >= cheapest_usd)
            found = [next(within_budget(tight, world, driving), None) for driving in (True, False)]
            for plan in filter(None, found):
                assert (plan.cost_usd or 0) <= budget
                passes_at_its_cost(query, plan, world)


@pytest.mark.parametrize(
    ("budget", "found"), [(float("inf"), True), (float("-inf"), False), (float("nan"), False)]
)
def test_budgets_that_are_no_amounts(budget, found, nano):
    world, queries = nano
    asked = queries[0].model_copy(update={"budget": budget})
    assert has_plan(asked, world) is found


def test_a_budget_in_cents_is_met_to_the_cent():
    for cents in range(1900, 2000, 7):
        tables = [("Cup", f"{cents / 100:.2f}"), ("Pot", "0"), ("Bowl", "0")]
        world = named_world([("Inn", "1.00", "1")], tables)
        query = asked(**IN_ASTON, budget=(cents + 1200) / 100)
        assert solve(query, world).cost_usd == query.budget
        assert has_plan(query, world)


def test_the_k_best_are_sorted_different_and_begin_with_the_cheapest(nano, passes_at_its_cost):
    world, queries = nano
    for query in queries[:40]:
        found = k_best(query, world, 6)
        costs = [solution.cost_usd or 0 for solution in found]
        assert found[0] == solve(query, world)
        assert costs == sorted(costs)
        assert len({kind(solution) for solution in found}) == len(found)
        assert found[:2] == k_best(query, world, 2)
        for solution in found:
            passes_at_its_cost(query, solution, world)


# ---- all plans of a small world, in order


def line_world(rng: random.Random, menus: list[str]) -> World:
    """Three cities with roads both ways, two stays each, and one restaurant per menu."""
    cities = ("Aston", "Brook", "Cove")

    def price(low: int, high: int) -> str:
        return f"{rng.randint(low, high)}.{rng.randint(0, 99):02d}"

    ways = list(itertools.permutations(("Homer", *cities), 2))
    return made_world(
        {"Homer": "Homeland", **dict.fromkeys(cities, "Westland")},
        flights=[
            # at about the price of driving, so that either family may be the cheaper one
            flight(f"F{day}{i}", a, b, price(1, 9), DATES[day - 1])
            for i, (a, b) in enumerate(ways)
            for day in range(1, 5)
        ],
        roads=[(a, b, "2 hours", f"{rng.randint(20, 400)} km") for a, b in ways],
        meals=[
            meal(f"Grill {i}", city, menu, price(5, 60))
            for city in cities
            for i, menu in enumerate(menus)
        ],
        sights=[sight(f"Lake {i}", city) for city in cities for i in range(3)],
        stays=[
            stay(f"Inn {i}", city, price(20, 200), nights=nights)
            for city in cities
            for i, nights in ((0, 1), (1, 1), (2, rng.randint(2, 3)))
        ],
    )


def asked(days: int = 4, **changes: Any) -> Query:
    fields = {"dest": "Westland", "visiting_city_number": 2, "people_number": 3, "budget": 10**6}
    return trip(**{"days": days, **fields, **changes})


def every_plan(query: Query, world: World) -> list[float]:
    """The cost of each order, split, family and choice of stays at its cheapest legs and meals,
    written down without any search."""
    found, orders = [], itertools.permutations(("Aston", "Brook", "Cove"), 2)
    for order, split in itertools.product(orders, ((1, 2), (2, 1))):
        stops, days = ("Homer", *order, "Homer"), (0, split[0], 3)
        legs = list(zip(stops[:-1], stops[1:], days, strict=True))
        grounds = [world.ground(a, b) or pytest.fail("a road") for a, b, _ in legs]
        roads_km = [int(ground.distance.split()[0]) for ground in grounds]
        rows = [world.flights(a, b, query.date[day]) or [] for a, b, day in legs]
        flown = [[flight.price_usd * 3 for flight in flights] for flights in rows]
        taxi = sum(min([km, *usd]) for km, usd in zip(roads_km, flown, strict=True))
        families = [sum(int(km * 0.05) for km in roads_km), taxi]
        fitting = [
            [s.price_usd * 2 * n for s in world.accommodations(c) if s.minimum_nights <= n]
            for c, n in zip(order, split, strict=True)
        ]
        full = [(order[split.index(2)], row) for row in world.restaurants(order[split.index(2)])]
        pool = [(city, row) for city in order for row in world.restaurants(city)]
        wanted = set(query.local_constraint.cuisine or ())
        meals_usd = min(
            sum(row.average_cost_usd for _, row in chosen) * 3
            for size in range(3, 6)
            for chosen in itertools.combinations(pool, size)
            if sum(each in full for each in chosen) >= 3
            and wanted <= {row.cuisines for _, row in chosen}
        )
        choices = itertools.product(families, itertools.product(*fitting))
        found += [family + sum(beds) + meals_usd for family, beds in choices]
    return sorted(found)


@pytest.mark.parametrize("seed", range(6))
def test_the_k_best_are_the_first_k_of_all(seed):
    world = line_world(random.Random(f"line-{seed}"), ["Tea", "Tea", "Tea", "French", "Indian"])
    query = asked(local_constraint={"cuisine": ["French", "Indian"]} if seed % 2 else {})
    expected = every_plan(query, world)
    for k in (1, 7, len(expected), len(expected) + 5):
        found = [solution.cost_usd for solution in k_best(query, world, k)]
        assert found == pytest.approx(expected[:k])


# ---- corners


def test_meals_that_an_arrival_day_cannot_hold_are_eaten_at_the_departure(passes_at_its_cost):
    cuisines = ["French", "Indian", "Mexican", "Chinese", "Italian"]
    world = line_world(random.Random("many"), [*cuisines, "Tea"])
    query = asked(**ONE_NIGHT, local_constraint={"cuisine": cuisines})
    solution = solve(query, world)
    passes_at_its_cost(query, solution, world)
    first, last = plan_days(query, solution)
    assert [first[meal] != "-" for meal in MEALS] == [True, True, True]
    assert [last[meal] != "-" for meal in MEALS] == [True, True, False]


def test_a_name_that_home_has_too_is_eaten_before_the_day_of_departure(passes_at_its_cost):
    """On the day of travel home it would mean the place at home."""
    dishes = ["French", "Indian", "Mexican", "Chinese"]
    there = [(f"Grill {i}", "Aston", dish, str(10 + i), "4.0") for i, dish in enumerate(dishes)]
    at_home = [(f"Grill {i}", "Homer", "Tea", "1", "4.0") for i in (1, 2, 3)]
    world = one_city([("Inn", "50", "1")], [*there, *at_home])
    query = asked(**ONE_NIGHT, local_constraint={"cuisine": dishes})
    solution = solve(query, world)
    passes_at_its_cost(query, solution, world)
    assert plan_days(query, solution)[-1]["breakfast"] == "Grill 0, Aston"


def named_world(names: list[tuple[str, str, str]], tables: list[tuple[str, str]]) -> World:
    """One city with these stays (name, price, minimum nights) and restaurants (name, price)."""
    return one_city(names, [(name, "Aston", "Tea", price, "4.0") for name, price in tables])


def one_city(names: list[tuple[str, str, str]], restaurants: list[tuple[str, ...]]) -> World:
    ways = (("Homer", "Aston"), ("Aston", "Homer"))
    return made_world(
        {"Homer": "Homeland", "Aston": "Westland"},
        roads=[(*way, "2 hours", "100 km") for way in ways],
        meals=restaurants,
        sights=[sight("Lake", "Aston")],
        stays=[
            stay(name, "Aston", price, nights=nights, people=9) for name, price, nights in names
        ],
    )


PLAIN = [("Cup", "10"), ("Pot", "11"), ("Bowl", "12")]


def test_where_sights_are_few_a_livable_day_holds_a_meal():
    """Two days hold nothing but a leg, home has no sight and the city one."""
    world, query = named_world([("Inn", "50", "1")], PLAIN), asked(**ONE_NIGHT)
    solution = solve(query, world, livable=True)
    assert judge_plan(query, plan_days(query, solution), world, "livable").final
    assert solution.cost_usd == 2 * 5 + 50 + 3 * 10


@pytest.mark.parametrize(
    ("names", "tables", "night_usd", "meals_usd"),
    [
        # a look-up by substring finds the inn itself first
        ([("Inn", "50", "1"), ("Inn by the Lake", "60", "1")], PLAIN, 50, 33),
        # … and here another, at another price
        ([("Inn by the Lake", "60", "1"), ("Inn", "50", "1")], PLAIN, 60, 33),
        # … at the same price: nothing depends on it
        ([("Inn by the Lake", "50", "9"), ("Inn", "50", "1")], PLAIN, 50, 33),
        # rooms of one host: any that fits
        ([("Inn", "50", "9"), ("Inn", "50", "2"), ("Inn", "70", "1")], PLAIN, 50, 33),
        # strict rules charge 40, the official ones 50
        ([("Inn", "50", "1"), ("Inn", "40", "2"), ("Den", "90", "1")], PLAIN, 90, 33),
        # the cheaper row is for longer stays
        ([("Inn", "50", "1"), ("Inn", "40", "3"), ("Den", "90", "1")], PLAIN, 50, 33),
        ([("Inn", "50", "1")], [*PLAIN, ("Cup and Saucer", "1")], 50, 22),
        # "Cup" would be charged at 99
        ([("Inn", "50", "1")], [("Cup and Saucer", "99"), *PLAIN, ("Pan", "30")], 50, 53),
        # blanks do not count
        ([("Inn", "50", "1")], [("Cup ", "10"), *PLAIN[1:], ("Cup", "1")], 50, 33),
    ],
)
def test_names_that_find_other_rows_are_used_where_both_rules_charge_the_same(
    names, tables, night_usd, meals_usd, passes_at_its_cost
):
    world, query = named_world(names, tables), asked(**IN_ASTON)
    solution = solve(query, world)
    passes_at_its_cost(query, solution, world)
    # two roads, two nights, one full day
    assert solution.cost_usd == 2 * 5 + 2 * night_usd + meals_usd


def test_what_is_offered_has_each_name_once():
    inns = [("Inn", "50", "1"), ("Inn", "50", "3"), ("-", "1", "1")]
    world = named_world(inns, [*PLAIN, ("Cup", "9")])
    found = stays(asked(**IN_ASTON), world, "Aston")
    assert [stay.accommodation.name for stay in found] == ["Inn"]
    assert [row.name for row in restaurants(world, "Aston")] == ["Cup", "Pot", "Bowl"]


def test_requests_that_no_rule_set_can_pass_say_so():
    world = named_world([("Inn", "50", "1")], PLAIN)
    query = asked(**IN_ASTON, local_constraint={"cuisine": [f"dish {i}" for i in range(10)]})
    solution = solve(query, world)
    assert solution.cost_usd is None and "tries up to 9" in (solution.why or "")
    assert not has_plan(query, world) and k_best(query, world, 3) == []

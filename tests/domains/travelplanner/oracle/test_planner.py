"""The oracle against the judge, which shares no code with it, and against brute force on tiny
worlds."""

import itertools
import math
import random
from functools import partial
from typing import Any

import pytest

from tests.made import DATES, flight, made_world, meal, official, sight, stay, trip
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.world.generator import build_tables
from tripwright.world.store import World

ROOMS = ("Entire home/apt", "Private room", "Shared room")
RULES = {"smoking": "No smoking", "pets": "No pets"}
TOO_FAR = ("1 day 2 hours", "2,000 km")
LEGS = [("Homer", "Aston", DATES[0]), ("Aston", "Homer", DATES[2])]
FOOD = ["Tea", "French", "Indian", "Mexican"]


@pytest.mark.parametrize("seed", [100, 101, 102])
def test_what_the_oracle_plans_both_rule_sets_pass_at_the_same_cost(seed, passes_at_its_cost):
    world = World.in_memory(build_tables("nano", seed))
    for query in make_queries(world, 60, seed, Mix(days=(3, 5, 7), levels=(1, 2, 3))):
        for comfortable in (False, True):
            passes_at_its_cost(query, solve(query, world, comfortable), world)


# ---- brute force: every plan of 3 days that keeps the rules, judged by the judge


def tiny_world(rng: random.Random) -> World:
    def price(low: int, high: int) -> str:
        return str(rng.randint(low, high))

    def inn(letter: str) -> tuple[str, ...]:
        room, price_usd, nights = rng.choice(ROOMS), price(20, 200), price(1, 3)
        rules, guests = rng.choice([*RULES.values()]), price(1, 3)
        return stay(f"Inn {letter}", "Aston", price_usd, room, nights, rules, guests)

    def grill(letter: str) -> tuple[str, ...]:
        return meal(f"Grill {letter}", "Aston", ", ".join(rng.sample(FOOD, 2)), price(5, 60))

    def road(a: str, b: str) -> tuple[str, ...]:
        return (a, b, *rng.choice([("2 hours", f"{price(20, 900)} km")] * 3 + [TOO_FAR]))

    flights = [
        flight(f"F{i}{j}", a, b, price(20, 300), date)
        for i, (a, b, date) in enumerate(LEGS)
        for j in range(rng.randint(0, 2))
    ]
    roads = [road(a, b) for a, b, _ in LEGS]
    rows = flights, roads, [grill(c) for c in "ABCDE"], [sight("Lake", "Aston")]
    cities = {"Homer": "Homeland", "Aston": "Westland"}
    return made_world(cities, *rows, [inn(c) for c in "ABCD"])


def tiny_query(rng: random.Random) -> Query:
    wishes = {
        "house rule": rng.choice([None, None, *RULES]),
        "cuisine": rng.choice([None, FOOD[1:2], FOOD[1:3], FOOD[1:]]),
        "room type": rng.choice([None, None, "entire room", "not shared room"]),
        "transportation": rng.choice([None, None, "no flight", "no self-driving"]),
    }
    return trip(people_number=rng.randint(1, 6), local_constraint=wishes, budget=10**9)


def brute_force(query: Query, world: World) -> float:
    """The least cost that the judge gives any plan; infinite where it passes none. Meals on travel
    days are tried, too."""
    legs = []
    for origin, destination, date in LEGS:
        flights = world.flights(origin, destination, date) or []
        ways = [*(f"Flight Number: {f.number}" for f in flights), "Self-driving", "Taxi"]
        legs.append([f"{way}, from {origin} to {destination}" for way in ways])
    meals = [f"{row.name}, Aston" for row in world.restaurants("Aston")]
    none = {"attraction": "-", "breakfast": "-", "lunch": "-", "dinner": "-"}
    least = math.inf
    stays = [f"{row.name}, Aston" for row in world.accommodations("Aston")]
    for out, back, bed in itertools.product(*legs, stays):

        def day(number: int, city: str, way: str, bed: str, **more: str) -> dict[str, Any]:
            fields = {"current_city": city, "transportation": way, "accommodation": bed}
            return {"days": number, **none, **fields, **more}

        first = day(1, "from Homer to Aston", out, bed)
        full = day(2, "Aston", "-", bed, attraction="Lake, Aston;")
        last = day(3, "from Aston to Homer", back, "-")
        three_meals = dict(zip(MEALS, meals[:3], strict=True))
        cheap = judge(query, [first, full | three_meals, last], world)
        failed = {fact.name for fact in cheap.failed}
        if failed - {"valid_cuisine"} or cheap.group("hard").facts is None:
            continue  # no choice of meals mends the transport or the stay
        for eaten in itertools.permutations([*meals, "-", "-"], 5):
            if "-" in eaten[:3] or list(eaten[:3]) != sorted(eaten[:3]):
                continue
            middle = full | dict(zip(MEALS, eaten[:3], strict=True))
            ends = first | {"dinner": eaten[3]}, last | {"breakfast": eaten[4]}
            verdict = judge(query, [ends[0], middle, ends[1]], world)
            if verdict.final and verdict.details["total_cost"] is not None:
                least = min(least, verdict.details["total_cost"])
    return least


@pytest.mark.parametrize("seed", range(10, 34))
def test_the_optimum_is_the_optimum(seed):
    rng = random.Random(f"tiny-{seed}")
    world, query = tiny_world(rng), tiny_query(rng)
    solution = solve(query, world)
    found = brute_force(query, world)
    assert (math.inf if solution.cost_usd is None else solution.cost_usd) == pytest.approx(found), (
        query.local_constraint
    )
    assert solution.cost_usd is not None or solution.why


# ---- what tables and requests may hold


def one_way_world(stays: list[tuple[str, str]], restaurants: list[str], sights: list[str]) -> World:
    there = ("Aston", "Brook", "Cove")
    ways = itertools.permutations(("Homer", *there), 2)
    return made_world(
        {"Homer": "Homeland", **dict.fromkeys(there, "Westland")},
        roads=[(a, b, "2 hours", "100 km") for a, b in ways],
        meals=[meal(name, city) for city in there for name in restaurants],
        sights=[sight(name, city) for city in there for name in sights],
        stays=[stay(name, city, price) for city in there for name, price in stays],
    )


asked = partial(trip, people_number=1)
LONG: dict[str, Any] = {"dest": "Westland", "days": 7, "visiting_city_number": 2}


def test_odd_names_are_planned_with_and_hopeless_ones_left_out():
    odd = ["Grill ", " Café (old), bar", 'Say "A"', "Two\nlines", "-", "", "Tea", "Tea Room"]
    names = [*odd, "Plate; more", *(f"Diner {c}" for c in "ABCDE")]
    world = one_way_world(
        [("Inn ", "50"), ("In", "1"), ("Two\nlines", "2")],
        names,
        ["Lake", "Lake", "A;B", "Tower (north)", "Zoo, the "],
    )
    for query in (asked(), asked(**LONG)):
        solution = solve(query, world)
        verdict = judge(query, official(query, solution, world), world)
        assert verdict.final and verdict.details["total_cost"] == pytest.approx(
            solution.cost_usd
        ), verdict
        assert {choice.stay.accommodation.name for choice in solution.cities} == {"Inn "}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"org": "Atlantis"}, "'Atlantis' is not a city"),
        ({"dest": "Atlantis"}, "'Atlantis' is not a destination"),
        ({"days": 1, "dest": "Westland", "date": DATES[:1]}, "takes 2 days or more"),
        ({"local_constraint": {"cuisine": ["French"]}}, "wanted cuisine"),
        ({"local_constraint": {"house rule": "pets"}}, "no stay in Aston keeps"),
        ({"local_constraint": {"room type": "entire room"}}, "no stay in Aston"),
    ],
)
def test_why_there_is_no_plan(changes, why):
    world = one_way_world(
        [("Inn", "50")],
        [f"Diner {c}" for c in "ABCDEFGHIJKL"],
        ["Lake", "Tower", "Zoo", "Park", "Pier"],
    )
    solution = solve(asked(**changes), world)
    assert solution.cost_usd is None
    assert why in (solution.why or "")

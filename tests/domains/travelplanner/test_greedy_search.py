"""The greedy search: exactly the authors' choices, on worlds small enough to see them."""

import gzip
import json
import random
from dataclasses import replace
from typing import Any

import pytest

from tests.made import DATES, flight, made_tables, meal, sight, stay, trip
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.baselines import GreedySearch, greedy_plan
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import play
from tripwright.errors import UserError
from tripwright.evals.evaluate import choose_policy
from tripwright.policies.settings import PolicySettings
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World


def tables(**changed: Any) -> WorldTables:
    """Home, and a state of three cities; what costs the least never comes first."""
    cities = {"Home": "Away", "Aa": "State", "Bb": "State", "Cc": "State"}
    base = made_tables(
        cities,
        flights=[
            flight("F1", "Home", "Aa", 200),
            flight("F2", "Home", "Aa", 90),
            flight("F3", "Home", "Aa", 90),
            flight("F4", "Home", "Aa", 10, DATES[1]),
        ],
        roads=[
            ("Home", "Aa", "2 hours", "2,000 km"),  # a car for $100
            ("Aa", "Bb", "1 hours", "100 km"),  # $5 by car, $100 by taxi
            ("Aa", "Home", "1 day 2 hours", "2,000 km"),  # too long to count
        ],
        meals=[
            meal(f"{name} {city}", city, usd=cost)
            for city in cities
            for name, cost in (("Dear", 30), ("Cheap", 9), ("Same", 9))
        ],
        sights=[sight(f"Sight {n} {city}", city) for city in cities for n in range(4)],
        stays=[
            stay(f"{name} {city}", city, cost, nights=nights, people=1)
            for city in cities
            for name, cost, nights in (("Palace", 300, 1), ("Bunk", 20, 9), ("Bunk 2", 20, 1))
        ],
    )
    return replace(base, **changed)


def query(days: int = 3, dest: str = "Aa", party: int = 5) -> Query:
    visits, asked = days // 2, {"people_number": party, "budget": 500, "query": "Go."}
    return trip(org="Home", dest=dest, days=days, visiting_city_number=visits, **asked)


def plan(asked: Query, world: World | None = None) -> list[dict[str, Any]]:
    found = greedy_plan(asked, world or World.in_memory(tables()), random.Random(0))
    return found


def test_three_days_in_one_city():
    first, second, third = plan(query())
    assert first["city"] == {"from": "Home", "to": "Aa"}
    assert second["city"] == "Aa"
    assert third["city"] == {"from": "Aa", "to": "Home"}
    # of two that cost the same the first; the day's, not the cheapest of all
    assert first["transportation"]["flight_number"] == "F2"
    # no way back that counts: left out
    assert second["transportation"] == third["transportation"] == "-"
    eaten = {first[meal] for meal in ("breakfast", "lunch", "dinner")}
    assert eaten == {second["lunch"]} == {"Cheap Aa"}
    assert third["breakfast"] == third["dinner"] == "Cheap Home"  # on the last day the city is home
    assert first["accommodation"] == second["accommodation"] == "Bunk Aa"
    assert third["accommodation"] == "-"
    assert first["attraction"][0].endswith(" Aa") and third["attraction"][0].endswith(" Home")


def test_five_days_take_the_first_two_cities_of_the_file():
    days = plan(query(5, "State"))
    assert [day["city"] for day in days] == [
        {"from": "Home", "to": "Aa"},
        "Aa",
        {"from": "Aa", "to": "Bb"},
        "Bb",
        {"from": "Bb", "to": "Home"},
    ]
    drive = days[2]["transportation"]
    assert (drive["mode"], drive["cost"], drive["distance"]) == ("self-driving", 5, "100 km")


def test_home_is_no_city_of_the_trip():
    cities = [(name, "State") for name in ("Aa", "Home", "Bb", "Cc")]
    world = World.in_memory(tables(cities=cities))
    assert [day["city"] for day in plan(query(5, "State"), world)][1::2] == ["Aa", "Bb"]


def test_the_size_of_the_party_does_not_matter():
    """For eight people two cars would cost $200 and eight seats $720: the authors compare one seat
    with one car."""
    assert plan(query(party=8)) == plan(query(party=1))


@pytest.mark.parametrize(
    ("price", "mode"), [("99.9", "flight"), ("100", "flight"), ("101", "self-driving")]
)
def test_a_flight_wins_against_a_car_of_the_same_price(price, mode):
    flights = [flight("F9", "Home", "Aa", price)]
    found = plan(query(), World.in_memory(tables(flights=flights)))[0]["transportation"]["mode"]
    assert found == mode


def test_what_a_city_does_not_have_is_left_out():
    world = World.in_memory(tables(restaurants=[], attractions=[], accommodations=[]))
    fields = ("breakfast", "lunch", "dinner", "attraction", "accommodation")
    for day in plan(query(), world):
        assert {day[field] for field in fields} == {"-"}


@pytest.mark.parametrize("asked", [query(4, "State"), query(5, "Nowhere"), query(5, "Away")])
def test_where_the_authors_program_would_stop_there_is_no_plan(asked):
    assert greedy_plan(asked, World.in_memory(tables()), random.Random(0)) is None


def test_sights_come_from_the_seed_alone():
    world = World.in_memory(build_tables("nano", 4))
    tasks = [TripTask("q", each, world) for each in make_queries(world, 1, 3)]

    def answer(seed: int) -> str | None:
        (episode,) = play(GreedySearch(seed), tasks, dialect_named("planner_r1"))
        return episode.transcript.answer

    assert answer(1) == answer(1) and len({answer(seed) for seed in range(8)}) > 1


def official(day: dict[str, Any]) -> dict[str, Any]:
    leg, travels = day["transportation"], isinstance(day["city"], dict)
    here = day["city"]["to"] if travels else day["city"]
    route = f"from {day['city']['from']} to {here}" if travels else here
    word = "-"
    if leg != "-":
        cars = {"taxi": "Taxi", "self-driving": "Self-driving"}
        name = cars.get(leg["mode"]) or f"Flight Number: {leg['flight_number']}"
        word = f"{name}, {route}"
    places = {
        name: day[name] if day[name] == "-" else f"{day[name]}, {here}"
        for name in ("breakfast", "lunch", "dinner", "accommodation")
    }
    return {"day": day["days"], "current_city": route, "transportation": word, **places}


def test_recorded_plans_of_the_greedy_search_are_the_same_but_for_the_random_sights(
    travelplanner, real_world
):
    """On the world that they were made in: the authors' tables with the flights that are known, no
    others."""
    with gzip.open(travelplanner / "verdicts_dev.jsonl.gz", "rt") as lines:
        cases = [
            case
            for case in map(json.loads, lines)
            if case["source"] == "greedy" and not case["mutations"]
        ]
    assert len(cases) == 124
    for case in cases:
        days = greedy_plan(
            Query.model_validate({**case["query"], "query": ""}), real_world, random.Random(0)
        )
        theirs = [
            {name: value for name, value in day.items() if name != "attraction"}
            for day in case["plan"]
            if day
        ]
        assert [official(day) for day in days or []] == theirs, case["case"]


def test_by_name_and_where_it_cannot_play():
    chosen = choose_policy(PolicySettings(name="greedy-search", seed=3), dialect_named("star"))
    assert chosen.identity == {"kind": "greedy-search"} and chosen.decoding == {"seed": 3}
    with pytest.raises(UserError, match="'greedy-search' knows nothing of dialect 'deeptravel'"):
        choose_policy("greedy-search", dialect_named("deeptravel"))

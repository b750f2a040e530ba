"""Generated worlds: the same everywhere for one seed, and with every kind of trap in them."""

import datetime
import re
from collections import defaultdict
from collections.abc import Callable
from itertools import permutations
from statistics import fmean
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.world.generator import build_tables, build_world
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [World.in_memory(build_tables("nano", seed)) for seed in SEEDS]


def test_the_seed_makes_the_world(worlds, tmp_path):
    again = build_world(tmp_path / "again", "nano", SEEDS[0])
    assert again.content_hash == worlds[0].content_hash
    assert len({world.content_hash for world in worlds}) == len(SEEDS)
    assert again.name == "nano-0" and again.flights_complete


def test_other_seeds_give_other_names(worlds):
    names = [
        {*world.cities, *world.states}
        | {stay.name for city in world.cities for stay in world.accommodations(city)}
        for world in worlds
    ]
    for one, other in permutations(names, 2):
        assert len(one & other) < 0.02 * len(one)


def test_names_alike_are_of_a_few_parts_and_still_mean_one_place():
    """And only names: the rest is of the size that an exam asks about."""

    def beginnings(scale: str) -> set[str]:
        world = World.in_memory(build_tables(scale, 5))
        assert len(world.cities) == 24
        stays = [stay.name for city in world.cities for stay in world.accommodations(city)]
        assert len(set(stays)) == len(stays)
        return {name[:3] for name in stays}

    assert len(beginnings("nano_alike")) <= 4 < 20 < len(beginnings("nano"))


def test_an_unknown_scale_is_one_line():
    with pytest.raises(UserError, match=r"Unknown scale 'giant'\. Accepted: .*nano"):
        build_tables("giant", 0)


@pytest.mark.parametrize("index", range(len(SEEDS)))
def test_names_mean_one_place(worlds, index):
    """The official look-up is by substring within a city; a city is looked for by substring,
    too."""
    world = worlds[index]
    assert not [(a, b) for a, b in permutations(world.cities, 2) if a in b]
    for city in world.cities:
        for rows in (world.restaurants(city), world.accommodations(city), world.attractions(city)):
            assert not [(a.name, b.name) for a, b in permutations(rows, 2) if a.name in b.name]


@pytest.mark.parametrize("index", range(len(SEEDS)))
def test_every_trap_is_there(worlds, index):
    world = worlds[index]
    pairs = list(permutations(world.cities, 2))
    roads = [world.ground(*pair) for pair in pairs]
    assert any(road is not None and not road.distance for road in roads), "no pair without a road"
    assert any(road is not None and "day" in road.duration for road in roads), (
        "no drive of a day or more"
    )
    flights = {pair: [world.flights(*pair, date) for date in world.dates] for pair in pairs}
    assert any(not any(found) for found in flights.values()), "no pair without flights"
    assert any(any(found) and not all(found) for found in flights.values()), (
        "no flight that misses a day"
    )
    stays = [world.accommodations(city) for city in world.cities]
    cheapest = [min(rows, key=lambda row: row.price_usd) for rows in stays]
    assert sum(row.minimum_nights > 2 for row in cheapest) > len(cheapest) / 2, (
        "the cheapest stay can simply be taken"
    )
    rules = {rule for rows in stays for row in rows for rule in row.house_rules.split(" & ")}
    assert rules == {"No parties", "No smoking", "No children under 10", "No pets", "No visitors"}
    assert {row.room_type for rows in stays for row in rows} == {
        "Entire home/apt",
        "Private room",
        "Shared room",
    }
    assert any(row.maximum_occupancy == 1 for rows in stays for row in rows), (
        "no room too small for two"
    )
    assert _dear_cuisines(world), "no cuisine that only a dear restaurant serves"


def _dear_cuisines(world: World) -> list[tuple[str, str]]:
    """(city, cuisine) served, but by none of the city's three cheapest restaurants."""
    found = []
    for city in world.cities:
        rows = sorted(world.restaurants(city), key=lambda row: row.average_cost_usd)
        for cuisine in CUISINES:
            serving = [row for row in rows if cuisine in row.cuisines]
            if serving and serving[0] not in rows[:3]:
                found.append((city, cuisine))
    return found


def test_the_tables_agree_with_each_other(worlds):
    world = worlds[0]
    assert len(world.cities) == 24 and all(len(cities) == 4 for cities in world.states.values())
    assert len(world.dates) == 14
    numbers = [
        flight.number
        for a, b in permutations(world.cities, 2)
        for date in world.dates
        for flight in world.flights(a, b, date) or []
    ]
    assert len(set(numbers)) == len(numbers)
    for city in world.cities:
        assert world.restaurants(city) and world.attractions(city) and world.accommodations(city)


@pytest.fixture(scope="module")
def small() -> World:
    return World.in_memory(build_tables("small", 5))


def test_distances_obey_the_map(worlds, small):
    """Flight miles keep the triangle inequality up to rounding, and a road is never much shorter
    than the flight."""
    for world in (worlds[0], small):
        miles = {
            (a, b): found[0].distance_miles
            for a, b in permutations(world.cities, 2)
            for date in world.dates
            if (found := world.flights(a, b, date))
        }
        corners = [
            (a, b, c)
            for a, b in list(miles)[:200]
            for c in world.cities
            if (b, c) in miles and (a, c) in miles
        ]
        assert corners and all(miles[a, c] <= miles[a, b] + miles[b, c] + 30 for a, b, c in corners)
        for (a, b), distance in miles.items():
            road = world.ground(a, b)
            if road is not None and road.distance:
                assert (
                    float(road.distance.removesuffix(" km").replace(",", ""))
                    > 1.609 * distance * 1.05 - 2
                )


def test_roads_read_like_the_official_table(small):
    for a, b in permutations(list(small.cities)[:20], 2):
        road = small.ground(a, b)
        assert re.fullmatch(
            r"(\d+ days? \d+ hours?|\d+ hours? \d+ mins?|\d+ mins?|)", road.duration
        )
        assert re.fullmatch(r"([\d,]+(\.\d)? km|)", road.distance)
        assert bool(road.duration) == bool(road.distance)


def test_small_follows_the_real_marginals(small):
    """Numbers counted in the real tables; tolerances are about four standard errors of these sample
    sizes."""
    stays = [row for city in small.cities for row in small.accommodations(city)]
    meals = [row for city in small.cities for row in small.restaurants(city)]

    def share(rows: list[Any], holds: Callable[[Any], bool]) -> float:
        return sum(map(holds, rows)) / len(rows)

    assert abs(share(stays, lambda row: row.room_type == "Entire home/apt") - 0.522) < 0.09
    assert abs(share(stays, lambda row: row.minimum_nights <= 2) - 0.493) < 0.09
    assert abs(share(stays, lambda row: row.minimum_nights >= 28) - 0.098) < 0.06
    assert abs(share(stays, lambda row: " & " not in row.house_rules) - 0.504) < 0.09
    assert abs(share(stays, lambda row: row.maximum_occupancy == 1) - 0.238) < 0.08
    assert all(row.maximum_occupancy == 1 for row in stays if row.room_type == "Shared room")
    assert 50 <= min(row.price_usd for row in stays) < 75
    assert 1150 < max(row.price_usd for row in stays) <= 1200
    for cuisine in CUISINES:
        assert abs(share(meals, lambda row: cuisine in row.cuisines) - 0.143) < 0.045  # noqa: B023
    assert abs(share(meals, lambda row: row.rating == 0) - 0.225) < 0.05
    searches = [
        small.flights(a, b, date) or []
        for a, b in permutations(small.cities, 2)
        for date in small.dates[::30]
    ]
    flights = [flight for found in searches for flight in found]
    assert 0.35 < share(searches, lambda found: not found) < 0.65
    assert 4 < len(flights) / sum(map(bool, searches)) < 8
    far = [flight for flight in flights if flight.distance_miles > 100]
    ratios = [flight.price_usd / flight.distance_miles for flight in far]
    assert 0.15 < min(ratios) < 0.22 and 0.48 < max(ratios) < 0.62


def test_a_season_runs_through_several_months(small):
    by_day = small.flights_by_day
    assert len({date[:7] for date in by_day}) == 3
    on = defaultdict[int, list[int]](list)
    for date, count in by_day.items():
        on[datetime.date.fromisoformat(date).weekday()].append(count)
    assert fmean(on[5]) < 0.95 * fmean(on[4])  # on Saturdays and Fridays
    first = small.dates[0]
    flights = [
        flight
        for a, b in permutations(small.cities, 2)
        for flight in small.flights(a, b, first) or []
    ]
    assert len({flight.number for flight in flights}) == by_day[first]


@pytest.mark.slow
def test_official_has_the_official_row_counts(tmp_path):
    world = build_world(tmp_path / "official", "official", 1)
    rows = {"city": 312, "flight": 3_827_361, "ground": 17_602, "restaurant": 9_551}
    rows |= {"attraction": 5_302, "accommodation": 4_285, "covered": 0}
    assert world.manifest["rows"] == rows
    assert len(world.states) == 64 and len(world.flights_numbered("F1000000")) <= 1
    searches = [
        world.flights(a, b, world.dates[40]) or []
        for a, b in permutations(world.cities, 2)
        if world.ground(a, b)
    ]
    assert 0.4 < sum(not found for found in searches) / len(searches) < 0.6

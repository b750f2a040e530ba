"""Generated worlds: the same everywhere for one seed, and with every kind of trap in them."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import pytest

from tripwright.errors import UserError
from tripwright.world.generator import CUISINES, build_tables, build_world
from tripwright.world.store import World

SEEDS = (0, 1, 2)


@pytest.fixture(scope="module")
def worlds() -> list[World]:
    return [World.in_memory(build_tables("nano", seed)) for seed in SEEDS]


def test_the_seed_makes_the_world(worlds: list[World], tmp_path: Path) -> None:
    again = build_world(tmp_path / "again", "nano", SEEDS[0])
    assert again.content_hash == worlds[0].content_hash
    assert len({world.content_hash for world in worlds}) == len(SEEDS)
    assert again.name == "nano-0" and again.flights_complete


def test_other_seeds_give_other_names(worlds: list[World]) -> None:
    names = [
        {*world.cities, *world.states} | {stay.name for city in world.cities for stay in world.accommodations(city)} for world in worlds
    ]
    for one, other in permutations(names, 2):
        assert len(one & other) < 0.02 * len(one)


def test_an_unknown_scale_is_one_line() -> None:
    with pytest.raises(UserError, match=r"Unknown scale 'giant'\. Accepted: .*nano"):
        build_tables("giant", 0)


@pytest.mark.parametrize("index", range(len(SEEDS)))
def test_names_mean_one_place(worlds: list[World], index: int) -> None:
    """The official look-up is by substring within a city; a city is looked for by substring, too."""
    world = worlds[index]
    assert not [(a, b) for a, b in permutations(world.cities, 2) if a in b]
    for city in world.cities:
        for rows in (world.restaurants(city), world.accommodations(city), world.attractions(city)):
            assert not [(a.name, b.name) for a, b in permutations(rows, 2) if a.name in b.name]


@pytest.mark.parametrize("index", range(len(SEEDS)))
def test_every_trap_is_there(worlds: list[World], index: int) -> None:
    world = worlds[index]
    pairs = list(permutations(world.cities, 2))
    roads = [world.ground(*pair) for pair in pairs]
    assert any(road is not None and not road.distance for road in roads), "no pair without a road"
    assert any(road is not None and "day" in road.duration for road in roads), "no drive of a day or more"
    flights = {pair: [world.flights(*pair, date) for date in world.dates] for pair in pairs}
    assert any(not any(found) for found in flights.values()), "no pair without flights"
    assert any(any(found) and not all(found) for found in flights.values()), "no flight that misses a day"
    stays = [world.accommodations(city) for city in world.cities]
    cheapest = [min(rows, key=lambda row: row.price_usd) for rows in stays]
    assert sum(row.minimum_nights > 2 for row in cheapest) > len(cheapest) / 2, "the cheapest stay can simply be taken"
    rules = {rule for rows in stays for row in rows for rule in row.house_rules.split(" & ")}
    assert rules == {"No parties", "No smoking", "No children under 10", "No pets", "No visitors"}
    assert {row.room_type for rows in stays for row in rows} == {"Entire home/apt", "Private room", "Shared room"}
    assert any(row.maximum_occupancy == 1 for rows in stays for row in rows), "no room too small for two"
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


def test_the_tables_agree_with_each_other(worlds: list[World]) -> None:
    world = worlds[0]
    assert len(world.cities) == 24 and all(len(cities) == 4 for cities in world.states.values())
    assert len(world.dates) == 14
    numbers = [
        flight.number for a, b in permutations(world.cities, 2) for date in world.dates for flight in world.flights(a, b, date) or []
    ]
    assert len(set(numbers)) == len(numbers)
    for city in world.cities:
        assert world.restaurants(city) and world.attractions(city) and world.accommodations(city)

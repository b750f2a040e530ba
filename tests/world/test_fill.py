"""Flights for the searches nobody knows: they follow the known ones, change none of them, and cannot be told from them."""

from __future__ import annotations

import random
import statistics
from collections import defaultdict

import pytest

from tripwright.errors import UserError
from tripwright.world.fill import fill_flights
from tripwright.world.geography import Position, clock, hours_minutes
from tripwright.world.records import Texts, WorldTables
from tripwright.world.store import World

DAYS = [f"2022-03-{day:02d}" for day in range(1, 11)]
CITIES = [f"City{i}" for i in range(30)]
POSITIONS = {city: Position(30 + 0.5 * i, -120 + 1.5 * i) for i, city in enumerate(CITIES)}
ROADS: dict[tuple[str, str], float | None] = {
    (a, b): None if (i + j) % 11 == 0 else 60.0 + 90 * abs(i - j) for i, a in enumerate(CITIES) for j, b in enumerate(CITIES) if i != j
}
Search = tuple[str, str, str]


def known_flights() -> tuple[list[Texts], list[Search]]:
    """60 routes on 3 days each; half of them served, with 1 to 6 flights a day, at 0.2 to 0.5 dollars a mile."""
    rng = random.Random(4)
    rows: list[Texts] = []
    covered: list[Search] = []
    numbers = iter(rng.sample(range(3_400_000, 3_500_000), 5000))
    for route in rng.sample([route for route in ROADS if ROADS[route]], 60):
        per_day = rng.randint(1, 6) if rng.random() < 0.5 else 0
        miles = round((ROADS[route] or 0) * 0.53)
        for date in rng.sample(DAYS[1:-1], 2) + [DAYS[0] if len(covered) % 2 else DAYS[-1]]:
            covered.append((*route, date))
            for number in sorted(next(numbers) for _ in range(per_day)):
                minutes, left = round(42 + 0.118 * miles + rng.gauss(0, 12)), rng.randrange(300, 1350)
                times = clock(left), clock(left + minutes), hours_minutes(max(20, minutes), "minutes")
                rows.append((f"F{number}", str(int(miles * rng.uniform(0.2, 0.5))), *times, date, *route, f"{miles}.0"))
    return rows, covered


@pytest.fixture(scope="module")
def known() -> tuple[list[Texts], list[Search]]:
    return known_flights()


def filled(known: tuple[list[Texts], list[Search]], seed: int) -> World:
    flights, dates = fill_flights(*known, ROADS, POSITIONS, seed)
    grounds = [(a, b, "", "" if km is None else f"{km} km") for (a, b), km in ROADS.items()]
    cities = [(city, "S") for city in CITIES]
    return World.in_memory(WorldTables(cities, flights, grounds, [], [], [], covered_searches=known[1], filled_dates=dates))


@pytest.fixture(scope="module")
def world(known: tuple[list[Texts], list[Search]]) -> World:
    return filled(known, 0)


def test_known_answers_stay_as_they_are(world: World, known: tuple[list[Texts], list[Search]]) -> None:
    expected: dict[Search, list[Texts]] = defaultdict(list)
    for row in known[0]:
        expected[row[6], row[7], row[5]].append(row)
    for search in known[1]:
        assert world.flight_texts(*search) == expected[search]
        assert world.flights(*search) is not None


def test_listed_pairs_are_known_on_the_filled_days_and_nothing_else(world: World) -> None:
    assert all(world.flights(*route, date) is not None for route in ROADS for date in (DAYS[0], DAYS[4], DAYS[-1]))
    assert world.flights("City0", "City1", "2022-03-11") is None and world.flights("City0", "City1", "2022-02-28") is None
    assert world.flights("City0", "City0", DAYS[3]) is None and world.flights("City0", "Atlantis", DAYS[3]) is None
    assert world.filled_dates == (DAYS[0], DAYS[-1]) and not world.flights_complete


def test_a_route_is_served_on_all_days_or_on_none_and_both_ways(world: World, known: tuple[list[Texts], list[Search]]) -> None:
    one_way = {(a, b) for a, b, _ in known[1]}
    for a, b in ROADS:
        served = {bool(world.flights(a, b, date)) for date in DAYS}
        assert len(served) == 1
        if (b, a) not in one_way or (a, b) not in one_way:
            assert served == {bool(world.flights(b, a, DAYS[0]))}


def test_filled_flights_follow_what_the_known_ones_show(world: World, known: tuple[list[Texts], list[Search]]) -> None:
    routes = {(a, b) for a, b, _ in known[1]}
    new = [route for route in ROADS if route not in routes and route[::-1] not in routes]
    found = {route: [world.flights(*route, date) or [] for date in DAYS] for route in new}
    rows = [flight for days in found.values() for flights in days for flight in flights]
    ratios = [flight.price_usd / flight.distance_miles for flight in rows if flight.distance_miles > 200]
    assert min(ratios) > 0.19 and max(ratios) < 0.51 and 0.32 < statistics.fmean(ratios) < 0.38
    known_served = statistics.fmean(any((*route, date) == (r[6], r[7], r[5]) for r in known[0]) for *route, date in known[1])
    assert abs(statistics.fmean(any(days) for days in found.values()) - known_served) < 0.12
    known_per_day = len(known[0]) / len({(r[6], r[7], r[5]) for r in known[0]})
    assert abs(statistics.fmean(len(flights) for days in found.values() for flights in days if flights) - known_per_day) < 0.8
    by_length = sorted((flight.distance_miles, int(flight.duration.split()[0]) * 60 + int(flight.duration.split()[2])) for flight in rows)
    third = len(by_length) // 3
    assert statistics.fmean(m for _, m in by_length[:third]) < statistics.fmean(m for _, m in by_length[-third:])


def test_flight_numbers_are_unique_and_look_alike(world: World) -> None:
    numbers = [flight.number for route in ROADS for date in DAYS for flight in world.flights(*route, date) or []]
    assert len(set(numbers)) == len(numbers)
    assert all(len(number) == 8 and number[0] == "F" and number[1:].isdigit() for number in numbers)


def test_the_seed_makes_the_flights(world: World, known: tuple[list[Texts], list[Search]]) -> None:
    assert filled(known, 0).content_hash == world.content_hash
    assert filled(known, 1).content_hash != world.content_hash


def test_too_few_known_searches_are_one_line(known: tuple[list[Texts], list[Search]]) -> None:
    with pytest.raises(UserError, match="at least 20 known searches with flights and 20 without; found 0 and 5"):
        fill_flights([], known[1][:5], ROADS, POSITIONS, 0)

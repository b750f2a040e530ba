"""Flights for the searches nobody knows: they follow the known ones, change none of them, and
cannot be told from them."""

import random
import statistics
from collections import defaultdict
from collections.abc import Sequence
from math import cos, radians

import pytest

from tests.made import flight, made_world
from tests.world.stored_texts import flight_texts
from tripwright.errors import UserError
from tripwright.world.fill import Surroundings, fill_flights, minutes_of_clock, minutes_of_duration
from tripwright.world.geography import (
    KM_PER_MILE,
    Position,
    clock,
    great_circle_km,
    hours_minutes,
    utc_offset_hours,
)
from tripwright.world.records import Flight, Texts
from tripwright.world.store import World

DAYS = [f"2022-03-{day:02d}" for day in range(1, 11)]
CITIES = [f"City{i}" for i in range(30)]
POSITIONS = {
    city: Position(30 + 0.5 * (7 * i % 30), -120 + 1.5 * i) for i, city in enumerate(CITIES)
}
# The clocks are not those of the longitudes: half of the cities near a border keep the other
# side's, as around Boise or Indianapolis.
CLOCKS = {
    city: 60 * (utc_offset_hours(place) + (i % 7 == 3))
    for i, (city, place) in enumerate(POSITIONS.items())
}
ROADS: dict[tuple[str, str], float | None] = {
    (a, b): None if (i + j) % 11 == 0 else great_circle_km(POSITIONS[a], POSITIONS[b]) / 0.85
    for i, a in enumerate(CITIES)
    for j, b in enumerate(CITIES)
    if i != j
}
HEADWIND = 0.012  # minutes per mile to the west, as in the real tables
Search = tuple[str, str, str]
Route = tuple[str, str]


def miles_east(route: Route) -> float:
    a, b = (POSITIONS[city] for city in route)
    return (b.longitude - a.longitude) * 69.1 * cos(radians((a.latitude + b.latitude) / 2))


def known_flights() -> tuple[list[Texts], list[Search]]:
    """60 routes on 3 days each; half of them served, with 1 to 6 flights a day, at 0.2 to 0.5
    dollars a mile; arrivals on local clocks."""
    rng = random.Random(4)
    rows: list[Texts] = []
    covered: list[Search] = []
    numbers = iter(rng.sample(range(3_400_000, 3_500_000), 5000))
    for route in rng.sample([route for route in ROADS if ROADS[route]], 60):
        per_day = rng.randint(1, 6) if rng.random() < 0.5 else 0
        miles = round(great_circle_km(*(POSITIONS[city] for city in route)) / KM_PER_MILE)
        shift, habit = CLOCKS[route[1]] - CLOCKS[route[0]], rng.gauss(0, 9)
        for date in rng.sample(DAYS[1:-1], 2) + [DAYS[0] if len(covered) % 2 else DAYS[-1]]:
            covered.append((*route, date))
            for number in sorted(next(numbers) for _ in range(per_day)):
                flying = 42 + 0.118 * miles - HEADWIND * miles_east(route) + habit
                minutes, left = max(20, round(flying + rng.gauss(0, 8))), rng.randrange(300, 1350)
                times = clock(left), clock(left + minutes + shift), hours_minutes(minutes)
                usd = int(miles * rng.uniform(0.2, 0.5))
                rows.append(flight(f"F{number}", *route, usd, date, times, f"{miles}.0"))
    return rows, covered


@pytest.fixture(scope="module")
def known() -> tuple[list[Texts], list[Search]]:
    return known_flights()


def filled(known: tuple[list[Texts], list[Search]], seed: int) -> World:
    flights, dates = fill_flights(*known, Surroundings(ROADS, POSITIONS, {}), seed)
    grounds = [(a, b, "", "" if km is None else f"{km} km") for (a, b), km in ROADS.items()]
    cities = dict.fromkeys(CITIES, "S")
    return made_world(cities, flights, grounds, covered_searches=known[1], filled_dates=dates)


def flights_of(world: World, *routes: Route, days: Sequence[str] = DAYS) -> list[Flight]:
    return [
        flight for route in routes for date in days for flight in world.flights(*route, date) or []
    ]


@pytest.fixture(scope="module")
def world(known: tuple[list[Texts], list[Search]]) -> World:
    return filled(known, 0)


def test_known_answers_stay_as_they_are(world, known):
    expected: dict[Search, list[Texts]] = defaultdict(list)
    for row in known[0]:
        expected[row[6], row[7], row[5]].append(row)
    for search in known[1]:
        assert flight_texts(world, *search) == expected[search]
        assert world.flights(*search) is not None


def test_listed_pairs_are_known_on_the_filled_days_and_nothing_else(world):
    for date in (DAYS[0], DAYS[4], DAYS[-1]):
        assert all(world.flights(*route, date) is not None for route in ROADS)
    assert world.flights("City0", "City1", "2022-03-11") is None
    assert world.flights("City0", "City1", "2022-02-28") is None
    assert world.flights("City0", "City0", DAYS[3]) is None
    assert world.flights("City0", "Atlantis", DAYS[3]) is None
    assert world.filled_dates == (DAYS[0], DAYS[-1]) and not world.flights_complete


def test_a_route_is_served_on_all_days_or_on_none_and_both_ways(world, known):
    one_way = {(a, b) for a, b, _ in known[1]}
    for a, b in ROADS:
        served = {bool(world.flights(a, b, date)) for date in DAYS}
        assert len(served) == 1
        if (b, a) not in one_way or (a, b) not in one_way:
            assert served == {bool(world.flights(b, a, DAYS[0]))}


def test_filled_flights_follow_what_the_known_ones_show(world, known):
    routes = {(a, b) for a, b, _ in known[1]}
    new = [route for route in ROADS if route not in routes and route[::-1] not in routes]
    found = {route: [world.flights(*route, date) or [] for date in DAYS] for route in new}
    rows = [flight for days in found.values() for flights in days for flight in flights]
    ratios = [row.price_usd / row.distance_miles for row in rows if row.distance_miles > 200]
    assert min(ratios) > 0.19 and max(ratios) < 0.51 and 0.32 < statistics.fmean(ratios) < 0.38
    known_served = statistics.fmean(
        any((*route, date) == (r[6], r[7], r[5]) for r in known[0]) for *route, date in known[1]
    )
    assert abs(statistics.fmean(any(days) for days in found.values()) - known_served) < 0.12
    known_per_day = len(known[0]) / len({(r[6], r[7], r[5]) for r in known[0]})
    served = [len(flights) for days in found.values() for flights in days if flights]
    per_day = statistics.fmean(served)
    assert abs(per_day - known_per_day) < 0.8
    by_length = sorted((f.distance_miles, minutes_of_duration(f.duration)) for f in rows)
    third = len(by_length) // 3
    parts = (by_length[:third], by_length[-third:])
    shortest, longest = (statistics.fmean(minutes for _, minutes in part) for part in parts)
    assert shortest < longest


def shift(flight: Flight) -> int:
    """Of the clock between departure and arrival, in minutes."""
    left, arrived = map(minutes_of_clock, (flight.departure_time, flight.arrival_time))
    return (arrived - left - minutes_of_duration(flight.duration) + 720) % 1440 - 720


def served_routes(known: tuple[list[Texts], list[Search]]) -> list[Route]:
    return sorted({(row[6], row[7]) for row in known[0]})


def joined_cities(known: tuple[list[Texts], list[Search]]) -> set[str]:
    """Those that known flights join, directly or by way of others."""
    joined, before = {served_routes(known)[0][0]}, 0
    while len(joined) > before:
        before = len(joined)
        joined |= {city for route in served_routes(known) if joined & set(route) for city in route}
    return joined


def test_a_known_route_keeps_its_clocks_and_lengths_on_filled_days_and_both_ways(world, known):
    wrong_by_the_map = 0
    for a, b in served_routes(known):
        ahead = CLOCKS[b] - CLOCKS[a]
        there, back = flights_of(world, (a, b)), flights_of(world, (b, a))
        assert {shift(flight) for flight in there} == {ahead}
        assert not back or {shift(flight) for flight in back} == {-ahead}
        assert len({flight.distance_miles for flight in [*there, *back]}) == 1
        here, there_hours = (utc_offset_hours(POSITIONS[city]) for city in (a, b))
        wrong_by_the_map += ahead != 60 * (there_hours - here)
    assert wrong_by_the_map >= 5  # or the longitude alone would have done


def test_cities_that_known_routes_join_keep_their_clocks_on_routes_that_nobody_knew(world, known):
    covered = {(a, b) for a, b, _ in known[1]}
    joined = joined_cities(known)
    within = [route for route in ROADS if set(route) <= joined]
    new = [route for route in within if not {route, route[::-1]} & covered]
    found = [(route, flight) for route in new for flight in world.flights(*route, DAYS[2]) or []]
    assert len(joined) > 20 and len(found) > 100
    assert all(shift(flight) == CLOCKS[b] - CLOCKS[a] for (a, b), flight in found)


def test_durations_keep_the_winds_and_each_routes_own_habit(world, known):
    def beyond(flight: Flight) -> float:
        return minutes_of_duration(flight.duration) - 42 - 0.118 * flight.distance_miles

    covered = set(known[1])
    west, east, habits = list[float](), list[float](), []
    for route in ROADS:
        known_days = [date for date in DAYS if (*route, date) in covered]
        filled = flights_of(world, route, days=sorted({*DAYS} - {*known_days}))
        (west if miles_east(route) < 0 else east).extend(map(beyond, filled))
        days = flights_of(world, route, days=known_days)
        if len(days) >= 6:
            habits.append([statistics.fmean(map(beyond, each)) for each in (days, filled)])
    expected = 2 * HEADWIND * statistics.fmean(abs(miles_east(route)) for route in ROADS)
    assert abs(statistics.fmean(west) - statistics.fmean(east) - expected) < 0.35 * expected
    assert len(habits) > 10 and statistics.fmean(abs(a - b) for a, b in habits) < 5
    assert statistics.correlation(*zip(*habits, strict=True)) > 0.8


def test_a_city_in_the_wrong_place_on_the_map_gets_its_clock_from_its_roads(known):
    rows, searches = ([each for each in part if "City29" not in each] for part in known)
    lonely = rows, searches
    seattle = POSITIONS | {"City29": Position(47.6, -122.3)}
    flights, _ = fill_flights(*lonely, Surroundings(ROADS, seattle, {}), 0)
    there = [row for row in flights if row[7] == "City29"]
    found = [Flight(row[0], float(row[1]), *row[2:8], float(row[8])) for row in there]
    assert found
    for each in found:
        km = great_circle_km(POSITIONS[each.origin], POSITIONS["City29"])
        assert abs(each.distance_miles * KM_PER_MILE / km - 1) < 0.1
    joined = [flight for flight in found if flight.origin in joined_cities(lonely)]
    assert len(joined) > 50
    assert all(shift(flight) == CLOCKS["City29"] - CLOCKS[flight.origin] for flight in joined)


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        (2, "noon", "departures and arrivals read like '08:05'; found 'noon'"),
        (4, "long", "durations read like .*; found 'long'"),
        (0, "F", "numbers end in digits"),
    ],
)
def test_known_flights_that_cannot_be_read_are_one_line(known, column, text, expected):
    row = (*known[0][0][:column], text, *known[0][0][column + 1 :])
    with pytest.raises(UserError, match=expected):
        fill_flights([row, *known[0][1:]], known[1], Surroundings(ROADS, POSITIONS, {}), 0)


def test_learning_from_four_times_the_searches_takes_about_four_times_the_comparisons():
    def comparisons(routes: int) -> int:
        compared = 0

        class City(str):
            __hash__ = str.__hash__

            def __eq__(self, other: object) -> bool:
                nonlocal compared
                compared += 1
                return str.__eq__(self, other)

        pairs = [(City(f"A{i}"), City(f"B{i}")) for i in range(routes)]
        times = ("08:00", "09:00", "1 hours 0 minutes")
        known = [(f"F{i + 1}", "90", *times, DAYS[0], *pair, "200") for i, pair in enumerate(pairs)]
        covered = [(*pair, day) for pair in pairs for day in DAYS[:2]]
        list(fill_flights(known, covered, Surroundings({}, {}, {}), 0)[0])
        return compared

    assert comparisons(400) < 7 * comparisons(100)


def test_flight_numbers_are_unique_and_look_alike(world):
    numbers = [flight.number for flight in flights_of(world, *ROADS)]
    assert len(set(numbers)) == len(numbers)
    assert all(len(number) == 8 and number[0] == "F" and number[1:].isdigit() for number in numbers)


def test_the_seed_makes_the_flights(world, known):
    assert filled(known, 0).content_hash == world.content_hash
    assert filled(known, 1).content_hash != world.content_hash


def test_too_few_known_searches_are_one_line(known):
    with pytest.raises(UserError, match="at least 20 known searches with flights and 20 without"):
        fill_flights([], known[1][:5], Surroundings(ROADS, POSITIONS, {}), 0)

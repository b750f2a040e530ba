"""The clocks at both ends: what known flights show comes first, and daylight saving is not
forgotten."""

from collections import Counter

import pytest

from tripwright.world.geography import Clock, Clocks, Position, clock_of, saving_minutes

WINTER, SUMMER = "2022-03-12", "2022-03-13"


@pytest.mark.parametrize(
    ("state", "place", "hours", "saves"),
    [
        # Boise lies west of many places with Pacific time
        ("Idaho", Position(43.6, -116.2), -7, True),
        ("Idaho", Position(46.4, -117.0), -8, True),
        ("Indiana", Position(41.7, -86.25), -5, True),
        ("Texas", Position(31.8, -106.5), -7, True),
        ("Texas", Position(35.2, -101.8), -6, True),
        ("Arizona", Position(33.5, -112.0), -7, False),
        ("Washington", Position(38.9, -77.0), -5, True),  # the state of another city of the name
        ("North Dakota", None, -6, True),
        ("St. Thomas", Position(18.3, -65.0), -4, False),
    ],
)
def test_state_and_map_together_give_the_clock(state, place, hours, saves):
    assert clock_of(state, place) == Clock(60 * hours, saves)


def test_a_place_that_nothing_tells_has_no_clock():
    assert clock_of(None, None) is None and clock_of("Tuscany", None) is None


def test_daylight_is_saved_from_the_second_sunday_of_march_to_the_first_of_november():
    assert [
        saving_minutes(date) for date in (WINTER, SUMMER, "2022-11-05", "2022-11-06", "2023-03-12")
    ] == [0, 60, 60, 0, 60]


def test_known_flights_outweigh_the_map_either_way_and_for_the_cities_they_join():
    # C, in truth, is two hours further east
    by_map = {"A": Clock(-480), "B": Clock(-480), "C": Clock(-480), "D": Clock(-360)}
    clocks = Clocks(
        {("A", "C", SUMMER): Counter({120: 5, 60: 1}), ("B", "A", WINTER): Counter({0: 2})}, by_map
    )
    assert clocks.shift_minutes("A", "C", WINTER) == 120
    assert clocks.shift_minutes("C", "A", SUMMER) == -120
    assert clocks.shift_minutes("B", "C", SUMMER) == 120
    assert clocks.shift_minutes("C", "D", SUMMER) == 0
    assert clocks.shift_minutes("B", "D", SUMMER) == 120
    assert clocks.shift_minutes("A", "Atlantis", SUMMER) == 0


def test_a_shift_to_a_place_without_daylight_saving_changes_with_the_day():
    clocks = Clocks(
        {("P", "E", WINTER): Counter({0: 1})},
        {"P": Clock(-420, False), "E": Clock(-420), "X": Clock(-420)},
    )
    assert [clocks.shift_minutes("P", "E", date) for date in (WINTER, SUMMER)] == [0, 60]
    assert [clocks.shift_minutes("X", "P", date) for date in (WINTER, SUMMER)] == [0, -60]
    assert clocks.shift_minutes("X", "E", SUMMER) == 0

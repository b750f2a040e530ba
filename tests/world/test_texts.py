"""Lengths, durations and names as the tables write them and as people mistype them."""

import pytest

from tripwright.world.records import duration_minutes, nearest_name, road_distance_km

CITIES = ("Boston", "Salem", "Rockford", "Orford")


@pytest.mark.parametrize(
    ("text", "minutes"),
    [
        ("2 hours 31 minutes", 151),
        ("1 hours 0 minutes", 60),
        ("45 mins", 45),
        ("1 min", 1),
        ("1 day 3 hours", 1620),
        (" 2 hours ", 120),
        *((no, None) for no in ("", "soon", "2 hours and a bit", "-5 mins", "hours")),
    ],
)
def test_durations(text, minutes):
    assert duration_minutes(text) == minutes


@pytest.mark.parametrize(
    ("text", "km"),
    [
        ("1,118 km", 1118.0),
        ("25.9 km", 25.9),
        *((no, None) for no in ("", "12 miles", "km", "-3 km")),
    ],
)
def test_lengths(text, km):
    assert road_distance_km(text) == km


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("Bostn", "Boston"),
        ("boston", "Boston"),
        ("Rockford(Illinois)", "Rockford"),
        ("rockford, IL", "Rockford"),
        ("Paris", None),
        ("", None),
        ("Boston" * 20, None),
    ],
)
def test_the_name_that_was_meant(said, meant):
    assert nearest_name(said, CITIES) == meant

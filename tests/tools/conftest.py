"""A world of four cities small enough to check every answer by eye."""

import pytest

from tripwright.world.records import WorldTables
from tripwright.world.store import World


def rows(text: str) -> list[tuple[str, ...]]:
    """Of a table: a row on each line, values between bars."""
    return [tuple(value.strip() for value in line.split("|")) for line in text.strip().splitlines()]


def calls_in(text: str) -> list[tuple[str, str, str]]:
    """(tool, JSON of its arguments, answer) of each call: ">>> tool arguments", and below it what
    is said."""
    return [
        (*call.partition("\n")[0].split(" ", 1), call.partition("\n")[2].removesuffix("\n"))
        for call in text.split(">>> ")[1:]
    ]


@pytest.fixture
def world() -> World:
    return World.in_memory(
        WorldTables(
            cities=rows("""
                Boston   | Massachusetts
                Salem    | Massachusetts
                Rockford | Illinois
                Tampa    | Florida
            """),
            flights=rows("""
                F2 | 120.0 | 10:00 | 12:05 | 2 hours 5 minutes  | 2022-03-16 | Boston | Rockford | 850.0
                F1 | 88    | 06:10 | 08:20 | 2 hours 10 minutes | 2022-03-16 | Boston | Rockford | 850.0
                F3 | 88.5  | 20:00 | 22:00 | 2 hours 0 minutes  | 2022-03-16 | Boston | Rockford | 850.0
            """),  # noqa: E501
            grounds=rows("""
                Boston   | Rockford | 16 hours 1 min | 1,118 km
                Rockford | Boston   | 1 day 2 hours  | 2,000 km
                Boston   | Tampa    |                |
                Boston   | Salem    | 26 mins        | 25.9 km
            """),
            restaurants=rows("""
                Dear Café | Boston | Tea, Indian | 50 | 4.8
                Cheap "A" | Boston | Pizza       | 12 | 3.9
                Cheap B   | Boston | BBQ         | 12 | 2.0
            """),
            attractions=rows("""
                Old Park | 42.1 | -71.0 | 1 Main St, Boston | (617) 1 | https://park.example | Boston
            """),  # noqa: E501
            accommodations=rows("""
                Loft | Entire home/apt | 548.0 | 2.0 | 5.0 | No children under 10 & No parties | 2 | Boston
                Nook | Private room    | 131.5 | 1.0 | 2.0 | No smoking                        | 1 | Boston
            """),  # noqa: E501
        )
    )

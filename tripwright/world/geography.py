"""Where cities lie: distances over the sphere and the clock that a place goes by."""

from __future__ import annotations

import math
from typing import NamedTuple

EARTH_RADIUS_KM = 6371.0
KM_PER_MILE = 1.609344


class Position(NamedTuple):
    latitude: float  # degrees north
    longitude: float  # degrees east


def great_circle_km(a: Position, b: Position) -> float:
    """The haversine formula."""
    latitude_a, latitude_b = math.radians(a.latitude), math.radians(b.latitude)
    north = math.sin((latitude_b - latitude_a) / 2) ** 2
    east = math.sin(math.radians(b.longitude - a.longitude) / 2) ** 2
    return (
        2
        * EARTH_RADIUS_KM
        * math.asin(math.sqrt(min(1.0, north + math.cos(latitude_a) * math.cos(latitude_b) * east)))
    )


def utc_offset_hours(place: Position) -> int:
    """The offset of the time zone that most places of the United States at this longitude keep in
    March (daylight saving apart)."""
    for western_edge, offset in (
        (-67.5, -4),
        (-85.5, -5),
        (-101.0, -6),
        (-114.0, -7),
        (-130.0, -8),
        (-150.5, -9),
    ):
        if place.longitude > western_edge:
            return offset
    return -10


def clock(minutes: int) -> str:
    """Minutes after midnight as HH:MM, past midnight on the next day's clock."""
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def hours_minutes(minutes: float, minute_word: str) -> str:
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} hours {rest} {minute_word}"

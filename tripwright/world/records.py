"""What a world knows, as records (row T1): numbers are parsed, every other value is the text it
came with. Also what such texts say: lengths and durations of roads, minutes of flights, and which
place a misspelt name means."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, NamedTuple


class Flight(NamedTuple):
    number: str
    price_usd: float  # per person
    departure_time: str
    arrival_time: str
    duration: str
    date: str
    origin: str
    destination: str
    distance_miles: float


class Ground(NamedTuple):
    """A road connection. Missing values are empty text, whatever word the source has for them."""

    origin: str
    destination: str
    duration: str
    distance: str


class Restaurant(NamedTuple):
    name: str
    city: str
    cuisines: str
    average_cost_usd: float  # per person and meal
    rating: float


class Attraction(NamedTuple):
    name: str
    latitude: str
    longitude: str
    address: str
    phone: str
    website: str
    city: str


class Accommodation(NamedTuple):
    name: str
    room_type: str
    price_usd: float  # per room and night
    minimum_nights: float
    rating: float
    house_rules: str
    maximum_occupancy: int
    city: str


# What pandas reads as a missing value, and the official code (row T1) therefore drops.
MISSING = frozenset(
    (
        "#N/A #NA -1.#IND -1.#QNAN -NaN -nan 1.#IND 1.#QNAN <NA> N/A NA NULL NaN None n/a nan null"
    ).split()
) | {"", "#N/A N/A"}

Texts = tuple[str, ...]  # one row as the source wrote it, in the field order of its record


@dataclass
class WorldTables:
    """Rows to be written, as texts in the field order of the records above. The iterables may be
    streams: each is read once."""

    cities: Sequence[tuple[str, str]]  # (city, state)
    flights: Iterable[Texts]
    grounds: Iterable[Texts]
    restaurants: Iterable[Texts]
    attractions: Iterable[Texts]
    accommodations: Iterable[Texts]
    covered_searches: Iterable[tuple[str, str, str]] | None = None  # None: every search is known
    # first and last day on which every pair of the road table is known too
    filled_dates: tuple[str, str] | None = None
    # flights come by origin, destination and date: a large table then needs no sorting
    flights_sorted: bool = False
    # goes into the manifest: name, seed, source
    about: dict[str, Any] = field(default_factory=dict)


LONGEST_NAME = 60  # characters: a longer text is nobody's spelling of a place

_UNIT_MINUTES = {"day": 1440, "hour": 60, "min": 1}


def road_distance_km(text: str) -> float | None:
    """Kilometres of a source text such as "1,118 km"; None where it is no such text."""
    match = re.fullmatch(r"([0-9][0-9,]*(?:\.[0-9]+)?)\s*km", text.strip())
    return float(match.group(1).replace(",", "")) if match else None


def duration_minutes(text: str) -> int | None:
    """Minutes of "2 hours 31 minutes", "45 mins" or "1 day 3 hours"; None where it is no such
    text."""
    if not re.fullmatch(r"\s*(?:[0-9]+\s*(?:day|hour|min(?:ute)?)s?\s*)+", text):
        return None
    return sum(
        int(count) * _UNIT_MINUTES[unit]
        for count, unit in re.findall(r"([0-9]+)\s*(day|hour|min)", text)
    )


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A hint behind a name that nobody knows; empty where none is near."""
    near = nearest_name(name, tuple(names))
    return f" Did you mean {near!r}?" if near else ""


# most of a millisecond for the cities of the real world, and models make the same mistakes
@lru_cache(4096)
def nearest_name(name: str, names: tuple[str, ...]) -> str | None:
    """The known name that was probably meant; None where none is near."""
    if len(name) > LONGEST_NAME:  # difflib is quadratic
        return None
    plain = re.split(r"[(,]", name)[0].strip().casefold()  # "Rockford(Illinois)", "rockford, IL"
    # a slip of the pen leaves one of them, and comparing with every place of a world takes
    # milliseconds
    ends = plain[:1], plain[-1:]
    folded = {
        place.casefold(): place
        for place in names
        if place[:1].casefold() == ends[0] or place[-1:].casefold() == ends[1]
    }
    near = difflib.get_close_matches(plain, folded, n=1, cutoff=0.6)
    return folded[near[0]] if near else None

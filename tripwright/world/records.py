"""What a world knows, as records (row T1): numbers are parsed, every other value is the text it
came with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
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
        "",
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
    )
    + ("N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
)

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

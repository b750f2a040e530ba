"""Restaurants, sights and places to stay. Each city has its own dice, so that no row depends on how
many rows other cities have."""

from __future__ import annotations

import random
from collections.abc import Iterator

from tripwright.world.generator.names import (
    ACCOMMODATION_NOUNS,
    ATTRACTION_NOUNS,
    RESTAURANT_NOUNS,
    Namer,
)
from tripwright.world.generator.scales import (
    CUISINES,
    HOUSE_RULES,
    OTHER_DISHES,
    Meals,
    RowCounts,
    Span,
    Stays,
    Weights,
)
from tripwright.world.geography import Position
from tripwright.world.records import Texts


def rows_per_city(rows: RowCounts, cities: int, rng: random.Random) -> list[int]:
    """How many rows each city gets: near the middle of the span, and exactly `total` in all where
    one is asked for."""
    low, high = rows.per_city
    empty = set(rng.sample(range(cities), round(rows.cities_without * cities)))
    counts = [
        0 if city in empty else round(sum(rng.uniform(low, high) for _ in range(2)) / 2)
        for city in range(cities)
    ]
    served = [city for city in range(cities) if city not in empty]
    while rows.total is not None and (excess := sum(counts) - rows.total):
        city = rng.choice(served)
        if excess < 0 and counts[city] < high or excess > 0 and counts[city] > low:
            counts[city] += -1 if excess > 0 else 1
    return counts


def restaurants(
    city: str, count: int, law: Meals, rng: random.Random, namer: Namer
) -> Iterator[Texts]:
    for name in namer.places(RESTAURANT_NOUNS, count):
        dishes = rng.sample(CUISINES, int(draw(law.cuisines, rng))) + rng.sample(
            OTHER_DISHES, int(draw(law.others, rng))
        )
        rng.shuffle(dishes)
        yield (
            name,
            city,
            ", ".join(dishes),
            str(rng.randint(*law.usd)),
            f"{draw(law.ratings, rng):.1f}",
        )


def attractions(
    city: str, count: int, position: Position, rng: random.Random, namer: Namer
) -> Iterator[Texts]:
    for name in namer.places(ATTRACTION_NOUNS, count):
        latitude, longitude = (f"{degrees + rng.uniform(-0.08, 0.08):.5f}" for degrees in position)
        slug = name.lower().replace(" ", "-")
        phone = (
            "Unknown"
            if rng.random() < 0.21
            else f"({rng.randint(201, 989)}) {rng.randint(200, 999)}-{rng.randint(0, 9999):04d}"
        )
        yield (
            name,
            latitude,
            longitude,
            f"{rng.randint(1, 999)} {namer.proper()} St, {city}",
            phone,
            f"https://{slug}.example",
            city,
        )


def accommodations(
    city: str, count: int, law: Stays, rng: random.Random, namer: Namer
) -> Iterator[Texts]:
    for name in namer.places(ACCOMMODATION_NOUNS, count):
        room = rng.choices(tuple(law.rooms), tuple(law.rooms.values()))[0]
        price, nights = _price_and_nights(law, rng)
        people = int(draw(law.occupancy[room], rng))
        rules = " & ".join(
            rng.sample(HOUSE_RULES, rng.choices(range(1, len(law.rules) + 1), law.rules)[0])
        )
        yield (
            name,
            room,
            f"{price}.0",
            f"{nights}.0",
            f"{draw(law.ratings, rng):.1f}",
            rules,
            str(people),
            city,
        )


def _price_and_nights(law: Stays, rng: random.Random) -> tuple[int, int]:
    if not law.long_stay_by_price:
        return rng.randint(*law.usd), int(draw(law.nights, rng))
    quality = rng.random()
    price = int(_between(law.usd, 0.85 * quality + 0.15 * rng.random()))
    long_stay = rng.random() < 0.97 - 0.7 * quality  # weekly and monthly lets are the cheap ones
    return price, int(draw(law.nights, rng)) if long_stay else rng.choice((1, 2))


def _between(span: Span, share: float) -> float:
    return span[0] + share * (span[1] - span[0])


def draw(weights: Weights, rng: random.Random) -> float:
    return rng.choices(*weights)[0]

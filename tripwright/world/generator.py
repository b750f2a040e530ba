"""Generated worlds: closed, self-consistent, seeded, with the official columns and the official kinds of trap.

Traps, on purpose: city pairs without a road (missing, or more than a day away), pairs and days without flights, hotels whose low
price hides a long minimum stay, house rules that forbid what the traveller brings, rooms too small for the party, cuisines that
only a dear restaurant serves. Distances obey a flat geography, so prices and durations are consistent with each other.
"""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tripwright.errors import UserError
from tripwright.world import names
from tripwright.world.store import World, WorldTables, write_world

CUISINES = ("Chinese", "American", "Italian", "Mexican", "Indian", "Mediterranean", "French")
OTHER_DISHES = ("Tea", "BBQ", "Seafood", "Cafe", "Desserts", "Pizza", "Fast Food", "Bakery")
HOUSE_RULES = ("No parties", "No smoking", "No children under 10", "No pets", "No visitors")


@dataclass(frozen=True)
class Scale:
    """Sizes of a generated world. Ranges are inclusive (low, high) per city or per route and day."""

    states: int
    cities_per_state: int
    restaurants: tuple[int, int]
    attractions: tuple[int, int]
    accommodations: tuple[int, int]
    flights_per_day: tuple[int, int]
    first_date: str
    days: int


SCALES = {
    "nano": Scale(
        states=6,
        cities_per_state=4,
        restaurants=(6, 9),
        attractions=(2, 4),
        accommodations=(7, 9),
        flights_per_day=(0, 4),
        first_date="2022-03-01",
        days=14,
    ),
}

MAP_WIDTH_KM, MAP_HEIGHT_KM = 3800.0, 2200.0
ROAD_DETOUR = 1.2  # road km per straight km
NO_ROAD_SHARE = 0.12
NO_FLIGHT_ROUTE_SHARE = 0.2


def build_tables(scale: str, seed: int) -> WorldTables:
    """All rows of the world (scale, seed). Deterministic. Raises UserError for an unknown scale."""
    if scale not in SCALES:
        raise UserError(f"Unknown scale '{scale}'. Accepted: {', '.join(SCALES)}.")
    size = SCALES[scale]
    rng = random.Random(f"tripwright-world-{scale}-{seed}")
    namer = names.Namer(rng)
    cities, position = _geography(size, rng, namer)
    order = [city for city, _ in cities]
    rng.shuffle(order)
    return WorldTables(
        cities=cities,
        flights=list(_flights(size, rng, order, position)),
        grounds=list(_grounds(rng, order, position)),
        restaurants=[row for city in order for row in _restaurants(size, rng, namer, city)],
        attractions=[row for city in order for row in _attractions(size, rng, namer, city)],
        accommodations=[row for city in order for row in _accommodations(size, rng, namer, city)],
        about={"name": f"{scale}-{seed}", "made_by": "generator", "scale": scale, "seed": seed},
    )


def build_world(folder: str | Path, scale: str, seed: int) -> World:
    """Writes the world to a folder; see `write_world` for atomicity."""
    return write_world(folder, build_tables(scale, seed))


Position = dict[str, tuple[float, float]]


def _geography(size: Scale, rng: random.Random, namer: names.Namer) -> tuple[list[tuple[str, str]], Position]:
    cities, position = [], {}
    for _ in range(size.states):
        state = namer.state()
        centre = rng.uniform(0, MAP_WIDTH_KM), rng.uniform(0, MAP_HEIGHT_KM)
        for _ in range(size.cities_per_state):
            city = namer.city()
            cities.append((city, state))
            position[city] = centre[0] + rng.uniform(-220, 220), centre[1] + rng.uniform(-220, 220)
    rng.shuffle(cities)
    return cities, position


def _km(position: Position, a: str, b: str) -> float:
    return max(40.0, math.dist(position[a], position[b]))


def _pairs(order: list[str]) -> Iterator[tuple[str, str]]:
    for a in order:
        for b in order:
            if a != b:
                yield a, b


def _hours_minutes(minutes: float, minute_word: str) -> str:
    hours, rest = divmod(round(minutes), 60)
    return f"{hours} hours {rest} {minute_word}"


def _grounds(rng: random.Random, order: list[str], position: Position) -> Iterator[tuple[str, ...]]:
    roadless = {frozenset(pair) for pair in _pairs(order) if rng.random() < NO_ROAD_SHARE / 2}
    for a, b in _pairs(order):
        if frozenset((a, b)) in roadless:
            yield a, b, "", ""  # as in the official table: the pair is listed, its values are not
            continue
        km = _km(position, a, b) * ROAD_DETOUR * rng.uniform(0.99, 1.01)
        minutes = km / 98 * 60
        if minutes >= 24 * 60:
            days, rest = divmod(minutes, 24 * 60)
            duration = f"{days:.0f} day {rest // 60:.0f} hours"
        else:
            duration = _hours_minutes(minutes, "mins")
        yield a, b, duration, f"{round(km):,} km"


def _flights(size: Scale, rng: random.Random, order: list[str], position: Position) -> Iterator[tuple[str, ...]]:
    first = datetime.date.fromisoformat(size.first_date)
    dates = [(first + datetime.timedelta(days=i)).isoformat() for i in range(size.days)]
    unserved = {frozenset(pair) for pair in _pairs(order) if rng.random() < NO_FLIGHT_ROUTE_SHARE / 2}
    taken: set[int] = set()
    for a, b in _pairs(order):
        if frozenset((a, b)) in unserved:
            continue
        km = _km(position, a, b)
        base_usd, minutes = 35 + 0.085 * km, 35 + km / 13
        for date in dates:
            for _ in range(rng.randint(*size.flights_per_day)):
                number = rng.randrange(10_000, 100_000)
                while number in taken:
                    number += 1
                taken.add(number)
                price, leave, air = (
                    int(base_usd * rng.uniform(0.7, 1.6)),
                    rng.randrange(5 * 60, 21 * 60),
                    int(minutes * rng.uniform(0.95, 1.1)),
                )
                times = _clock(leave), _clock(leave + air), _hours_minutes(air, "minutes")
                yield f"F{number}", str(price), *times, date, a, b, f"{km / 1.609:.1f}"


def _clock(minutes: int) -> str:
    return f"{minutes // 60 % 24:02d}:{minutes % 60:02d}"


def _restaurants(size: Scale, rng: random.Random, namer: names.Namer, city: str) -> Iterator[tuple[str, ...]]:
    for _ in range(rng.randint(*size.restaurants)):
        wanted = rng.sample(CUISINES, rng.choice((1, 1, 2)))
        dishes = [*wanted, *rng.sample(OTHER_DISHES, rng.choice((0, 1, 1)))]
        rng.shuffle(dishes)
        yield namer.place(names.RESTAURANT_NOUNS), city, ", ".join(dishes), str(rng.randint(10, 99)), f"{rng.uniform(2, 5):.1f}"


def _attractions(size: Scale, rng: random.Random, namer: names.Namer, city: str) -> Iterator[tuple[str, ...]]:
    for _ in range(rng.randint(*size.attractions)):
        name = namer.place(names.ATTRACTION_NOUNS)
        latitude, longitude = f"{rng.uniform(25, 48):.5f}", f"{rng.uniform(-122, -70):.5f}"
        slug = name.lower().replace(" ", "-")
        yield name, latitude, longitude, f"{rng.randint(1, 999)} {namer.proper()} St, {city}", "Unknown", f"https://{slug}.example", city


def _accommodations(size: Scale, rng: random.Random, namer: names.Namer, city: str) -> Iterator[tuple[str, ...]]:
    for _ in range(rng.randint(*size.accommodations)):
        quality = rng.random()
        price = int(45 + 330 * quality + rng.uniform(0, 60))
        long_stay = rng.random() < 0.97 - 0.7 * quality  # weekly and monthly lets are the cheap ones
        nights = rng.choice((3, 3, 4, 5, 7, 14, 30)) if long_stay else rng.choice((1, 2))
        room = rng.choices(("Entire home/apt", "Private room", "Shared room"), (0.5, 0.4, 0.1))[0]
        people = rng.choices(range(1, 9), (0.14, 0.36, 0.14, 0.12, 0.06, 0.06, 0.06, 0.06))[0]
        rules = " & ".join(rng.sample(HOUSE_RULES, rng.choice((1, 1, 2))))
        yield (
            namer.place(names.ACCOMMODATION_NOUNS), room, f"{price}.0", f"{nights}.0", f"{rng.randint(2, 5)}.0", rules, str(people), city,
        )  # fmt: skip

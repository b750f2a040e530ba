"""Generated worlds: closed, self-consistent, seeded. Sizes and laws are data (`scales.py`).

Names are made of two or three syllables, so that a few dozen parts give hundreds of thousands of
them: far more than any training run sees, so that they must be copied from tool answers and cannot
be remembered. Distances obey the sphere; prices and durations obey the distances. Each city and
each pair of cities has its own dice, so that no row depends on how many rows other cities have, and
a change to one route changes no other."""

from __future__ import annotations

import datetime
import math
import random
from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_uppercase

from tripwright.errors import UserError, counted, named
from tripwright.world import geography, scales
from tripwright.world.records import Texts, WorldTables
from tripwright.world.store import Report, World, check_target, write_world

ONSETS = (
    "Ash Bal Bram Bren Cal Cass Cor Dal Del Dor Dun El Fair Fen Gar Glen Had Hal Har Hol Is Jas Kel"
    " Ken Lan Lark Lin Lor Mal Mar Mel Mor Nel Nor Oak Or Pel Per Quin Rad Ren Ros Row San Sel Shel"
    " Sil Stan Tal Tam Thor Tor Val Ven Ver Vin Wal West Win Wyn Yar Zan"
).split()
MIDDLES = "a an ar e el en er i in is o ol on or u".split()
ENDINGS = (
    "bay beck berg bourne bridge brook burgh bury by cliff combe cross dale den don fall field ford"
    " gate grove ham haven hurst land leigh ley low marsh mere mont moor ness port ridge shaw stead"
    " stow ton vale ville wick worth"
).split()
STATE_ENDINGS = "ania avia elia enia eria inia oria osa otia una".split()
RESTAURANT_NOUNS = (
    "Bistro Brasserie Buffet Cafe Canteen Cantina Diner Eatery Garden Grill House Kitchen Larder"
    " Oven Pantry Place Plate Room Smokehouse Spoon Table Tavern Terrace Trattoria"
).split()
ACCOMMODATION_NOUNS = (
    "Apartment Attic Bungalow Cabin Cottage Den Flat Getaway Hideaway Home Inn Lodge Loft Nest Nook"
    " Quarters Rest Retreat Studio Suite Villa Yard"
).split()
ATTRACTION_NOUNS = (
    "Aquarium Arboretum Castle Cathedral Falls Gallery Gardens Hall Harbor Lake Market Memorial"
    " Museum Observatory Palace Park Pier Plaza Reserve Square Theater Tower Trail Zoo"
).split()


class Namer:
    """Draws names that are unique within one world, none contained in another of its kind (the
    official look-up is by substring). `few`: how many onsets, middles and endings there are to
    make them of; None: all."""

    def __init__(self, rng: random.Random, few: tuple[int, int, int] | None = None):
        self._rng = rng
        self._taken: set[str] = set()
        parts = ONSETS, MIDDLES, ENDINGS
        self._onsets, self._middles, self._endings = (
            map(rng.sample, parts, few) if few is not None else parts
        )

    def proper(self) -> str:
        middle = self._rng.choice(self._middles) if self._rng.random() < 0.5 else ""
        return self._rng.choice(self._onsets) + middle + self._rng.choice(self._endings)

    def state(self) -> str:
        return self._rng.choice(ONSETS) + self._rng.choice(STATE_ENDINGS)

    def places(self, nouns: list[str], count: int) -> list[str]:
        """Names of one city's places of one kind, a proper name and a noun each: `Brenwick
        Grill`."""
        return self.apart(lambda: f"{self.proper()} {self._rng.choice(nouns)}", count)

    def apart(self, draw: Callable[[], str], count: int) -> list[str]:
        names: list[str] = []
        while len(names) < count:
            name = draw()
            if name not in self._taken and not any(
                name in other or other in name for other in names
            ):
                self._taken.add(name)
                names.append(name)
        return names


def rows_per_city(rows: scales.RowCounts, cities: int, rng: random.Random) -> list[int]:
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
    city: str, count: int, law: scales.Meals, rng: random.Random, namer: Namer
) -> Iterator[Texts]:
    for name in namer.places(RESTAURANT_NOUNS, count):
        dishes = rng.sample(scales.CUISINES, int(draw(law.cuisines, rng))) + rng.sample(
            scales.OTHER_DISHES, int(draw(law.others, rng))
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
    city: str, count: int, position: geography.Position, rng: random.Random, namer: Namer
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
    city: str, count: int, law: scales.Stays, rng: random.Random, namer: Namer
) -> Iterator[Texts]:
    for name in namer.places(ACCOMMODATION_NOUNS, count):
        room = rng.choices(tuple(law.rooms), tuple(law.rooms.values()))[0]
        low, high = law.usd
        if law.long_stay_by_price:
            quality = rng.random()
            price = int(low + (0.85 * quality + 0.15 * rng.random()) * (high - low))
            # weekly and monthly lets are the cheap ones
            long_stay = rng.random() < 0.97 - 0.7 * quality
        else:
            price, long_stay = rng.randint(low, high), True
        nights = int(draw(law.nights, rng)) if long_stay else rng.choice((1, 2))
        people = int(draw(law.occupancy[room], rng))
        rules = " & ".join(
            rng.sample(scales.HOUSE_RULES, rng.choices(range(1, len(law.rules) + 1), law.rules)[0])
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


def draw(weights: scales.Weights, rng: random.Random) -> float:
    return rng.choices(*weights)[0]


ROAD_DETOUR = 1.18  # road km per straight km: the median of the real table; so are the speeds below
SHORTEST_KM = 40.0
Pair = tuple[int, int]  # indices of two cities


@dataclass(frozen=True)
class Map:
    """The cities of a world in the order of its tables."""

    names: Sequence[str]
    states: Sequence[str]
    positions: Sequence[geography.Position]
    key: str  # names the world: all dice are made from it

    def km(self, a: int, b: int) -> float:
        return max(SHORTEST_KM, geography.great_circle_km(self.positions[a], self.positions[b]))

    def dice(self, what: str, a: int, b: int, both_ways: bool = False) -> random.Random:
        first, second = sorted((a, b)) if both_ways else (a, b)
        return random.Random(f"{self.key}/{what}/{first}/{second}")


def listed_pairs(cities: Map, pair_count: int | None, rng: random.Random) -> list[Pair]:
    """The ordered pairs of the road table, sorted. With a number wanted: those within a state, then
    whole states as seen from one city."""
    count = len(cities.names)
    everything = [(a, b) for a in range(count) for b in range(count) if a != b]
    if pair_count is None:
        return everything
    pairs = {(a, b) for a, b in everything if cities.states[a] == cities.states[b]}
    by_state: dict[str, list[int]] = {}
    for city, state in enumerate(cities.states):
        by_state.setdefault(state, []).append(city)
    blocks = [
        (city, state) for city in range(count) for state in by_state if state != cities.states[city]
    ]
    rng.shuffle(blocks)
    for city, state in blocks:
        for other in by_state[state]:
            if len(pairs) < pair_count:
                pairs |= {(city, other), (other, city)}
    return sorted(pairs)


def roads(cities: Map, pairs: Sequence[Pair], roadless: float, rows: int | None) -> Iterator[Texts]:
    """(origin, destination, duration, distance), as the official table has them: a pair without a
    road is listed, its values are not.

    `rows` beyond the pairs repeat pairs, as rows of the official table do.
    """
    for index in range(len(pairs) if rows is None else rows):
        a, b = pairs[index] if index < len(pairs) else pairs[(index * 7919) % len(pairs)]
        if cities.dice("road", a, b, both_ways=True).random() < roadless:
            yield cities.names[a], cities.names[b], "", ""
            continue
        km = cities.km(a, b) * ROAD_DETOUR * cities.dice("way", a, b).uniform(0.97, 1.06)
        kmh = 111 - 19 * math.exp(-km / 450)
        yield (
            cities.names[a],
            cities.names[b],
            road_duration(60 * km / kmh),
            f"{round(km):,} km" if km >= 100 else f"{km:.1f} km",
        )


def road_duration(minutes: float) -> str:
    """In the words of the official table: "45 mins", "2 hours 1 min", "1 day 3 hours"."""
    days, rest = divmod(round(minutes), 24 * 60)
    hours, minutes_left = divmod(rest, 60)
    if days:
        return f"{counted(days, 'day')} {counted(hours, 'hour')}"
    return (f"{counted(hours, 'hour')} " if hours else "") + counted(minutes_left, "min")


@dataclass(frozen=True)
class Timetable:
    """How many flights every route has on every day."""

    pairs: Sequence[Pair]  # the served ones, sorted
    dates: Sequence[str]
    counts: array[int]  # [route * days + day]
    number_digits: int  # of a flight's number
    first_number: int


def timetable(
    cities: Map, size: scales.Scale, pairs: Sequence[Pair], rng: random.Random
) -> Timetable:
    """Draws the counts; where the scale asks for an exact number of flights, busy days give or take
    one until it is met."""
    first = datetime.date.fromisoformat(size.first_date)
    days = [first + datetime.timedelta(days=i) for i in range(size.days)]
    served, counts = [], array("H")
    for a, b in pairs:
        dice = cities.dice("service", a, b, both_ways=True)
        km = cities.km(a, b)
        unserved = next(share for up_to, share in size.air.unserved if km <= up_to)
        if dice.random() >= unserved:
            served.append((a, b))
            counts.extend(_daily_counts(size.air, days, dice, cities.dice("days", a, b)))
    if size.flights is not None:
        _meet(counts, size.flights, rng)
    digits = max(5, len(str(2 * sum(counts))))
    return Timetable(
        served, [day.isoformat() for day in days], counts, digits, rng.randrange(10 ** (digits - 1))
    )


def _daily_counts(
    air: scales.Air, days: Sequence[datetime.date], route: random.Random, dice: random.Random
) -> list[int]:
    if air.drawn_for == "day":
        return [int(draw(air.per_day, dice)) for _ in days]
    mean = draw(air.per_day, route)
    return [max(1, round(mean * _season(day) + dice.gauss(0, 0.3 + 0.1 * mean))) for day in days]


def _season(day: datetime.date) -> float:
    """More on Fridays and Sundays than on Saturdays, more in July than in January."""
    weekday = (1.0, 0.97, 0.98, 1.02, 1.06, 0.88, 1.04)[day.weekday()]
    return weekday * (1 - 0.08 * math.cos(2 * math.pi * (day.timetuple().tm_yday - 15) / 365))


def _meet(counts: array[int], total: int, rng: random.Random) -> None:
    """In place. Every count keeps at least one flight, so that no route loses a day."""
    scale = total / max(1, sum(counts))
    for index, count in enumerate(counts):
        counts[index] = max(1, round(count * scale))
    excess = sum(counts) - total
    while excess:
        index = rng.randrange(len(counts))
        if excess < 0 or counts[index] > 2:
            step = -1 if excess > 0 else 1
            counts[index] += step
            excess += step


def flights(cities: Map, air: scales.Air, table: Timetable) -> Iterator[Texts]:
    """All flights by route and day, in the field order of `Flight`."""
    days, smallest = len(table.dates), 10 ** (table.number_digits - 1)
    low, high = air.usd_per_km
    number = table.first_number
    for route, (a, b) in enumerate(table.pairs):
        dice = cities.dice("flights", a, b).random
        km, origin, destination = cities.km(a, b), cities.names[a], cities.names[b]
        miles = f"{round(km / geography.KM_PER_MILE)}.0"
        shift = 60 * (
            geography.utc_offset_hours(cities.positions[b])
            - geography.utc_offset_hours(cities.positions[a])
        )
        least_minutes = (40 + km * 0.0735) * (0.91 + 0.08 * dice())
        for day, date in enumerate(table.dates):
            season = _price_season(date) if air.seasons else 1.0
            for _ in range(table.counts[route * days + day]):
                departure = 300 + int(dice() * 1020)
                minutes = int(least_minutes * (1 + 0.1 * dice()))
                price = int((air.fixed_usd + km * (low + (high - low) * dice())) * season)
                number = (number + _STRIDE) % (9 * smallest)
                times = (
                    _CLOCK[departure],
                    _CLOCK[(departure + minutes + shift) % 1440],
                    _DURATION[minutes],
                )
                yield f"F{smallest + number}", str(price), *times, date, origin, destination, miles


_CLOCK = tuple(geography.clock(minute) for minute in range(24 * 60))
_DURATION = tuple(geography.hours_minutes(minutes) for minutes in range(48 * 60))
_STRIDE = 7_368_787  # prime to 9 × 10ⁿ: running numbers are spread over all numbers, none twice


@cache
def _price_season(date: str) -> float:
    day = datetime.date.fromisoformat(date)
    return (1.05 if day.weekday() in (4, 6) else 0.98) * (
        1 - 0.1 * math.cos(2 * math.pi * (day.timetuple().tm_yday - 15) / 365)
    )


SOUTH, NORTH, WEST, EAST = 26.0, 48.0, -122.0, -72.0  # the states' centres, in degrees


def build_tables(scale: str, seed: int) -> WorldTables:
    """All rows of the world (scale, seed), flights and roads as streams. Deterministic. Raises
    UserError for an unknown scale.

    One process: the writer is the bottleneck, and drawing flights in other processes did not make
    it faster.
    """
    size, key = named("scale", scale, scales.SCALES), f"tripwright-world-{scale}-{seed}"
    rng = random.Random(key)
    namer = Namer(rng, size.name_parts)
    cities = _map(size, key, rng, namer)
    pairs = listed_pairs(cities, size.listed_pairs, rng)
    table = timetable(cities, size, pairs, rng)
    stays, meals, sights = (
        rows_per_city(rows, len(cities.names), rng)
        for rows in (size.accommodations, size.restaurants, size.attractions)
    )
    places = list(enumerate(cities.names))
    return WorldTables(
        cities=list(zip(cities.names, cities.states, strict=True)),
        flights=flights(cities, size.air, table),
        grounds=roads(cities, pairs, size.roadless, size.roads),
        restaurants=[
            row for i, city in places for row in restaurants(city, meals[i], size.meals, rng, namer)
        ],
        attractions=[
            row
            for i, city in places
            for row in attractions(city, sights[i], cities.positions[i], rng, namer)
        ],
        accommodations=[
            row
            for i, city in places
            for row in accommodations(city, stays[i], size.stays, rng, namer)
        ],
        flights_sorted=True,
        about={"name": f"{scale}-{seed}", "made_by": "generator", "scale": scale, "seed": seed},
    )


def load_world(where: str | Path, seed: int | None = None) -> World:
    """The world in a folder, as `tripwright world build` and `world import` make it. With a seed:
    a generated one of the scale `where` ("nano", "small", "official"), in memory, the same for the
    same seed.

        world = tripwright.load_world("nano", seed=7)

    Raises UserError where the folder holds no world, and for an unknown scale.
    """
    if seed is None and str(where) in scales.SCALES and not Path(where).exists():
        raise UserError(
            f"No world at '{where}'. One of that size is drawn by a seed: load_world('{where}',"
            " seed=0)."
        )
    return World.open(where) if seed is None else World.in_memory(build_tables(str(where), seed))


def build_world(folder: str | Path, scale: str, seed: int, report: Report | None = None) -> World:
    """Writes the world to a folder; see `write_world` for atomicity."""
    check_target(Path(folder))
    return write_world(folder, build_tables(scale, seed), report)


def names_of_world(world: World) -> set[str]:
    """The words of its names, which a model copies and compares, so that a tokenizer must not merge
    them into fixed text."""
    names = [
        *world.cities,
        *world.states,
        *RESTAURANT_NOUNS,
        *ACCOMMODATION_NOUNS,
        *ATTRACTION_NOUNS,
    ]
    for city in world.cities:
        names += [row.name for row in world.attractions(city)]
        for restaurant in world.restaurants(city):
            names += [restaurant.name, restaurant.cuisines.replace(",", " ")]
        for accommodation in world.accommodations(city):
            names += [accommodation.name, accommodation.house_rules.replace("No ", " ")]
    # capitals alone: letters of rows, and F of flight numbers
    words = {word for name in names for word in name.split()} - {"&", "No", "under"}
    return words | {*ascii_uppercase}


def _map(size: scales.Scale, key: str, rng: random.Random, namer: Namer) -> Map:
    """States here and there, their cities around them, in an order that gives nothing away."""
    cities: list[tuple[str, str, geography.Position]] = []
    names = iter(namer.apart(namer.proper, sum(size.state_sizes)))
    states = namer.apart(namer.state, len(size.state_sizes))
    for state, count in zip(states, size.state_sizes, strict=True):
        north, east = rng.uniform(SOUTH, NORTH), rng.uniform(WEST, EAST)
        reach = 1.6 + 0.06 * count  # degrees
        for _ in range(count):
            cities.append(
                (
                    next(names),
                    state,
                    geography.Position(
                        north + rng.uniform(-reach, reach), east + 1.25 * rng.uniform(-reach, reach)
                    ),
                )
            )
    rng.shuffle(cities)
    in_city, in_state, at = zip(*cities, strict=True)
    return Map(in_city, in_state, at, key)

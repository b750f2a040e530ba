"""Puts a generated world together: `tripwright world build`."""

from __future__ import annotations

import random
from pathlib import Path

from tripwright.errors import UserError
from tripwright.world.folder import check_target, write_world
from tripwright.world.generator import city_tables, routes
from tripwright.world.generator.names import Namer
from tripwright.world.generator.scales import SCALES, Scale
from tripwright.world.geography import Position
from tripwright.world.records import WorldTables
from tripwright.world.store import World
from tripwright.world.writing import Report

SOUTH, NORTH, WEST, EAST = 26.0, 48.0, -122.0, -72.0  # the states' centres, in degrees


def build_tables(scale: str, seed: int) -> WorldTables:
    """All rows of the world (scale, seed), flights and roads as streams. Deterministic. Raises
    UserError for an unknown scale.

    One process: the writer is the bottleneck, and drawing flights in other processes did not make
    it faster.
    """
    if scale not in SCALES:
        raise UserError(f"Unknown scale '{scale}'. Accepted: {', '.join(SCALES)}.")
    size, key = SCALES[scale], f"tripwright-world-{scale}-{seed}"
    rng = random.Random(key)
    namer = Namer(rng, size.name_parts)
    cities = _map(size, key, rng, namer)
    pairs = routes.listed_pairs(cities, size.listed_pairs, rng)
    table = routes.timetable(cities, size, pairs, rng)
    stays, meals, sights = (
        city_tables.rows_per_city(rows, len(cities.names), rng)
        for rows in (size.accommodations, size.restaurants, size.attractions)
    )
    places = list(enumerate(cities.names))
    return WorldTables(
        cities=list(zip(cities.names, cities.states, strict=True)),
        flights=routes.flights(cities, size.air, table),
        grounds=routes.roads(cities, pairs, size.roadless, size.roads),
        restaurants=[
            row
            for i, city in places
            for row in city_tables.restaurants(city, meals[i], size.meals, rng, namer)
        ],
        attractions=[
            row
            for i, city in places
            for row in city_tables.attractions(city, sights[i], cities.positions[i], rng, namer)
        ],
        accommodations=[
            row
            for i, city in places
            for row in city_tables.accommodations(city, stays[i], size.stays, rng, namer)
        ],
        flights_sorted=True,
        about={"name": f"{scale}-{seed}", "made_by": "generator", "scale": scale, "seed": seed},
    )


def build_world(folder: str | Path, scale: str, seed: int, report: Report | None = None) -> World:
    """Writes the world to a folder; see `write_world` for atomicity."""
    check_target(Path(folder))
    return write_world(folder, build_tables(scale, seed), report)


def _map(size: Scale, key: str, rng: random.Random, namer: Namer) -> routes.Map:
    """States here and there, their cities around them, in an order that gives nothing away."""
    cities: list[tuple[str, str, Position]] = []
    names = iter(namer.cities(sum(size.state_sizes)))
    for state, count in zip(namer.states(len(size.state_sizes)), size.state_sizes, strict=True):
        north, east = rng.uniform(SOUTH, NORTH), rng.uniform(WEST, EAST)
        reach = 1.6 + 0.06 * count  # degrees
        for _ in range(count):
            cities.append(
                (
                    next(names),
                    state,
                    Position(
                        north + rng.uniform(-reach, reach), east + 1.25 * rng.uniform(-reach, reach)
                    ),
                )
            )
    rng.shuffle(cities)
    in_city, in_state, at = zip(*cities, strict=True)
    return routes.Map(in_city, in_state, at, key)

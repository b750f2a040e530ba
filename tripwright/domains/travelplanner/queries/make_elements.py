"""What a request asks for, drawn in one of three ways: `default`, `official` or `uniform`. Budget
and text come later.

`official` follows the benchmark's sampler (row T2): the origin uniform over the cities; for 3 days
a city uniform over those of other states; for 5 and 7 days the state of a city drawn uniformly
among other states with more than 3 cities, so that large states come more often; a uniform window
of days in March 2022; party and wishes as in `sample`, with 2 cuisines at level medium and 4 at
level hard. `default` is `sample`'s: the same with the world's own days, states with more cities
than the trip visits, and 1 or 2 cuisines. `uniform` makes every choice equally likely: destination
cities, or states whatever their size; windows of days; parties of 1 to 8 (above level easy, which
stays one person without wishes); sets of 1 (medium) or 3 (hard) of the four kinds of wishes; each
kind's values, with 1 to 4 cuisines and any room type for any party.
"""

from __future__ import annotations

import random
from datetime import date, timedelta
from typing import Any, Literal, get_args

from tripwright.domains.travelplanner.queries.sample import (
    CITIES_VISITED,
    KINDS,
    Mix,
    draw_dates,
    draw_fields,
    draw_party_size,
    draw_values,
    draw_wishes,
    official_fields,
)
from tripwright.domains.travelplanner.query import LocalConstraint
from tripwright.errors import UserError
from tripwright.world.store import World

ElementKind = Literal["default", "official", "uniform"]
ELEMENT_KINDS: tuple[str, ...] = get_args(ElementKind)

OFFICIAL_MIX = Mix(days=(3, 5, 7), levels=(1, 1, 1), cuisines=(2, 4))
OFFICIAL_DATES = (date(2022, 3, 1), date(2022, 3, 31))
OFFICIAL_STATE_CITIES = 4  # a state of fewer is never visited
LARGEST_PARTY = 8
MOST_CUISINES = 4


def draw_elements(
    world: World, rng: random.Random, kind: ElementKind, level: str, days: int
) -> dict[str, Any]:
    """The official fields of one request, without budget and text. Raises UserError where the world
    has no such trip at all."""
    if kind == "default":
        return draw_fields(world, rng, level, days, Mix())
    cities = CITIES_VISITED[days]
    if kind == "official":
        route = _official_route(world, rng, cities)
        dates = _official_dates(world, rng, days)
        party_size = draw_party_size(rng, level)
        wishes = draw_wishes(rng, level, party_size, OFFICIAL_MIX)
    else:
        route = _uniform_route(world, rng, cities)
        dates = draw_dates(world, rng, days)
        party_size = 1 if level == "easy" else rng.randint(1, LARGEST_PARTY)
        wishes = _uniform_wishes(rng, level)
    return official_fields(route, days, dates, party_size, wishes, level)


def _official_route(world: World, rng: random.Random, cities: int) -> tuple[str, str]:
    names = list(world.cities)
    org = rng.choice(names)
    others = [city for city in names if world.cities[city] != world.cities[org]]
    if cities > 1:
        others = [city for city in others if _is_official_state(world, world.cities[city])]
    if not others:
        kind = (
            f"another state with at least {OFFICIAL_STATE_CITIES} cities"
            if cities > 1
            else "a city in another state"
        )
        raise UserError(
            f"World '{world.name}' has no {kind} to travel to from {org}, as --elements official"
            " needs."
        )
    dest = rng.choice(others)
    return org, dest if cities == 1 else world.cities[dest]


def _is_official_state(world: World, state: str) -> bool:
    # "None": the tables' word for places outside any state
    return state != "None" and len(world.states[state]) >= OFFICIAL_STATE_CITIES


def _official_dates(world: World, rng: random.Random, days: int) -> list[str]:
    """A window of March 2022 as far as the world's days go; of all its days, where they hold no
    such window."""
    known_days = [date.fromisoformat(day) for day in world.dates]
    if not known_days:
        raise UserError(
            f"World '{world.name}' has no flights on any day, so there are no days to draw from."
        )
    for low, high in (OFFICIAL_DATES, (known_days[0], known_days[-1])):
        first, last = max(low, known_days[0]), min(high, known_days[-1])
        windows = (last - first).days + 2 - days
        if windows > 0:
            start = first + timedelta(days=rng.randrange(windows))
            return [(start + timedelta(days=day)).isoformat() for day in range(days)]
    raise UserError(
        f"World '{world.name}' has flights from {known_days[0]} to {known_days[-1]}; a trip of"
        f" {days} days does not fit in."
    )


def _uniform_route(world: World, rng: random.Random, cities: int) -> tuple[str, str]:
    org = rng.choice(list(world.cities))
    home = world.cities[org]
    places = (
        [city for city, state in world.cities.items() if state != home]
        if cities == 1
        else [
            state
            for state, inside in world.states.items()
            if state != home and len(inside) >= cities
        ]
    )
    if not places:
        raise UserError(
            f"World '{world.name}' has no other state with {cities} or more cities to travel to"
            f" from {org}."
        )
    return org, rng.choice(places)


def _uniform_wishes(rng: random.Random, level: str) -> LocalConstraint:
    kinds = rng.sample(list(KINDS), {"easy": 0, "medium": 1, "hard": 3}[level])
    return draw_values(rng, kinds, party_size=1, cuisines=rng.randint(1, MOST_CUISINES))

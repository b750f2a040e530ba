"""Queries with proof: sampled as in the official benchmark, kept only if the
oracle finds a plan, budget included.

This is the maker that training goes by: one generator of random numbers runs through all queries,
so the n-th depends on those before it. `tripwright query make` uses `make.py`, whose n-th query
depends on seed and n, so that processes can share the work. Both draw what is asked for here.

The official sampler (row T2, `official=True` with `OFFICIAL_MIX`) draws the origin uniformly; for 3
days a city uniform over those of other states, for 5 and 7 days the state of a city drawn uniformly
among other states with more than 3 cities, so that large states come more often; a window of days
in March 2022; 2 cuisines at level medium and 4 at level hard. Otherwise the world's own days are
taken, states with more cities than the trip visits, and what `Mix` says: levels are drawn 4:3:3,
and one or two cuisines are asked for, because cities of nano worlds have few restaurants. The
budget is a slack factor over the proved cost of a comfortable plan instead of price statistics.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge

from tripwright.domains.travelplanner.oracle.options import FORBIDDEN_BY_RULE
from tripwright.domains.travelplanner.oracle.planner import plan_days, solve
from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS
from tripwright.domains.travelplanner.queries.wording import TRANSPORTATION, word_query
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.errors import UserError, counted
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

# the official weights for hard queries
KINDS = {"house rule": 0.3, "cuisine": 0.1, "room type": 0.3, "transportation": 0.3}
OFFICIAL_STATE_CITIES = 4  # a state of fewer is never visited
MOST_TRIES = 3000
LEVELS = ("easy", "medium", "hard")
Weight = Annotated[int, Ge(0)]
Slack = Annotated[float, Ge(1)]


@dataclass(frozen=True)
class Mix:
    """How queries are drawn. `levels` are weights of easy, medium, hard; `slack` the range of
    budget over the proved cost."""

    days: tuple[int, ...] = (3,)
    levels: tuple[Weight, Weight, Weight] = (4, 3, 3)
    slack: tuple[Slack, Slack] = (1.05, 1.3)
    cuisines: tuple[Weight, Weight] = (1, 2)  # asked for at level medium, hard

    def __post_init__(self) -> None:
        if not any(self.levels) or not self.days or not set(self.days) <= CITIES_BY_DAYS.keys():
            lengths = ", ".join(map(str, CITIES_BY_DAYS))
            raise UserError(
                f"a mix needs days out of {lengths} and a level with weight, found days {self.days}"
                f" and levels {self.levels}."
            )
        if self.slack[0] > self.slack[1]:
            raise UserError(f"slack is a range from low to high, found {self.slack}.")


OFFICIAL_MIX = Mix(days=(3, 5, 7), levels=(1, 1, 1), cuisines=(2, 4))


def make_queries(world: World, count: int, seed: int, mix: Mix | None = None) -> Iterator[Query]:
    """`count` different feasible queries. The record carries `oracle`: proved cheapest cost, cost
    and plan (in Planner-R1's schema) of the comfortable plan."""
    mix = mix or Mix()
    rng = random.Random(f"tripwright-queries-{seed}")
    levels = [
        level for level, weight in zip(LEVELS, mix.levels, strict=True) for _ in range(weight)
    ]
    texts: set[str] = set()
    for _ in range(count):
        level = rng.choice(levels)
        for _try in range(MOST_TRIES):
            query = draw_query(world, rng, level, mix)
            if query is not None and query.query not in texts:
                break
        else:
            raise UserError(
                f"World '{world.name}' gave {len(texts)} feasible queries of {count} asked for; "
                f"no further '{level}' one in {MOST_TRIES} tries."
            )
        texts.add(query.query)
        yield query


def draw_query(world: World, rng: random.Random, level: str, mix: Mix) -> Query | None:
    """One draw; None where the oracle finds no comfortable plan."""
    fields = draw_fields(world, rng, level, rng.choice(mix.days), mix)
    draft = Query.model_validate({**fields, "budget": 0, "query": ""})
    comfortable = solve(draft, world, comfortable=True)
    if comfortable.cost_usd is None:
        return None
    budget = math.ceil(comfortable.cost_usd * rng.uniform(*mix.slack) / 10) * 10
    text = word_query(rng, draft.model_copy(update={"budget": budget}), "plain")
    proof = {
        "cheapest_cost_usd": solve(draft, world).cost_usd,
        "plan_cost_usd": comfortable.cost_usd,
        "plan": plan_days(draft, comfortable),
    }
    return Query.model_validate({**fields, "budget": budget, "query": text, "oracle": proof})


def draw_fields(
    world: World, rng: random.Random, level: str, days: int, mix: Mix, official: bool = False
) -> dict[str, Any]:
    """The official fields of one request (row T2), without budget and text. Raises UserError where
    the world has no such trip at all."""
    org, dest = draw_route(world, rng, CITIES_BY_DAYS[days], official)
    dates = draw_dates(world, rng, days, official)
    party_size = draw_party_size(rng, level)
    return {
        "org": org,
        "dest": dest,
        "days": days,
        "visiting_city_number": CITIES_BY_DAYS[days],
        "date": dates,
        "people_number": party_size,
        "local_constraint": draw_wishes(rng, level, party_size, mix).model_dump(by_alias=True),
        "level": level,
    }


def draw_route(
    world: World, rng: random.Random, cities: int, official: bool = False
) -> tuple[str, str]:
    """(org, dest): a city, and a city of another state; for several cities another state that has
    more than so many, or as many as the official sampler wants."""
    org = rng.choice(list(world.cities))
    others = [city for city in world.cities if world.cities[city] != world.cities[org]]
    least = OFFICIAL_STATE_CITIES if official else cities + 1
    if cities > 1:
        others = [city for city in others if len(world.states[world.cities[city]]) >= least]
    if cities > 1 and official:  # "None": the tables' word for places outside any state
        others = [city for city in others if world.cities[city] != "None"]
    if not others:
        place = f"no other state with {least} or more cities" if cities > 1 else "no other state"
        raise UserError(
            f"World '{world.name}' has {place} to travel to from {org}, as trips to"
            f" {counted(cities, 'city')} need."
        )
    dest = rng.choice(others)
    return org, dest if cities == 1 else world.cities[dest]


def draw_dates(world: World, rng: random.Random, days: int, official: bool = False) -> list[str]:
    """A window of the days on which the world has flights: of those in March 2022 for the official
    sampler, where there is such a window."""
    dates = [date for date in world.dates if date.startswith("2022-03-")] if official else []
    if len(dates) < days:
        dates = world.dates
    if len(dates) < days:
        raise UserError(
            f"World '{world.name}' has flights on {len(dates)} days; a trip of {days} days"
            " needs as many."
        )
    first = rng.randrange(len(dates) - days + 1)
    return dates[first : first + days]


def draw_party_size(rng: random.Random, level: str) -> int:
    """Easy: one. Else two in half of the cases, three to eight in the others."""
    return 1 if level == "easy" else (2 if rng.random() < 0.5 else rng.randint(3, 8))


def draw_wishes(rng: random.Random, level: str, party_size: int, mix: Mix) -> LocalConstraint:
    """Easy: none. Medium: one kind out of three. Hard: three different kinds, one after the other,
    each with its weight of `KINDS` among those left. Values are of the official lists, each
    uniformly; more than two people ask for a private or an entire room only."""
    kinds: list[str] = []
    if level == "medium":
        kinds = [rng.choice(("house rule", "cuisine", "room type"))]
    elif level == "hard":
        weights = dict(KINDS)
        for _ in range(3):
            kinds += rng.choices(list(weights), list(weights.values()))
            del weights[kinds[-1]]
    rooms = ("shared room", "not shared room", "private room", "entire room")
    wish: dict[str, Any] = {}
    if "house rule" in kinds:
        wish["house rule"] = rng.choice(list(FORBIDDEN_BY_RULE))
    if "cuisine" in kinds:
        wish["cuisine"] = rng.sample(CUISINES, mix.cuisines[level == "hard"])
    if "room type" in kinds:
        wish["room type"] = rng.choice(rooms if party_size <= 2 else rooms[2:])
    if "transportation" in kinds:
        wish["transportation"] = rng.choice(list(TRANSPORTATION))
    return LocalConstraint.model_validate(wish)

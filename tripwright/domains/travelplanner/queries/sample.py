"""Queries with proof: sampled as in the official benchmark, kept only if the
oracle finds a plan, budget included.

This is the maker that training goes by: one generator of random numbers runs through all queries,
so the n-th depends on those before it. `tripwright query make` uses `make_files`, whose n-th query
depends on seed and n, so that processes can share the work.

Differences from the official sampler, all fields of `Mix`: levels are drawn 4:3:3; the budget is a
slack factor over the proved cost of a comfortable plan instead of price statistics; nano worlds,
with few restaurants a city, ask for one or two cuisines.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from annotated_types import Ge

from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days, solve
from tripwright.domains.travelplanner.queries.wording import HOUSE_RULE, TRANSPORTATION, word_query
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.errors import UserError
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

# the official weights for hard queries
KINDS = {"house rule": 0.3, "cuisine": 0.1, "room type": 0.3, "transportation": 0.3}
CITIES_VISITED = {3: 1, 5: 2, 7: 3}
MOST_TRIES = 3000
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
        if not any(self.levels) or not self.days or not set(self.days) <= CITIES_VISITED.keys():
            lengths = ", ".join(map(str, CITIES_VISITED))
            raise UserError(
                f"a mix needs days out of {lengths} and a level with weight, found days {self.days}"
                f" and levels {self.levels}."
            )
        if self.slack[0] > self.slack[1]:
            raise UserError(f"slack is a range from low to high, found {self.slack}.")


def make_queries(world: World, count: int, seed: int, mix: Mix | None = None) -> Iterator[Query]:
    """`count` different feasible queries. The record carries `oracle`: proved cheapest cost, cost
    and plan (in Planner-R1's schema) of the comfortable plan."""
    mix = mix or Mix()
    rng = random.Random(f"tripwright-queries-{seed}")
    levels = [
        level
        for level, weight in zip(("easy", "medium", "hard"), mix.levels, strict=True)
        for _ in range(weight)
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
    return Query.model_validate(
        {**fields, "budget": budget, "query": text, "oracle": _proof(draft, comfortable, world)}
    )


def draw_fields(
    world: World, rng: random.Random, level: str, days: int, mix: Mix
) -> dict[str, Any]:
    """The official fields of one request, without budget and text."""
    cities = CITIES_VISITED[days]
    route = draw_route(world, rng, cities)
    dates = draw_dates(world, rng, days)
    party_size = draw_party_size(rng, level)
    return official_fields(
        route, days, dates, party_size, draw_wishes(rng, level, party_size, mix), level
    )


def official_fields(
    route: tuple[str, str],
    days: int,
    dates: list[str],
    party_size: int,
    wishes: LocalConstraint,
    level: str,
) -> dict[str, Any]:
    """The benchmark's names for what was drawn (row T2)."""
    return {
        "org": route[0],
        "dest": route[1],
        "days": days,
        "visiting_city_number": CITIES_VISITED[days],
        "date": dates,
        "people_number": party_size,
        "local_constraint": wishes.model_dump(by_alias=True),
        "level": level,
    }


def _proof(query: Query, comfortable: Solution, world: World) -> dict[str, Any]:
    cheapest = solve(query, world)
    return {
        "cheapest_cost_usd": cheapest.cost_usd,
        "plan_cost_usd": comfortable.cost_usd,
        "plan": plan_days(query, comfortable),
    }


def draw_route(world: World, rng: random.Random, cities: int) -> tuple[str, str]:
    """(org, dest): a city, and a city of another state; for several cities another state that has
    more than so many."""
    names = list(world.cities)
    org = rng.choice(names)
    others = [c for c in names if world.cities[c] != world.cities[org]]
    if cities == 1:
        return org, rng.choice(others)
    states = [world.cities[c] for c in others if len(world.states[world.cities[c]]) > cities]
    if not states:
        raise UserError(
            f"World '{world.name}' has no state with more than {cities} cities; trips over {cities}"
            " cities need one."
        )
    return org, rng.choice(states)


def draw_dates(world: World, rng: random.Random, days: int) -> list[str]:
    """A window of the days on which the world has flights."""
    if len(world.dates) < days:
        raise UserError(
            f"World '{world.name}' has flights on {len(world.dates)} days; a trip of {days} days"
            " needs as many."
        )
    first = rng.randrange(len(world.dates) - days + 1)
    return world.dates[first : first + days]


def draw_party_size(rng: random.Random, level: str) -> int:
    """Easy: one. Else two in half of the cases, three to eight in the others."""
    return 1 if level == "easy" else (2 if rng.random() < 0.5 else rng.randint(3, 8))


def draw_wishes(rng: random.Random, level: str, party_size: int, mix: Mix) -> LocalConstraint:
    """Easy: none. Medium: one kind out of three. Hard: three different kinds, drawn with the
    weights `KINDS`."""
    if level == "easy":
        kinds: list[str] = []
    elif level == "medium":
        kinds = [rng.choice(("house rule", "cuisine", "room type"))]
    else:
        kinds = draw_kinds(rng, 3)
    return draw_values(rng, kinds, party_size, mix.cuisines[level == "hard"])


def draw_values(
    rng: random.Random, kinds: list[str], party_size: int, cuisines: int
) -> LocalConstraint:
    """A value for each kind of wish: the official lists, each uniformly; more than two people ask
    for a private or an entire room only."""
    wish: dict[str, Any] = {}
    if "house rule" in kinds:
        wish["house rule"] = rng.choice(list(HOUSE_RULE))
    if "cuisine" in kinds:
        wish["cuisine"] = rng.sample(CUISINES, cuisines)
    if "room type" in kinds:
        wish["room type"] = rng.choice(
            ["shared room", "not shared room", "private room", "entire room"][
                (0 if party_size <= 2 else 2) :
            ]
        )
    if "transportation" in kinds:
        wish["transportation"] = rng.choice(list(TRANSPORTATION))
    return LocalConstraint.model_validate(wish)


def draw_kinds(rng: random.Random, count: int) -> list[str]:
    """Different kinds of wishes, one after the other, each with its weight among those left."""
    weights = dict(KINDS)
    kinds = []
    for _ in range(count):
        kind = rng.choices(list(weights), list(weights.values()))[0]
        kinds.append(kind)
        del weights[kind]
    return kinds

"""The smallest changes that make an infeasible request feasible, one at a time, each proved by
solving the changed request."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.oracle.explanation import (
    Requirement,
    consecutive,
    has_plan,
    malformed,
    other_dates,
    people,
    usd,
    wishes_of,
    without_wishes,
)
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.query import Query, why_outside
from tripwright.errors import counted
from tripwright.world.store import World

SMALL_RISE = 0.25  # of the budget


@dataclass(frozen=True)
class Repair:
    """`query`: the changed request, without what a record may carry beside its own fields (a proof
    or an annotated plan of the old one).

    `cost_usd`: its proved cheapest plan, for the whole party.
    """

    kind: str
    words: str
    query: Query
    cost_usd: float

    def record(self) -> dict[str, Any]:
        record = {"kind": self.kind, "words": self.words, "cost_usd": self.cost_usd}
        return record | {"query": self.query.record()}


def repairs(query: Query, world: World) -> list[Repair]:
    """Single changes to an infeasible query after which it has a plan; those that give up least
    come first.

    What is given up, from least to most:
    1. a budget raised by a quarter or less: by exactly the least that is needed, in whole dollars
    2. other dates: the nearest start, later before earlier
    3. one of several cuisines
    4. one whole wish: transportation, house rule, room type or all cuisines (these where that is
      cheaper than to drop any one of them)
    5. fewer cities: as many as possible
    6. a budget raised by more than a quarter
    7. fewer people: the largest party that the budget carries. Offered only where a budget raised
    by more than a quarter is all else Within one of these the lower new cost comes first. Empty
    where no single change is enough.
    """
    if has_plan(query, world):
        return []
    ranked = list(_ranked(query, world))
    # where money does not help, a smaller party does not either
    if {rank for rank, _ in ranked} == {6} and (fewer := _fewer_people(query, world)):
        ranked.append((7, fewer))
    return [change for _, change in sorted(ranked, key=lambda each: (each[0], each[1].cost_usd))]


def _ranked(query: Query, world: World) -> Iterator[tuple[int, Repair]]:
    def proved(rank: int, kind: str, words: str, changed: Query) -> list[tuple[int, Repair]]:
        change = _proved(kind, words, changed, world)
        return [] if change is None else [(rank, change)]

    if (cost_usd := solve(query, world).cost_usd) is not None:
        budget = math.ceil(cost_usd)
        small = query.budget > 0 and budget <= query.budget * (1 + SMALL_RISE)
        words = f"budget +{usd(budget - query.budget)} to {usd(budget)}"
        richer = query.model_copy(update={"budget": budget})
        yield from proved(1 if small else 6, "budget", words, richer)
    if (moved := _moved(query, world)) is not None:
        words, dates = moved
        yield from proved(2, "dates", words, query.model_copy(update={"date": dates}))
    wishes = query.local_constraint
    cuisines = list(dict.fromkeys(wishes.cuisine or ()))
    if len(cuisines) < len(wishes.cuisine or ()):
        named_once = wishes.model_copy(update={"cuisine": cuisines})
        once = query.model_copy(update={"local_constraint": named_once})
        yield from proved(3, "cuisine", "name each cuisine once", once)
    if len(cuisines) > 1:
        served = [Requirement("cuisine", name) for name in cuisines]
        one_less = [
            change
            for each in served
            for change in proved(
                3,
                "cuisine",
                f"drop '{each.value}' from the cuisines",
                without_wishes(query, {each}),
            )
        ]
        yield from one_less
        all_less = proved(4, "cuisine", "drop all cuisines", without_wishes(query, set(served)))
        for rank, change in all_less:
            # else it gives up more for nothing
            if all(change.cost_usd < less.cost_usd for _, less in one_less):
                yield rank, change
    cuisines_last = sorted(dict.fromkeys(wishes_of(query)), key=lambda wish: wish.kind == "cuisine")
    for wish in cuisines_last:
        if wish.kind != "cuisine" or len(cuisines) == 1:
            said = {"house rule": " allowed", "cuisine": " food"}.get(wish.kind, "")
            changed = without_wishes(query, {wish})
            yield from proved(4, wish.kind, f"drop '{wish.value}{said}'", changed)
    for fewer in range(query.visiting_city_number - 1, 0, -1):
        changed = query.model_copy(update={"visiting_city_number": fewer})
        if has_plan(changed, world):
            words = f"visit {counted(fewer, 'city')} instead of {query.visiting_city_number}"
            yield from proved(5, "cities", words, changed)
            break


def _proved(kind: str, words: str, changed: Query, world: World) -> Repair | None:
    """The text says the change, too, and only the official fields are kept: whoever reads them must
    not plan the old trip."""
    cost_usd = solve(changed, world).cost_usd
    if cost_usd is None or cost_usd > changed.budget:
        return None
    record = {name: value for name, value in changed.record().items() if name in Query.model_fields}
    record["query"] = f"{changed.query} (Changed: {words}.)".strip()
    return Repair(kind, words, Query.model_validate(record), cost_usd)


def _moved(query: Query, world: World) -> tuple[str, list[str]] | None:
    """As many dates as days where there were not; else the nearest other start. Without flights one
    date is as good as another."""
    if len(query.date) != query.days:
        try:
            dates = consecutive(datetime.date.fromisoformat(query.date[0]), query.days)
        except (IndexError, ValueError, OverflowError):
            return None
        return f"travel from {dates[0]} to {dates[-1]}, {query.days} days", dates
    if why_outside(query, world) is None and (
        malformed(query, world) is not None or query.local_constraint.transportation == "no flight"
    ):
        return None
    for _, dates in other_dates(query, world):
        if has_plan(query.model_copy(update={"date": dates}), world):
            return f"start on {dates[0]} instead of {query.date[0]}", dates
    return None


def _fewer_people(query: Query, world: World) -> Repair | None:
    """Found by halving, as a trip does not get cheaper when a person joins."""
    enough, too_many = 0, query.party_size
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if has_plan(query.model_copy(update={"people_number": middle}), world):
            enough = middle
        else:
            too_many = middle
    if not enough:
        return None
    words = f"travel with {people(enough)} instead of {query.party_size}"
    return _proved("people", words, query.model_copy(update={"people_number": enough}), world)

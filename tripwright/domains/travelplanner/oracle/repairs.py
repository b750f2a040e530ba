"""The smallest changes that make an infeasible request feasible, one at a time, each proved by
solving the changed request."""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.oracle.explanation import malformed
from tripwright.domains.travelplanner.oracle.phrases import people, usd
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.oracle.requirements import (
    Requirement,
    consecutive,
    has_plan,
    other_dates,
    without_wishes,
)
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
        return {
            "kind": self.kind,
            "words": self.words,
            "cost_usd": self.cost_usd,
            "query": self.query.record(),
        }


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
    if {rank for rank, _ in ranked} == {6}:
        ranked += _fewer_people(query, world)
    return [change for _, change in sorted(ranked, key=lambda each: (each[0], each[1].cost_usd))]


def _ranked(query: Query, world: World) -> Iterator[tuple[int, Repair]]:
    if (rise := _more_money(query, world)) is not None:
        small = query.budget > 0 and rise.query.budget <= query.budget * (1 + SMALL_RISE)
        yield (1 if small else 6), rise
    if (moved := _other_dates(query, world)) is not None:
        yield 2, moved
    wishes = query.local_constraint
    cuisines = list(dict.fromkeys(wishes.cuisine or ()))
    if len(cuisines) < len(wishes.cuisine or ()):
        once = query.model_copy(
            update={"local_constraint": wishes.model_copy(update={"cuisine": cuisines})}
        )
        yield from _proved(3, "cuisine", "name each cuisine once", once, world)
    if len(cuisines) > 1:
        one_less = [
            each
            for name in cuisines
            for each in _proved(
                3,
                "cuisine",
                f"drop '{name}' from the cuisines",
                without_wishes(query, {Requirement("cuisine", name)}),
                world,
            )
        ]
        yield from one_less
        changed = without_wishes(query, {Requirement("cuisine", name) for name in cuisines})
        for rank, change in _proved(4, "cuisine", "drop all cuisines", changed, world):
            # else it gives up more for nothing
            if all(change.cost_usd < less.cost_usd for _, less in one_less):
                yield rank, change
    single = [("cuisine", cuisines[0])] if len(cuisines) == 1 else []
    wishes_stated = (
        ("transportation", wishes.transportation),
        ("house rule", wishes.house_rule),
        ("room type", wishes.room_type),
        *single,
    )
    for kind, value in wishes_stated:
        if value is not None:
            yield from _proved(
                4,
                kind,
                f"drop {_dropped(kind, value)}",
                without_wishes(query, {Requirement(kind, value)}),
                world,
            )
    for fewer in range(query.visiting_city_number - 1, 0, -1):
        changed = query.model_copy(update={"visiting_city_number": fewer})
        if has_plan(changed, world):
            words = f"visit {counted(fewer, 'city')} instead of {query.visiting_city_number}"
            yield from _proved(5, "cities", words, changed, world)
            break


def _dropped(kind: str, value: str) -> str:
    return (
        f"'{value} allowed'"
        if kind == "house rule"
        else f"'{value} food'"
        if kind == "cuisine"
        else f"'{value}'"
    )


def _proved(
    rank: int, kind: str, words: str, changed: Query, world: World
) -> Iterator[tuple[int, Repair]]:
    if (change := _change(kind, words, changed, world)) is not None:
        yield rank, change


def _change(kind: str, words: str, changed: Query, world: World) -> Repair | None:
    cost_usd = solve(changed, world).cost_usd
    if cost_usd is None or cost_usd > changed.budget:
        return None
    return Repair(kind, words, _said(changed, words), cost_usd)


def _said(changed: Query, words: str) -> Query:
    """Only the official fields, and the change in the text too: whoever reads the text must not
    plan the old trip."""
    record = {name: value for name, value in changed.record().items() if name in Query.model_fields}
    return Query.model_validate({**record, "query": f"{changed.query} (Changed: {words}.)".strip()})


def _more_money(query: Query, world: World) -> Repair | None:
    cost_usd = solve(query, world).cost_usd
    if cost_usd is None:
        return None
    budget = math.ceil(cost_usd)
    return _change(
        "budget",
        f"budget +{usd(budget - query.budget)} to {usd(budget)}",
        query.model_copy(update={"budget": budget}),
        world,
    )


def _other_dates(query: Query, world: World) -> Repair | None:
    """As many dates as days where there were not; else the nearest other start. Without flights one
    date is as good as another."""
    if len(query.date) != query.days:
        try:
            dates = consecutive(datetime.date.fromisoformat(query.date[0]), query.days)
        except (IndexError, ValueError, OverflowError):
            return None
        words = f"travel from {dates[0]} to {dates[-1]}, {query.days} days"
        return _change("dates", words, query.model_copy(update={"date": dates}), world)
    if why_outside(query, world) is None and (
        malformed(query, world) is not None or query.local_constraint.transportation == "no flight"
    ):
        return None
    for _, dates in other_dates(query, world):
        moved = query.model_copy(update={"date": dates})
        if has_plan(moved, world):
            return _change("dates", f"start on {dates[0]} instead of {query.date[0]}", moved, world)
    return None


def _fewer_people(query: Query, world: World) -> Iterator[tuple[int, Repair]]:
    """Found by halving, as a trip does not get cheaper when a person joins."""
    enough, too_many = 0, query.party_size
    while too_many - enough > 1:
        middle = (enough + too_many) // 2
        if has_plan(query.model_copy(update={"people_number": middle}), world):
            enough = middle
        else:
            too_many = middle
    if enough:
        words = f"travel with {people(enough)} instead of {query.party_size}"
        yield from _proved(
            7, "people", words, query.model_copy(update={"people_number": enough}), world
        )

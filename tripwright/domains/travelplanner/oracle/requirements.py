"""A request taken apart into requirements that can be dropped one by one, and whether what is left
can be met.

What a dropped requirement leaves: no wish of that kind, any budget, at most as many cities, or any
dates of the same length that the world has flights for. Each of them only widens the choice, so
what is feasible stays feasible when more is dropped, and every answer spares others.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterator, Set
from functools import cached_property
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.oracle.phrases import usd
from tripwright.domains.travelplanner.oracle.planner import (
    Solution,
    SolveStatus,
    first_within_budget,
    solve,
)
from tripwright.domains.travelplanner.query import LocalConstraint, Query
from tripwright.world.store import World


class Requirement(NamedTuple):
    """`kind`: budget, transportation, cuisine, house rule, room type, cities or dates. Each cuisine
    is one requirement."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.value}"


class Relaxations:
    """One query with any of its requirements dropped; answers are remembered."""

    def __init__(self, query: Query, world: World):
        self.query, self.world = query, world
        self._feasible: dict[frozenset[Requirement], bool] = {}

    @cached_property
    def requirements(self) -> tuple[Requirement, ...]:
        """In the order in which a search for a minimal conflict should do without them: the dates
        last, as they cost most to free."""
        query, wishes = self.query, self.query.local_constraint
        requirements = [Requirement("budget", usd(query.budget))]
        requirements += (
            [Requirement("transportation", wishes.transportation)] if wishes.transportation else []
        )
        requirements += [
            Requirement("cuisine", cuisine) for cuisine in dict.fromkeys(wishes.cuisine or ())
        ]
        requirements += [Requirement("house rule", wishes.house_rule)] if wishes.house_rule else []
        requirements += [Requirement("room type", wishes.room_type)] if wishes.room_type else []
        requirements += (
            [Requirement("cities", str(query.visiting_city_number))]
            if query.visiting_city_number > 1
            else []
        )
        return (*requirements, Requirement("dates", f"{query.date[0]} to {query.date[-1]}"))

    def without(self, relaxed: Set[Requirement]) -> Iterator[Query]:
        """Requests of which at least one has a plan if and only if what is left can be met; the
        original dates come first."""
        base = without_wishes(self.query, relaxed)
        kinds = {each.kind for each in relaxed}
        if "budget" in kinds:
            base = base.model_copy(update={"budget": math.inf})
        count = base.visiting_city_number
        counts = range(1, count + 1) if "cities" in kinds else (count,)
        for cities in counts:
            yield base.model_copy(update={"visiting_city_number": cities})
        if "dates" not in kinds or base.local_constraint.transportation == "no flight":
            return
        # Roads are the same on every day: whoever can drive can drive on the dates tried above, and
        # only flights are left to try.
        flying = base.local_constraint.model_copy(update={"transportation": "no self-driving"})
        for _, dates in other_dates(base, self.world):
            for cities in counts:
                yield base.model_copy(
                    update={
                        "local_constraint": flying,
                        "visiting_city_number": cities,
                        "date": dates,
                    }
                )

    def feasible(self, relaxed: Set[Requirement]) -> bool:
        key = frozenset(relaxed)
        for tried_set, answer in self._feasible.items():
            if (answer and tried_set <= key) or (not answer and tried_set >= key):
                return answer
        answer = any(has_plan(query, self.world) for query in self.without(key))
        self._feasible[key] = answer
        return answer

    def cheapest(self, relaxed: Set[Requirement]) -> Solution | None:
        """The cheapest plan when these are dropped, the budget aside; None where there is none."""
        best: Solution | None = None
        for query in self.without(relaxed):
            # costs are whole cents
            below = math.inf if best is None or best.cost_usd is None else best.cost_usd - 0.005
            if has_plan(query.model_copy(update={"budget": below}), self.world):
                best = solve(query, self.world)
        return best


def has_plan(query: Query, world: World) -> bool:
    """Whether any plan keeps the rules, the wishes and the budget."""
    return first_within_budget(query, world).status is not SolveStatus.INFEASIBLE


def without_wishes(query: Query, relaxed: Set[Requirement]) -> Query:
    """The query less those wishes of `relaxed` that it states."""
    wishes = query.local_constraint
    cuisine = [name for name in wishes.cuisine or () if Requirement("cuisine", name) not in relaxed]
    wishes_left: dict[str, Any] = {"cuisine": cuisine or None}
    for kind, value in (
        ("house rule", wishes.house_rule),
        ("room type", wishes.room_type),
        ("transportation", wishes.transportation),
    ):
        wishes_left[kind] = None if value is None or Requirement(kind, value) in relaxed else value
    return query.model_copy(
        update={"local_constraint": LocalConstraint.model_validate(wishes_left)}
    )


def other_dates(query: Query, world: World) -> Iterator[tuple[int, list[str]]]:
    """(days shifted, dates) for every other start within the days that the world has flights for:
    nearest first, later before earlier.

    Dates that are no calendar days, and a world without flights, have no others.
    """
    try:
        start = datetime.date.fromisoformat(query.date[0])
        first, last = (datetime.date.fromisoformat(world.dates[end]) for end in (0, -1))
    except (IndexError, ValueError):
        return
    shifts = range((first - start).days, (last - start).days - query.days + 2)
    for shift in sorted(shifts, key=lambda days: (abs(days), -days)):
        dates = consecutive(start + datetime.timedelta(days=shift), query.days)
        if dates != list(query.date):
            yield shift, dates


def consecutive(start: datetime.date, days: int) -> list[str]:
    return [(start + datetime.timedelta(days=day)).isoformat() for day in range(days)]

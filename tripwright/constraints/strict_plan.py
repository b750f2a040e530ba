"""A whole plan as the strict rules see it: read once, then judged by every rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tripwright.constraints.strict_lookup import Key, Places
from tripwright.constraints.strict_reading import Day, read_day
from tripwright.constraints.strict_stays import Stay, stays_of
from tripwright.trip.query import Query
from tripwright.world.store import World


@dataclass(frozen=True, slots=True)
class StrictPlan:
    query: Query
    days: list[Day]  # within the request's length
    beyond: list[Any]  # whatever follows
    stays: dict[Key, Stay]
    world: World

    @property
    def cities(self) -> set[str]:
        """Every city that the plan is in, the one it starts from too."""
        return {city for day in self.days for city in (day.start, day.end) if city is not None}


def read_plan(query: Query, plan: Any, world: World) -> StrictPlan:
    """Anything but a list has no days."""
    given = plan if isinstance(plan, list) else []
    places = Places(world)
    days = [read_day(number, day, query, world, places) for number, day in enumerate(given[: query.days], start=1)]
    return StrictPlan(query, days, given[query.days :], stays_of(query, days), world)

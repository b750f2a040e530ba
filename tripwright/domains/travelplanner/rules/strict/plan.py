"""A whole plan as the strict rules see it: read once, then judged by every rule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.strict.lookup import Key, PlaceLookup
from tripwright.domains.travelplanner.rules.strict.reading import PlannedDay, read_day
from tripwright.domains.travelplanner.rules.strict.stays import PlannedStay, stays_of
from tripwright.world.store import World


@dataclass(frozen=True, slots=True)
class StrictPlan:
    query: Query
    days: list[PlannedDay]  # within the request's length
    beyond: list[Any]  # whatever follows
    stays: dict[Key, PlannedStay]
    world: World

    @property
    def cities(self) -> set[str]:
        """Every city that the plan is in, the one it starts from too."""
        return {city for day in self.days for city in (day.start, day.end) if city is not None}


def read_plan(query: Query, plan: Any, world: World) -> StrictPlan:
    """Anything but a list has no days."""
    entries = plan if isinstance(plan, list) else []
    places = PlaceLookup(world)
    days = [
        read_day(number, day, query, world, places)
        for number, day in enumerate(entries[: query.days], start=1)
    ]
    return StrictPlan(query, days, entries[query.days :], stays_of(query, days), world)

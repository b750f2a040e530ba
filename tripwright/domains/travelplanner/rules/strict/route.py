"""Strict rule: the trip goes from home through new cities of the destination and is home on the
last day, every day joined to the last."""

from __future__ import annotations

from collections.abc import Iterator

from tripwright.domains.travelplanner.rules.facts import shown
from tripwright.domains.travelplanner.rules.strict.plan import StrictPlan
from tripwright.domains.travelplanner.rules.strict.reading import CITY, PlannedDay
from tripwright.verdict import Evidence


def is_reasonable_visiting_city(plan: StrictPlan) -> Iterator[Evidence]:
    here, visited = plan.query.org, set[str]()
    for day in plan.days:
        requirement = _joins(day, here, visited, plan)
        if requirement:
            yield Evidence(day.number, CITY, shown(day.texts.get(CITY)), requirement)
        if day.end is not None:
            here = day.end
            visited.add(here)
    if len(plan.days) < plan.query.days and here != plan.query.org:
        yield Evidence(
            None,
            CITY,
            f"a trip that ends in {here}",
            f"a return to {plan.query.org} on day {plan.query.days}",
        )


def _joins(day: PlannedDay, here: str, visited: set[str], plan: StrictPlan) -> str | None:
    """What this day's cities should have been, None where they go on from `here` as a trip does."""
    org, is_last = plan.query.org, day.number == plan.query.days
    if day.start is None or day.end is None:
        return "a city of this world, or 'from A to B' (a small 'from') with two of them"
    if day.start != here:
        return f"a day that starts in {here}"
    if day.route.is_leg and not day.travels:
        return "just the city's name on a day without travel"
    if day.number == 1 and not day.travels:
        return f"a first day that leaves {org}"
    if is_last and (day.end != org or not day.travels):
        return f"a last day that returns to {org}"
    if day.travels and not is_last and day.end == org:
        return f"a return to {org} on the last day, and not before"
    if day.end == org:
        return None
    if day.travels and day.end in visited:
        return "a city not visited before"
    return _outside_destination(day.end, plan)


def _outside_destination(city: str, plan: StrictPlan) -> str | None:
    """Three days are for one city, more are for a state (row T2)."""
    query = plan.query
    if query.days <= 3:
        return None if city == query.dest else f"{query.dest}, the destination asked for"
    state = plan.world.cities[city]
    return None if state == query.dest else f"a city in {query.dest} ({city} is in {state})"

"""Strict rule: everything that the trip needs is there, as text, once, and nothing is said beyond
it.

None, [], False and numbers are neither given nor absent: they are wrong. Days after the last one
must be empty (annotated plans are padded with `{}`), and there is no key that the format does not
have, whatever its value, and none twice: they would hold what no rule reads. The official rule that
half of all entries be filled has no counterpart: a plan with all that is asked here is above it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tripwright.domains.travelplanner.plan.plan import FIELDS_AS_CHECKED, MEALS
from tripwright.domains.travelplanner.rules.facts import shown
from tripwright.domains.travelplanner.rules.official.completeness import UNUSED_DAY
from tripwright.domains.travelplanner.rules.strict.plan import StrictPlan
from tripwright.domains.travelplanner.rules.strict.reading import PlannedDay
from tripwright.errors import RepeatedKeys, printable
from tripwright.verdict import Evidence

DAY_NUMBERS = ("day", "days")
_NOTHING = ("", "-", UNUSED_DAY)


def is_not_absent(plan: StrictPlan) -> Iterator[Evidence]:
    query = plan.query
    if len(plan.days) != query.days:
        yield Evidence(None, None, f"{len(plan.days)} days", f"{query.days} days")
    for number, day in enumerate(plan.beyond, start=query.days + 1):
        if not _is_padding(day, number):
            yield Evidence(number, None, "another day", f"nothing after day {query.days}")
            break
    visited = plan.cities - {query.org}
    if len(visited) != query.visiting_city_number:
        cities = f"{len(visited)}: {', '.join(sorted(visited))}" if visited else "none"
        yield Evidence(
            None, "current_city", cities, f"{query.visiting_city_number} cities to visit"
        )
    for each in plan.days:
        yield from _malformed(each)
        yield from _missing(each, query.days)


def _is_padding(day: Any, number: int) -> bool:
    return (
        isinstance(day, dict)
        and not isinstance(day, RepeatedKeys)
        and all(
            (key in FIELDS_AS_CHECKED or key in DAY_NUMBERS)
            and (value in _NOTHING or (key in DAY_NUMBERS and _is_number(value, number)))
            for key, value in day.items()
        )
    )


def _is_number(value: Any, number: int) -> bool:
    """3, 3.0 and '3' are all day 3: JSON has one type of number, and a number in quotes misleads
    nobody."""
    return (
        value == number and not isinstance(value, bool)
        if isinstance(value, int | float)
        else value == str(number)
    )


def _malformed(day: PlannedDay) -> Iterator[Evidence]:
    if day.raw is None:
        yield Evidence(
            day.number,
            None,
            "something that is not a day",
            f"an object with {', '.join(FIELDS_AS_CHECKED)}",
        )
        return
    for field in FIELDS_AS_CHECKED:
        if field not in day.raw:
            yield Evidence(day.number, field, "no entry", "text, or '-' for nothing")
        elif not isinstance(day.raw[field], str):
            yield Evidence(day.number, field, shown(day.raw[field]), "text, or '-' for nothing")
    for key, value in day.raw.items():
        if key in DAY_NUMBERS:
            if not _is_number(value, day.number):
                requirement = f"the number {day.number}: days are counted from 1, in order"
                yield Evidence(day.number, key, shown(value), requirement)
        elif key not in FIELDS_AS_CHECKED:
            requirement = f"nothing beside days, {', '.join(FIELDS_AS_CHECKED)}"
            yield Evidence(day.number, shown(printable(key)), "a key of no plan", requirement)
    if isinstance(day.raw, RepeatedKeys):
        for key in day.raw.repeated:
            field = shown(printable(key))
            yield Evidence(day.number, field, "the same key again", "each key once in a day")


def _missing(day: PlannedDay, last: int) -> Iterator[Evidence]:
    """On a day with travel: transport. On a day in one place: meals and something to see. Every
    night but the last: a bed."""
    if "current_city" not in day.texts:
        yield Evidence(day.number, "current_city", "nothing", "a city, or 'from A to B'")
    if day.travels:
        if "transportation" not in day.texts:
            yield Evidence(day.number, "transportation", "nothing", "a way to travel")
    else:
        for meal in MEALS:
            if meal not in day.texts:
                yield Evidence(day.number, meal, "nothing", "three meals on a day without travel")
        if not day.sights:
            yield Evidence(
                day.number, "attraction", "nothing", "something to see on a day without travel"
            )
    if day.stay is None and day.number != last:
        yield Evidence(day.number, "accommodation", "nothing", "a place for the night")

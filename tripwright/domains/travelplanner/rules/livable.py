"""The livable rules: the strict ones, and one group of facts about days that somebody would live.

Each is read from rows, like all else: the hours of a flight, the minutes of a road. Who eats, sees
or sleeps when is not said in a plan, so a day is livable if some choice of hours makes it so. That
choice is the minute at which the traveller leaves: a flight leaves when its row says, a road when
it suits, and each clause asks for a minute between two others.

At home nobody needs a restaurant: meals are asked for away from home alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.rules.clock import (
    DAY_MINUTES,
    VISIT_MINUTES,
    DayHours,
    hours_of,
    span_text,
)
from tripwright.domains.travelplanner.rules.facts import LIVABLE_NAMES
from tripwright.domains.travelplanner.rules.strict_reading import StrictPlan
from tripwright.verdict import Evidence
from tripwright.world.geography import clock

USUAL_MINUTES: dict[str, tuple[int, int]] = dict(
    zip(MEALS, ((6 * 60, 10 * 60), (11 * 60, 14 * 60), (17 * 60, 21 * 60)), strict=True)
)
HOUR = 60  # left in a city at a meal's usual time: a meal is asked for
LONGEST_DAY = 16 * 60  # minutes from the first thing of a day to the end of the last
LONGEST_ROAD = 8 * 60
MEALS_FACT, LENGTH_FACT, ROAD_FACT, EMPTY_FACT = LIVABLE_NAMES


def unlivable(plan: StrictPlan) -> Iterator[tuple[str, Evidence]]:
    """(fact, what is wrong about a day)"""
    for hours in hours_of(plan):
        for clause in leaving(hours, plan.query.org)[1]:
            yield clause.fact, hours.day.wrong(clause.field, _way(hours), clause.needed)
        if hours.departure is None and hours.taken > LONGEST_ROAD and _can_fly(plan, hours):
            yield ROAD_FACT, hours.day.wrong("transportation", _way(hours), "a flight of that day")
    for day in plan.days:
        if not day.meals and not day.sights:
            yield EMPTY_FACT, day.wrong(None, "nothing", "a meal or a sight")


def _can_fly(plan: StrictPlan, hours: DayHours) -> bool:
    """Whether the table has a flight for that pair and date, and the traveller flies."""
    if plan.query.local_constraint.transportation == "no flight":
        return False
    day, date = hours.day, plan.query.date[hours.day.number - 1]
    return bool(plan.world.flights(str(day.start), str(day.end), date))


class Clause(NamedTuple):
    """The leg of a day must leave between two minutes, of which the first may come later."""

    fact: str
    field: str | None
    needed: str
    earliest: float
    latest: float


def leaving(hours: DayHours, home: str) -> tuple[tuple[float, float], list[Clause]]:
    """Between which minutes the day's leg can leave, and the clauses that this does not meet. A
    flight leaves when it leaves, a road so that each meal and sight has its time; a day without
    travel is in one city to its end."""
    earliest = hours.since + VISIT_MINUTES * hours.before
    latest = DAY_MINUTES - hours.taken - VISIT_MINUTES * hours.after
    if (certain := hours.departure if hours.day.travels else DAY_MINUTES) is not None:
        earliest = latest = certain
    unmet = []
    for clause in (*_meals(hours, home), _length(hours)):
        narrowed = max(earliest, clause.earliest), min(latest, clause.latest)
        if narrowed[0] <= narrowed[1]:
            earliest, latest = narrowed
        else:
            unmet.append(clause)
    return (earliest, latest), unmet


def _meals(hours: DayHours, home: str) -> Iterator[Clause]:
    """A meal wherever a day leaves an hour in a city at its usual time, and each that is planned
    has half an hour at its usual time in its city, so they come in order."""
    day, city_of = hours.day, {place.field: place.city for place in hours.day.meals}
    for meal, (begins, ends) in USUAL_MINUTES.items():
        there = max(begins, hours.since)
        earliest, latest, city = 0.0, float(DAY_MINUTES), city_of.get(meal)
        if city is None:  # the leg lands too late for the meal, and leaves too early for it
            if day.end != home:
                earliest = ends - HOUR + 1 - hours.taken
            if day.start != home and ends - there >= HOUR:
                latest = there + HOUR - 1
        elif city == day.start:
            earliest = there + VISIT_MINUTES if there + VISIT_MINUTES <= ends else math.inf
        else:
            latest = ends - VISIT_MINUTES - hours.taken
        needed = f"a {meal} between {begins // 60} and {ends // 60} o'clock"
        yield Clause(MEALS_FACT, meal, needed, earliest, latest)


def _length(hours: DayHours) -> Clause:
    """At most 16 hours between the first thing of a day and the last. What is done before leaving
    begins as late as it can, and what follows ends as early."""
    day, before, after = hours.day, VISIT_MINUTES * hours.before, VISIT_MINUTES * hours.after
    begins = [USUAL_MINUTES[p.field][1] - VISIT_MINUTES for p in day.meals if p.city == day.start]
    ends = [USUAL_MINUTES[p.field][0] + VISIT_MINUTES for p in day.meals if p.city == day.end]
    earliest: float = max(ends, default=0) - LONGEST_DAY + before
    latest = min(begins, default=DAY_MINUTES) + LONGEST_DAY - after - hours.taken
    if before + hours.taken + after > LONGEST_DAY:
        earliest = math.inf
    return Clause(LENGTH_FACT, None, "at most 16 hours for all of the day", earliest, latest)


def _way(hours: DayHours) -> str:
    if not hours.day.travels:
        return f"a landing at {clock(hours.since)}" if hours.since else "the whole day there"
    if hours.departure is None:
        return f"{span_text(hours.taken)} by road from {hours.day.start} to {hours.day.end}"
    times = f"from {clock(hours.departure)} to {clock(hours.landing)}"
    return f"a flight {times}, {hours.day.start} to {hours.day.end}"


# ---- an hour for each thing


FAVOURED_MINUTES = {"breakfast": 8 * 60, "lunch": 12 * 60 + 30, "dinner": 18 * 60 + 30}
# minutes: sights from nine on, an hour and a half for each, and none from nine in the evening on
FIRST_SIGHT, NEXT_SIGHT, LAST_SIGHT, EARLY = 9 * 60, 90, 21 * 60, 5 * 60


def timetable(plan: StrictPlan) -> dict[tuple[int, str, int], float]:
    """(day, field, which of the field's pieces) → the minute of the day at which it may begin, for
    all legs, meals and sights of a plan that the strict rules pass. Meals come at their usual times
    where they can; a road is taken in the morning, or as near to that as the day lets it."""
    table: dict[tuple[int, str, int], float] = {}
    for hours in hours_of(plan):
        day, (earliest, latest) = hours.day, leaving(hours, plan.query.org)[0]
        leaves = min(max(FIRST_SIGHT, earliest), latest)
        if hours.after:  # there before the night, where that can be
            in_time = max(EARLY, LAST_SIGHT - VISIT_MINUTES * hours.after - hours.taken)
            leaves = max(earliest, min(leaves, in_time))
        if day.travels:
            table[day.number, "transportation", 0] = leaves
        lands = max(0.0, leaves + hours.taken)
        windows = {day.end: (lands, DAY_MINUTES), day.start: (hours.since, leaves)}
        things = [(place, place.field, 0, FAVOURED_MINUTES[place.field]) for place in day.meals]
        things += [
            (place, "attraction", i, FIRST_SIGHT + NEXT_SIGHT * i)
            for i, place in enumerate(day.sights)
        ]
        for city, (begins, ends) in windows.items():
            slots = [begins + VISIT_MINUTES * i for i in range(int(ends - begins) // VISIT_MINUTES)]
            for place, field, i, favoured in things:
                if place.city == city and slots:
                    slot = min(slots, key=lambda minute: abs(minute - favoured))
                    slots.remove(slot)
                    table[day.number, field, i] = slot
    return table

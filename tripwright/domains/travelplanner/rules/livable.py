"""The livable rules: the strict ones, and one group of facts about days that somebody would live.

Each is read from rows, like all else: the hours of a flight, the minutes of a road. Who eats, sees
or sleeps when is not said in a plan, so a day is livable if some choice of hours makes it so. That
choice is the minute at which the traveller leaves: a flight leaves when its row says, a road when
it suits, and what a clause asks bounds that minute from below or from above.

At home nobody needs a restaurant: meals are asked for away from home alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.rules.clock import (
    DAY_MINUTES,
    VISIT_MINUTES,
    DayHours,
    clock_text,
    hours_of,
    span_text,
)
from tripwright.domains.travelplanner.rules.strict_reading import StrictPlan
from tripwright.verdict import Evidence

USUAL_MINUTES: dict[str, tuple[int, int]] = dict(
    zip(MEALS, ((6 * 60, 10 * 60), (11 * 60, 14 * 60), (17 * 60, 21 * 60)), strict=True)
)
HOUR = 60  # left in a city at a meal's usual time: a meal is asked for
LONGEST_DAY = 16 * 60  # minutes from the first thing of a day to the end of the last
LONGEST_ROAD = 8 * 60


class Bound(NamedTuple):
    """The leg of a day must leave at `minute` at the earliest, or at the latest. `needed` is empty
    for a flight, which does."""

    minute: float
    needed: str


class Departures(NamedTuple):
    """When a day's leg may leave, each bound for a reason."""

    earliest: list[Bound]
    latest: list[Bound]


def meals_at_their_hours(plan: StrictPlan, days: list[DayHours]) -> Iterator[Evidence]:
    """A meal wherever a day leaves an hour in a city at its usual time, and each that is planned
    has half an hour at its usual time in its city, so they come in order."""
    for hours in days:
        if hours.leg_minutes is None:
            yield from _meals_of_a_stay(hours, plan.query.org)
        else:
            bounds = _possible(hours)
            _bound_by_meals(hours, plan.query.org, bounds)
            yield from _unmet(hours, bounds)


def _meals_of_a_stay(hours: DayHours, home: str) -> Iterator[Evidence]:
    planned = {place.field for place in hours.day.meals}
    for meal, (begins, ends) in USUAL_MINUTES.items():
        left = ends - max(begins, hours.since)
        if meal in planned and left < VISIT_MINUTES:
            yield hours.day.wrong(meal, _since(hours), _USUAL[meal])
        elif meal not in planned and left >= HOUR and hours.day.end != home:
            yield hours.day.lacks(meal, _USUAL[meal])


def _bound_by_meals(hours: DayHours, home: str, bounds: Departures) -> None:
    day, taken = hours.day, hours.leg_minutes or 0
    city_of = {place.field: place.city for place in day.meals}
    for meal, (begins, ends) in USUAL_MINUTES.items():
        there = max(begins, hours.since)
        city, usual = city_of.get(meal), _USUAL[meal]
        if city is not None and city == day.start:
            late = there + VISIT_MINUTES > ends
            needed = f"{usual} in {city}, before the way to {day.end}"
            bounds.earliest.append(Bound(DAY_MINUTES if late else there + VISIT_MINUTES, needed))
        elif city is not None:
            needed = f"{usual} in {city}, after the way from {day.start}"
            bounds.latest.append(Bound(ends - VISIT_MINUTES - taken, needed))
        else:
            if day.end != home:  # it must land too late for the meal …
                needed = f"{usual} in {day.end}"
                bounds.earliest.append(Bound(ends - HOUR + 1 - taken, needed))
            if day.start != home and ends - there >= HOUR:  # … and leave too early for it
                needed = f"{usual} in {day.start}"
                bounds.latest.append(Bound(there + HOUR - 1, needed))


def no_endless_day(plan: StrictPlan, days: list[DayHours]) -> Iterator[Evidence]:
    """At most 16 hours between the first thing of a day and the last, at hours at which the meals
    can be had, too."""
    for hours in days:
        if hours.leg_minutes is None:
            continue  # 24 sights and three meals are 13.5 hours
        bounds = _with_meals(hours, plan.query.org)
        _bound_by_length(hours, bounds)
        things = VISIT_MINUTES * (hours.before + hours.after)
        if hours.leg_minutes + things > LONGEST_DAY:
            found = f"{span_text(hours.leg_minutes + things)} of travel, meals and sights"
            yield hours.day.wrong(None, found, _SIXTEEN)
        else:
            yield from _unmet(hours, bounds)


_SIXTEEN = "at most 16 hours from the first thing of a day to the last"


def _bound_by_length(hours: DayHours, bounds: Departures) -> None:
    """What is done before leaving begins as late as it can, and what follows ends as early."""
    day, taken = hours.day, hours.leg_minutes or 0
    begins = [USUAL_MINUTES[p.field][1] - VISIT_MINUTES for p in day.meals if p.city == day.start]
    ends = [USUAL_MINUTES[p.field][0] + VISIT_MINUTES for p in day.meals if p.city == day.end]
    before, after = VISIT_MINUTES * hours.before, VISIT_MINUTES * hours.after
    if begins:
        latest = min(begins) + LONGEST_DAY - after - taken
        bounds.latest.append(Bound(latest, _SIXTEEN))
    if ends:
        bounds.earliest.append(Bound(max(ends) - LONGEST_DAY + before, _SIXTEEN))
    if begins and ends and max(ends) - min(begins) > LONGEST_DAY:
        bounds.latest.append(Bound(-1, _SIXTEEN))


def _with_meals(hours: DayHours, home: str) -> Departures:
    """Bounds that leave meals their hours, where that can be."""
    bounds = _possible(hours)
    _bound_by_meals(hours, home, bounds)
    return _possible(hours) if any(_unmet(hours, bounds)) else bounds


def _possible(hours: DayHours) -> Departures:
    """A flight leaves when it leaves, a road so that all else of the day has its time."""
    if hours.departure is not None:
        leaves = Bound(hours.departure, "")
        return Departures([leaves], [leaves])
    earliest = hours.since + VISIT_MINUTES * hours.before
    latest = DAY_MINUTES - (hours.leg_minutes or 0) - VISIT_MINUTES * hours.after
    needed = "half an hour for each meal and sight of the day"
    return Departures([Bound(earliest, needed)], [Bound(latest, needed)])


def _unmet(hours: DayHours, bounds: Departures) -> Iterator[Evidence]:
    earliest = max(bounds.earliest, key=lambda bound: bound.minute)
    latest = min(bounds.latest, key=lambda bound: bound.minute)
    if earliest.minute > latest.minute:
        needed = "; ".join(dict.fromkeys(b.needed for b in (earliest, latest) if b.needed))
        yield hours.day.wrong(None, _way(hours), needed)


def no_long_road(plan: StrictPlan, days: list[DayHours]) -> Iterator[Evidence]:
    """No way by road of more than 8 hours where the table has a flight for that pair and date, and
    the traveller flies."""
    if plan.query.local_constraint.transportation == "no flight":
        return
    for hours in days:
        day, taken = hours.day, hours.leg_minutes
        if taken is None or taken <= LONGEST_ROAD or hours.departure is not None:
            continue
        date = plan.query.date[day.number - 1]
        if plan.world.flights(str(day.start), str(day.end), date):
            found = f"{span_text(taken)} by road from {day.start} to {day.end}"
            yield day.wrong("transportation", found, "a flight, which there is that day")


def no_empty_day(plan: StrictPlan, days: list[DayHours]) -> Iterator[Evidence]:
    for day in plan.days:
        if not day.meals and not day.sights:
            yield day.wrong(None, "nothing", "a meal or a sight")


CHECKS = (meals_at_their_hours, no_endless_day, no_long_road, no_empty_day)


def unlivable(plan: StrictPlan) -> Iterator[tuple[str, Iterator[Evidence]]]:
    """Each fact by its name, with what is wrong about the plan's days."""
    days = list(hours_of(plan))
    for check in CHECKS:
        yield check.__name__, check(plan, days)


# ---- an hour for each thing


FAVOURED_MINUTES = {"breakfast": 8 * 60, "lunch": 12 * 60 + 30, "dinner": 18 * 60 + 30}
FIRST_SIGHT, NEXT_SIGHT = 9 * 60, 90  # minutes: sights from nine on, an hour and a half for each


def timetable(plan: StrictPlan) -> dict[tuple[int, str, int], float]:
    """(day, field, which of the field's pieces) → the minute of the day at which it may begin, for
    all legs, meals and sights of a plan that the strict rules pass. Meals come at their usual times
    where they can."""
    table: dict[tuple[int, str, int], float] = {}
    for hours in hours_of(plan):
        day = hours.day
        windows = [(day.start, hours.since, float(DAY_MINUTES))]
        if hours.leg_minutes is not None:
            leaves = _leaves(hours, plan.query.org)
            table[day.number, "transportation", 0] = leaves
            lands = max(0.0, leaves + hours.leg_minutes)
            windows = [(day.start, hours.since, leaves), (day.end, lands, float(DAY_MINUTES))]
        for city, begins, ends in windows:
            slots = [begins + VISIT_MINUTES * i for i in range(int(ends - begins) // VISIT_MINUTES)]
            wanted = [(p.field, 0, FAVOURED_MINUTES[p.field]) for p in day.meals if p.city == city]
            wanted += [
                ("attraction", i, FIRST_SIGHT + NEXT_SIGHT * i)
                for i, place in enumerate(day.sights)
                if place.city == city
            ]
            for field, i, favoured in wanted:
                if slots:
                    slot = min(slots, key=lambda minute: abs(minute - favoured))
                    slots.remove(slot)
                    table[day.number, field, i] = slot
    return table


def _leaves(hours: DayHours, home: str) -> float:
    """A flight when it leaves; a road in the morning, or as near to that as the day's meals and
    sights let it."""
    bounds = _with_meals(hours, home)
    latest = min(bound.minute for bound in bounds.latest)
    return min(max(FIRST_SIGHT, *(bound.minute for bound in bounds.earliest)), latest)


_USUAL = {
    meal: f"a {meal} between {begins // 60} and {ends // 60} o'clock"
    for meal, (begins, ends) in USUAL_MINUTES.items()
}


def _since(hours: DayHours) -> str:
    return f"a landing at {clock_text(hours.since)}" if hours.since else "too short a day"


def _way(hours: DayHours) -> str:
    if hours.departure is None or hours.landing is None:
        return f"{span_text(hours.leg_minutes or 0)} by road"
    return f"a flight from {clock_text(hours.departure)} to {clock_text(hours.landing)}"

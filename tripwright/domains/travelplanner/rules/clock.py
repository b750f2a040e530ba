"""When each thing of a plan could happen: the hours that a day leaves, by the times of its rows.

A flight leaves and lands when its row says, each by the clock of its city; a landing after midnight
belongs to the next day. A way by road takes the minutes of its row and leaves when it suits. A meal
or a sight takes half an hour, in the city where the traveller then is, and so does a bed, between
two days. Plans say no hours, so whatever can be given some is possible.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from tripwright.domains.travelplanner.rules.strict_reading import (
    PlannedDay,
    StrictPlan,
    clock_minutes,
    minutes,
)
from tripwright.errors import counted
from tripwright.verdict import Evidence
from tripwright.world.geography import clock

DAY_MINUTES = 24 * 60
VISIT_MINUTES = 30  # a meal, a sight or a bed, at the least


class DayHours(NamedTuple):
    """One day by the clock. All times are minutes after its first midnight."""

    day: PlannedDay
    since: float  # yesterday's leg lands then; 0 where it landed yesterday
    taken: float  # from leaving to landing, by the clocks of the two cities; 0 without travel
    departure: float | None  # of a flight; a road leaves when it suits
    before: int  # meals and sights before the leg; all of them on a day without travel
    after: int  # meals and sights behind it

    @property
    def landing(self) -> float:
        """Of a flight; 1450 is ten past midnight."""
        return (self.departure or 0.0) + self.taken


def hours_of(plan: StrictPlan) -> Iterator[DayHours]:
    """Each day whose hours can be told. One whose leg nobody can read says nothing."""
    since = 0.0
    for day in plan.days:
        if not day.travels:
            yield DayHours(day, since, 0.0, None, len(day.meals) + len(day.sights), 0)
            since = 0.0
            continue
        leg, known = day.leg, None
        if leg is not None and not leg.problems and leg.route == day.route:
            flight = leg.flight
            times = (flight.departure_time, flight.arrival_time) if flight else None
            known = _leg_hours(leg.duration, times)
        if known is not None:
            cities = [place.city for place in (*day.meals, *day.sights)]
            hours = DayHours(day, since, *known, cities.count(day.start), cities.count(day.end))
            yield hours
        since = 0.0 if known is None else max(0.0, hours.landing - DAY_MINUTES)


@lru_cache(4096)
def _leg_hours(duration: str, times: tuple[str, str] | None) -> tuple[float, float | None] | None:
    """(minutes from leaving to landing, minute of leaving), the second None for a road, all None
    where the row cannot be read. `times` are those of a flight."""
    taken = minutes(duration)
    if taken is None or times is None:
        return None if taken is None else (taken, None)
    leaves, lands = map(clock_minutes, times)
    if leaves is None or lands is None:
        return None
    # clocks of two cities differ by some hours at the most: the day of the landing is the nearest
    midnights = round((leaves + taken - lands) / DAY_MINUTES)
    return lands + midnights * DAY_MINUTES - leaves, leaves


def impossible_hours(plan: StrictPlan) -> Iterator[Evidence]:
    """What no choice of hours makes possible."""
    evening, evening_of = 0.0, None  # what yesterday leaves behind its last thing
    for hours in hours_of(plan):
        morning, left = _spare(hours)
        if min(morning, left) < 0:
            yield _too_full(hours, morning)
        elif hours.day.number - 1 == evening_of and morning + evening < VISIT_MINUTES:
            night = f"{span_text(morning + evening)} from the last thing of a day to the next leg"
            needed = f"{VISIT_MINUTES} minutes for the night at the least"
            yield Evidence(evening_of, "accommodation", night, needed)
        elif hours.departure is None and hours.day.number - 1 == evening_of:
            left -= max(0.0, VISIT_MINUTES - evening)  # a bed in the morning
        evening, evening_of = max(0.0, left), hours.day.number


def _spare(hours: DayHours) -> tuple[float, float]:
    """Minutes that are left before the leg and behind it, below 0 where there are too few. Without
    a flight they are the same minutes."""
    before, after = VISIT_MINUTES * hours.before, VISIT_MINUTES * hours.after
    if hours.departure is None:
        spare = DAY_MINUTES - hours.since - hours.taken - before - after
        return spare, spare
    morning = hours.departure - hours.since - before
    if hours.landing >= DAY_MINUTES:  # tomorrow: nothing is left of today, and nothing may need it
        return morning, -1.0 if after else 0.0
    return morning, DAY_MINUTES - max(0.0, hours.landing) - after


def _too_full(hours: DayHours, morning: float) -> Evidence:
    found = f"begins with a landing at {clock(hours.since)}, " if hours.since else ""
    if hours.departure is None:
        way = f"{span_text(hours.taken)} by road and " if hours.taken else ""
        found += f"{way}{_things(hours.before + hours.after)}"
        left = DAY_MINUTES - hours.since - hours.taken
    elif morning < 0:
        found += f"{_things(hours.before)}, then leaves {clock(hours.departure)}"
        left = hours.departure - hours.since
    else:
        found = f"lands {clock(hours.landing)}, then {_things(hours.after)}"
        left = DAY_MINUTES - hours.landing
    needed = "time for each meal and sight in the city where the traveller then is"
    return hours.day.wrong(None, f"{found}; {span_text(max(0.0, left))} are left", needed)


def _things(count: int) -> str:
    return f"{counted(count, 'thing')} of half an hour"


def span_text(span: float) -> str:
    return f"{int(span) // 60} h {int(span) % 60:02}"

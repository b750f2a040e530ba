"""What the planner answers, and the answer as a plan in Planner-R1's schema."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tripwright.domains.travelplanner.oracle.options import MEALS, Leg, Stay
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import Restaurant


class SolveStatus(StrEnum):
    OPTIMAL = "optimal"  # proved the cheapest
    FEASIBLE = "feasible"  # a plan, without that proof
    INFEASIBLE = "infeasible"  # proved that there is none


@dataclass(frozen=True)
class CityChoice:
    city: str
    nights: int
    stay: Stay
    # the first 3 × (nights − 1) are for the full days, the rest for the days of arrival and
    # departure
    meals: tuple[Restaurant, ...]
    attractions: tuple[str, ...]  # one per full day


@dataclass(frozen=True)
class Solution:
    """`cost_usd` is for the whole party; None with `why` where there is no plan."""

    status: SolveStatus
    cost_usd: float | None = None
    cities: tuple[CityChoice, ...] = ()
    legs: tuple[Leg, ...] = ()
    why: str | None = None
    comfortable: bool = False  # sought among the comfortable plans only

    @property
    def family(self) -> str | None:
        return (
            ("self-driving" if self.legs[0].mode == "self-driving" else "flight or taxi")
            if self.legs
            else None
        )


def plan_days(query: Query, solution: Solution) -> list[dict[str, Any]]:
    """The plan in Planner-R1's schema, as plain JSON."""
    days: list[dict[str, Any]] = []
    here, left_over = query.org, list[str]()
    for choice, leg in zip(solution.cities, solution.legs, strict=False):
        full_days = choice.nights - 1
        arrival = _day(
            len(days) + 1,
            {"from": here, "to": choice.city},
            leg_record(leg),
            choice.stay.accommodation.name,
        )
        left_over = _eat(arrival, left_over, [row.name for row in choice.meals[3 * full_days :]])
        days.append(arrival)
        for i in range(full_days):
            day = _day(len(days) + 1, choice.city, "-", choice.stay.accommodation.name)
            day["attraction"] = [choice.attractions[i]]
            day.update(
                zip(MEALS, (row.name for row in choice.meals[3 * i : 3 * i + 3]), strict=True)
            )
            days.append(day)
        here = choice.city
    days.append(
        _day(len(days) + 1, {"from": here, "to": query.org}, leg_record(solution.legs[-1]), "-")
    )
    _eat(days[-1], left_over, [])
    return days


def _eat(day: dict[str, Any], before: list[str], after: list[str]) -> list[str]:
    """Meals of a day of travel: those of the city that is left from breakfast on, those of the next
    one from dinner back.

    Returns those of the next city that found no place: they wait until it is left in turn.
    """
    day.update(zip(MEALS, before, strict=False))
    free = len(MEALS) - len(before)
    day.update(zip(reversed(MEALS), after[:free], strict=False))
    return after[free:]


def _day(number: int, city: Any, transportation: Any, accommodation: str) -> dict[str, Any]:
    return {
        "days": number,
        "city": city,
        "transportation": transportation,
        "attraction": "-",
        "accommodation": accommodation,
        **dict.fromkeys(MEALS, "-"),
    }


def leg_record(leg: Leg) -> dict[str, Any]:
    """The leg in Planner-R1's schema: `cost` is US dollars per person (flight) or per vehicle."""
    record: dict[str, Any] = {
        "mode": leg.mode,
        "from": leg.origin,
        "to": leg.destination,
        "duration": leg.duration,
        "distance": leg.distance,
        "cost": int(leg.cost_usd),
    }
    if leg.flight is not None:
        flight = leg.flight
        record.update(
            flight_number=flight.number,
            departure_time=flight.departure_time,
            arrival_time=flight.arrival_time,
        )
    return record

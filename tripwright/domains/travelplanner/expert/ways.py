"""The work on ways, costs and the sum, shown: as records and as words (`work.py` has rows).

Go: home V Dalby 7 hours 9 mins 640 km 33 self-driving. Back: V home Ely 7 hours 20 mins 650 km 35
self-driving. Trip: 1 person, 1 car, 1 taxi; day 1, home, 4 nights, home V Dalby 7 hours 9 mins
640 km 33 self-driving, 1*33, V Dalby V 4 nights 159 V: (B) Ash Inn, 1*33+4*159; day 5, V home Ely 7
hours 20 mins 650 km 35 self-driving. Cost: 1*33+4*159+1*35. Plan: day 1, home V Dalby 7 hours 9
mins 640 km 33 self-driving, V Dalby V 4 nights 159 V: (B) Ash Inn; day 2, V Elm Park, breakfast
(A) Oak Cafe, lunch (B) Yew Grill, dinner (C) Fir Bistro; […]; day 5, V home Ely 7 hours 20 mins 650
km 35 self-driving.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tripwright.domains.travelplanner.expert.work import (
    DEAR,
    HOME,
    NO,
    NONE,
    OK,
    Signs,
    asked_of_cities,
    asked_of_meals,
    called,
    party,
)
from tripwright.domains.travelplanner.oracle.options import MEALS, SEATS
from tripwright.errors import counted

GO, BACK, TRIP, COST = "Go", "Back", "Trip", "Cost"  # of ways; what it, or meals, cost
EATING = "Meals"  # where
SEE = "See"  # what one sees there
PLAN = "Plan"  # of the trip that keeps the budget
SELF_DRIVING = "self-driving"


class TripStop(NamedTuple):
    letter: str  # of the city
    name: str
    way: str  # there, by its ends: "home V Dalby 33 self-driving"
    stay: str  # as it was chosen: "V 3 nights 159 V: (B) Ash Inn"
    nights: int
    way_cost: str  # "1*33"
    stay_cost: str  # "3*159"

    @property
    def city(self) -> str:
        """Such as "V Dalby"."""
        return called(self.letter, self.name)

    @property
    def costs(self) -> tuple[str, str]:
        return self.way_cost, self.stay_cost


def trip_words(people: int, stops: Sequence[TripStop], back: str) -> str:
    """A trip from home to home: the words that each city was compared by, how one comes there and
    where one stays (behind the city's name, which a plan has before it), and what all costs so far:
    "1 person, 1 car, 1 taxi; day 1, home, 3 nights, home V Dalby 33 self-driving, 1*33, V Dalby V 3
    nights 159 V: (B) Ash Inn, 1*33+3*159; day 4, V home Ely 35 self-driving"."""
    day, costs, been = 1, list[str](), [HOME, *(stop.letter for stop in stops)]
    said = [f"{party(people)}, {vehicles(people)}"]
    for at, stop in enumerate(stops):
        to_come = [each.nights for each in stops[at:]]
        asked = asked_of_cities(been[: at + 1], day, to_come, ())
        costs.append(stop.way_cost)
        reached = ", ".join((*asked, stop.way, "+".join(costs)))
        costs.append(stop.stay_cost)
        said.append(f"{reached}, {stop.city} {stop.stay}, {'+'.join(costs)}")
        day += stop.nights
    return "; ".join((*said, f"day {day}, {back}"))


def plan_words(stops: Iterable[TripStop], full_days: Iterable[str], back: str) -> str:
    """A trip day by day, as an answer has it; `full_days` of all stops: "day 1, home V Dalby 33
    self-driving, V Dalby V 2 nights 159 V: (B) Ash Inn; day 2, V Elm Park, breakfast (A) Oak Cafe,
    lunch (B) Yew Grill, dinner (C) Fir Bistro; day 3, V home Ely 35 self-driving"."""
    days, full = list[str](), iter(full_days)
    for stop in stops:
        reached = f"{stop.way}, {stop.city} {stop.stay}"
        days += [reached, *(f"{stop.letter} {next(full)}" for _ in range(1, stop.nights))]
    return "; ".join(f"day {day}, {where}" for day, where in enumerate([*days, back], start=1))


def sights_words(city: str, sights: Sequence[str], nights: int) -> str:
    """One for each full day, behind the city's letter as in a plan: "V Elm Park, V Oak Hall"; none
    where there are too few."""
    is_enough = len(sights) >= nights - 1
    return ", ".join(f"{city} {sight}" for sight in sights[: nights - 1]) if is_enough else NONE


def full_day(sight: str, meals: Iterable[str]) -> str:
    """What is seen and eaten: "Elm Park, breakfast (A) Oak Cafe, lunch (B) Yew Grill, dinner (C)
    Fir Bistro"."""
    eaten = (f"{purpose} {meal}" for purpose, meal in zip(MEALS, meals, strict=True))
    return ", ".join((sight, *eaten))


def eating_words(day: int, here: str, city: str, meals: int, signs: Signs) -> str:
    """In which city one eats, by the words that a trip has for coming there, how many meals, and
    which cuisines have to be among them: "day 4, V U Corbeck, 6, French!"."""
    return ", ".join((f"day {day}", f"{here} {city}", *asked_of_meals(str(meals), 0, signs)))


def vehicles(people: int) -> str:
    """Such as "2 cars, 2 taxis"."""
    cars, taxis = (math.ceil(people / SEATS[mode]) for mode in (SELF_DRIVING, "taxi"))
    return f"{counted(cars, 'car')}, {counted(taxis, 'taxi')}"


def leg_taken(here: str, there: str, way: str | None) -> str:
    """A way by its ends: "home V Dalby 33 self-driving"; "home V no" where there is none."""
    return f"{here} {there} {way or NO}"


def way_words(cost_usd: float, name: str, duration: str = "", distance: str = "") -> str:
    """In the order of a plan: "2 hours 40 mins 268 km 13 self-driving"; of a flight "1 hour 5
    minutes 72 F12345"."""
    facts = (duration, distance) if name in SEATS else (duration,)
    return " ".join(filter(None, (*facts, f"{cost_usd:g}", name)))


def way_cost(people: int, cost_usd: float, name: str) -> str:
    """Of seats in a plane, or of as many cars as they take."""
    return f"{math.ceil(people / SEATS.get(name, 1))}*{cost_usd:g}"


def nights_cost(nights: int, price_usd: float) -> str:
    return f"{nights}*{price_usd:g}"


def meals_cost(people: int, prices_usd: Iterable[float]) -> str:
    return f"{people}*({'+'.join(f'{price:g}' for price in prices_usd)})"


def left_of_budget(budget_usd: float, costs: Iterable[str]) -> str:
    """What a calculator is asked: its answer has a sign, so that two numbers need not be
    compared."""
    return f"{budget_usd:.12g}-({'+'.join(costs)})"


def left_words(left_usd: float) -> str:
    """Such as "458 left ok"."""
    return f"{left_usd:.12g} left {OK if left_usd >= 0 else DEAR}"


def to_the_cent(left_usd: float) -> float:
    """A budget that is spent to the cent leaves nothing, and not a rounding error."""
    return round(left_usd, 2) + 0.0

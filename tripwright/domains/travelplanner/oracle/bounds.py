"""What finishing a trip costs at least, from every city and day: the bounds that make the
search short.

A layered graph: after the k-th city, in which city, on which day, with which cuisines still to be
eaten. The backward pass is exact but for one thing: it lets a trip come back to a city it visited
before the last one. So a bound is nearly always the true cost, and where no city would repeat it is
exactly that.

Legs inside a state are the many look-ups. One is made only if the cheapest trip through it, with
every such leg before it taken as free, stays within `limit_cents`.
"""

from __future__ import annotations

from collections.abc import Iterator

from tripwright.domains.travelplanner.oracle.patience import check_time
from tripwright.domains.travelplanner.oracle.problem import Problem

NEVER = 1 << 60  # cents; more than any trip
Row = list[int]  # cents by the set of cuisines still to be eaten, as a mask


class Bounds:
    """For one transport family. Cities are indices into `problem.cities`."""

    def __init__(self, problem: Problem, driving: bool, limit_cents: int = NEVER):
        self.problem, self.driving, self.limit_cents = problem, driving, limit_cents
        self.count = len(problem.cities)
        self.all_cuisines = (1 << len(problem.wanted)) - 1
        self.first = [self._leg_cents(problem.query.org, city, 0) for city in problem.cities]
        self.last = [
            self._leg_cents(city, problem.query.org, problem.nights) for city in problem.cities
        ]
        self._inner: dict[tuple[int, int, int], int] = {}
        self._days = self._reachable_days()
        self._before = self._cheapest_before()
        # by cities done: (city, day) → row
        self.to_leave: list[dict[tuple[int, int], Row]] = [{} for _ in range(problem.visits + 1)]
        self.to_arrive: list[dict[tuple[int, int], Row]] = [{} for _ in range(problem.visits)]
        self._work_backwards()

    def leg_cents(self, origin: int, destination: int, day: int) -> int:
        key = (origin, destination, day)
        if key not in self._inner:
            cities = self.problem.cities
            self._inner[key] = self._leg_cents(cities[origin], cities[destination], day)
        return self._inner[key]

    def _leg_cents(self, origin: str, destination: str, day: int) -> int:
        leg = self.problem.leg(origin, destination, day, self.driving)
        return NEVER if leg is None else self.problem.leg_cents(leg)

    def lengths(self, visited: int, day: int) -> Iterator[int]:
        """How many nights the next city may have, so that the cities after it can use up the
        rest."""
        check_time()
        for nights in self.problem.lengths:
            if day + nights in self._days[visited + 1]:
                yield nights

    def _reachable_days(self) -> list[set[int]]:
        """By cities done: the days on which a trip may leave the last of them and still end in
        time."""
        problem = self.problem
        shortest, longest = problem.lengths[0], problem.lengths[-1]
        days = []
        for visited in range(problem.visits + 1):
            ahead = problem.visits - visited
            least = max(visited * shortest, problem.nights - ahead * longest)
            days.append(
                set(range(least, min(visited * longest, problem.nights - ahead * shortest) + 1))
            )
        return days

    def _cheapest_before(self) -> list[dict[tuple[int, int], int]]:
        """By cities done: (city, day) → the least a trip can have cost on leaving that city, legs
        inside the state taken as free."""
        least: list[dict[tuple[int, int], int]] = [{}]
        free = {0: 0}  # day → the least, over all cities
        for visited in range(self.problem.visits):
            here: dict[tuple[int, int], int] = {}
            for city in range(self.count):
                for day, before in free.items():
                    arrived = self.first[city] if visited == 0 else before
                    for nights in self.lengths(visited, day):
                        floor = self._floor(city, nights)
                        key = (city, day + nights)
                        if arrived + floor < here.get(key, NEVER):
                            here[key] = arrived + floor
            free = {}
            for (_, day), value in here.items():
                free[day] = min(value, free.get(day, NEVER))
            least.append(here)
        return least

    def _floor(self, city: int, nights: int) -> int:
        offer = self.problem.offer(self.problem.cities[city], nights)
        return NEVER if offer is None else offer.stay_cents[0] + offer.meals[0][1]

    def _work_backwards(self) -> None:
        visits, nights = self.problem.visits, self.problem.nights
        for city in range(self.count):
            if self.last[city] < NEVER:
                self.to_leave[visits][city, nights] = [self.last[city]] + [
                    NEVER
                ] * self.all_cuisines
        for visited in range(visits - 1, -1, -1):
            for city in range(self.count):
                for day in self._days[visited]:
                    row = self._stay_row(visited, city, day)
                    if row[0] < NEVER:
                        self.to_arrive[visited][city, day] = row
            if visited:
                for city, day in self._before[visited]:
                    row = self._leave_row(visited, city, day)
                    if row[0] < NEVER:
                        self.to_leave[visited][city, day] = row

    def _stay_row(self, visited: int, city: int, day: int) -> Row:
        row = [NEVER] * (self.all_cuisines + 1)
        for nights in self.lengths(visited, day):
            after = self.to_leave[visited + 1].get((city, day + nights))
            offer = self.problem.offer(self.problem.cities[city], nights) if after else None
            if after is None or offer is None:
                continue
            stay = offer.stay_cents[0]
            for mask, meals, _ in offer.meals:
                here, rest = stay + meals, ~mask
                for cuisines in range(self.all_cuisines + 1):
                    cost = here + after[cuisines & rest]
                    if cost < row[cuisines]:
                        row[cuisines] = cost
        return row

    def _leave_row(self, visited: int, city: int, day: int) -> Row:
        row = [NEVER] * (self.all_cuisines + 1)
        check_time()
        room = self.limit_cents - self._before[visited][city, day]
        arriving = self.to_arrive[visited]
        for other in range(self.count):
            after = arriving.get((other, day))
            if after is None or other == city or after[0] > room:
                continue
            leg = self.leg_cents(city, other, day)
            if leg < NEVER:
                row = [min(cost, leg + more) for cost, more in zip(row, after, strict=True)]
        return row

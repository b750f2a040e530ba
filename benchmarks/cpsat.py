"""The exact planner's problem as a model for CP-SAT, Google's solver: a cross-check that
shares none of the planner's search, for benchmarks/oracle.py and a test.

Only the options of each city and leg are the same (`options.py`): how cities, nights, days, stays
and meals combine is said once more, as linear constraints over 0/1 variables, and so are the hours
of the days of travel: the leg, each meal and each sight begin at a minute that the solver chooses.
It is much slower than the planner, and needs ortools (the extra "dev").
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.oracle.options import (
    MEALS,
    Leg,
    attractions,
    cents,
    city_pool,
    cuisine_mask,
    flight_legs,
    restaurants,
    road_legs,
    stays,
    why_unplannable,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.records import duration_minutes
from tripwright.world.store import World

DAY, NIGHT, VISIT = 1440, 30, 30  # minutes; a visit is a meal or a sight
USUAL = {"breakfast": (360, 600), "lunch": (660, 840), "dinner": (1020, 1260)}  # minutes of a day
TIME_FOR_A_MEAL, LONGEST_DAY, LONG_ROAD = 60, 960, 480  # minutes, livable rules


class CpSatAnswer(NamedTuple):
    # "optimal", "feasible" (time is up), "infeasible", "unknown" (time is up and nothing found)
    status: str
    cost_usd: float | None
    best_bound_usd: float | None  # no plan costs less


def solve_cpsat(
    query: Query,
    world: World,
    time_limit_seconds: float,
    workers: int = 1,
    livable: bool = False,
) -> CpSatAnswer:
    """The least cost of a plan, whatever the budget, with all ways to spend the nights."""
    from ortools.sat.python import cp_model

    if why_unplannable(query, world):
        return CpSatAnswer("infeasible", None, None)
    model = cp_model.CpModel()
    _Trip(model, query, world, livable).minimise()
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = time_limit_seconds
    solver.parameters.num_search_workers = workers
    solver.parameters.random_seed = 0
    # without it, one city for six nights can take longer than the limit
    solver.parameters.linearization_level = 2
    status = {
        cp_model.OPTIMAL: "optimal",
        cp_model.FEASIBLE: "feasible",
        cp_model.INFEASIBLE: "infeasible",
    }.get(solver.Solve(model), "unknown")
    has_solution = status in ("optimal", "feasible")
    # the cost is whole cents, said in floats
    bound_usd = None if status == "infeasible" else round(solver.BestObjectiveBound()) / 100
    return CpSatAnswer(
        status, round(solver.ObjectiveValue()) / 100 if has_solution else None, bound_usd
    )


class _Trip:
    """The variables, and the terms of the cost in cents as they come up. Leg number k leads to the
    city at position k; the last one leads home."""

    def __init__(self, model: Any, query: Query, world: World, livable: bool):
        self.model, self.query, self.world, self.livable = model, query, world, livable
        self.visits, self.nights = query.visiting_city_number, query.days - 1
        self.pool = city_pool(query, world)
        self.cost: list[Any] = []
        self.driving = model.NewBoolVar("driving")
        legs = range(self.visits + 1)
        # minutes of the day of the leg
        self.leaves = [model.NewIntVar(0, DAY - 1, f"leaves {k}") for k in legs]
        self.arrives = [model.NewIntVar(0, 3 * DAY, f"arrives {k}") for k in legs]
        self.begins = [model.NewIntVar(0, 2 * DAY, f"begins {k}") for k in legs]
        self.visits_of: list[dict[tuple[str, str], Any]] = []

    def minimise(self) -> None:
        at = self._cities()
        self._first_and_last(at)
        self._between(at)
        self._stays(at)
        self._hours(at)
        self._meals(at)
        self._sights(at)
        self.model.Minimize(sum(self.cost))

    def _cities(self) -> dict[tuple[int, int, int], Any]:
        """(position, city, nights) → whether the trip spends them so."""
        model, longest = self.model, self.nights - self.visits + 1
        at = {}
        for city, name in enumerate(self.pool):
            most = min(longest, len(attractions(self.world, name)) + 1)
            for nights in range(1, most + 1):
                for position in range(self.visits):
                    at[position, city, nights] = model.NewBoolVar(f"at {position} {name} {nights}")
        for position in range(self.visits):
            model.AddExactlyOne(var for (p, _, _), var in at.items() if p == position)
        for city in range(len(self.pool)):
            model.AddAtMostOne(var for (_, c, _), var in at.items() if c == city)
        model.Add(sum(nights * var for (_, _, nights), var in at.items()) == self.nights)
        return at

    def _first_and_last(self, at: dict[tuple[int, int, int], Any]) -> None:
        home = self.query.org
        for position, day in ((0, 0), (self.visits - 1, self.nights)):
            driven: list[Any] = []
            for city, name in enumerate(self.pool):
                ends = (home, name) if day == 0 else (name, home)
                ways = [
                    self._way(leg, driven, position if day == 0 else self.visits)
                    for leg in self._legs(*ends, day)
                ]
                self.model.Add(sum(ways) == _at(at, position, city))
            self.model.Add(sum(driven) == self.driving)

    def _between(self, at: dict[tuple[int, int, int], Any]) -> None:
        """One way on the day on which it is left."""
        model = self.model
        for position in range(1, self.visits):
            days = range(position, self.nights - self.visits + position + 1)
            leaves = {day: model.NewBoolVar(f"leave {position} {day}") for day in days}
            model.AddExactlyOne(leaves.values())
            before = sum(nights * var for (p, _, nights), var in at.items() if p < position)
            model.Add(sum(day * var for day, var in leaves.items()) == before)
            out, into, used, driven = (
                defaultdict(list),
                defaultdict(list),
                defaultdict(list),
                list[Any](),
            )
            for origin, here in enumerate(self.pool):
                for destination, there in enumerate(self.pool):
                    if origin == destination:
                        continue
                    for day in days:
                        for leg in self._legs(here, there, day):
                            var = self._way(leg, driven, position)
                            out[origin].append(var)
                            into[destination].append(var)
                            used[day].append(var)
            for city in range(len(self.pool)):
                model.Add(sum(out[city]) == _at(at, position - 1, city))
                model.Add(sum(into[city]) == _at(at, position, city))
            for day in days:
                model.Add(sum(used[day]) <= leaves[day])
            model.Add(sum(driven) == self.driving)

    def _legs(self, origin: str, destination: str, day: int) -> list[Leg]:
        flights = list(
            flight_legs(self.query, self.world, origin, destination, self.query.date[day])
        )
        roads = road_legs(self.query, self.world, origin, destination)
        table = self.world.flights(origin, destination, self.query.date[day])
        if self.livable and table and self.query.local_constraint.transportation != "no flight":
            roads = [leg for leg in roads if (duration_minutes(leg.duration) or 0) <= LONG_ROAD]
        return [*roads, *flights]

    def _way(self, leg: Leg, driven: list[Any], number: int) -> Any:
        model, var = self.model, self.model.NewBoolVar(f"{leg.mode} {leg.origin} {leg.destination}")
        minutes = duration_minutes(leg.duration) or 0
        if leg.flight:
            leaves, lands = map(_minute, (leg.flight.departure_time, leg.flight.arrival_time))
            # clocks of two cities differ by less than half a day
            later = round((leaves + minutes - lands) / DAY)
            model.Add(self.leaves[number] == leaves).OnlyEnforceIf(var)
            model.Add(self.arrives[number] == lands + DAY * later).OnlyEnforceIf(var)
        else:
            model.Add(self.arrives[number] == self.leaves[number] + minutes).OnlyEnforceIf(var)
            model.Add(self.arrives[number] <= DAY).OnlyEnforceIf(var)
        price = (
            cents(leg.cost_usd) * self.query.party_size if leg.flight else cents(leg.party_cost_usd)
        )
        self.cost.append(price * var)
        if leg.mode == "self-driving":
            driven.append(var)
        return var

    def _stays(self, at: dict[tuple[int, int, int], Any]) -> None:
        for city, name in enumerate(self.pool):
            options = stays(self.query, self.world, name)
            for nights in {n for _, c, n in at if c == city}:
                choices = []
                for stay in options:
                    if stay.fits(nights):
                        var = self.model.NewBoolVar(f"sleep {name} {nights}")
                        choices.append(var)
                        self.cost.append(
                            cents(stay.accommodation.price_usd) * stay.rooms * nights * var
                        )
                self.model.Add(
                    sum(choices)
                    == sum(var for (_, c, n), var in at.items() if (c, n) == (city, nights))
                )

    def _hours(self, at: dict[tuple[int, int, int], Any]) -> None:
        """Of each day of travel: what is before the leg, what is after it, and no two at once. The
        night after it goes before the next day."""
        model = self.model
        model.Add(self.begins[0] == 0)
        for number in range(1, self.visits + 1):
            short = sum(var for (p, _, n), var in at.items() if (p, n) == (number - 1, 1))
            rested = self.arrives[number - 1] + NIGHT - DAY
            is_short = model.NewBoolVar(f"one night {number}")
            model.Add(is_short == short)
            since = model.NewIntVar(-DAY, 2 * DAY, "")
            model.Add(since == rested)
            earliest = model.NewIntVar(0, 2 * DAY, "")
            model.AddMaxEquality(earliest, [since, model.NewConstant(0)])
            model.Add(self.begins[number] == earliest).OnlyEnforceIf(is_short)
            model.Add(self.begins[number] == 0).OnlyEnforceIf(is_short.Not())
            # a full day follows: three meals and a sight
            latest = USUAL["breakfast"][1] - VISIT if self.livable else DAY - 4 * VISIT
            model.Add(earliest <= latest).OnlyEnforceIf(is_short.Not())
        for number in range(self.visits + 1):
            model.Add(self.leaves[number] >= self.begins[number])
            self.visits_of.append(self._day(number))

    def _day(self, number: int) -> dict[tuple[str, str], Any]:
        """(meal or sight, side of the leg) → whether it takes place."""
        model = self.model
        begins, leaves, arrives = self.begins[number], self.leaves[number], self.arrives[number]
        first, last = model.NewIntVar(0, DAY, ""), model.NewIntVar(0, 3 * DAY, "")
        model.Add(first <= leaves)
        model.Add(last >= arrives)
        done, intervals = {}, []
        for thing in (*MEALS, "sight"):
            for side in ("before", "after"):
                var = model.NewBoolVar(f"{thing} {side} {number}")
                usual = USUAL.get(thing, (0, DAY)) if self.livable else (0, DAY)
                start = model.NewIntVar(usual[0], usual[1] - VISIT, "")
                intervals.append(model.NewOptionalFixedSizeIntervalVar(start, VISIT, var, ""))
                model.Add(start >= begins).OnlyEnforceIf(var)
                if side == "before":
                    model.Add(start + VISIT <= leaves).OnlyEnforceIf(var)
                else:
                    model.Add(start >= arrives).OnlyEnforceIf(var)
                model.Add(first <= start).OnlyEnforceIf(var)
                model.Add(last >= start + VISIT).OnlyEnforceIf(var)
                done[thing, side] = var
            model.AddAtMostOne(done[thing, side] for side in ("before", "after"))
        model.AddNoOverlap(intervals)
        if self.livable:
            model.Add(last - first <= LONGEST_DAY)
            model.AddAtLeastOne(done.values())
            for meal, (opens, closes) in USUAL.items():
                eaten = done[meal, "before"] + done[meal, "after"]
                if number > 0:
                    self._asks(eaten, (begins, opens), (leaves, closes))
                if number < self.visits:
                    self._asks(eaten, (arrives, opens), (model.NewConstant(DAY), closes))
        return done

    def _asks(self, eaten: Any, since: tuple[Any, int], until: tuple[Any, int]) -> None:
        """A meal where there is time for it between the later of two minutes and the earlier of
        two others."""
        model = self.model
        start, end = model.NewIntVar(0, 3 * DAY, ""), model.NewIntVar(0, DAY, "")
        model.AddMaxEquality(start, since)
        model.AddMinEquality(end, until)
        missed = model.NewBoolVar("")
        model.Add(eaten >= 1).OnlyEnforceIf(missed.Not())
        model.Add(end - start < TIME_FOR_A_MEAL).OnlyEnforceIf(missed)

    def _meals(self, at: dict[tuple[int, int, int], Any]) -> None:
        """Three on each full day, and those of the days of travel. Meals at home are left out: they
        cost, and nothing asks for them."""
        model, cuisines = self.model, tuple(self.query.local_constraint.cuisine or ())
        for meal in MEALS:
            model.Add(self.visits_of[0][meal, "before"] == 0)
            model.Add(self.visits_of[-1][meal, "after"] == 0)
        serving: list[list[Any]] = [[] for _ in cuisines]
        for city, name in enumerate(self.pool):
            eaten = []
            for row in restaurants(self.world, name):
                var = model.NewBoolVar(f"eat {name} {row.name}")
                eaten.append(var)
                self.cost.append(cents(row.average_cost_usd) * self.query.party_size * var)
                mask = cuisine_mask(row, cuisines)
                for i, served in enumerate(serving):
                    if mask >> i & 1:
                        served.append(var)
            self._count(at, city, sum(eaten), len(MEALS), MEALS)
            here = sum(_at(at, position, city) for position in range(self.visits))
            for var in eaten:
                model.Add(var <= here)
        for served in serving:
            model.AddAtLeastOne(served)

    def _sights(self, at: dict[tuple[int, int, int], Any]) -> None:
        """One on each full day, and at most one on a day of travel, there or at home."""
        model, home = self.model, len(attractions(self.world, self.query.org))
        ends = self.visits_of[0]["sight", "before"] + self.visits_of[-1]["sight", "after"]
        model.Add(ends <= home)
        for city, name in enumerate(self.pool):
            seen = model.NewIntVar(0, len(attractions(self.world, name)), f"seen {name}")
            self._count(at, city, seen, 1, ("sight",))

    def _count(self, at: Any, city: int, count: Any, each_day: int, things: Any) -> None:
        """What is eaten or seen in a city is that of its full days, of the day of the way there
        and of the day of the way on."""
        full_days = sum((nights - 1) * var for (_, c, nights), var in at.items() if c == city)
        for position in range(self.visits):
            travel = sum(self.visits_of[position][each, "after"] for each in things)
            travel += sum(self.visits_of[position + 1][each, "before"] for each in things)
            elsewhere = 100 * (1 - _at(at, position, city))
            self.model.Add(count <= each_day * full_days + travel + elsewhere)
            self.model.Add(count >= each_day * full_days + travel - elsewhere)


def _minute(clock: str) -> int:
    hours, minutes = clock.strip().split(":")[:2]
    return 60 * int(hours) + int(minutes)


def _at(at: dict[tuple[int, int, int], Any], position: int, city: int) -> Any:
    return sum(var for (p, c, _), var in at.items() if (p, c) == (position, city))

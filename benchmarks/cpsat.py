"""The exact planner's problem as a model for CP-SAT, Google's solver: a cross-check that
shares none of the planner's search, for benchmarks/oracle.py and a test.

Only the options of each city and leg are the same (`options.py`): how cities, nights, days, stays
and meals combine is said once more, as linear constraints over 0/1 variables. It is much slower
than the planner, and needs ortools (the extra "dev").
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
    flight_leg,
    restaurants,
    road_legs,
    stays,
    why_unplannable,
)
from tripwright.domains.travelplanner.query import Query
from tripwright.world.store import World

MEALS_BETWEEN = len(MEALS)  # that fit on one day of travel


class CpSatAnswer(NamedTuple):
    # "optimal", "feasible" (time is up), "infeasible", "unknown" (time is up and nothing found)
    status: str
    cost_usd: float | None
    best_bound_usd: float | None  # no plan costs less


def solve_cpsat(
    query: Query, world: World, time_limit_seconds: float, workers: int = 1
) -> CpSatAnswer:
    """The least cost of a plan, whatever the budget, with all ways to spend the nights."""
    from ortools.sat.python import cp_model

    if why_unplannable(query, world):
        return CpSatAnswer("infeasible", None, None)
    model = cp_model.CpModel()
    _Trip(model, query, world).minimise()
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
    """The variables, and the terms of the cost in cents as they come up."""

    def __init__(self, model: Any, query: Query, world: World):
        self.model, self.query, self.world = model, query, world
        self.visits, self.nights = query.visiting_city_number, query.days - 1
        self.pool = city_pool(query, world)
        self.cost: list[Any] = []
        self.driving = model.NewBoolVar("driving")

    def minimise(self) -> None:
        at = self._cities()
        self._first_and_last(at)
        self._between(at)
        self._stays(at)
        self._meals(at)
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
                ways = [self._way(leg, driven) for leg in self._legs(*ends, day)]
                self.model.Add(sum(ways) == _at(at, position, city))
            self.model.Add(sum(driven) == self.driving)

    def _between(self, at: dict[tuple[int, int, int], Any]) -> None:
        """Roads are the same on every day; a flight is there on its day only."""
        model = self.model
        for position in range(1, self.visits):
            days = range(position, self.nights - self.visits + position + 1)
            leaves = {day: model.NewBoolVar(f"leave {position} {day}") for day in days}
            model.AddExactlyOne(leaves.values())
            before = sum(nights * var for (p, _, nights), var in at.items() if p < position)
            model.Add(sum(day * var for day, var in leaves.items()) == before)
            out, into, flown, driven = (
                defaultdict(list),
                defaultdict(list),
                defaultdict(list),
                list[Any](),
            )
            for origin, here in enumerate(self.pool):
                for destination, there in enumerate(self.pool):
                    if origin == destination:
                        continue
                    flights = [
                        (day, flight_leg(self.query, self.world, here, there, self.query.date[day]))
                        for day in days
                    ]
                    ways = [(None, leg) for leg in road_legs(self.query, self.world, here, there)]
                    for when, leg in (*ways, *flights):
                        if leg is not None:
                            var = self._way(leg, driven)
                            out[origin].append(var)
                            into[destination].append(var)
                            if when is not None:
                                flown[when].append(var)
            for city in range(len(self.pool)):
                model.Add(sum(out[city]) == _at(at, position - 1, city))
                model.Add(sum(into[city]) == _at(at, position, city))
            for day in days:
                model.Add(sum(flown[day]) <= leaves[day])
            model.Add(sum(driven) == self.driving)

    def _legs(self, origin: str, destination: str, day: int) -> list[Leg]:
        flight = flight_leg(self.query, self.world, origin, destination, self.query.date[day])
        return [
            *road_legs(self.query, self.world, origin, destination),
            *([flight] if flight else []),
        ]

    def _way(self, leg: Leg, driven: list[Any]) -> Any:
        var = self.model.NewBoolVar(f"{leg.mode} {leg.origin} {leg.destination}")
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

    def _meals(self, at: dict[tuple[int, int, int], Any]) -> None:
        """Three on each full day, and any on the days of travel, which two cities share."""
        model, cuisines = self.model, tuple(self.query.local_constraint.cuisine or ())
        arriving = [model.NewIntVar(0, MEALS_BETWEEN, f"arriving {p}") for p in range(self.visits)]
        leaving = [model.NewIntVar(0, MEALS_BETWEEN, f"leaving {p}") for p in range(self.visits)]
        for before, after in zip(leaving[:-1], arriving[1:], strict=True):
            model.Add(before + after <= MEALS_BETWEEN)
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
            full_days = sum((nights - 1) * var for (_, c, nights), var in at.items() if c == city)
            model.Add(sum(eaten) >= len(MEALS) * full_days)
            for position in range(self.visits):
                elsewhere = 2 * MEALS_BETWEEN * (1 - _at(at, position, city))
                model.Add(
                    sum(eaten)
                    <= len(MEALS) * full_days + arriving[position] + leaving[position] + elsewhere
                )
            here = sum(_at(at, position, city) for position in range(self.visits))
            for var in eaten:
                model.Add(var <= here)
        for served in serving:
            model.AddAtLeastOne(served)


def _at(at: dict[tuple[int, int, int], Any], position: int, city: int) -> Any:
    return sum(var for (p, c, _), var in at.items() if (p, c) == (position, city))

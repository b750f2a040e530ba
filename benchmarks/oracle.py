"""The exact planner against CP-SAT: milliseconds per request, and whether both find the same least
cost.

    .venv/bin/python benchmarks/oracle.py --world DIR --out runs/bench-oracle [--queries 200]
    [--seed 1] [--cpsat-seconds 30]

Requests are for 7 days and 3 cities, drawn over all states of the world with more than 3 cities;
every other one is for one of the five largest. Dates, party, wishes and the city to start from are
drawn, too. What has no plan (in the real world mostly for want of any way to get there) is counted
and timed apart, and more is drawn until --queries requests have one.

Each request is solved three ways, one after the other in one process on one core, each with the
world opened afresh, so that no way profits from rows that another has read:
- **all**: the cheapest plan;
- **within budget**: some plan within 1.2 times the least cost;
- **CP-SAT**: the same problem as **all**, as a model for ortools with one worker and a limit of
  --cpsat-seconds. Its time includes the making of the model. Without ortools, or with
  --cpsat-seconds 0, it is left out.

Written to --out: `oracle.json` with every request's times and costs, and `oracle.svg`, the times by
number of cities in the state. Exit code 1 if CP-SAT finished somewhere and found another cost.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import random
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cpsat import solve_cpsat

from tripwright.domains.travelplanner.oracle.planner import solve, within_budget
from tripwright.domains.travelplanner.query import Query
from tripwright.evals.report.charts import Lines, Series
from tripwright.files import write_atomically
from tripwright.world.scales import CUISINES
from tripwright.world.store import World

DAYS, CITIES, LARGEST, SLACK = 7, 3, 5, 1.2
WAYS = ("all", "within budget", "CP-SAT")


def draw(world: World, rng: random.Random, large: bool) -> Query:
    states = [state for state, cities in world.states.items() if len(cities) > CITIES]
    if large:
        states = sorted(states, key=lambda state: -len(world.states[state]))[:LARGEST]
    state, first = rng.choice(states), rng.randrange(len(world.dates) - DAYS + 1)
    wishes = {
        "house rule": rng.choice(
            [None] * 5 + ["pets", "smoking", "parties", "visitors", "children under 10"]
        ),
        "cuisine": rng.choice([None, None, rng.sample(CUISINES, 2), rng.sample(CUISINES, 4)]),
        "room type": rng.choice([None] * 3 + ["entire room", "private room", "not shared room"]),
        "transportation": rng.choice([None] * 4 + ["no flight", "no self-driving"]),
    }
    return Query.model_validate(
        {
            "org": rng.choice([city for city in world.cities if world.cities[city] != state]),
            "dest": state,
            "days": DAYS,
            "visiting_city_number": CITIES,
            "date": world.dates[first : first + DAYS],
            "people_number": rng.choice([1, 2, 2, 3, 4, 5, 6, 8]),
            "local_constraint": wishes,
            "budget": 0,
            "query": "?",
        }
    )


def timed(folder: Path, run: Callable[[World], Any]) -> tuple[float, Any]:
    """(milliseconds, result) in a world opened afresh; opening is not counted."""
    world = World.open(folder)
    assert world.states and world.dates
    began = time.perf_counter()
    found = run(world)
    return 1e3 * (time.perf_counter() - began), found


def measure(folder: Path, query: Query, cpsat_seconds: float) -> dict[str, Any]:
    all_ms, best = timed(folder, lambda world: solve(query, world))
    row: dict[str, Any] = {"query": query.record(), "cost_usd": best.cost_usd}
    row["ms"] = {"all": all_ms}
    if best.cost_usd is None:
        return row
    asked = query.model_copy(update={"budget": math.ceil(SLACK * best.cost_usd)})
    row["ms"]["within budget"], within = timed(
        folder,
        lambda world: next(
            plan for by_car in (True, False) for plan in within_budget(asked, world, by_car)
        ),
    )
    row["within_budget_cost_usd"] = within.cost_usd
    if cpsat_seconds:
        row["ms"]["CP-SAT"], answer = timed(
            folder, lambda world: solve_cpsat(query, world, cpsat_seconds)
        )
        row["cpsat"] = answer._asdict()
    return row


def figures(times_ms: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times_ms)
    p90 = ordered[math.ceil(0.9 * len(ordered)) - 1]
    return {
        "n": len(ordered),
        "median_ms": statistics.median(ordered),
        "p90_ms": p90,
        "max_ms": ordered[-1],
    }


def summed_up(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    planned = [row for row in rows if row["cost_usd"] is not None]
    times = {way: [row["ms"][way] for row in planned if way in row["ms"]] for way in WAYS}
    found: dict[str, Any] = {way: figures(values) for way, values in times.items() if values}
    without = [row["ms"]["all"] for row in rows if row["cost_usd"] is None]
    if without:
        found["all, where there is no plan"] = figures(without)
    finished = [
        row for row in planned if row.get("cpsat", {}).get("status") in ("optimal", "infeasible")
    ]
    found["cpsat_finished"] = len(finished)
    found["cpsat_equal"] = sum(row["cpsat"]["cost_usd"] == row["cost_usd"] for row in finished)
    found["above_the_least_cost_median"] = statistics.median(
        row["within_budget_cost_usd"] / row["cost_usd"] for row in planned
    )
    return found


def draw_chart(rows: Sequence[dict[str, Any]], world: World) -> str:
    """Medians over the requests for states of one size."""
    times: dict[str, dict[int, list[float]]] = {way: defaultdict(list) for way in WAYS}
    for row in rows:
        for way, ms in row["ms"].items():
            if row["cost_usd"] is not None:
                times[way][len(world.states[row["query"]["dest"]])].append(ms)
    lines = [
        Series(
            way,
            tuple((float(size), statistics.median(ms)) for size, ms in sorted(by_size.items())),
            colour,
            dots=True,
        )
        for colour, (way, by_size) in enumerate(times.items())
        if by_size
    ]
    title = "Median time of an exact plan, 7 days and 3 cities"
    return Lines(title, "cities in the state", "milliseconds (log)", lines, log=True).standalone


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cpsat-seconds", type=float, default=30.0)
    parser.add_argument(
        "--core",
        type=int,
        default=None,
        help="which core to stay on (default: the last one allowed)",
    )
    given = parser.parse_args()
    os.sched_setaffinity(
        0, {given.core if given.core is not None else max(os.sched_getaffinity(0))}
    )
    cpsat_seconds = given.cpsat_seconds if importlib.util.find_spec("ortools") else 0.0
    if not cpsat_seconds:
        print("CP-SAT is left out", flush=True)
    world, rng, load = (
        World.open(given.world),
        random.Random(f"bench-oracle-{given.seed}"),
        os.getloadavg()[0],
    )
    warm_up = draw(world, random.Random(0), True)
    # imports, and the world's file in memory
    measure(given.world, warm_up, min(cpsat_seconds, 1.0))
    rows: list[dict[str, Any]] = []
    planned = 0
    while planned < given.queries:
        row = measure(given.world, draw(world, rng, planned % 2 == 1), cpsat_seconds)
        rows.append(row)
        if row["cost_usd"] is not None:
            planned += 1
            told = ", ".join(f"{way} {ms:,.0f} ms" for way, ms in row["ms"].items())
            size = len(world.states[row["query"]["dest"]])
            status = f" ({row['cpsat']['status']})" if "cpsat" in row else ""
            print(
                f"{planned}/{given.queries} {row['query']['dest']} ({size} cities),"
                f" ${row['cost_usd']:,.0f}: {told}{status}",
                flush=True,
            )
    found = {
        "world": world.name,
        "seed": given.seed,
        "load_before": load,
        "load_after": os.getloadavg()[0],
        **summed_up(rows),
    }
    given.out.mkdir(parents=True, exist_ok=True)
    write_atomically(given.out / "oracle.svg", draw_chart(rows, world))
    write_atomically(
        given.out / "oracle.json", json.dumps({**found, "requests": rows}, indent=1) + "\n"
    )
    print(json.dumps(found, indent=1))
    return int(found["cpsat_equal"] < found["cpsat_finished"])


if __name__ == "__main__":
    sys.exit(main())

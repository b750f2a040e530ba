"""How many plans a second the judge gets through on one core, against looking things up the
official way.

    .venv/bin/python benchmarks/judge.py [--data ../shared/travelplanner] [--passes 7]

What is timed: every line of the data's file of recorded verdicts (2,330 plans), held in memory as
bytes, goes through `json.loads`, the check of the query record and the judge. What is not: starting
Python, imports, unpacking the file, importing the world, and printing. The world is opened once and
remembers rows of its tables and what its latest texts mean (a place, a leg, a route); the first
pass, which reads them, is told apart. Verdicts are never
remembered: a plan judged twice is judged twice. One process is held to one core. Reported are the
median of the passes and their range, by the clock on the wall and by CPU time (on a busy machine
the first says what else was running); ratios are by CPU time.

Two things to compare with, and they are not alike:
- The official evaluator's own speed, 11.1 plans/s with a small table of flights and 1.2 with the
  full one, was measured elsewhere (another machine, plans that reach its last stage). Its ratio
  says an order of magnitude and no more.
- The peer measured here, in the same run on the same plans: **only the look-ups** of the official
  code, in its way (pandas, a mask over the whole table with `str.contains` for the name and
  equality for the city), once for each meal, sight, stay and leg of a plan. The official code
  repeats most of them for minimum nights, wishes and cost, and does everything else besides, so the
  ratio is a lower bound. It needs pandas, which tripwright does not: without it this part is left
  out.
"""

from __future__ import annotations

import argparse
import gzip
import importlib.util
import json
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.rules.evaluate import RULES, Rules, judge
from tripwright.domains.travelplanner.rules.lookup import (
    attraction_pieces,
    filled,
    from_to,
    name_and_city,
)
from tripwright.domains.travelplanner.scoring.lines import read_query
from tripwright.world.importer import import_world
from tripwright.world.store import World

DATA = os.environ.get("TRIPWRIGHT_TRAVELPLANNER") or str(
    Path(__file__).parents[2] / "shared" / "travelplanner"
)
OFFICIAL_PLANS_PER_S = {"a small table of flights": 11.1, "the full one": 1.2}


def judge_lines(lines: list[bytes], world: World, rules: Rules) -> int:
    final = 0
    for line in lines:
        record = json.loads(line)
        final += judge(read_query(record["query"]), record["plan"], world, rules).final
    return final


def plans_per_s(
    run: Callable[[], object], plans: int, passes: int
) -> tuple[list[float], list[float]]:
    """By the wall's clock and by the CPU's, sorted."""
    wall, cpu = [], []
    for _ in range(passes):
        began, began_cpu = time.perf_counter(), time.process_time()
        run()
        cpu.append(plans / (time.process_time() - began_cpu))
        wall.append(plans / (time.perf_counter() - began))
    return sorted(wall), sorted(cpu)


def look_up_with_pandas(lines: list[bytes], tables: dict[str, Any]) -> int:
    """The look-ups of the official sandbox check, and nothing else. Returns how many found
    something."""
    found = 0
    for line in lines:
        record = json.loads(line)
        for day in (record["plan"] or [])[: record["query"]["days"]]:
            said = {
                key: text for key, text in day.items() if isinstance(text, str) and filled(text)
            }
            for meal in MEALS:
                found += meal in said and _named(tables["restaurants"], "Name", "City", said[meal])
            for piece in attraction_pieces(said.get("attraction", "")):
                found += _named(tables["attractions"], "Name", "City", piece)
            if "accommodation" in said:
                found += _named(tables["accommodations"], "NAME", "city", said["accommodation"])
            if "transportation" in said:
                found += _leg(tables, said["transportation"])
    return found


def _named(table: Any, name_column: str, city_column: str, said: str) -> bool:
    name, city = name_and_city(said)
    return (
        len(
            table[
                (table[name_column].astype(str).str.contains(re.escape(name)))
                & (table[city_column] == city)
            ]
        )
        > 0
    )


def _leg(tables: dict[str, Any], said: str) -> bool:
    origin, destination = from_to(said)
    flights, roads = tables["flights"], tables["distances"]
    if "Flight Number: " in said:
        number = said.split("Flight Number: ")[1].split(",")[0]
        route = (flights["OriginCityName"] == origin) & (flights["DestCityName"] == destination)
        return len(flights[(flights["Flight Number"] == number) & route]) > 0
    return len(roads[(roads["origin"] == origin) & (roads["destination"] == destination)]) > 0


def read_tables(database: Path) -> dict[str, Any]:
    pandas = importlib.import_module("pandas")
    tables = {
        name: pandas.read_csv(database / f"{name}.csv")
        for name in ("flights", "restaurants", "attractions", "accommodations")
    }
    return {name: table.dropna() for name, table in tables.items()} | {
        "distances": pandas.read_csv(database / "distances.csv")
    }


def main() -> int:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument(
        "--data",
        type=Path,
        default=Path(DATA),
        help="folder with database/ and verdicts_dev.jsonl.gz",
    )
    options.add_argument("--passes", type=int, default=7)
    options.add_argument(
        "--core",
        type=int,
        default=None,
        help="which core to stay on (default: the last one allowed)",
    )
    options.add_argument(
        "--peer-plans", type=int, default=150, help="how many plans the peer looks up (it is slow)"
    )
    given = options.parse_args()
    cases = given.data / "verdicts_dev.jsonl.gz"
    if not cases.is_file():
        print(
            f"No file of recorded verdicts at '{cases}'. Give --data or TRIPWRIGHT_TRAVELPLANNER: a"
            " folder with it and database/.",
            file=sys.stderr,
        )
        return 2
    os.sched_setaffinity(
        0, {given.core if given.core is not None else max(os.sched_getaffinity(0))}
    )
    with gzip.open(cases) as text:
        lines = text.read().splitlines()
    with tempfile.TemporaryDirectory() as folder:
        world = import_world(given.data / "database", Path(folder) / "world").folder
        assert world is not None
        print(
            f"{len(lines)} plans, core {os.sched_getaffinity(0)}, load of the machine before:"
            f" {os.getloadavg()[0]:.1f}"
        )
        ours = {rules: report(rules, lines, world, given.passes) for rules in RULES}
        for table, speed in OFFICIAL_PLANS_PER_S.items():
            print(
                f"official evaluator with {table}, measured elsewhere: {speed} plans/s, ratio"
                f" {ours['official'] / speed:,.0f}"
            )
        if importlib.util.find_spec("pandas") is None:
            print("pandas is not installed: its look-ups are left out")
        else:
            report_peer(lines[: given.peer_plans], world, given.data / "database")
        print(f"load of the machine after: {os.getloadavg()[0]:.1f}")
    return 0


def report(rules: str, lines: list[bytes], world: Path, passes: int) -> float:
    """Prints the speeds; returns the median by CPU time."""
    place, accepted = World.open(world), 0

    def run() -> None:
        nonlocal accepted
        accepted = judge_lines(lines, place, cast(Rules, rules))

    (first,), _ = plans_per_s(run, len(lines), 1)
    wall, cpu = plans_per_s(run, len(lines), passes)
    print(
        f"{rules:<9}{_median_and_range(wall)}, by CPU time {_median_and_range(cpu)}; first pass"
        f" {first:,.0f}; accepts {accepted}"
    )
    return statistics.median(cpu)


def report_peer(lines: list[bytes], world: Path, database: Path) -> None:
    tables, place = read_tables(database), World.open(world)
    judge_lines(lines, place, "official")
    _, ours = plans_per_s(lambda: judge_lines(lines, place, "official"), len(lines), 3)
    _, theirs = plans_per_s(lambda: look_up_with_pandas(lines, tables), len(lines), 3)
    print(
        f"{len(lines)} plans by CPU time: official rules whole {_median_and_range(ours)}, pandas"
        f" look-ups alone {_median_and_range(theirs)}"
    )
    print(
        "ratio to the pandas look-ups: at least"
        f" {statistics.median(ours) / statistics.median(theirs):,.0f}"
    )


def _median_and_range(speeds: list[float]) -> str:
    return f"{statistics.median(speeds):7,.0f} plans/s ({speeds[0]:,.0f} to {speeds[-1]:,.0f})"


if __name__ == "__main__":
    sys.exit(main())

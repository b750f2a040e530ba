"""Look-ups in a world of TravelPlanner's size, against the official way, side by side in one run.

    .venv/bin/python benchmarks/world.py --out runs/bench-world [--flights 3827361] [--searches
    20000]

Makes a generated world of `--scale official` (kept in --out for the next run), writes its flights
to CSV, and loads that into pandas as the official tool does. Asks:
1. **Look-ups.** Random searches (a tenth of them without flights). The store returns the list of
   `Flight` records; the peer returns the rows that three boolean filters leave, as the official
   tool's `run` does. The two take turns: a slice of the store's searches after each of the peer's.
   Both must find the same flights, or the benchmark fails. Restaurants, stays and sights likewise,
   without the store's memory of a city that was asked for before.
2. **Opening.** In a fresh process, after the imports, with the world's file dropped from the
   system's cache: `World.open`, and the first search.
3. **Four processes** at once: how much each one's PSS (its share of shared pages included) has
   grown since before opening, and the searches of all four per second.
4. **Size.** Tables of 1/100, 1/10 and 1/1 of the rows (and 10 times as many with --big), six rows
   per search in each: microseconds per look-up by number of rows, drawn as `size.svg`.

pandas comes with the dev extra's trl.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import multiprocessing
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations
from pathlib import Path
from typing import Any

import pandas

from tripwright.evals.report.charts import Lines, Series
from tripwright.world.generator import build_world
from tripwright.world.records import Texts, WorldTables
from tripwright.world.store import STORE_FILE, World, write_world

Search = tuple[str, str, str]
ROWS_PER_SEARCH = 6
PROCESSES = 4
COLUMNS = (
    *("Flight Number", "Price", "DepTime", "ArrTime", "ActualElapsedTime"),
    *("FlightDate", "OriginCityName", "DestCityName", "Distance"),
)
OPEN_COLD = """
import json, os, sys, time
from tripwright.world.store import World
folder, search = sys.argv[1], sys.argv[2:]
for name in os.listdir(folder):
    file = os.open(os.path.join(folder, name), os.O_RDONLY)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
began = time.perf_counter()
world = World.open(folder)
opened = time.perf_counter()
found = world.flights(*search)
print(json.dumps([1e3 * (opened - began), 1e3 * (time.perf_counter() - began), len(found or [])]))
"""


def searches_of(world: World, count: int, seed: int) -> list[Search]:
    rng = random.Random(seed)
    cities, dates = list(world.cities), world.dates
    served = [way for way in permutations(cities, 2) if world.flights(*way, dates[0])]
    return [
        (*(rng.choice(served) if rng.random() < 0.9 else rng.sample(cities, 2)), rng.choice(dates))  # type: ignore[misc]
        for _ in range(count)
    ]


def timed_us(call: Callable[[], object]) -> float:
    began = time.perf_counter_ns()
    call()
    return (time.perf_counter_ns() - began) / 1e3


def figures(times_us: Sequence[float]) -> dict[str, float]:
    ordered = sorted(times_us)
    return {
        "median_us": statistics.median(ordered),
        "p99_us": ordered[int(len(ordered) * 0.99)],
        "max_us": ordered[-1],
        "n": len(ordered),
    }


# ---- 1. look-ups


def write_csv(world: World, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as text:
        out = csv.writer(text)
        out.writerow(COLUMNS)
        for origin, destination in permutations(world.cities, 2):
            for date in world.dates:
                out.writerows(world.flights(origin, destination, date) or [])


def official_search(table: Any, search: Search) -> Any:
    """The boolean filters of the official tool, one after the other."""
    origin, destination, date = search
    found = table[table["OriginCityName"] == origin]
    found = found[found["DestCityName"] == destination]
    return found[found["FlightDate"] == date]


def official_city(table: Any, column: str, city: str) -> Any:
    return table[table[column] == city]


def compare_flights(
    world: World, table: Any, searches: Sequence[Search], peer_searches: int
) -> dict[str, Any]:
    ours: list[float] = []
    theirs: list[float] = []
    slice_size = len(searches) // peer_searches
    for turn in range(peer_searches):
        search = searches[turn * slice_size]
        theirs.append(timed_us(partial(official_search, table, search)))
        found, expected = world.flights(*search) or [], official_search(table, search)
        if [flight.number for flight in found] != list(expected["Flight Number"]):
            sys.exit(f"the two disagree on {search}: {found} against {expected}")
        for mine in searches[turn * slice_size : (turn + 1) * slice_size]:
            began = time.perf_counter_ns()
            world.flights(*mine)
            ours.append((time.perf_counter_ns() - began) / 1e3)
    return {
        "store": figures(ours),
        "pandas": figures(theirs),
        "ratio_of_medians": statistics.median(theirs) / statistics.median(ours),
    }


def compare_cities(folder: Path, cities: Sequence[str]) -> dict[str, Any]:
    found = {}
    for name, column, look in (
        ("restaurant", "City", World.restaurants),
        ("accommodation", "city", World.accommodations),
        ("attraction", "City", World.attractions),
    ):
        world = World.open(folder)
        table = pandas.DataFrame(
            [(*row, city) for city in world.cities for row in look(world, city)]
        )
        table = table.rename(columns={table.columns[-1]: column})
        theirs = [timed_us(partial(official_city, table, column, city)) for city in cities]
        first, again = ([timed_us(partial(look, world, city)) for city in cities] for _ in range(2))
        ratio = statistics.median(theirs) / statistics.median(first)
        found[name] = {
            "first": figures(first),
            "again": figures(again),
            "pandas": figures(theirs),
            "ratio_of_medians": ratio,
        }
    return found


# ---- 2. opening, 3. four processes


def open_cold(folder: Path, search: Search, times: int) -> dict[str, float]:
    rows = [
        json.loads(subprocess.check_output([sys.executable, "-c", OPEN_COLD, str(folder), *search]))
        for _ in range(times)
    ]
    opened, first = ([row[i] for row in rows] for i in (0, 1))
    return {
        "open_ms_median": statistics.median(opened),
        "open_ms_max": max(opened),
        "open_and_search_ms_median": statistics.median(first),
    }


def pss_mb() -> float:
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1e3


def one_of_four(folder: str, searches: list[Search], barrier: Any, answers: Any) -> None:
    before = pss_mb()
    barrier.wait()
    world = World.open(folder)
    began = time.perf_counter()
    for search in searches:
        world.flights(*search)
    seconds = time.perf_counter() - began
    # everybody has touched their pages, nobody has left: shared pages are shared by four
    barrier.wait()
    after = pss_mb()
    barrier.wait()
    answers.put((after - before, began, began + seconds, len(searches)))


def four_processes(folder: Path, searches: list[Search]) -> dict[str, Any]:
    context = multiprocessing.get_context("spawn")
    barrier, answers = context.Barrier(PROCESSES), context.Queue()
    share = len(searches) // PROCESSES
    workers = [
        context.Process(
            target=one_of_four,
            args=(str(folder), searches[i * share : (i + 1) * share], barrier, answers),
        )
        for i in range(PROCESSES)
    ]
    for worker in workers:
        worker.start()
    found = [answers.get() for _ in workers]
    for worker in workers:
        worker.join()
    wall = max(row[2] for row in found) - min(row[1] for row in found)
    return {
        "pss_mb_above_start": [round(row[0], 1) for row in found],
        "searches_per_s": sum(row[3] for row in found) / wall,
    }


# ---- 4. size


def plain_flights(rows: int) -> Iterator[Texts]:
    """Six flights per route and day over 82 days; as many routes as the rows need."""
    routes = max(1, rows // (ROWS_PER_SEARCH * 82))
    for route in range(routes):
        origin, destination = f"City {route // 300}", f"City {route % 300}"
        for day in range(82):
            date = f"2022-{3 + day // 28:02d}-{1 + day % 28:02d}"
            for i in range(ROWS_PER_SEARCH):
                left = f"{6 + 2 * i:02d}:{day % 60:02d}"
                number, duration = (
                    f"F{route * 500 + day * 6 + i:08d}",
                    f"{i} hours {day % 60} minutes",
                )
                yield (
                    number,
                    str(80 + day),
                    left,
                    left,
                    duration,
                    date,
                    origin,
                    destination,
                    "500.0",
                )


def by_size(out: Path, sizes: Sequence[int], searches: int) -> list[tuple[int, float, float]]:
    found = []
    for rows in sizes:
        folder = out / f"plain-{rows}"
        if not folder.exists():
            write_world(
                folder, WorldTables([], plain_flights(rows), [], [], [], [], flights_sorted=True)
            )
        world, rng = World.open(folder), random.Random(rows)
        routes = max(1, rows // (ROWS_PER_SEARCH * 82))
        times = []
        for turn in range(2):  # the first turn brings the file into memory
            for _ in range(searches):
                route, day = rng.randrange(routes), rng.randrange(82)
                date = f"2022-{3 + day // 28:02d}-{1 + day % 28:02d}"
                origin, destination = f"City {route // 300}", f"City {route % 300}"
                began = time.perf_counter_ns()
                flights = world.flights(origin, destination, date)
                if turn:
                    times.append((time.perf_counter_ns() - began) / 1e3)
                assert flights is not None and len(flights) == ROWS_PER_SEARCH
        shown = figures(times)
        found.append((world.manifest["rows"]["flight"], shown["median_us"], shown["p99_us"]))
        print(
            f"  {found[-1][0]:>12,} rows: median {shown['median_us']:6.1f} us, p99"
            f" {shown['p99_us']:6.1f} us",
            flush=True,
        )
    return found


def draw(found: Sequence[tuple[int, float, float]]) -> str:
    lines = [
        Series(
            name,
            tuple((math.log10(row[0]), row[column]) for row in found),
            colour=column,
            dots=True,
        )
        for name, column in (("median", 1), ("p99", 2))
    ]
    title = "Microseconds per look-up by size of the table"
    return Lines(title, "rows of the table (log10)", "microseconds", lines).standalone


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--scale", default="official")
    parser.add_argument("--searches", type=int, default=20_000)
    parser.add_argument("--peer-searches", type=int, default=100)
    parser.add_argument(
        "--big",
        action="store_true",
        help="part 4 with ten times the rows of the official table, too",
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    folder = options.out / options.scale
    if not folder.exists():
        print(f"building {folder}", flush=True)
        build_world(folder, options.scale, 7)
    world = World.open(folder)
    searches = searches_of(world, options.searches, 1)
    rows = world.manifest["rows"]["flight"]
    size_mb = (folder / STORE_FILE).stat().st_size / 1e6
    found: dict[str, Any] = {
        "flights": rows,
        "file_mb": size_mb,
        "load": os.getloadavg(),
        "cores": os.cpu_count(),
    }
    print(
        f"{rows:,} flights, a file of {size_mb:.0f} MB, load {os.getloadavg()[0]:.1f}", flush=True
    )
    path = options.out / f"{options.scale}-flights.csv"
    if not path.exists():
        write_csv(world, path)
    table = pandas.read_csv(path)[list(COLUMNS)].dropna()
    assert len(table) == rows
    for search in searches[:2000]:
        world.flights(*search)  # warm, as the peer's table is
    found["look_ups"] = compare_flights(world, table, searches, options.peer_searches)
    del table
    found["cities"] = compare_cities(folder, list(world.cities))
    print(
        json.dumps({key: found[key] for key in ("look_ups", "cities")}, indent=1),
        flush=True,
    )
    found["open_cold"] = open_cold(folder, searches[0], 9)
    print(json.dumps(found["open_cold"]), flush=True)
    found["four_processes"] = four_processes(folder, searches_of(world, 4 * options.searches, 2))
    print(json.dumps(found["four_processes"]), flush=True)
    sizes = [rows // 100, rows // 10, rows, *([10 * rows] if options.big else [])]
    found["by_size"] = by_size(options.out, sizes, options.searches // 2)
    (options.out / "size.svg").write_text(draw(found["by_size"]), encoding="utf-8")
    (options.out / "world.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    print(f"written: {options.out / 'world.json'}, {options.out / 'size.svg'}")


if __name__ == "__main__":
    main()

"""Many travellers at once on `tripwright serve`: how long each waits for the first call of a trip,
what goes wrong, and what the server's memory does.

    python benchmarks/serve_trips.py [--travellers 64] [--seconds 120] [--json]

Each traveller has an address and a cookie of their own, asks for a trip (drawn requests of a
generated nano world, planned by the expert), reads its events to the end, thinks for up to
`--think` seconds and asks again. The travellers are one process beside the server's. Needs the
`dev` extra.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

from tripwright.domains.travelplanner.desk import values
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.world.generator import build_world
from tripwright.world.store import World

SAMPLE_SECONDS = 5.0


@dataclass
class Seen:
    first_call_ms: list[float] = field(default_factory=list)
    trip_ms: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    memory_mb: list[float] = field(default_factory=list)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--travellers", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--think", type=float, default=10.0, help="seconds, at most")
    parser.add_argument("--json", action="store_true")
    settings = parser.parse_args()
    with TemporaryDirectory() as folder:
        build_world(Path(folder, "world"), "nano", 990)
        world = World.open(Path(folder, "world"))
        forms = [values(query) for query in make_queries(world, 200, 8)]
        with served(folder) as (url, server):
            seen = asyncio.run(travel(url, server, forms, settings))
    figures = summary(seen, settings)
    print(json.dumps(figures) if settings.json else table(figures))


@contextmanager
def served(folder: str) -> Iterator[tuple[str, int]]:
    """(its address, its process)"""
    log = Path(folder, "log")
    with log.open("wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "tripwright", "serve", "--world", f"{folder}/world", "--port"]
            + ["0", "--state", f"{folder}/trips.sqlite"],
            stderr=out,
        )
    try:
        while " at http" not in log.read_text():
            time.sleep(0.05)
        yield log.read_text().splitlines()[0].rsplit(" ", 1)[1], server.pid
    finally:
        server.terminate()
        server.wait()


async def travel(url: str, server: int, forms: list[Any], settings: argparse.Namespace) -> Seen:
    seen, until = Seen(), time.monotonic() + settings.seconds
    async with httpx2.AsyncClient(base_url=url, timeout=60) as first:
        await first.get("/healthz")  # a worker answers
    watcher = asyncio.create_task(watch(server, seen))
    await asyncio.gather(
        *(traveller(url, number, forms, until, settings.think, seen)
          for number in range(settings.travellers))
    )  # fmt: skip
    watcher.cancel()
    return seen


async def traveller(
    url: str, number: int, forms: list[Any], until: float, think: float, seen: Seen
) -> None:
    draw = random.Random(number)
    own = httpx2.AsyncHTTPTransport(local_address=f"127.0.1.{number + 1}")  # whose pace it is
    async with httpx2.AsyncClient(base_url=url, transport=own, timeout=60) as client:
        await asyncio.sleep(draw.random() * think)
        await client.get("/v1/desk")  # as the page does; its cookie says who asks
        while time.monotonic() < until:
            try:
                await ask(client, draw.choice(forms), seen)
            except Exception as problem:  # whatever it is, a traveller has met it
                seen.errors.append(f"{type(problem).__name__}: {problem}")
            await asyncio.sleep(draw.random() * think)


async def ask(client: httpx2.AsyncClient, form: Any, seen: Seen) -> None:
    began, called, ended = time.perf_counter(), False, False
    asking = {"accept": "text/event-stream"}
    async with client.stream("POST", "/v1/trips", json={"values": form}, headers=asking) as answer:
        if answer.status_code != 200:
            seen.errors.append(f"status {answer.status_code}")
            return
        async for line in answer.aiter_lines():
            if line == "event: call" and not called:
                called = True
                seen.first_call_ms.append(1000 * (time.perf_counter() - began))
            ended = ended or line == "event: done"
    if not ended:
        seen.errors.append("the events ended without 'done'")
    seen.trip_ms.append(1000 * (time.perf_counter() - began))


async def watch(server: int, seen: Seen) -> None:
    while True:
        seen.memory_mb.append(memory_mb(server))
        await asyncio.sleep(SAMPLE_SECONDS)


def memory_mb(process: int) -> float:
    """Resident, of the process and its children."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,rss"], capture_output=True, text=True).stdout
    rows = [tuple(map(int, line.split())) for line in listed.splitlines()[1:]]
    return sum(rss for pid, parent, rss in rows if process in (pid, parent)) / 1024


def summary(seen: Seen, settings: argparse.Namespace) -> dict[str, Any]:
    cuts = statistics.quantiles(seen.first_call_ms, n=100)
    third = max(1, len(seen.memory_mb) // 3)
    return {
        "travellers": settings.travellers,
        "seconds": settings.seconds,
        "trips": len(seen.trip_ms),
        "trips_per_second": len(seen.trip_ms) / settings.seconds,
        "errors": len(seen.errors),
        "first_errors": seen.errors[:3],
        "first_call_ms": {"p50": cuts[49], "p95": cuts[94], "p99": cuts[98]},
        "trip_ms": {"p50": statistics.median(seen.trip_ms)},
        "memory_mb": {
            "first_third": statistics.fmean(seen.memory_mb[:third]),
            "last_third": statistics.fmean(seen.memory_mb[-third:]),
            "most": max(seen.memory_mb),
        },
    }


def table(figures: dict[str, Any]) -> str:
    first, memory = figures["first_call_ms"], figures["memory_mb"]
    return "\n".join(
        [
            f"{figures['travellers']} travellers, {figures['seconds']:g} s,"
            f" {figures['trips']:,} trips"
            f" ({figures['trips_per_second']:.1f}/s), {figures['errors']} errors"
            f" {figures['first_errors'] or ''}",
            f"first call after p50 {first['p50']:.0f} ms, p95 {first['p95']:.0f} ms,"
            f" p99 {first['p99']:.0f} ms; whole trip p50 {figures['trip_ms']['p50']:.0f} ms",
            f"memory {memory['first_third']:.0f} MB in the first third, {memory['last_third']:.0f}"
            f" MB in the last, {memory['most']:.0f} MB at most",
        ]
    )


if __name__ == "__main__":
    main()

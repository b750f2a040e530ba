"""Episodes against a local token server, a thousand at once: throughput, memory, and whether
anything is dropped.

    python benchmarks/endpoint_load.py [--episodes 2000] [--concurrency 1000] [--ms-per-token 10]
    [--peer-episodes 1000]

The server (`endpoint_load_server.py`) is a process of its own: it takes chat completions, waits as
long as a model of that speed would take to write the reply, and answers with the expert's next
turn: real tool calls on a nano world and at the end the plan. So each episode must pass, and one
that does not was dropped or garbled: exit code 1.

Three sides, one after the other, each in a process of its own, on the same queries, world and
server:
- ours: `tripwright run` as it is, journal of paid calls, transcripts, judge and score included;
- peer: the same episodes by `AsyncOpenAI` and `asyncio.gather`, a thousand at once behind a
  semaphore, with nothing written down;
- one at a time: ours with --concurrency 1, on a few episodes.
Two cores are shared by client and server, so the figures are what such a machine does, not what the
client could.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx2  # noqa: F401  # before anything is measured: both sides stand on it

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import expert_turns
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.query import read_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Session, Turn, close_session, open_session
from tripwright.evals.run import run
from tripwright.llm.client import ChatEndpoint, Completion, RequestedCall
from tripwright.llm.endpoint import allow_open_files
from tripwright.policies.endpoint import EndpointPolicy, messages, turn_text
from tripwright.world.generator import build_world
from tripwright.world.store import World

DISTINCT = 100  # queries; episodes repeat them
DIALECT = dialect_named("planner_r1")
TIMEOUT_S = 300.0
SERVER = Path(__file__).with_name("endpoint_load_server.py")


def prepare(folder: Path) -> None:
    world = build_world(folder / "world", "nano", 2)
    queries = list(make_queries(world, DISTINCT, 1))
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps(query.record()) + "\n" for query in queries)
    )
    script = {query.query: expert_turns(query, world, DIALECT) for query in queries}
    (folder / "script.json").write_text(json.dumps(script))


def tasks(folder: Path, count: int) -> list[TripTask]:
    world = World.open(folder / "world")
    queries = read_queries(folder / "queries.jsonl")
    return [
        TripTask(f"q{number:06d}", query, world)
        for number, query in enumerate(islice(cycle(queries), count))
    ]


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def ours(folder: Path, url: str, episodes: int, concurrency: int) -> dict[str, Any]:
    policy = EndpointPolicy(ChatEndpoint(url, "load", timeout_s=TIMEOUT_S), concurrency)
    asked = tasks(folder, episodes)
    before, cpu = peak_mib(), cpu_seconds()
    with tempfile.TemporaryDirectory(dir=folder) as out:
        began = time.monotonic()
        score = run(policy, asked, Path(out), DIALECT, card={}, progress=False)
        seconds = time.monotonic() - began
    final = score["metrics"]["final"]
    return figures(seconds, episodes, score["usage"]["requests"], final["k"], before, cpu)


def figures(
    seconds: float, episodes: int, requests: int, passed: int, before_mib: float, before_cpu: float
) -> dict[str, Any]:
    return {
        "episodes": episodes,
        "seconds": seconds,
        "requests": requests,
        "passed": passed,
        "cpu_seconds": cpu_seconds() - before_cpu,
        "peak_mib": peak_mib(),
        "grown_mib": peak_mib() - before_mib,
    }


async def gathered(folder: Path, url: str, episodes: int, concurrency: int) -> dict[str, Any]:
    """The peer: what one would write with the openai package."""
    from openai import AsyncOpenAI

    client = AsyncOpenAI(base_url=url, api_key="none", timeout=TIMEOUT_S)
    asked, gate, requests = tasks(folder, episodes), asyncio.Semaphore(concurrency), 0
    before, cpu = peak_mib(), cpu_seconds()

    async def play(session: Session) -> bool:
        nonlocal requests
        async with gate:
            schemas = session.tools.schemas
            while not session.done:
                sent: Any = messages(session.transcript, "native", schemas)
                tools: Any = schemas
                reply = await client.chat.completions.create(
                    model="load", messages=sent, tools=tools
                )
                requests += 1
                said = reply.choices[0].message
                calls = tuple(
                    RequestedCall(call.id, call.function.name, call.function.arguments)
                    for call in said.tool_calls or ()
                )
                session.take(
                    Turn(
                        turn_text(Completion(said.content or "", calls, "stop", {}), DIALECT.turns)
                    )
                )
        verdict = close_session(session).verdict
        return verdict is not None and verdict.final

    began = time.monotonic()
    passed = await asyncio.gather(*(play(open_session(task, DIALECT)) for task in asked))
    return figures(time.monotonic() - began, episodes, requests, sum(passed), before, cpu)


def side(name: str, folder: Path, url: str, episodes: int, concurrency: int) -> dict[str, Any]:
    """The figures of one side, from a process of its own."""
    command = [sys.executable, __file__, "--side", name, "--folder", str(folder), "--url", url]
    command += ["--episodes", str(episodes), "--concurrency", str(concurrency)]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def told(name: str, found: dict[str, Any]) -> str:
    rates = (
        f"{found['episodes'] / found['seconds']:>9.2f} {found['requests'] / found['seconds']:>9.1f}"
    )
    memory = f"{found['peak_mib']:>9.0f} {found['grown_mib']:>9.0f}"
    cpu_ms = 1000 * found["cpu_seconds"] / found["requests"]
    return (
        f"{name:<24} {found['episodes']:>8} {found['seconds']:>8.1f} {rates} {cpu_ms:>10.2f}"
        f" {memory}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--episodes", type=int, default=2000)
    parser.add_argument("--concurrency", type=int, default=1000)
    parser.add_argument("--ms-per-token", type=float, default=10.0)
    parser.add_argument("--peer-episodes", type=int, default=1000)
    parser.add_argument(
        "--slow-episodes", type=int, default=3, help="of the side that plays one at a time"
    )
    parser.add_argument("--side", choices=["ours", "peer"], help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.side:
        allow_open_files(2 * given.concurrency)
        one_side = ours if given.side == "ours" else lambda *how: asyncio.run(gathered(*how))
        print(json.dumps(one_side(given.folder, given.url, given.episodes, given.concurrency)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        server = subprocess.Popen(
            [sys.executable, str(SERVER), str(folder / "script.json"), str(given.ms_per_token)],
            stdout=subprocess.PIPE,
            text=True,
        )
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            print(
                f"{given.ms_per_token:g} ms a token, {given.concurrency} at once, load"
                f" {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n"
            )
            heads = (
                f"{'episodes':>8} {'seconds':>8} {'episode/s':>9} {'request/s':>9}"
                f" {'cpu ms/req':>10} {'peak MiB':>9} {'grown MiB':>9}"
            )
            print(f"{'':<24} {heads}")
            mine = side("ours", folder, url, given.episodes, given.concurrency)
            print(told("ours", mine), flush=True)
            peer = side("peer", folder, url, given.peer_episodes, given.concurrency)
            print(told("AsyncOpenAI and gather", peer), flush=True)
            slow = side("ours", folder, url, given.slow_episodes, 1)
            print(told("one at a time", slow), flush=True)
        finally:
            server.terminate()
            server.wait()
    rate = mine["episodes"] / mine["seconds"]
    print(
        f"\nours plays {rate / (peer['episodes'] / peer['seconds']):.2f} times the episodes a"
        " second of AsyncOpenAI and gather, ",
        end="",
    )
    print(f"{rate / (slow['episodes'] / slow['seconds']):.0f} times those of one at a time.")
    print(
        f"memory for each episode at once: {1024 * mine['grown_mib'] / given.concurrency:.0f} KiB,"
        " threads and connections included"
    )
    dropped = {
        name: found["episodes"] - found["passed"]
        for name, found in (("ours", mine), ("peer", peer), ("one at a time", slow))
    }
    print(f"dropped or garbled: {', '.join(f'{name} {count}' for name, count in dropped.items())}")
    sys.exit(1 if dropped["ours"] or dropped["one at a time"] else 0)


if __name__ == "__main__":
    main()

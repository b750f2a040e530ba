"""The tools over HTTP under load: calls a second of `tripwright serve tools`, against the same
server answering a constant.

    .venv/bin/python benchmarks/serve_tools.py --world worlds/nano --out /tmp/serve [--seconds 120]
    [--clients 64] [--workers N]

Four servers run side by side with the same number of workers:

    tools             as started by default
    handler           the peer: a Starlette handler that reads the body and returns a constant of
                      the median answer's size
    constant          the same app as the tools' with that constant for the tools
    bare              uvicorn with the barest app: reads the body, answers that constant

They are measured in alternating slices of a few seconds, so that whatever else the machine does
hits all of them; each gets `--seconds` in all. Every slice opens its connections anew.

The load comes from processes of its own: clients that send a prepared request, wait for the answer
and send the next. Requests are drawn with a seed: all seven tools in two faces, routes and dates of
the world, 2% with a mistake in them. All servers get the same sequence. One answer in 499 is
compared with what the tools answer in process.

Written to --out: serve_tools.json (figures, one row per slice) and serve_tools.svg. Exit code 1
where an answer failed or was wrong, or the tools reach less than 0.25 of the handler's rate. Linux
only: CPU time and memory (PSS) of the workers are read from /proc.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice, permutations
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import uvloop
from http_load import slice_of_load
from panels import picture as draw_panels
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tripwright.domains import face_named
from tripwright.evals.report.charts import Lines, Series
from tripwright.server.serving import serve_app
from tripwright.server.tools_api import ServedTools, ToolsApp, world_tools
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

BAR = 0.25
FACES = ("planner_r1", "compact")
SHARES = {  # of the calls
    "search_flights": 25,
    "search_ground_transportation": 18,
    "search_accommodations": 15,
    "search_restaurants": 15,
    "search_attractions": 12,
    "calculator": 10,
    "get_cities": 3,
    "mistake": 2,
}
Call = tuple[str, dict[str, Any], str]  # tool, arguments, face


# ---- requests


def calls(world: World, seed: int) -> Iterator[Call]:
    """An endless sequence, the same for every server."""
    rng = random.Random(seed)
    cities, states, dates, routes = (
        list(world.cities),
        list(world.states),
        world.dates,
        [way for way in permutations(world.cities, 2) if world.flights(*way, world.dates[0])],
    )
    kinds, weights = list(SHARES), list(SHARES.values())
    while True:
        kind = rng.choices(kinds, weights)[0]
        (origin, destination), city = rng.choice(routes), rng.choice(cities)
        arguments: dict[str, Any]
        if kind == "mistake":
            kind, arguments = rng.choice(
                (
                    ("search_restaurants", {"city": city[:-1]}),
                    ("get_cities", {"city": city}),
                    ("book", {}),
                )
            )
        elif kind == "search_flights":
            arguments = {"origin": origin, "destination": destination, "date": rng.choice(dates)}
        elif kind == "search_ground_transportation":
            arguments = {
                "origin": origin,
                "destination": destination,
                "mode": rng.choice(("self-driving", "taxi")),
            }
        elif kind == "calculator":
            prices = [rng.randint(20, 400) for _ in range(rng.randint(2, 6))]
            arguments = {"expression": f"{rng.randint(1, 8)} * ({' + '.join(map(str, prices))})"}
        else:
            arguments = {"state": rng.choice(states)} if kind == "get_cities" else {"city": city}
        yield kind, arguments, rng.choice(FACES)


def request(call: Call) -> bytes:
    tool, arguments, face = call
    body = json.dumps(arguments).encode()
    headers = f"host: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return f"POST /tools/{tool}?face={face} HTTP/1.1\r\n{headers}\r\n\r\n".encode() + body


class InProcess:
    """What the tools answer without a server."""

    def __init__(self, world: World):
        self._boxes = {face: ToolBox(world, face_named(face)) for face in FACES}

    def answer(self, data: bytes) -> dict[str, Any]:
        head, _, body = data.decode().partition("\r\n\r\n")
        tool, _, face = head.split(" ", 2)[1].removeprefix("/tools/").partition("?face=")
        answer = self._boxes[face].call(tool, body)
        return json.loads(json.dumps(answer.to_json()))  # type: ignore[no-any-return]


# ---- the peer


def constant_app(world: Path, size: int) -> ToolsApp:
    """What the workers of `constant` run: for the tools' place in their app, one answer for every
    call."""
    answer = "calculator", ToolAnswer("x" * (size - 75))

    class Constant(ServedTools):
        def call(self, path: str, body: bytes, query: bytes) -> tuple[str, ToolAnswer]:
            return answer

    return ToolsApp(lambda: Constant(**vars(world_tools(world, FACES[0]))))


def handler_app(world: Path, size: int) -> Any:
    """What the workers of `handler` run."""
    body = json.dumps({"text": "x" * (size - 26), "error": False}).encode()

    async def constant(request: Request) -> Response:
        await request.body()
        return Response(body, media_type="application/json", headers={"x-world-hash": "0" * 64})

    return Starlette(routes=[Route("/tools/{name}", constant, methods=["POST"])])


def bare_app(world: Path, size: int) -> Any:
    """What the workers of `bare` run. As many headers as an answer of a tool has."""
    body = b"x" * size
    start = {
        "type": "http.response.start",
        "status": 200,
        "headers": [
            (b"content-type", b"application/json"),
            (b"x-world-hash", b"0" * 64),
            (b"content-length", b"%d" % size),
        ],
    }

    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        while (await receive()).get("more_body"):
            pass
        await send(start)
        await send({"type": "http.response.body", "body": body})

    return app


# ---- load and servers


def generator(
    channel: Connection,
    world_folder: str,
    seed: int,
    count: int,
    clients: int,
    rank: int,
    ranks: int,
) -> None:
    """A process of load: for each (port, first, seconds, compare) received, one slice."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    world = World.open(world_folder)
    requests = [request(call) for call in islice(calls(world, seed), count)]
    reference = InProcess(world)
    sizes = [len(json.dumps(reference.answer(data))) for data in requests[:5000]]
    channel.send({"distinct": len(set(map(hash, requests))), "sizes": sizes})
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        while (order := channel.recv()) is not None:
            port, first, seconds, compare = order
            cpu = time.process_time()
            load = runner.run(slice_of_load(port, requests, first + rank, seconds, clients, ranks))
            cpu = time.process_time() - cpu
            checked = load.checked if compare else []
            wrong = sum(
                json.loads(body) != reference.answer(requests[number % count])
                for number, body in checked
            )
            channel.send((load.latencies, load.errors, wrong, len(checked), cpu))


class Server:
    def __init__(self, name: str, command: Sequence[str], port: int):
        self.name, self.port, self.sent = name, port, 0
        self._process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self._process.stderr is not None
        said = self._process.stderr.readline()
        if "serving" not in said:
            raise SystemExit(f"{name} did not start: {said.strip()}")
        with socket.create_connection(("127.0.0.1", port)) as first:
            first.sendall(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            first.recv(1)  # waits for a worker
        pid = self._process.pid
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        self._workers = [
            int(child)
            for child in children  # another tracks resources
            if "spawn_main" in Path(f"/proc/{child}/cmdline").read_text()
        ]

    def cpu_seconds(self) -> float:
        ticks = sum(
            sum(map(int, Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
            for pid in self._workers
        )
        return ticks / os.sysconf("SC_CLK_TCK")

    def memory_mb(self) -> float:
        rollups = (Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in self._workers)
        return (
            sum(
                int(found.group(1))
                for text in rollups
                if (found := re.search(r"^Pss: +(\d+)", text, re.M))
            )
            / 1000
        )

    def stop(self) -> int:
        self._process.terminate()
        return self._process.wait(timeout=30)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def start_servers(world: Path, workers: int, size: int) -> Iterator[Server]:
    common = ["--world", str(world), "--workers", str(workers)]
    for name, serve in (
        ("tools", ["-m", "tripwright", "serve", "tools"]),
        ("handler", [__file__, "--peer", "handler_app", "--size", str(size)]),
        ("constant", [__file__, "--peer", "constant_app", "--size", str(size)]),
        ("bare", [__file__, "--peer", "bare_app", "--size", str(size)]),
    ):
        port = free_port()
        yield Server(name, [sys.executable, *serve, *common, "--port", str(port)], port)


def serve_peer(app: str, world: Path, size: int, port: int, workers: int) -> int:
    make = partial(globals()[app], world, size)
    return serve_app(make, "127.0.0.1", port, workers, "serving at {}".format)


# ---- the measurement


def measure(
    servers: Sequence[Server],
    channels: Sequence[Connection],
    clients: int,
    seconds: float,
    slice_seconds: float,
) -> list[dict[str, Any]]:
    slices = []
    began = time.monotonic()
    for turn in range(max(1, round(seconds / slice_seconds))):
        for place in range(len(servers)):
            server = servers[(turn + place) % len(servers)]
            cpu = server.cpu_seconds()
            for channel in channels:
                channel.send(
                    (server.port, server.sent, slice_seconds, server.name.startswith("tools"))
                )
            parts = [channel.recv() for channel in channels]
            latencies = sorted(latency for part in parts for latency in part[0])
            count = len(latencies)
            server.sent += (max(len(part[0]) for part in parts) + clients) * len(channels)
            slices.append(
                {
                    "server": server.name,
                    "at_seconds": round(time.monotonic() - began, 1),
                    "requests": count,
                    "per_second": round(count / slice_seconds, 1),
                    "p50_ms": round(1000 * latencies[count // 2], 3),
                    "p99_ms": round(1000 * latencies[count * 99 // 100], 3),
                    "max_ms": round(1000 * latencies[-1], 3),
                    "errors": sum(part[1] for part in parts),
                    "wrong": sum(part[2] for part in parts),
                    "checked": sum(part[3] for part in parts),
                    "server_cpu_us_per_request": round(
                        1e6 * (server.cpu_seconds() - cpu) / count, 1
                    ),
                    "load_cpu_share": round(
                        sum(part[4] for part in parts) / slice_seconds / len(parts), 2
                    ),
                    "memory_mb": round(server.memory_mb(), 1),
                }
            )
            at, rate, p99 = (slices[-1][key] for key in ("at_seconds", "per_second", "p99_ms"))
            print(
                f"{at:7.1f} s  {server.name:<16}{rate:>9.0f}/s  p99 {p99:.1f} ms", file=sys.stderr
            )
    return slices


def summary(slices: Sequence[dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in dict.fromkeys(row["server"] for row in slices):
        rows = [row for row in slices if row["server"] == name]
        found[name] = {
            "requests": sum(row["requests"] for row in rows),
            "per_second": round(statistics.mean(row["per_second"] for row in rows), 1),
            "p50_ms": statistics.median(row["p50_ms"] for row in rows),
            "p99_ms": statistics.median(row["p99_ms"] for row in rows),
            "worst_slice_p99_ms": max(row["p99_ms"] for row in rows),
            "max_ms": max(row["max_ms"] for row in rows),
            "server_cpu_us_per_request": round(
                statistics.mean(row["server_cpu_us_per_request"] for row in rows), 1
            ),
            "memory_mb_first_slice": rows[0]["memory_mb"],
            "memory_mb_last_slice": rows[-1]["memory_mb"],
            **{key: sum(row[key] for row in rows) for key in ("errors", "wrong", "checked")},
        }
    for row in found.values():
        row["ratio_to_handler"] = round(row["per_second"] / found["handler"]["per_second"], 3)
    return found


def picture(slices: Sequence[dict[str, Any]]) -> str:
    def lines(key: str, names: Sequence[str], suffix: str = "", first: int = 0) -> list[Series]:
        rows = {
            name: tuple((row["at_seconds"], row[key]) for row in slices if row["server"] == name)
            for name in names
        }
        return [
            Series(name + suffix, points, first + i)
            for i, (name, points) in enumerate(rows.items())
        ]

    names = list(dict.fromkeys(row["server"] for row in slices))
    charts = (
        ("Requests a second", lines("per_second", names), "1/s"),
        (
            "Latency of the tools",
            lines("p50_ms", ["tools"], " p50") + lines("p99_ms", ["tools"], " p99", 1),
            "ms",
        ),
        ("Memory of all workers (PSS)", lines("memory_mb", names), "MB"),
    )
    panels = [
        (title, Lines(title, "seconds", unit, drawn, width=640, height=220))
        for title, drawn, unit in charts
    ]
    label = "Requests a second, latency and memory of the served tools"
    return draw_panels(label, panels, columns=1)


def table(found: dict[str, Any]) -> str:
    lines = [
        f"{'':<17}{'1/s':>9}{'ratio':>7}{'p50 ms':>8}{'p99 ms':>8}{'CPU µs':>8}{'MB':>7}{'errors':>8}{'wrong':>7}"  # noqa: E501
    ]
    for name, row in found.items():
        lines.append(
            f"{name:<17}{row['per_second']:>9.0f}{row['ratio_to_handler']:>7.2f}{row['p50_ms']:>8.1f}{row['p99_ms']:>8.1f}"
            f"{row['server_cpu_us_per_request']:>8.0f}{row['memory_mb_last_slice']:>7.0f}{row['errors']:>8}{row['wrong']:>7}"
        )
    return "\n".join(lines)


def run(options: argparse.Namespace) -> int:
    context = multiprocessing.get_context("spawn")
    channels = []
    for rank in range(options.load_processes):
        ours, theirs = context.Pipe()
        share = options.clients // options.load_processes
        settings = (
            theirs,
            str(options.world),
            options.seed,
            options.requests,
            share,
            rank,
            options.load_processes,
        )
        context.Process(target=generator, args=settings, daemon=True).start()
        theirs.close()
        channels.append(ours)
    drawn = [channel.recv() for channel in channels][0]
    median_bytes = int(statistics.median(drawn["sizes"]))
    servers: list[Server] = []
    load_before = os.getloadavg()[0]
    try:
        for server in start_servers(options.world, options.workers, median_bytes):
            servers.append(server)
        slices = measure(servers, channels, options.clients, options.seconds, options.slice)
    finally:
        exits = {server.name: server.stop() for server in servers}
        for channel in channels:
            channel.send(None)
    found = summary(slices)
    about = {
        "world": World.open(options.world).name,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_average_before": round(load_before, 2),
        "clients": options.clients,
        "workers": options.workers,
        "load_processes": options.load_processes,
        "requests_prepared": options.requests,
        "requests_distinct": drawn["distinct"],
        "answer_bytes_median": median_bytes,
        "answer_bytes_mean": round(statistics.mean(drawn["sizes"])),
        "exit_codes": exits,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    written = {"about": about, "servers": found, "slices": slices}
    (options.out / "serve_tools.json").write_text(
        json.dumps(written, indent=1) + "\n", encoding="utf-8"
    )
    (options.out / "serve_tools.svg").write_text(picture(slices), encoding="utf-8")
    print(table(found))
    print(" ".join(f"{key}={value}" for key, value in about.items()))
    tools = found["tools"]
    failed = (
        any(row["errors"] or row["wrong"] for row in found.values())
        or any(exits.values())
        or tools["ratio_to_handler"] < BAR
    )
    return 1 if failed else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--world", type=Path, required=True, help="world folder")
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("serve_tools"),
        help="folder for the figures and the picture",
    )
    parser.add_argument("--seconds", type=float, default=120.0, help="for each of the five servers")
    parser.add_argument(
        "--slice", type=float, default=5.0, help="seconds between two changes of the server"
    )
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument(
        "--workers", type=int, default=max(1, (os.cpu_count() or 2) - 1), help="of each server"
    )
    parser.add_argument("--load-processes", type=int, default=1)
    parser.add_argument(
        "--requests", type=int, default=1_000_000, help="prepared before; then they repeat"
    )
    parser.add_argument("--seed", type=int, default=0)
    # in the process of a peer: the name of its app
    parser.add_argument("--peer", help=argparse.SUPPRESS)
    parser.add_argument("--size", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.peer:
        return serve_peer(options.peer, options.world, options.size, options.port, options.workers)
    return run(options)


if __name__ == "__main__":
    sys.exit(main())

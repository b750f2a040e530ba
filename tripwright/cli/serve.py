"""`tripwright serve`: what other programs and people reach over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from tripwright.tools.faces import ALL_FACES, face_named
from tripwright.web import tools_api
from tripwright.web.log import say
from tripwright.web.metrics import forget_worker, metrics_folder
from tripwright.web.supervisor import Supervisor, open_port, url_of
from tripwright.world.store import World

APP = f"{tools_api.__name__}:{tools_api.make_app.__name__}"


def tools(
    world: Annotated[Path, typer.Option(help="The folder of the world.")],
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8321,
    workers: Annotated[int, typer.Option(help="Processes that answer; one keeps a core busy.", min=1, max=256)] = 1,
    face: Annotated[str, typer.Option(help=f"How answers are written where a call does not say: {', '.join(ALL_FACES)}.")] = "planner_r1",
    cache_mb: Annotated[int, typer.Option(help="Megabytes of answers that each worker remembers.", min=0)] = 64,
) -> None:
    """Serve the tools of a world over HTTP, until Ctrl-C or SIGTERM. Requests that were sent by then are still answered.

    A line on stderr says where. GET /docs there lists the calls; /metrics is for Prometheus. Neither encryption nor
    passwords: put a proxy before it where strangers can reach it.

    Examples:
      tripwright serve tools --world worlds/nano
      tripwright serve tools --world worlds/real --port 9000 --workers 4 --face compact
      curl -d '{"expression": "2 * (89 + 120)"}' 'http://127.0.0.1:8321/tools/calculator?face=compact'
      curl http://127.0.0.1:8321/docs
    """
    face_named(face)
    place = World.open(world)
    with open_port(host, port) as listener, metrics_folder() as folder:
        url = url_of(listener)

        def announce() -> None:
            many = "1 worker" if workers == 1 else f"{workers} workers"
            faces = ", ".join(name + (" (default)" if name == face else "") for name in ALL_FACES)
            say(f"serving the tools of world '{place.name}' at {url} ({many}; faces {faces}; docs {url}/docs)")

        where = {"world": os.fspath(world.absolute()), "metrics_folder": os.fspath(folder)}
        settings = {**where, "face": face, "cache_bytes": cache_mb * 1_000_000}
        supervisor = Supervisor(APP, settings, listener, workers, on_death=lambda pid: forget_worker(folder, pid))
        code = supervisor.run(announce)
    raise typer.Exit(code)

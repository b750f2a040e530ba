"""`tripwright serve`: what other programs and people reach over HTTP."""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.domains import domain_of_face, face_named, faces, own_domains
from tripwright.domains.domain import PlaceOptions
from tripwright.domains.folders import alike, open_folder
from tripwright.errors import UserError
from tripwright.server import tools_api
from tripwright.server.log import say
from tripwright.server.metrics import forget_worker, metrics_folder
from tripwright.server.supervisor import Supervisor, open_port, url_of

WORLD_APP = f"{tools_api.__name__}:{tools_api.make_app.__name__}"
OWN = own_domains()
LIVE = next(domain for domain in OWN.values() if domain.live)
WORLD_FACE, LIVE_FACE = next(iter(faces(OWN))), LIVE.faces[0].name


def tools(  # long: each option is a parameter with its help
    world: Annotated[
        Path | None, typer.Option(help="The folder of the world.", show_default=False)
    ] = None,
    services: Annotated[
        Path | None,
        typer.Option(help="Instead of --world: a TOML file of live services.", show_default=False),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            help="Live tools: keep their answers in this SQLite file or database.",
            show_default=False,
        ),
    ] = None,
    snapshot: Annotated[
        str | None,
        typer.Option(help="With --store: the day they are kept under.", show_default="today"),
    ] = None,
    replay: Annotated[
        bool, typer.Option("--replay", help="With --store: ask nobody; answers come from it alone.")
    ] = False,
    on_fault: Annotated[
        str,
        typer.Option(
            help=(
                "A service that does not answer: stop (status 503) or tell (an answer that says"
                " so)."
            )
        ),
    ] = "stop",
    host: Annotated[
        str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8321,
    workers: Annotated[
        int, typer.Option(help="Processes that answer; one keeps a core busy.", min=1, max=256)
    ] = 1,
    face: Annotated[
        str | None,
        typer.Option(
            help=f"How answers are written where a call does not say: {', '.join(faces(OWN))}.",
            show_default=f"{WORLD_FACE}; live: {LIVE_FACE}",
        ),
    ] = None,
    cache_mb: Annotated[
        int, typer.Option(help="A world's: megabytes of answers that each worker remembers.", min=0)
    ] = 64,
) -> None:
    """Serve the tools of a world over HTTP, or live tools, until Ctrl-C or SIGTERM. Requests that
    were sent by then are still answered.

    A line on stderr says where. GET /docs there lists the calls; /metrics is for Prometheus.
    Neither encryption nor
    passwords: put a proxy before it where strangers can reach it.

    Live tools are the six of dialect deeptravel. They answer from --services, with --store through
    the sandbox that remembers, and with --replay from a recorded day. Several workers need a store,
    which keeps the services' limits for all of them.

    Examples:
      tripwright serve tools --world worlds/nano
      tripwright serve tools --world worlds/real --port 9000 --workers 4 --face compact
      tripwright serve tools --services live.toml --store runs/live.sqlite --workers 2
      tripwright serve tools --store runs/live.sqlite --snapshot 2026-06-20 --replay
      curl -d '{"expression": "2 * (89 + 120)"}' 'http://127.0.0.1:8321/tools/calculator?face=compact'
      curl http://127.0.0.1:8321/docs
    """
    options = PlaceOptions(world, services, store, snapshot, replay)
    offered = {each.name: each for each in LIVE.faces} if options.live else faces()
    if face is not None:
        face_named(face, offered)  # a wrong face is named even where the world is wrong too
    settings: dict[str, Any] = {}
    if options.live:
        app, settings["live"], what = import_module(str(LIVE.live)).prepare(
            options, on_fault, workers
        )
    elif world is None:
        raise UserError(
            "What is served? Give --world DIR, or live tools: --services FILE, or --store with"
            " --snapshot and --replay."
        )
    else:
        with open_folder(world, domain_of_face(face) if face else None) as (domain, place):
            what = f"the tools of world '{place.where}'"
        offered = faces({each.name: each for each in alike(domain)})
        app = WORLD_APP
        settings |= {"world": os.fspath(world.absolute()), "cache_bytes": cache_mb * 1_000_000}
    chosen = settings["face"] = face or next(iter(offered))
    with open_port(host, port) as listener, metrics_folder() as folder:
        url = url_of(listener)

        def announce() -> None:
            many = "1 worker" if workers == 1 else f"{workers} workers"
            named = ", ".join(name + (" (default)" if name == chosen else "") for name in offered)
            say(f"serving {what} at {url} ({many}; faces {named}; docs {url}/docs)")

        settings["metrics_folder"] = os.fspath(folder)
        supervisor = Supervisor(
            app, settings, listener, workers, on_death=lambda pid: forget_worker(folder, pid)
        )
        code = supervisor.run(announce)
    raise typer.Exit(code)

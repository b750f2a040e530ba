"""`tripwright serve`: what other programs and people reach over HTTP."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import typer

from tripwright.domains.deeptravel.tools.live_box import OnFault
from tripwright.domains.deeptravel.tools.live_source import LiveOptions
from tripwright.errors import UserError
from tripwright.server import live_api, tools_api
from tripwright.server.live_answers import survey
from tripwright.server.log import say
from tripwright.server.metrics import forget_worker, metrics_folder
from tripwright.server.supervisor import Supervisor, open_port, url_of
from tripwright.tools.faces import ALL_FACES, FACES, LIVE_FACES, face_named
from tripwright.world.store import World

WORLD_APP = f"{tools_api.__name__}:{tools_api.make_app.__name__}"
LIVE_APP = f"{live_api.__name__}:{live_api.make_app.__name__}"
WORLD_FACE, LIVE_FACE = next(iter(FACES)), next(iter(LIVE_FACES))


def tools(  # long: each option is a parameter with its help
    world: Annotated[Path | None, typer.Option(help="The folder of the world.", show_default=False)] = None,
    services: Annotated[Path | None, typer.Option(help="Instead of --world: a TOML file of live services.", show_default=False)] = None,
    store: Annotated[
        str | None, typer.Option(help="Live tools: keep their answers in this SQLite file or database.", show_default=False)
    ] = None,
    snapshot: Annotated[str | None, typer.Option(help="With --store: the day they are kept under.", show_default="today")] = None,
    replay: Annotated[bool, typer.Option("--replay", help="With --store: ask nobody; answers come from it alone.")] = False,
    on_fault: Annotated[
        str, typer.Option(help="A service that does not answer: stop (status 503) or tell (an answer that says so).")
    ] = "stop",
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8321,
    workers: Annotated[int, typer.Option(help="Processes that answer; one keeps a core busy.", min=1, max=256)] = 1,
    face: Annotated[
        str | None,
        typer.Option(
            help=f"How answers are written where a call does not say: {', '.join(ALL_FACES)}.",
            show_default=f"{WORLD_FACE}; live: {LIVE_FACE}",
        ),
    ] = None,
    cache_mb: Annotated[int, typer.Option(help="A world's: megabytes of answers that each worker remembers.", min=0)] = 64,
) -> None:
    """Serve the tools of a world over HTTP, or live tools, until Ctrl-C or SIGTERM. Requests that were sent by then are still answered.

    A line on stderr says where. GET /docs there lists the calls; /metrics is for Prometheus. Neither encryption nor
    passwords: put a proxy before it where strangers can reach it.

    Live tools are the six of dialect deeptravel. They answer from --services, with --store through the sandbox that remembers, and with
    --replay from a recorded day. Several workers need a store, which keeps the services' limits for all of them.

    Examples:
      tripwright serve tools --world worlds/nano
      tripwright serve tools --world worlds/real --port 9000 --workers 4 --face compact
      tripwright serve tools --services live.toml --store runs/live.sqlite --workers 2
      tripwright serve tools --store runs/live.sqlite --snapshot 2026-06-20 --replay
      curl -d '{"expression": "2 * (89 + 120)"}' 'http://127.0.0.1:8321/tools/calculator?face=compact'
      curl http://127.0.0.1:8321/docs
    """
    live = services is not None or store is not None or snapshot is not None or replay
    faces = LIVE_FACES if live else ALL_FACES
    chosen = face_named(face or (LIVE_FACE if live else WORLD_FACE), faces).name
    settings: dict[str, Any] = {"face": chosen}
    if live:
        what = _live(settings, LiveOptions(world, services, store, snapshot, replay), on_fault, workers)
    elif world is None:
        raise UserError("What is served? Give --world DIR, or live tools: --services FILE, or --store with --snapshot and --replay.")
    else:
        what = f"the tools of world '{World.open(world).name}'"
        settings |= {"world": os.fspath(world.absolute()), "cache_bytes": cache_mb * 1_000_000}
    with open_port(host, port) as listener, metrics_folder() as folder:
        url = url_of(listener)

        def announce() -> None:
            many = "1 worker" if workers == 1 else f"{workers} workers"
            named = ", ".join(name + (" (default)" if name == chosen else "") for name in faces)
            say(f"serving {what} at {url} ({many}; faces {named}; docs {url}/docs)")

        settings["metrics_folder"] = os.fspath(folder)
        app = LIVE_APP if live else WORLD_APP
        supervisor = Supervisor(app, settings, listener, workers, on_death=lambda pid: forget_worker(folder, pid))
        code = supervisor.run(announce)
    raise typer.Exit(code)


def _live(settings: dict[str, Any], options: LiveOptions, on_fault: str, workers: int) -> str:
    """Adds what a worker needs to know, and says what is served. A mistake is one line here, before any worker starts."""
    if on_fault not in get_args(OnFault):
        raise UserError(f"--on-fault '{on_fault}' is none of {', '.join(get_args(OnFault))}.")
    if workers > 1 and options.store is None:
        raise UserError(
            f"{workers} workers without a store would each ask a service as often as all together may. Give --store, or --workers 1."
        )
    found = survey(options, cast(OnFault, on_fault))
    settings["live"] = found.record()
    return found.what

"""`tripwright serve`: what other programs and people reach over HTTP."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module
from typing import Annotated, Any, NamedTuple

import typer

from tripwright.cli.options import PlaceFlags
from tripwright.domains import OWN_FACES
from tripwright.errors import UserError


@dataclass(frozen=True, kw_only=True)
class ServeFlags:
    """Where tools are served, and how they answer."""

    on_fault: Annotated[
        str,
        typer.Option(
            help=(
                "A service that does not answer: stop (status 503) or tell (an answer that says"
                " so)."
            )
        ),
    ] = "stop"
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8321
    workers: Annotated[
        int, typer.Option(help="Processes that answer; one keeps a core busy.", min=1, max=256)
    ] = 1
    face: Annotated[
        str | None,
        typer.Option(
            help=f"How answers are written where a call does not say: {', '.join(OWN_FACES)}.",
            show_default="the first that answers from what is served",
        ),
    ] = None
    cache_mb: Annotated[
        int, typer.Option(help="A world's: megabytes of answers that each worker remembers.", min=0)
    ] = 64


def tools(settings: ServeFlags, place: PlaceFlags) -> None:
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
    from tripwright.server.log import say
    from tripwright.server.metrics import forget_worker, metrics_folder
    from tripwright.server.supervisor import Supervisor, open_port, url_of

    app = _app(place, settings.face, settings.on_fault, settings.workers, settings.cache_mb)
    default = settings.face or app.faces[0]
    with open_port(settings.host, settings.port) as listener, metrics_folder() as folder:
        url = url_of(listener)

        def announce() -> None:
            many = "1 worker" if settings.workers == 1 else f"{settings.workers} workers"
            faces = ", ".join(
                name + (" (default)" if name == default else "") for name in app.faces
            )
            say(f"serving {app.what} at {url} ({many}; faces {faces}; docs {url}/docs)")

        of_worker = {**app.settings, "face": default, "metrics_folder": os.fspath(folder)}
        supervisor = Supervisor(
            app.name,
            of_worker,
            listener,
            settings.workers,
            on_death=lambda pid: forget_worker(folder, pid),
        )
        code = supervisor.run(announce)
    raise typer.Exit(code)


class _App(NamedTuple):
    """What a worker runs, under `name` as uvicorn knows it; `faces`, the default first."""

    name: str
    settings: dict[str, Any]
    what: str
    faces: tuple[str, ...]


def _app(place: PlaceFlags, face: str | None, on_fault: str, workers: int, cache_mb: int) -> _App:
    from tripwright.domains import domain_of_face, domains, face_named, faces
    from tripwright.domains.domain import PlaceOptions
    from tripwright.domains.folders import alike, open_folder
    from tripwright.server import tools_api

    options = PlaceOptions(**vars(place))
    live = next(domain for domain in domains().values() if domain.live)
    by_name = {each.name: each for each in live.faces} if options.live else faces()
    if face is not None:
        face_named(face, by_name)  # a wrong face is named even where the world is wrong too
    if options.live:
        name, settings, what = import_module(str(live.live)).prepare(options, on_fault, workers)
        return _App(name, {"live": settings}, what, tuple(by_name))
    if options.world is None:
        raise UserError(
            "What is served? Give --world DIR, or live tools: --services FILE, or --store with"
            " --snapshot and --replay."
        )
    with open_folder(options.world, domain_of_face(face) if face else None) as (domain, opened):
        what = f"the tools of world '{opened.where}'"
    return _App(
        f"{tools_api.__name__}:{tools_api.make_app.__name__}",
        {"world": os.fspath(options.world.absolute()), "cache_bytes": cache_mb * 1_000_000},
        what,
        tuple(faces({each.name: each for each in alike(domain)})),
    )

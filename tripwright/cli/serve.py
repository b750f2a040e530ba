"""`tripwright serve`: what other programs and people reach over HTTP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from tripwright.cli.options import PlaceFlags
from tripwright.domains import OWN_FACES
from tripwright.errors import UserError

if TYPE_CHECKING:
    from tripwright.server.tools_api import ServedTools


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
    Neither encryption nor passwords, nor limits on slow clients: put a proxy before it where
    strangers can reach it.

    Live tools are the six of dialect deeptravel. They answer from --services, with --store through
    the sandbox that remembers, and with --replay from a recorded day. Several workers need a store,
    which keeps the services' limits for all of them.

    Examples:
      tripwright serve tools --world worlds/nano
      tripwright serve tools --world worlds/real --port 9000 --workers 4 --face compact
      tripwright serve tools --services live.toml --store runs/live.sqlite --workers 2
      tripwright serve tools --store runs/live.sqlite --snapshot 2026-06-20 --replay
      curl -d '{"expression": "2 * (89 + 120)"}' 'http://127.0.0.1:8321/tools/calculator?face=compact'
      curl http://127.0.0.1:8321/openapi.json
    """
    from tripwright.server.serving import open_port, serve_app, url_of
    from tripwright.server.tools_api import make_app

    served = _served(place, settings)
    face = settings.face or served.faces[0]
    with open_port(settings.host, settings.port) as listener:
        many = "1 worker" if settings.workers == 1 else f"{settings.workers} workers"
        faces = ", ".join(f"{each} (default)" if each == face else each for each in served.faces)
        url = url_of(listener)
        line = f"serving {served.what} at {url} ({many}; faces {faces}; docs {url}/docs)"
        make = partial(make_app, partial(served.open, face))
        raise typer.Exit(serve_app(make, listener, settings.workers, line))


class _Served(NamedTuple):
    """`open` is called with a face in each worker; `faces`, the default first."""

    open: Callable[[str], ServedTools]
    what: str
    faces: tuple[str, ...]


def _served(place: PlaceFlags, settings: ServeFlags) -> _Served:
    from tripwright.domains import domain_of_face, domains, face_named, faces
    from tripwright.domains.domain import PlaceOptions
    from tripwright.domains.folders import alike, open_folder
    from tripwright.server.tools_api import world_answers

    options, face = PlaceOptions(**vars(place)), settings.face
    live = next(domain for domain in domains().values() if domain.live)
    by_name = {each.name: each for each in live.faces} if options.live else faces()
    if face is not None:
        face_named(face, by_name)  # a wrong face is named even where the world is wrong too
    if options.live:
        prepare = import_module(str(live.live)).prepare
        open_tools, what = prepare(options, settings.on_fault, settings.workers)
        return _Served(open_tools, what, tuple(by_name))
    if options.world is None:
        raise UserError(
            "What is served? Give --world DIR, or live tools: --services FILE, or --store with"
            " --snapshot and --replay."
        )
    with open_folder(options.world, domain_of_face(face) if face else None) as (domain, opened):
        what = f"the tools of world '{opened.where}'"
    return _Served(
        partial(world_answers, options.world, settings.cache_mb * 1_000_000),
        what,
        tuple(faces({each.name: each for each in alike(domain)})),
    )

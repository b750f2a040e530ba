"""`tripwright serve`: what people and other programs reach over HTTP: trips (a page and an API),
tools, a checkpoint for the rollouts of a training in another process. `tripwright mcp`: a world for
assistants."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from tripwright.cli.options import Device, Dtype, argument, option
from tripwright.domains import own_names
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError, counted
from tripwright.files import WEIGHTS_TOKEN, shared_token
from tripwright.server import ALLOW_HOST, TripServer

if TYPE_CHECKING:
    from tripwright.server.serving import OneReader
    from tripwright.server.tools_api import ServedTools


OnFault = Literal["stop", "tell"]
Host = Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")]
AllowHost = Annotated[list[str] | None, typer.Option(help=ALLOW_HOST)]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")]


def tools(
    place: PlaceOptions,
    on_fault: OnFault = option(
        "stop",
        "A service that does not answer: stop (status 503) or tell (an answer that says so).",
    ),
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
    port: Port = 8321,
    workers: int = option(1, "Processes that answer; one keeps a core busy.", min=1, max=256),
    face: str | None = option(
        None,
        f"How answers are written where a call does not say: {own_names('faces')}.",
        show_default="the first that answers from what is served",
    ),
) -> None:
    """Serve the tools of a world over HTTP, or live tools, until Ctrl-C or SIGTERM. Requests that
    were sent by then are still answered.

    A line on stderr says where. GET /docs there lists the calls; /metrics is for Prometheus.
    Neither encryption nor passwords: put a proxy before it where strangers can reach it.

    Live tools are the six of dialect deeptravel. They answer from --services, with --store through
    the sandbox that remembers, and with --replay from a recorded day. Several workers need a store,
    which keeps the services' limits for all of them.

    Examples:
      tripwright serve tools --world worlds/nano
      tripwright serve tools --world worlds/real --port 9000 --workers 4 --face compact
      tripwright serve tools --services live.toml --store runs/live.sqlite --workers 2
      tripwright serve tools --store runs/live.sqlite --snapshot 2026-06-20 --replay
      curl --json '{"expression": "2 * (89 + 120)"}' 'http://127.0.0.1:8321/tools/calculator?face=compact'
      curl http://127.0.0.1:8321/openapi.json
    """
    from tripwright.server.serving import serve_app
    from tripwright.server.tools_api import ToolsApp

    open_tools, what, names = _served(place, face, on_fault, workers)
    face = face or names[0]
    faces = ", ".join(f"{each} (default)" if each == face else each for each in names)
    about = f"{counted(workers, 'worker')}; faces {faces}"
    make = partial(ToolsApp, partial(open_tools, face))

    def announce(url: str) -> str:
        return f"serving {what} at {url} ({about}; docs {url}/docs)"

    raise typer.Exit(serve_app(make, host, port, workers, announce, allow_host))


def _served(
    options: PlaceOptions, face: str | None, on_fault: OnFault, workers: int
) -> tuple[Callable[[str], ServedTools], str, tuple[str, ...]]:
    """What each worker calls with a face; what is served, in words; its faces, the default
    first."""
    from tripwright.domains import alike, domain_of_face, domains, face_named, faces, open_folder
    from tripwright.server.tools_api import world_tools

    live = next(domain for domain in domains().values() if domain.live)
    by_name = {each.name: each for each in live.faces} if options.live else faces()
    if face is not None:
        face_named(face, by_name)  # a wrong face is named even where the world is wrong too
    if options.live:
        prepare = import_module(str(live.live)).prepare
        open_tools, what = prepare(options, on_fault, workers)
        return open_tools, what, tuple(by_name)
    if options.world is None:
        raise UserError(
            "What is served? Give --world DIR, or live tools: --services FILE, or --store with"
            " --snapshot and --replay."
        )
    with open_folder(options.world, domain_of_face(face) if face else None) as (domain, opened):
        what = f"the tools of world '{opened.where}'"
    names = tuple(faces(alike(domain)))
    return partial(world_tools, options.world), what, names


def mcp(
    world: Path = option(..., "World folder to travel in."),
    face: str | None = option(None, f"How its tools are called: {own_names('faces')}."),
    port: int | None = option(None, "Over HTTP at this port, not stdio; 0 takes any free one."),
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
) -> None:
    """Give an assistant that speaks MCP a world's tools, its exact planner and its judge: over
    stdin and stdout, as its configuration starts it, or with --port over HTTP. Requests come in
    words or in fields; what is not understood is named, and nothing is planned without it.

    Examples:
      tripwright mcp --world worlds/nano
      tripwright mcp --world worlds/nano --port 8322
    """
    from tripwright.bridges.mcp import mcp_server, serve_stdio

    with mcp_server(world, face) as server:  # what is wrong is said here, and not by a worker
        if port is None:
            return asyncio.run(serve_stdio(server))
    from tripwright.server.serving import serve_app

    announce = f"serving world '{world}' to assistants at {{}}/mcp".format
    make = partial(_mcp_app, world, face)
    raise typer.Exit(serve_app(make, host, port, 1, announce, allow_host))


def _mcp_app(world: Path, face: str | None) -> OneReader:
    from tripwright.bridges.mcp import mcp_app
    from tripwright.server.serving import OneReader

    return OneReader(mcp_app(world, face), 1_000_000)


# ---- trips


def serve(settings: TripServer, port: Port = 8000) -> None:
    """Serve trips until Ctrl-C or SIGTERM: a page for travellers at /, an API at /v1.

    Without a model the domain's own planners answer. Trips are kept in the state file; those under
    way when the server stops, or is killed, are planned after the next start.

    Examples:
      tripwright serve
      tripwright serve --world worlds/nano --port 9000
      tripwright serve --domain deeptravel
      tripwright serve --model runs/quickstart/model/rl
      tripwright serve --endpoint http://localhost:8001/v1 --model Qwen3-8B --dialect planner_r1
      tripwright serve --domain deeptravel --model runs/nano_errands/cold_start/model/sft \
        --dialect deeptravel_cards_compact
      tripwright serve --services examples/own_flights.toml
      tripwright serve --runs runs
      TRIP_KEYS=secret1,secret2 tripwright serve --host 0.0.0.0 --key-env TRIP_KEYS
      tripwright serve --allow-origin https://our.example
      tripwright serve --endpoint https://api.openai.com/v1 --model gpt-5-mini --price-in 0.25 \
        --price-out 2 --max-cost-usd 20
      curl -H 'Accept: text/event-stream' --json '{"values": {…}}' http://127.0.0.1:8000/v1/trips
    """
    from contextlib import ExitStack

    from tripwright.server.agency import open_agency
    from tripwright.server.guard import LOOPBACK
    from tripwright.server.serving import say, serve_app
    from tripwright.server.trips import trip_app

    if settings.services is None and settings.world is None:
        settings = replace(settings, world=_nano(settings.state))
    with ExitStack() as resources:  # what is wrong is said here, and not by the worker
        where = open_agency(settings, resources).place.where
    if not settings.keys and settings.host not in LOOPBACK:
        what = "plan trips here" + (" and read the runs" if settings.runs else "")
        say(f"warning: no keys (--key-env): anybody who reaches this address can {what}.")

    def announce(url: str) -> str:
        also = f"; runs at {url}/runs" if settings.runs else ""
        return f"serving trips of '{where}' at {url}{also}"

    make, names = partial(trip_app, settings), (settings.allow_host, settings.proxy)
    origins = settings.allow_origin
    raise typer.Exit(serve_app(make, settings.host, port, 1, announce, *names, origins))


def _nano(state: Path) -> Path:
    """A small generated world beside the state file, made once."""
    from tripwright.world.generator import build_world

    folder = state.parent / "nano-world"
    if not (folder / "manifest.json").is_file():
        build_world(folder, "nano", 7)
    return folder


# ---- a checkpoint


def model(
    folder: Path = argument("A model folder, or a training's.", metavar="DIR|RUN"),
    step: str | None = option(
        None, "Of a training, the checkpoint of that step, or 'best'; else the last stage."
    ),
    host: Host = "127.0.0.1",
    allow_host: AllowHost = None,
    port: Port = 8000,
    token: Path = option(WEIGHTS_TOKEN, "File with the token for changing weights; made if new."),
    concurrency: int = option(64, "Requests in the batch at once.", min=1),
    device: Device = "auto",
    dtype: Dtype = "auto",
) -> None:
    """Serve a checkpoint as OpenAI, vLLM and SGLang do, until Ctrl-C: for programs that chat, and
    for the rollouts of a training.

    It samples by our own engine. Programs find chat completions, with tools and streams, at /v1. A
    recipe's [grpo.server], of either kind, finds token ids in and out, sleep, wake, weights from a
    folder. Of conversations 16 million tokens are remembered; beyond, idle sessions are forgotten.
    Weights, memory and what was said in sessions are for whoever has the token in a file of the
    user's: a training that is started in the same folder finds it, others name it (token of
    [grpo.server]).

    Examples:
      tripwright serve model runs/quickstart/model/sft
      tripwright serve model runs/quickstart --step best --port 8001 --dtype float32
      curl http://127.0.0.1:8000/v1/models
    """
    from tripwright.inference.local import load_to_sample
    from tripwright.runs import model_in
    from tripwright.server.model_api import make_app
    from tripwright.server.serving import serve_app

    # what is wrong is said here, and not by the worker
    folder = model_in(folder, step)
    load_to_sample(folder, device, dtype)
    shared_token(token)
    make = partial(make_app, str(folder), concurrency, device, dtype, token.absolute())

    def announce(url: str) -> str:
        how = f"as OpenAI, vLLM and SGLang do; weights by the token in '{token.absolute()}'"
        return f"serving '{folder}' at {url}/v1 ({how})"

    raise typer.Exit(serve_app(make, host, port, 1, announce, allow_host))

"""`tripwright serve`: trips for people and programs, a page and an API."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Device, Dtype
from tripwright.errors import UserError


@dataclass(frozen=True, kw_only=True)
class TripServeFlags:
    """Where trips are served, who plans them and where they are kept."""

    world: Annotated[
        Path | None,
        typer.Option(
            help="World folder to travel in.", show_default="a nano world beside the state file"
        ),
    ] = None
    services: Annotated[
        Path | None,
        typer.Option(
            help="TOML file: who answers which tool, in place of a world.", show_default=False
        ),
    ] = None
    state: Annotated[Path, typer.Option(help="SQLite file with all trips.")] = Path(
        "runs/serve/trips.sqlite"
    )
    domain: Annotated[
        str | None, typer.Option(help="Whose desk.", show_default="the first that has one")
    ] = None
    model: Annotated[
        str | None,
        typer.Option(
            help="A trained checkpoint's folder; with --endpoint, the model's name.",
            show_default=False,
        ),
    ] = None
    dialect: Annotated[
        str | None,
        typer.Option(
            help="The dialect that the model was trained in, or is prompted in.",
            show_default="the desk's",
        ),
    ] = None
    device: Device = "auto"
    dtype: Dtype = "auto"
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="URL of an OpenAI-compatible endpoint, up to and including /v1.",
            show_default=False,
        ),
    ] = None
    api_key_env: Annotated[
        str, typer.Option(help="The environment variable with the endpoint's key.")
    ] = "OPENAI_API_KEY"
    key_env: Annotated[
        str | None,
        typer.Option(
            help="An environment variable with the keys, commas between them, that callers must"
            " have.",
            show_default=False,
        ),
    ] = None
    host: Annotated[str, typer.Option(help="Address to listen on; 0.0.0.0 for every network.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes any free one.")] = 8000
    workers: Annotated[int, typer.Option(help="Processes that answer.", min=1, max=64)] = 1
    runs: Annotated[
        Path | None,
        typer.Option(
            help="Folder of run folders to look at under /runs: leaderboard, reports, curves.",
            show_default=False,
        ),
    ] = None
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log what travellers typed, too.")
    ] = False


def trips(settings: TripServeFlags) -> None:
    """Serve trips until Ctrl-C or SIGTERM: a page for travellers at /, an API at /v1.

    Without a model the domain's own planners answer. Trips are kept in the state file; those under
    way when the server stops, or is killed, are planned after the next start.

    Examples:
      tripwright serve
      tripwright serve --world worlds/nano --port 9000 --workers 2
      tripwright serve --domain deeptravel
      tripwright serve --model runs/quickstart/model/rl
      tripwright serve --endpoint http://localhost:8001/v1 --model Qwen3-8B --dialect planner_r1
      tripwright serve --domain deeptravel --model runs/nano_errands/cold_start/model/sft \
        --dialect deeptravel_cards_compact
      tripwright serve --services docs/examples/own_flights.toml
      tripwright serve --runs runs
      TRIP_KEYS=secret1,secret2 tripwright serve --host 0.0.0.0 --key-env TRIP_KEYS
      curl -H 'Accept: text/event-stream' -d '{"values": {…}}' http://127.0.0.1:8000/v1/trips
    """
    from contextlib import ExitStack

    from tripwright.server.agency import TripServer, open_agency
    from tripwright.server.guard import LOOPBACK
    from tripwright.server.serving import open_port, say, serve_app, url_of
    from tripwright.server.trips import trip_app

    _check(settings)
    served = TripServer(
        world=""
        if settings.services
        else str((settings.world or _nano(settings.state)).absolute()),
        state=str(settings.state.absolute()),
        host=settings.host,
        domain=settings.domain,
        model=settings.model,
        device=settings.device,
        dtype=settings.dtype,
        dialect=settings.dialect,
        endpoint=settings.endpoint,
        api_key_env=settings.api_key_env,
        key_env=settings.key_env,
        log_requests=settings.log_requests,
        runs=str(settings.runs.absolute()) if settings.runs else None,
        services=str(settings.services.absolute()) if settings.services else None,
    )
    with ExitStack() as resources:  # what is wrong is said here, once, and not by every worker
        where = open_agency(served, resources).place.where
    if not served.keys and settings.host not in LOOPBACK:
        what = "plan trips here" + (" and read the runs" if settings.runs else "")
        say(f"warning: no keys (--key-env): anybody who reaches this address can {what}.")
    with open_port(settings.host, settings.port) as listener:
        url = url_of(listener)
        also = f"; runs at {url}/runs" if settings.runs else ""
        line = f"serving trips of '{where}' at {url}{also}"
        make = partial(trip_app, served)
        raise typer.Exit(serve_app(make, listener, settings.workers, line))


def _check(settings: TripServeFlags) -> None:
    """Raises UserError for options that do not go together."""
    if settings.endpoint and not settings.model:
        raise UserError("--endpoint needs --model NAME: which of its models plans?")
    if settings.dialect and not settings.model:
        raise UserError("--dialect is the model's: give --model too.")
    if settings.services is not None and (settings.world is not None or settings.workers > 1):
        raise UserError("--services goes with neither --world nor several --workers.")
    if settings.runs is not None and settings.key_env:
        raise UserError("--runs shows runs to whoever asks, --key-env only answers with a key.")
    if settings.runs is not None and not settings.runs.is_dir():
        raise UserError(f"No folder '{settings.runs}' of --runs.")


def _nano(state: Path) -> Path:
    """A small generated world beside the state file, made once."""
    from tripwright.world.generator import build_world

    folder = state.parent / "nano-world"
    if not (folder / "manifest.json").is_file():
        build_world(folder, "nano", 7)
    return folder

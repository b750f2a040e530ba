"""`tripwright world`: build, import, describe and list the closed worlds that agents travel in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from tripwright.cli.options import Json, argument, flag, option
from tripwright.cli.table import print_figures
from tripwright.progress import StatusLine
from tripwright.world.generator import build_world
from tripwright.world.importer import import_world
from tripwright.world.scales import SCALES
from tripwright.world.store import STORE_FILE, World, verify


def build(
    out: Path = option(..., "New folder for the world."),
    scale: str = option("nano", f"Size: {', '.join(SCALES)}."),
    seed: int = option(0, "Equal seeds give equal worlds.", min=0),
    as_json: Json = False,
) -> None:
    """Generate a world: the same scale and seed give the same world everywhere.

    nano: 24 cities, 2 weeks, short tables for tiny models. small: 40 cities, 3 months, tables like
    the real ones. official: 312 cities in 64 states and the row counts of TravelPlanner, 3,827,361
    flights among them (about a minute, a file of 230 MB). nano_alike: as nano, with names that
    begin or end alike, for training.

    Examples:
      tripwright world build --scale nano --seed 7 --out worlds/nano
      tripwright world build --scale official --seed 7 --out worlds/official
    """
    with _progress() as report:
        world = build_world(out, scale, seed, report)
    _describe(world, as_json)


def import_(
    source: Path = argument(
        "Folder with the official tables (CSV), flat or in the official subfolders."
    ),
    out: Path = option(..., "New folder for the world."),
    fill_flights: int | None = option(
        None, "Generate flights for the searches that are not covered.", min=0, metavar="SEED"
    ),
    as_json: Json = False,
) -> None:
    """Import the official TravelPlanner tables as a world.

    Rows with an empty needed value are left out, as the official code does. With a
    flights_coverage.json beside the flights, a search it does not list is unknown; without one the
    flights are all there are. --fill-flights gives the unknown searches (the pairs of the distance
    table, on all days from the first to the last covered one) generated flights that follow what
    the known ones show; known answers stay as they are, and nothing in an answer tells which is
    which.

    Examples:
      tripwright world import TravelPlanner/database --out worlds/real
      tripwright world import TravelPlanner/database --out worlds/filled --fill-flights 0
    """
    with _progress() as report:
        world = import_world(source, out, fill_flights, report)
    _describe(world, as_json)


def info(
    world: Path = argument("World folder."),
    check: bool = flag(
        "--verify", "Read every row and check the content hash; exit code 1 if it differs."
    ),
    as_json: Json = False,
) -> None:
    """Say what is in a world: rows per table, size, dates, how complete its flights are, its
    content hash.

    Examples:
      tripwright world info worlds/nano
      tripwright world info worlds/real --verify
      tripwright world info worlds/real --json
    """
    place = World.open(world)
    manifest_hash, row_hash = verify(place) if check else ("", "")
    _describe(place, as_json, {"verified": manifest_hash == row_hash} if check else {})
    if manifest_hash != row_hash:
        typer.echo(f"the rows do not match the hash: found {row_hash}", err=True)
        raise typer.Exit(1)


def _describe(world: World, as_json: bool, more: dict[str, Any] | None = None) -> None:
    assert world.folder is not None
    dates = world.dates
    about = {
        "folder": str(world.folder),
        "size_mb": round((world.folder / STORE_FILE).stat().st_size / 1e6, 1),
        "flights_complete": world.flights_complete,
        "first_date": dates[0] if dates else None,
        "last_date": dates[-1] if dates else None,
    }
    print_figures({**world.manifest, **about, **(more or {})}, as_json)


@contextmanager
def _progress() -> Iterator[Callable[[str, int], None]]:
    """Says which table is being written, and how far it is."""
    line = StatusLine()
    try:
        yield lambda table, rows: line.show(
            f"{table}{f': {rows:,} rows' if rows else ''}, {line.seconds:.0f} s"
        )
    finally:
        line.end()

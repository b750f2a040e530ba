"""`tripwright world`: build, import, describe and list the closed worlds that agents travel in."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import typer

from tripwright.cli.options import Json, argument, flag, option
from tripwright.cli.table import print_figures
from tripwright.errors import UserError, counted
from tripwright.progress import StatusLine
from tripwright.world.browse import LISTINGS, Filters, unknown_searches
from tripwright.world.browse import browse as rows_of
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


# ---- browse


def browse(
    world: Path = argument("World folder."),
    what: str = argument(f"What to list: {', '.join(LISTINGS)}.", default="cities"),
    state: str | None = option(None, "Of this state."),
    city: str | None = option(None, "Of this city."),
    origin: str | None = option(None, "Starting here.", "--origin", "--from"),
    destination: str | None = option(None, "Going there.", "--destination", "--to"),
    date: datetime | None = option(None, "On this day.", formats=["%Y-%m-%d"]),
    word: str | None = option(None, "Only rows with this text in any value."),
    count: int = option(40, "Rows to show; 0: all.", min=0),
    as_json: Json = False,
) -> None:
    """List cities, routes, flights, roads, hotels, restaurants or attractions of a world,
    with filters.

    Examples:
      tripwright world browse worlds/nano
      tripwright world browse worlds/real hotels --state Texas --word private
      tripwright world browse worlds/real routes --from Boston --date 2022-03-16
      tripwright world browse worlds/real flights --from Boston --to Chicago --date 2022-03-16
      tripwright world browse worlds/real restaurants --city Boston --word Mexican --json
    """
    day = None if date is None else date.date().isoformat()
    filters = Filters(state, city, origin, destination, day, word)
    place = World.open(world)
    columns, rows = rows_of(place, what, filters)
    unknown, searches = unknown_searches(place, what, filters)
    if unknown and unknown == searches:
        where = f"{origin} to {destination or 'anywhere'}"
        raise UserError(
            f"Flights from {where} on {day} are outside this world's records. 'world"
            " info' says what is known."
        )
    named = (dict(zip(columns, row, strict=True)) for row in rows)
    shown = itertools.islice(named, count or None)
    if as_json:
        for row in shown:
            typer.echo(json.dumps(row, ensure_ascii=False))
    else:
        listing = list(shown)
        print_figures({what: listing}, as_json)
        is_cut = next(named, None) is not None
        number = counted(len(listing), "row")
        typer.echo(f"the first {number}; --count 0 shows all" if is_cut else number, err=True)
    if unknown:
        typer.echo(
            f"{unknown:,} of the {searches:,} searches from {origin} on {day} are outside this"
            " world's records",
            err=True,
        )
    elif what == "routes" and not place.flights_complete:
        typer.echo(
            "only flights in this world's records are counted; a route or day that is not listed"
            " may be unknown",
            err=True,
        )

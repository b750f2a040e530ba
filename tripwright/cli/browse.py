"""`tripwright world browse`: what there is in a world, as a table for people or as JSON lines for
programs."""

from __future__ import annotations

import datetime
import itertools
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.cli.options import Json
from tripwright.cli.table import table_lines
from tripwright.errors import UserError
from tripwright.world.browse import LISTINGS, Filters, Row
from tripwright.world.browse import browse as rows_of
from tripwright.world.store import World

SHORTEST_COLUMN = 8  # characters


@dataclass(frozen=True, kw_only=True)
class BrowseFlags:
    """What is listed, and which rows of it."""

    world: Annotated[Path, typer.Argument(help="World folder.")]
    what: Annotated[str, typer.Argument(help=f"What to list: {', '.join(LISTINGS)}.")] = "cities"
    state: Annotated[str | None, typer.Option(help="Of this state.", show_default=False)] = None
    city: Annotated[str | None, typer.Option(help="Of this city.", show_default=False)] = None
    origin: Annotated[
        str | None, typer.Option("--origin", "--from", help="Starting here.", show_default=False)
    ] = None
    destination: Annotated[
        str | None, typer.Option("--destination", "--to", help="Going there.", show_default=False)
    ] = None
    date: Annotated[
        str | None, typer.Option(help="On this day, YYYY-MM-DD.", show_default=False)
    ] = None
    word: Annotated[
        str | None, typer.Option(help="Only rows with this text in any value.", show_default=False)
    ] = None
    max_usd: Annotated[
        float | None, typer.Option(help="At most this price.", min=0, max=1e9, show_default=False)
    ] = None
    room: Annotated[
        str | None, typer.Option(help="Hotels: part of the room type.", show_default=False)
    ] = None
    party_size: Annotated[
        int | None, typer.Option(help="Hotels: room for so many people.", show_default=False)
    ] = None
    nights: Annotated[
        int | None,
        typer.Option(help="Hotels: may be left after so many nights.", show_default=False),
    ] = None
    count: Annotated[int, typer.Option(help="Rows to show; 0: all.", min=0)] = 40


def browse(settings: BrowseFlags, as_json: Json = False) -> None:
    """List cities, states, routes, flights, roads, hotels, restaurants or attractions of a world,
    with filters.

    Examples:
      tripwright world browse worlds/nano
      tripwright world browse worlds/real hotels --state Texas --room private --party-size 2 \\
        --nights 2 --max-usd 200
      tripwright world browse worlds/real routes --from Boston --date 2022-03-16
      tripwright world browse worlds/real flights --from Boston --to Chicago --date 2022-03-16
      tripwright world browse worlds/real restaurants --city Boston --word Mexican --json
    """
    filters = Filters(
        settings.state,
        settings.city,
        settings.origin,
        settings.destination,
        settings.date,
        settings.word,
        settings.max_usd,
        settings.room,
        settings.party_size,
        settings.nights,
    )
    place = World.open(settings.world)
    columns, rows = rows_of(place, settings.what, filters)
    _check_date(settings.date)
    unknown, searches = _unknown_searches(place, settings.what, filters)
    if unknown and unknown == searches:
        where = f"from {settings.origin}" + (
            f" to {settings.destination}" if settings.destination else ""
        )
        raise UserError(
            f"Flights {where} on {settings.date} are outside this world's records. 'world info'"
            " says what is known."
        )
    if as_json:
        for row in itertools.islice(rows, settings.count or None):
            typer.echo(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False))
    else:
        listing = list(itertools.islice(rows, settings.count or None))
        _print_table(columns, listing)
        typer.echo(_count(place, settings.what, filters, len(listing), rows), err=True)
    if unknown:
        typer.echo(
            f"{unknown:,} of the {searches:,} searches from {settings.origin} on {settings.date}"
            " are outside this world's records",
            err=True,
        )
    elif settings.what == "routes" and not place.flights_complete:
        typer.echo(
            "only flights in this world's records are counted; a route or day that is not listed"
            " may be unknown",
            err=True,
        )


def _check_date(date: str | None) -> None:
    try:
        valid = date is None or datetime.date.fromisoformat(date).isoformat() == date
    except ValueError:
        valid = False
    if not valid:
        raise UserError(f"--date '{date}' is no day of the calendar: expected one like 2022-03-16.")


def _unknown_searches(world: World, what: str, filters: Filters) -> tuple[int, int]:
    """Of the flight searches that a list of flights is made of: (those outside the world's records,
    all)."""
    if (
        what != "flights"
        or world.flights_complete
        or filters.origin is None
        or filters.date is None
    ):
        return 0, 0
    answers = [
        world.flights(filters.origin, destination, filters.date)
        for destination in (
            [filters.destination] if filters.destination is not None else world.cities
        )
        if destination != filters.origin
    ]
    return answers.count(None), len(answers)


def _count(world: World, what: str, filters: Filters, length: int, rest: Iterator[Row]) -> str:
    """How many rows there are: a list that was cut says so. Routes are not added up only to be
    counted: that takes long."""
    if next(rest, None) is None:
        noun = what if length != 1 else what[:-1] if what != "cities" else "city"
        return f"{length:,} {noun}" if length else f"no {what} match"
    if what != "routes":
        return f"{length:,} of {length + 1 + sum(1 for _ in rest):,} {what}; --count 0 shows all"
    if filters.date is not None or filters.word is not None or filters.most_usd is not None:
        return f"the first {length:,} {what}; --count 0 shows all"
    total = sum(
        filters.destination in (None, destination)
        for _, destination in world.routes(filters.origin)
    )
    return f"{length:,} of {total:,} {what}; --count 0 shows all"


def _print_table(columns: Sequence[str], rows: Sequence[Row]) -> None:
    if not rows:
        return
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(name), *(len(row[i]) for row in cells)) for i, name in enumerate(columns)]
    room = shutil.get_terminal_size((140, 24)).columns - 2 * (len(columns) - 1)
    while sum(widths) > room and max(widths) > SHORTEST_COLUMN:
        widths[widths.index(max(widths))] -= 1
    numeric = [all(isinstance(row[i], int | float) for row in rows) for i in range(len(columns))]
    header, *fitted = (
        [_fitted(text, width) for text, width in zip(line, widths, strict=True)]
        for line in ([*columns], *cells)
    )
    align = "".join(">" if each else "<" for each in numeric)
    typer.echo("\n".join(table_lines(fitted, align, header, indent=0)))


def _fitted(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}" if value < 1e6 else f"{value:,.0f}"
    return " ".join(str(value).split())

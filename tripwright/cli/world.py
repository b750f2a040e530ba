"""`tripwright world`: build, import and describe the closed worlds that agents travel in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.errors import UserError
from tripwright.world.generator import SCALES
from tripwright.world.generator import build_world as generate_world
from tripwright.world.importer import import_world as import_tables
from tripwright.world.store import World


def build_world(
    folder: Annotated[Path | None, typer.Argument(help="New folder for the world.", show_default=False)] = None,
    out: Annotated[Path | None, typer.Option(help="The same, as an option.", show_default=False)] = None,
    scale: Annotated[str, typer.Option(help=f"Size: {', '.join(SCALES)}.")] = "nano",
    seed: Annotated[int, typer.Option(help="Equal seeds give equal worlds.", min=0)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="The manifest as one JSON object.")] = False,
) -> None:
    """Generate a world: the same scale and seed give the same world everywhere.

    Examples:
      tripwright world build worlds/nano --scale nano --seed 7
      tripwright world build --scale nano --seed 7 --out worlds/nano
    """
    target = folder or out
    if target is None or (folder and out):
        raise UserError("Name the world's new folder once: 'tripwright world build DIR' or '--out DIR'.")
    _describe(generate_world(target, scale, seed), as_json)


def import_world(
    source: Annotated[Path, typer.Argument(help="Folder with the official tables (CSV), flat or in the official subfolders.")],
    folder: Annotated[Path, typer.Argument(help="New folder for the world.")],
    as_json: Annotated[bool, typer.Option("--json", help="The manifest as one JSON object.")] = False,
) -> None:
    """Import the official TravelPlanner tables as a world.

    Rows with an empty needed value are left out, as the official code does. With a flights_coverage.json beside the flights, a
    search it does not list is unknown; without one the flights are all there are.

    Examples:
      tripwright world import TravelPlanner/database worlds/real
    """
    _describe(import_tables(source, folder), as_json)


def info(
    world: Annotated[Path, typer.Argument(help="World folder.")],
    as_json: Annotated[bool, typer.Option("--json", help="The manifest as one JSON object.")] = False,
) -> None:
    """Say what is in a world: rows per table, how complete its flights are, its content hash.

    Examples:
      tripwright world info worlds/nano
      tripwright world info worlds/real --json
    """
    _describe(World.open(world), as_json)


def _describe(world: World, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps(world.manifest | {"folder": str(world.folder), "flights_complete": world.flights_complete}))
        return
    lines = [f"World '{world.name}' in {world.folder}"]
    lines += [f"  {table:<14} {count:>11,}" for table, count in world.manifest["rows"].items() if table != "covered"]
    covered = f"{world.manifest['rows']['covered']:,} searches are known, any other is unknown"
    lines.append(f"  flights: {'every search is known' if world.flights_complete else covered}")
    lines += _left_out(world.manifest)
    typer.echo("\n".join([*lines, f"  content hash {world.content_hash}"]))


def _left_out(manifest: dict[str, Any]) -> list[str]:
    left_out = {table: count for table, count in manifest.get("incomplete_rows", {}).items() if count}
    return [f"  left out, incomplete: {count:,} {table}" for table, count in left_out.items()]

"""`tripwright tool`: one tool call by hand, answered exactly as an agent would see it. A refused call is bad input: one line, exit 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.errors import UserError
from tripwright.tools.faces import FACES, face_named
from tripwright.tools.remote import RemoteToolBox
from tripwright.tools.signatures import PAGE
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

PAGE_ROWS = 20


def tool(
    name: Annotated[
        str | None, typer.Argument(help="The tool as the face calls it, for instance search_flights.", show_default=False)
    ] = None,
    arguments: Annotated[str, typer.Argument(help="Its arguments, one JSON object.")] = "{}",
    world: Annotated[Path | None, typer.Option(help="The folder of the world.", show_default=False)] = None,
    server: Annotated[str | None, typer.Option(help="Instead of --world: URL of 'tripwright serve tools'.", show_default=False)] = None,
    face: Annotated[str, typer.Option(help=f"How tools are called and answer: {', '.join(FACES)}.")] = "planner_r1",
    page: Annotated[int | None, typer.Option(help="Give a long answer in pages, and this one of them.", min=1, show_default=False)] = None,
    page_rows: Annotated[int, typer.Option(help="With --page: rows of a page.", min=1)] = PAGE_ROWS,
    list_tools: Annotated[bool, typer.Option("--list", help="Print the JSON schemas of all tools and stop.")] = False,
) -> None:
    """Call one tool by hand and print its answer as an agent would see it.

    Examples:
      tripwright tool --list
      tripwright tool --list --face star
      tripwright tool get_cities '{"state": "Texas"}' --world worlds/official
      tripwright tool search_flights '{"origin": "Boston", "destination": "Tampa", "date": "2022-03-16"}' --world worlds/official
      tripwright tool SearchFlight '{"departure": "Boston", "destination": "Tampa", "date": "2022-03-16"}' --face star --world worlds/real
      tripwright tool RestaurantSearch '{"city": "Boston"}' --face official --page 2 --world worlds/official
      tripwright tool get_cities '{"state": "Texas"}' --server http://127.0.0.1:8321
      tripwright tool calculator '{"expression": "2 * (89 + 120)"}' --world worlds/official
    """
    schemas = face_named(face).schemas(paged=page is not None)  # a wrong face is named even where the world is wrong too
    if list_tools:
        typer.echo(json.dumps(schemas, indent=2))
        return
    if name is None:
        names = ", ".join(schema["function"]["name"] for schema in schemas)
        raise UserError(f"Which tool? The tools are {names}; 'tripwright tool --list' shows their arguments.")
    if world is not None and server is not None:
        raise UserError("Give --world DIR or --server URL, not both.")
    if world is None and server is None:
        raise UserError("Which world? Give its folder with --world DIR, as made by 'tripwright world build' or 'world import'.")
    rows = page_rows if page is not None else None
    box = ToolBox(World.open(world), face, page_rows=rows) if world else RemoteToolBox(str(server), face, page_rows=rows)
    answer = box.call(name, _with_page(arguments, page))
    if answer.error:
        raise UserError(_problem(answer.text))
    typer.echo(answer.text)


def _with_page(arguments: str, page: int | None) -> dict[str, Any] | str:
    """Text that is no JSON object stays as it is, for the tool to refuse."""
    if page is None:
        return arguments
    try:
        read = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    return {PAGE: page, **read} if isinstance(read, dict) else arguments


def _problem(text: str) -> str:
    """What an error answer says, whether its face writes JSON or sentences."""
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    return str(answer["error"]) if isinstance(answer, dict) and "error" in answer else text

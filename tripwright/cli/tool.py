"""`tripwright tool`: one tool call by hand, answered exactly as an agent would see it. A refused call is bad input: one line, exit 2."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tripwright.errors import UserError
from tripwright.tools.catalog import tool_schemas
from tripwright.tools.faces import FACES, face_named
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World


def tool(
    name: Annotated[str | None, typer.Argument(help="The tool, for instance search_flights.", show_default=False)] = None,
    arguments: Annotated[str, typer.Argument(help="Its arguments, one JSON object.")] = "{}",
    world: Annotated[Path | None, typer.Option(help="The folder of the world.", show_default=False)] = None,
    face: Annotated[str, typer.Option(help=f"How the answer is written: {' or '.join(FACES)}.")] = "planner_r1",
    list_tools: Annotated[bool, typer.Option("--list", help="Print the JSON schemas of all tools and stop.")] = False,
) -> None:
    """Call one tool by hand and print its answer as an agent would see it.

    Examples:
      tripwright tool --list
      tripwright tool get_cities '{"state": "Texas"}' --world worlds/official
      tripwright tool search_flights '{"origin": "Boston", "destination": "Tampa", "date": "2022-03-16"}' --world worlds/official
      tripwright tool search_restaurants '{"city": "Boston"}' --world worlds/official --face compact
      tripwright tool calculator '{"expression": "2 * (89 + 120)"}' --world worlds/official
    """
    if list_tools:
        typer.echo(json.dumps(tool_schemas(), indent=2))
        return
    if name is None:
        names = ", ".join(schema["function"]["name"] for schema in tool_schemas())
        raise UserError(f"Which tool? The tools are {names}; 'tripwright tool --list' shows their arguments.")
    face_named(face)  # a wrong face is named even where the world is wrong too
    if world is None:
        raise UserError("Which world? Give its folder with --world DIR, as made by 'tripwright world build' or 'world import'.")
    answer = ToolBox(World.open(world), face).call(name, arguments)
    if answer.error:
        raise UserError(json.loads(answer.text)["error"])
    typer.echo(answer.text)

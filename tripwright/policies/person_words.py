"""What a person types and reads in an episode: calls in a short form, answers of tools as
tables."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tripwright.agent.session import Session
from tripwright.agent.turn import write_call

LONGEST_CELL = 48  # characters of a value in a table
Schemas = Sequence[dict[str, Any]]


class Mistyped(ValueError):
    """A line that is no command: said to the person, who may type another. It never becomes a
    turn."""


def call_of(line: str, schemas: Schemas) -> str:
    """The tool call that a line means, as text of row P2. Raises Mistyped.

    "flights Rockford, Peoria, 2022-03-16", "search_flights origin=Rockford, …" and 'flights
    {"origin": …}' mean the same: a tool by any part of its name that no other tool has, its
    arguments in their order or by name. Of a tool with one argument the whole rest is it.
    """
    word, _, rest = line.strip().partition(" ")
    tool = _tool(word, schemas)
    properties: dict[str, Any] = tool["parameters"]["properties"]
    rest = rest.strip()
    if rest.startswith("{"):
        try:
            arguments = json.loads(rest)
        except ValueError as error:
            raise Mistyped(f"The arguments are not JSON: {error}.") from None
        if not isinstance(arguments, dict):
            raise Mistyped("The arguments are not a JSON object.")
        return write_call(tool["name"], arguments)
    return write_call(tool["name"], _arguments(rest, properties, usage(tool)))


def _tool(word: str, schemas: Schemas) -> dict[str, Any]:
    tools = [schema["function"] for schema in schemas]
    exact = [tool for tool in tools if tool["name"].casefold() == word.casefold()]
    near = exact or [tool for tool in tools if word.casefold() in tool["name"].casefold()]
    if len(near) == 1:
        function: dict[str, Any] = near[0]
        return function
    names = ", ".join(tool["name"] for tool in near or tools)
    raise Mistyped(
        f"'{word}' may be {names}: type more of it."
        if near
        else f"No command and no tool '{word}'. The tools: {names}."
    )


def _arguments(rest: str, properties: dict[str, Any], form: str) -> dict[str, Any]:
    pieces = (
        [rest]
        if len(properties) == 1 and rest
        else [piece.strip() for piece in rest.split(",") if piece.strip()]
    )
    arguments: dict[str, Any] = {}
    free = [
        name for name in properties if not any(piece.startswith(f"{name}=") for piece in pieces)
    ]
    for piece in pieces:
        name, equals, value = piece.partition("=")
        if not (equals and name in properties):
            if not free:
                raise Mistyped(f"Too many arguments. Expected: {form}")
            name, value = free.pop(0), piece
        arguments[name] = _typed(value.strip(), properties[name].get("type"))
    return arguments


def _typed(value: str, kind: str | None) -> Any:
    """A number where the tool takes one and this is one; else the text, for the tool to refuse."""
    if kind in ("integer", "number"):
        try:
            return int(value) if kind == "integer" else float(value)
        except ValueError:
            return value
    return value


def usage(tool: dict[str, Any]) -> str:
    """ "search_flights origin, destination, date", optional arguments in brackets."""
    required = tool["parameters"].get("required", [])
    names = [name if name in required else f"[{name}]" for name in tool["parameters"]["properties"]]
    return f"{tool['name']} {', '.join(names)}".strip()


def tool_list(schemas: Schemas) -> str:
    tools = [schema["function"] for schema in schemas]
    return "\n".join(f"  {usage(tool)}\n      {tool['description']}" for tool in tools)


def readable(session: Session) -> str:
    """The last answer of the tools: its rows as a table, anything else as the model would read
    it."""
    call, answer = session.transcript.segments[-2:]
    rows = call.call.rows if call.call else None
    if rows is None or not rows.values:
        return answer.text
    about = ", ".join(f"{name} {value}" for name, value in rows.about.items())
    place = "" if rows.is_whole else "The rest is cut."
    if rows.is_whole and rows.pages != 1:
        place = f"page {rows.page} of {rows.pages}, {rows.total} rows in all"
    return "\n".join(filter(None, (about, table(rows.fields, rows.values), place)))


def table(header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Columns as wide as their widest value, which is cut at LONGEST_CELL."""
    lines = [[_cell(value) for value in line] for line in ([header] if header else []) + list(rows)]
    widths = [
        max(len(line[place]) for line in lines if place < len(line))
        for place in range(max(map(len, lines)))
    ]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    )


def _cell(value: Any) -> str:
    text = (
        " ".join(value.split()) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    )
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"

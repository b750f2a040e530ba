"""The tools of one episode: JSON in, text out. A mistake of the model's is an answer (`error`), never an exception (law 4).

With `emptied`, every answer, errors included, becomes the face's empty one: a policy that still plans well has memorised the world.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tripwright.tools.calculator import ToolError
from tripwright.tools.catalog import TravelTools, call_tool, quoted, tool_schemas
from tripwright.tools.faces import face_named
from tripwright.world.store import World


@dataclass(frozen=True)
class ToolAnswer:
    text: str
    error: bool = False


class ToolBox:
    def __init__(self, world: World, face: str = "compact", *, emptied: bool = False):
        self.world, self.face = world, face_named(face)
        self.emptied = emptied
        self.schemas: list[dict[str, Any]] = tool_schemas()
        self._tools = TravelTools(world)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Answers one tool call. `arguments` is an object or the JSON text of one."""
        if self.emptied:
            return ToolAnswer(self.face.empty)
        try:
            return ToolAnswer(self.face.text(call_tool(self._tools, name, _arguments(arguments))))
        except ToolError as error:
            return ToolAnswer(self.face.error(str(error)), error=True)


def _arguments(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError) as error:  # ValueError covers JSONDecodeError and integers of thousands of digits
            why = f" ({error.msg} at character {error.pos})" if isinstance(error, json.JSONDecodeError) else ""
            raise ToolError(f"The arguments are not valid JSON{why}.") from None
    if not isinstance(arguments, Mapping):
        raise ToolError(f"The arguments must be a JSON object, found {quoted(arguments)}.")
    return arguments

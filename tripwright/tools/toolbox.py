"""The tools of one episode: a call as JSON in, text and rows out. A mistake of the model's is an
answer (`error`), never an exception.

With `emptied`, every answer, errors included, becomes the face's empty one: a policy that still
plans well has memorised the world.
"""

from __future__ import annotations

import json
import time
import traceback
from collections.abc import Mapping
from typing import Any, Protocol

from tripwright.errors import UserError, printable
from tripwright.llm.http import Redaction
from tripwright.tools.answer import ToolAnswer, ToolError, quoted
from tripwright.tools.face import Face
from tripwright.tools.signatures import CheckedCall
from tripwright.world.store import World

RETRIES_S = (0.1, 0.5)  # before each further attempt at a tool that fails


class ToolHostDown(Exception):
    """Our side could not answer (a tool server is dead): raised by `call`, and the episode ends
    unscored (law 4)."""


class Tools(Protocol):
    """What an episode needs of its tools, wherever they run."""

    @property
    def face(self) -> Face: ...
    @property
    def schemas(self) -> list[dict[str, Any]]:
        """In the JSON function format of OpenAI, by the names that `call` takes."""
        ...

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Answers one tool call, whatever a model put into it. Raises nothing but ToolHostDown."""
        ...


def answered(tools: Tools, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
    """`tools.call`, whoever wrote the tool: what it raises on a mistake of the model's is an
    answer, and anything else that goes wrong in it is our side's fault (law 4), which is tried
    again and then raised as ToolHostDown. Raises UserError as it comes: nothing can go on."""
    for pause_s in (*RETRIES_S, None):
        try:
            answer = tools.call(name, arguments)
            if isinstance(answer, ToolAnswer):
                return answer
            problem = f"returned {type(answer).__name__}, expected a ToolAnswer"
        except (ToolHostDown, UserError):
            raise
        except ToolError as error:
            return tools.face.error(str(error), error.kind)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            what = Redaction().shown(f"{type(error).__name__}: {error}")
            problem = f"failed at {place.filename}:{place.lineno}: {what}"
        if pause_s is not None:
            time.sleep(pause_s)
    raise ToolHostDown(f"The tool {printable(name)} {problem} ({len(RETRIES_S) + 1} attempts)")


class AnswerBox:
    """Tools at hand behind a face. With `page_rows`, longer answers come in pages of so
    many rows."""

    def __init__(
        self, tools: object, face: Face, *, page_rows: int | None = None, emptied: bool = False
    ):
        if page_rows is not None and page_rows < 1:
            raise ValueError(f"a page has at least 1 row, found {page_rows}")
        self.face, self.page_rows, self.emptied = face, page_rows, emptied
        self._tools = tools

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return self.face.schemas(paged=self.page_rows is not None)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Answers one tool call. `arguments` is an object or the JSON text of one."""
        if self.emptied:
            return self.face.empty
        call: CheckedCall | None = None
        try:
            call = self.face.offer.read(
                name, read_arguments(arguments), paged=self.page_rows is not None
            )
            result = getattr(self._tools, call.tool)(**call.arguments)
            return self.face.answer(result, call.page, self.page_rows)
        except ToolError as error:
            return self.face.refusal(error, call, self.face.offer.core_name(name))


class ToolBox(AnswerBox):
    """Tools that answer from a world at hand."""

    def __init__(
        self, world: World, face: Face, *, page_rows: int | None = None, emptied: bool = False
    ):
        super().__init__(
            face.core.of_world(world, face.offer.name_of),
            face,
            page_rows=page_rows,
            emptied=emptied,
        )
        self.world = world


def read_arguments(arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Raises ToolError for what is no JSON object."""
    if isinstance(arguments, str):
        try:
            # a byte order mark, as some programs put before a file
            arguments = json.loads(arguments.removeprefix("\ufeff"))
        except (ValueError, RecursionError) as error:
            # ValueError covers JSONDecodeError and integers of thousands of digits
            why = (
                f" ({error.msg} at character {error.pos})"
                if isinstance(error, json.JSONDecodeError)
                else ""
            )
            raise ToolError(f"The arguments are not valid JSON{why}.", "not_json") from None
    if not isinstance(arguments, Mapping):
        raise ToolError(
            f"The arguments must be a JSON object, found {quoted(arguments)}.", "not_json"
        )
    return arguments

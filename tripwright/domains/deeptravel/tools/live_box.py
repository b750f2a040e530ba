"""The tools of one episode over a live provider or the sandbox: JSON in, text and rows out, as
`tools/toolbox.py` has it for a closed world.

A mistake of the model's is an answer. A service that does not answer is our side's fault (law 4),
and what then happens is a setting: training stops the episode unscored (`ToolHostDown`), serving
tells the model, who may ask again or go on without.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.tools.live_catalog import (
    AnswerSource,
    LiveTools,
    answer_of,
    as_text_data,
)
from tripwright.errors import UserError
from tripwright.tools.answer import ToolAnswer, ToolError, defused
from tripwright.tools.face import Face
from tripwright.tools.toolbox import AnswerBox, ToolHostDown, read_arguments

OnFault = Literal["stop", "tell"]


class LiveToolBox(AnswerBox):
    """Offers those of the six tools that the source answers, and besides them `own` tools under
    their own names, such as those of an MCP
    server: schemas in the JSON function format of OpenAI, whose texts are the server's and
    therefore data too.

    Raises UserError for a source that answers none of them.
    """

    def __init__(
        self,
        source: AnswerSource,
        face: Face,
        *,
        own: Sequence[Mapping[str, Any]] = (),
        on_fault: OnFault = "stop",
        emptied: bool = False,
    ):
        names = {tool: name for tool, name in face.names.items() if tool in source.tools}
        self._own = {str(schema["function"]["name"]): as_text_data(schema) for schema in own}
        if unknown := [
            name for name in self._own if name not in source.tools or name in face.names
        ]:
            raise UserError(
                f"'{unknown[0]}' is no tool of the source's own. It answers"
                f" {', '.join(sorted(source.tools)) or 'nothing'}."
            )
        if not names and not self._own:
            raise UserError(
                f"No live tools: found {', '.join(sorted(source.tools)) or 'none'}, expected one of"
                f" {', '.join(face.names)}."
            )
        face = face if len(names) == len(face.names) else replace(face, names=names)
        super().__init__(LiveTools(source, face.offer.name_of), face, emptied=emptied)
        self.source, self.on_fault = source, on_fault

    @property
    def schemas(self) -> list[dict[str, Any]]:
        return [*super().schemas, *copy.deepcopy(list(self._own.values()))]

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Raises ToolHostDown where a service did not answer, unless the model is to be told."""
        try:
            if isinstance(name, str) and name in self._own and not self.emptied:
                return self._own_answer(name, arguments)
            return super().call(name, arguments)
        except ProviderFault as fault:
            if self.on_fault == "stop":
                raise ToolHostDown(f"{name} was not answered ({fault.kind}): {fault}") from None
            message = (
                f"{defused(name)} cannot be answered now ({fault.kind.replace('_', ' ')}). Ask"
                " again later, or go on without it."
            )
            return replace(
                self.face.error(message, "unavailable"), fault=f"unavailable {fault.kind}"
            )

    def _own_answer(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Arguments are not checked here: only the server knows its schema."""
        try:
            return self.face.answer(answer_of(self.source, name, read_arguments(arguments), name))
        except ToolError as error:
            return self.face.error(str(error), error.kind)

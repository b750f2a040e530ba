"""The client of tools that a server offers (`tripwright serve tools`), with the interface of a
ToolBox: an episode does not notice where its tools run.

Whose fault it was stays visible (law 4). A mistake of the model's comes back as an answer, as from
a ToolBox. A server that cannot be reached, fails, or suddenly has another world is our side: it is
asked again as any endpoint is (`llm/endpoint.py`), and then `call` raises ToolHostDown. Calls
change nothing on the server, so asking twice is safe. Threads may share one RemoteToolBox and with
it its connections.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any
from urllib.parse import urlencode

from tripwright.errors import UserError, counted
from tripwright.llm.endpoint import Endpoint, Fault
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.face import Face
from tripwright.tools.toolbox import ToolHostDown

WORLD_HEADER = "x-world-hash"
MAX_BODY_BYTES = 1_000_000  # of a call, which the server takes


class ToolServer(Endpoint):
    answer = "tool's answer"

    def advice(self) -> str:
        return "Start a server with 'tripwright serve tools --world DIR'."


class RemoteToolBox:
    """Asks the server once at the start: raises UserError where it cannot be reached, has no such
    face, or serves another world than the one whose content hash is expected."""

    def __init__(
        self,
        base_url: str,
        face: Face,
        *,
        page_rows: int | None = None,
        timeout_s: float = 30.0,
        max_retries: int = 5,
        world_hash: str | None = None,
    ):
        self._server = ToolServer(
            base_url.rstrip("/"),
            api_key_env="TOOLS_API_KEY",
            timeout_s=timeout_s,
            max_retries=max_retries,
            first_wait_s=0.25,
        )
        self.face, self.page_rows = face, page_rows
        pages = {} if page_rows is None else {"page_rows": page_rows}
        self._path = f"/tools?{urlencode({'face': face.name, **pages})}"
        # the manifest: name, rows, content hash
        self.world: dict[str, Any] = self._get(
            "/world", lambda world: {**world, "content_hash": str(world["content_hash"])}
        )
        self._schemas: list[dict[str, Any]] = self._get(
            self._path, lambda tools: list(tools["schemas"])
        )
        found = self.world["content_hash"]
        if world_hash is not None and world_hash != found:
            raise UserError(
                f"{self._server.shown_url} serves another world: expected content hash"
                f" {world_hash}, found {found} (world '{self.world.get('name')}')."
            )

    @property
    def schemas(self) -> list[dict[str, Any]]:
        """A fresh copy each time: callers may edit it."""
        return deepcopy(self._schemas)

    def call(self, name: str, arguments: Mapping[str, Any] | str) -> ToolAnswer:
        """Answers one tool call. `arguments` is an object or the JSON text of one. Raises
        ToolHostDown."""
        try:
            text = arguments if isinstance(arguments, str) else json.dumps(dict(arguments))
            call = {"name": name, "arguments": text}
            size = len(json.dumps(call))
        except (TypeError, ValueError, RecursionError):
            return self.face.error("The arguments are not valid JSON.", "not_json")
        if size > MAX_BODY_BYTES:  # no model means to write so much
            return self.face.error(
                f"The arguments are too long: {len(text):,} characters.", "too_long"
            )
        try:
            reply = self._server.ask(self._path, call, ToolAnswer.from_json)
        except UserError as refusal:
            raise ToolHostDown(str(refusal)) from None
        if isinstance(reply, Fault):
            tries = counted(reply.attempts, "attempt")
            raise ToolHostDown(f"{reply.message} ({tries})")
        if reply.headers.get(WORLD_HEADER) != self.world["content_hash"]:
            raise ToolHostDown(f"{self._server.shown_url} has another world than at the start.")
        return reply.value

    def _get(self, path: str, read: Callable[[Any], Any]) -> Any:
        reply = self._server.ask(path, None, read, "GET")
        if isinstance(reply, Fault):
            raise UserError(f"{reply.message} {self._server.advice()}")
        return reply.value

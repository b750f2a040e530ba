"""The six live tools as a server answers them: from services, through a sandbox that remembers
them, or from a recorded day alone.

Which day is served is settled by the process that starts the workers, so that all of them, and
those that replace them after midnight, serve the same one. The sandbox remembers; this server keeps
no answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial

from tripwright.domains.deeptravel.place import live_source
from tripwright.domains.deeptravel.sandbox.sandbox import describe
from tripwright.domains.deeptravel.tools.live_tools import FACES, LiveToolBox, OnFault
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError
from tripwright.server.tools_api import Json, ServedTools
from tripwright.tools.face import Face
from tripwright.tools.toolbox import Tools


def prepare(
    options: PlaceOptions, on_fault: OnFault, workers: int
) -> tuple[Callable[[str], ServedTools], str]:
    """(what opens the tools in a worker, in a face; what is served). A mistake is one line here,
    before any worker starts, and the day is settled."""
    if workers > 1 and options.store is None:
        raise UserError(
            f"{workers} workers without a store would each ask a service as often as all together"
            " may. Give --store, or --workers 1."
        )
    with closing(LiveAnswers(options, on_fault)) as answers:
        settled = replace(options, snapshot=answers.day or None)
        return partial(LiveAnswers, settled, on_fault), answers.what


class LiveAnswers(ServedTools):
    """Threads may share one. `day` is that of the answers that are kept, "" where none are.
    Raises UserError for what cannot be served."""

    live = True

    def __init__(self, options: PlaceOptions, on_fault: OnFault, default_face: str = "deeptravel"):
        resources, self._on_fault = ExitStack(), on_fault
        source = self._source = resources.enter_context(live_source(options))
        # with the tools that there are
        faces = {face.name: LiveToolBox(source.ask, face).face for face in FACES}
        super().__init__(faces, default_face, resources)
        sandbox = source.sandbox
        store, self.day = (sandbox.store, sandbox.snapshot) if sandbox is not None else (None, "")
        self._rows, what = dict[str, int](), source.where
        if options.replay and store is not None:
            snapshot = describe(store, self.day)
            self.content_hash = snapshot.content_hash
            what = f"{self.day} as recorded in {store.name}"
            self._rows = {tool: sum(by.values()) for tool, by in snapshot.tools.items()}
        else:
            identity = json.dumps(source.identity, sort_keys=True)
            self.content_hash = hashlib.sha256(identity.encode()).hexdigest()
            what += f", kept in {store.name} under {self.day}" if store is not None else ""
        self.what = f"the live tools of {what}"
        silence = "status 503" if on_fault == "stop" else "an answer with an error"
        self.about = f"Live tools. A service that does not answer is {silence}."

    @property
    def manifest(self) -> Json:
        return {
            "name": self._source.where,
            "rows": self._rows,
            **self._source.identity,
            "content_hash": self.content_hash,
        }

    def _box(self, face: Face, page_rows: int | None) -> Tools:
        if page_rows is not None:
            raise UserError("Answers of live tools come in no pages. Leave page_rows out.")
        return LiveToolBox(self._source.ask, face, on_fault=self._on_fault)

"""The six live tools as a server answers them: from services, through a sandbox that remembers
them, or from a recorded day alone.

What is served is worked out once, by the process that starts the workers (`survey`), and handed to
them, so that all of them, and those that replace them after midnight, serve the same day
under the same hash. The sandbox remembers; this server keeps no answers.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial

from tripwright.domains.deeptravel.place import live_source
from tripwright.domains.deeptravel.sandbox.sandbox import describe
from tripwright.domains.deeptravel.tools.live_tools import FACES, LiveToolBox, OnFault
from tripwright.domains.place import PlaceOptions
from tripwright.errors import UserError
from tripwright.server.tools_api import Json, ServedTools
from tripwright.tools.face import Face
from tripwright.tools.toolbox import Tools


@dataclass(frozen=True)
class LiveServerSettings:
    """The day of `options` is settled."""

    options: PlaceOptions
    on_fault: OnFault
    what: str
    content_hash: str
    rows: dict[str, int]


def prepare(
    options: PlaceOptions, on_fault: OnFault, workers: int
) -> tuple[Callable[[str], ServedTools], str]:
    """(what opens the tools in a worker, in a face; what is served). A mistake is one line here,
    before any worker starts."""
    if workers > 1 and options.store is None:
        raise UserError(
            f"{workers} workers without a store would each ask a service as often as all together"
            " may. Give --store, or --workers 1."
        )
    settings = survey(options, on_fault)
    return partial(LiveAnswers, settings), settings.what


def survey(options: PlaceOptions, on_fault: OnFault) -> LiveServerSettings:
    """Opens what is to be served, and closes it again. Raises UserError for what cannot be."""
    with live_source(options) as source:
        sandbox, rows, what = source.sandbox, dict[str, int](), source.where
        store, day = (sandbox.store, sandbox.snapshot) if sandbox is not None else (None, "")
        if options.replay and store is not None:
            snapshot = describe(store, day)
            content_hash, what = snapshot.content_hash, f"{day} as recorded in {store.name}"
            rows = {tool: sum(by.values()) for tool, by in snapshot.tools.items()}
        else:
            identity = json.dumps(source.identity, sort_keys=True)
            content_hash = hashlib.sha256(identity.encode()).hexdigest()
            what += f", kept in {store.name} under {day}" if store is not None else ""
    settled = replace(options, snapshot=day or None)
    what = f"the live tools of {what}"
    return LiveServerSettings(settled, on_fault, what, content_hash, rows)


class LiveAnswers(ServedTools):
    """Threads may share one."""

    live = True

    def __init__(self, settings: LiveServerSettings, default_face: str):
        self._opened = ExitStack()
        self._source = self._opened.enter_context(live_source(settings.options))
        self._settings = settings
        # with the tools that there are
        faces = {face.name: LiveToolBox(self._source.ask, face).face for face in FACES}
        super().__init__(faces, default_face)
        self.content_hash, self.what = settings.content_hash, settings.what
        self.about = _about(settings)

    @property
    def manifest(self) -> Json:
        return {
            "name": self._source.where,
            "rows": self._settings.rows,
            **self._source.identity,
            "content_hash": self.content_hash,
        }

    def close(self) -> None:
        self._opened.close()

    def _box(self, face: Face, page_rows: int | None) -> Tools:
        if page_rows is not None:
            raise UserError("Answers of live tools come in no pages. Leave page_rows out.")
        return LiveToolBox(self._source.ask, face, on_fault=self._settings.on_fault)


def _about(settings: LiveServerSettings) -> str:
    if settings.options.replay:
        return (
            f"Live tools as they answered on {settings.options.snapshot}: nobody is asked. What was"
            " not asked then is an answer with an error."
        )
    memory = "equal calls get equal answers" if settings.options.store else "every call is new"
    silence = "status 503" if settings.on_fault == "stop" else "an answer with an error"
    return f"Live tools: {memory}; a service that does not answer is {silence}."

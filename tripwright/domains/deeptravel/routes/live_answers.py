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
from tripwright.server.tools_api import ServedTools
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
    with closing(live_tools(options, on_fault)) as served:
        settled = replace(options, snapshot=served.manifest.get("snapshot"))
        return partial(live_tools, settled, on_fault), served.what


def live_tools(
    options: PlaceOptions, on_fault: OnFault, default_face: str = "deeptravel"
) -> ServedTools:
    """Raises UserError for what cannot be served."""
    resources = ExitStack()
    source = resources.enter_context(live_source(options))
    store = source.sandbox.store if source.sandbox is not None else None
    day, rows, what = source.identity.get("snapshot", ""), dict[str, int](), source.where
    if options.replay and store is not None:
        snapshot = describe(store, day)
        content_hash = snapshot.content_hash
        what = f"{day} as recorded in {store.name}"
        rows = {tool: sum(by.values()) for tool, by in snapshot.tools.items()}
    else:
        identity = json.dumps(source.identity, sort_keys=True)
        content_hash = hashlib.sha256(identity.encode()).hexdigest()
        what += f", kept in {store.name} under {day}" if store is not None else ""
    silence = "status 503" if on_fault == "stop" else "an answer with an error"

    def box(face: Face, page_rows: int | None) -> Tools:
        if page_rows is not None:
            raise UserError("Answers of live tools come in no pages. Leave page_rows out.")
        return LiveToolBox(source.ask, face, on_fault=on_fault)

    return ServedTools(
        f"the live tools of {what}",
        f"Live tools. A service that does not answer is {silence}.",
        {"name": source.where, "rows": rows, **source.identity, "content_hash": content_hash},
        # with the tools that there are
        {face.name: LiveToolBox(source.ask, face).face for face in FACES},
        default_face,
        box,
        resources.close,
        live=True,
    )

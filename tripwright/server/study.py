"""The labelling page of a human study and what it asks: the ASGI app of one worker.

Raters are blind: nothing here reads the study's key, and no answer says what another rater said.
The page is for people one trusts, on this machine: there are no passwords. Text from transcripts
reaches the browser as JSON values and becomes text nodes there, and the Content-Security-Policy
lets the page load nothing but its own files.

The server keeps no state: labels are on disk before they are acknowledged, and are read from there.
It may be killed at any moment.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tripwright.errors import NotJson, UserError, read_json
from tripwright.evals.report.browser import script_file
from tripwright.evals.study.folder import Study
from tripwright.evals.study.labels import Label, append, checked, rater_name, read
from tripwright.evals.study.view import item_view
from tripwright.server.guard import HEADERS, LOOPBACK, asked_host
from tripwright.server.serving import body_within

MOST_BODY_BYTES = 65_536
PAGE = {
    "": "index.html",
    "study.css": "study.css",
    "study.js": "study.js",
    "draw.js": "draw.js",
    "saving.js": "saving.js",
}
REPORT_SCRIPTS = ("dom.js", "markdown.js")  # answers are drawn as in the report
TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}


def make_app(study: str, local_only: bool = True) -> ASGIApp:
    """What a worker runs. `local_only`: refuse pages of other sites that give their own name to
    this machine's address."""
    pages = StudyPages(Study.open(Path(study)))
    return Starlette(
        routes=[
            *(Route(f"/{path}", pages.page) for path in (*PAGE, *REPORT_SCRIPTS)),
            Route("/api/study", pages.about),
            Route("/api/rater", pages.rater),
            Route("/api/items/{item}", pages.item),
            Route("/api/labels", pages.label, methods=["PUT"]),
        ],
        middleware=[Middleware(_Guard, local_only=local_only)],
        exception_handlers={HTTPException: _problem, UserError: _refused},
    )


class StudyPages:
    def __init__(self, study: Study):
        self.study = study
        folder = files("tripwright.server").joinpath("pages", "study")
        self._files = {path: folder.joinpath(name).read_bytes() for path, name in PAGE.items()}
        self._files |= {name: script_file(name).encode() for name in REPORT_SCRIPTS}
        self._views = {name: item_view(item) for name, item in study.items.items()}

    async def page(self, request: Request) -> Response:
        path = request.url.path.lstrip("/")
        return Response(self._files[path], media_type=TYPES[Path(path or PAGE[path]).suffix])

    async def about(self, _: Request) -> Response:
        return JSONResponse(
            {
                "items": len(self.study.items),
                "dimensions": [asdict(each) for each in self.study.dimensions],
            }
        )

    async def rater(self, request: Request) -> Response:
        """Where a rater stands: the items in their order and what they said so far."""
        name = rater_name(request.query_params.get("name"))
        labels = (await run_in_threadpool(read, self.study)).get(name, {})
        return JSONResponse(
            {
                "rater": name,
                "order": self.study.order(name),
                "labels": {item: _said(one) for item, one in labels.items()},
            }
        )

    async def item(self, request: Request) -> Response:
        name = request.path_params["item"]
        if name not in self._views:
            raise HTTPException(404, f"No item '{name}' in this study.")
        return JSONResponse(self._views[name])

    async def label(self, request: Request) -> Response:
        """Takes {"rater", "item", "values", "note"}, all that the rater says of the item; answers
        when it is on disk."""
        fields = _object(await body_within(request, MOST_BODY_BYTES))
        label = checked(
            self.study,
            fields.get("item"),
            fields.get("rater"),
            fields.get("values"),
            fields.get("note", ""),
        )
        label_on_disk = await run_in_threadpool(append, self.study, label)
        return JSONResponse({"saved": label_on_disk.at})


class _Guard:
    """Headers on every answer; nobody else's page may ask here."""

    def __init__(self, app: ASGIApp, local_only: bool):
        self._app, self._local_only = app, local_only

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    *message["headers"],
                    *((k.lower().encode(), v.encode()) for k, v in HEADERS.items()),
                ]
            await send(message)

        if refusal := self._objection(Request(scope)):
            await JSONResponse({"detail": refusal}, 403)(scope, receive, guarded)
        else:
            await self._app(scope, receive, guarded)

    def _objection(self, request: Request) -> str | None:
        if self._local_only and asked_host(request) not in LOOPBACK:
            return "Open this page by its address on this machine."
        if (
            request.headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
            and request.url.path != "/"
        ):
            return "Another site's page asked."
        if (
            request.method == "PUT"
            and request.headers.get("content-type", "").partition(";")[0] != "application/json"
        ):
            return "Labels come as application/json."
        return None


def _object(body: bytes) -> dict[str, Any]:
    try:
        record = read_json(body)
    except NotJson as problem:
        raise HTTPException(400, f"Not JSON: {problem}.") from None
    if not isinstance(record, dict):
        raise HTTPException(400, f"Expected an object, found {json.dumps(record)[:80]}.")
    return record


def _said(label: Label) -> dict[str, Any]:
    return {"values": dict(label.values), "note": label.note}


async def _problem(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return JSONResponse({"detail": problem.detail}, problem.status_code)


async def _refused(_: Request, problem: Exception) -> Response:
    return JSONResponse({"detail": str(problem)}, 400)

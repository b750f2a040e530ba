"""The tools over HTTP: the ASGI app of one worker. What it answers is documented by the server
itself, at /docs and /openapi.json.

No request leaves anything behind but counts and cached answers, so any number of workers may serve
one port. Tool calls take a short way past the router, which would cost as much as a cached answer.
A closed world's run on the event loop, since none blocks for longer than a look-up; live ones wait
for their services in threads.
"""

from __future__ import annotations

import asyncio
import gc
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from tripwright.domains import domain_of_face
from tripwright.domains.folders import open_folder
from tripwright.errors import UserError
from tripwright.server.answers import (
    MAX_BODY_BYTES,
    Answers,
    EncodedAnswer,
    ServedTools,
    core_tools,
)
from tripwright.server.docs_page import docs_page
from tripwright.server.log import say_traceback
from tripwright.server.metrics import CONTENT_TYPE, Metrics
from tripwright.server.openapi import openapi_document
from tripwright.tools.remote import WORLD_HEADER
from tripwright.tools.toolbox import ToolHostDown

SAMPLE_SECONDS = 5.0  # between two looks at the worker's memory
MOST_WAITING = 256  # live calls under way in one worker; more wait for their turn

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def make_app(world: str, face: str, cache_bytes: int, metrics_folder: str) -> ToolsApp:
    """What a worker runs: the tools of the world in a folder."""
    resources = ExitStack()
    domain, place = resources.enter_context(open_folder(Path(world), domain_of_face(face)))
    app = ToolsApp(Answers(domain, place, face, cache_bytes, resources), Path(metrics_folder))
    gc.collect()
    gc.freeze()  # what is loaded now stays: the collector need not look at it again
    return app


class _Refused(Exception):
    def __init__(self, status: int, detail: str):
        self.status, self.detail = status, detail


class _Disconnected(Exception):
    """The client left before its request was complete; nobody waits for an answer."""


class ToolsApp:
    def __init__(self, answers: ServedTools, metrics_folder: Path | None = None):
        self.answers = answers
        self.metrics = Metrics(core_tools(answers.faces), metrics_folder)
        self._world_header = (WORLD_HEADER.encode(), answers.content_hash.encode())
        self._threads = ThreadPoolExecutor(MOST_WAITING) if answers.live else None
        self._pages = Starlette(
            routes=[
                Route("/health", self._health),
                Route("/world", self._world),
                Route("/tools", self._schemas),
                # for the router's 405; calls do not come this way
                Route("/tools", _Posted(self), methods=["POST"]),
                Route("/tools/{name:path}", _Posted(self), methods=["POST"]),
                Route("/metrics", self._metrics_page),
                Route("/openapi.json", self._openapi),
                Route("/docs", self._docs),
            ],
            exception_handlers={HTTPException: _problem},
            lifespan=self._lifespan,
        )

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if (
            scope["type"] == "http"
            and scope["method"] == "POST"
            and scope["path"].startswith("/tools")
        ):
            path = scope["path"]
            if path == "/tools" or path[6] == "/":
                await self.call(scope, receive, send)
                return
        await self._pages(scope, receive, send)

    async def call(self, scope: Message, receive: Receive, send: Send) -> None:
        """A tool call: POST /tools/NAME with the arguments, or POST /tools with the name in the
        body."""
        started = time.perf_counter()
        path, query = scope["path"], scope["query_string"]
        headers = [(b"content-type", b"application/json"), self._world_header]
        status = 200
        try:
            request = await _body(receive)
            if self._threads is None:
                answered = self._answered(path, request, query)
            else:
                answered = await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._answered, path, request, query
                )
            body = answered.body
            self.metrics.called(answered.tool, answered.error, time.perf_counter() - started)
        except _Disconnected:
            return
        except ToolHostDown as fault:
            status, body = 503, _detail(str(fault))
            self.metrics.unanswered()
        except (_Refused, UserError) as problem:
            status, detail = (
                (problem.status, problem.detail)
                if isinstance(problem, _Refused)
                else (400, str(problem))
            )
            body = _detail(detail)
            self.metrics.refused(status)
        except Exception:
            say_traceback()
            status, body = 500, _detail("The server failed on this call; its log says why.")
            self.metrics.failed()
        headers.append((b"content-length", b"%d" % len(body)))
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _answered(self, path: str, request: bytes, query: bytes) -> EncodedAnswer:
        return (
            self.answers.call(path[7:], request, query)
            if len(path) > 6
            else self.answers.call_named(request, query)
        )

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        sampling = asyncio.create_task(self._sample_for_ever())
        yield
        sampling.cancel()
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self.answers.close()

    async def _sample_for_ever(self) -> None:
        while True:
            self._sample()
            await asyncio.sleep(SAMPLE_SECONDS)

    def _sample(self) -> None:
        cache = self.answers.cache
        self.metrics.sample(cache.bytes, cache.hits)

    async def _health(self, _: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def _world(self, _: Request) -> Response:
        return JSONResponse(self.answers.manifest)

    async def _schemas(self, request: Request) -> Response:
        try:
            box = self.answers.toolbox(request.scope["query_string"])
        except UserError as error:
            raise HTTPException(400, str(error)) from None
        return JSONResponse(
            {"face": box.face.name, "faces": list(self.answers.faces), "schemas": box.schemas}
        )

    async def _metrics_page(self, _: Request) -> Response:
        self._sample()
        return Response(self.metrics.page(), media_type=CONTENT_TYPE)

    @cached_property
    def _document(self) -> dict[str, Any]:
        return openapi_document(self.answers)

    async def _openapi(self, _: Request) -> Response:
        return JSONResponse(self._document)

    async def _docs(self, request: Request) -> Response:
        return HTMLResponse(docs_page(self._document, str(request.base_url)))


class _Posted:
    """An ASGI app, which the router lists with its method."""

    def __init__(self, app: ToolsApp):
        self._app = app

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self._app.call(scope, receive, send)


async def _body(receive: Receive) -> bytes:
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):  # nearly always
        body: bytes = message["body"]
        if len(body) <= MAX_BODY_BYTES:
            return body
    chunks, size = [], 0
    while message["type"] == "http.request":
        chunks.append(message["body"])
        size += len(message["body"])
        if size > MAX_BODY_BYTES:
            raise _Refused(413, f"The body is larger than {MAX_BODY_BYTES:,} bytes.")
        if not message.get("more_body"):
            return b"".join(chunks)
        message = await receive()
    raise _Disconnected


async def _problem(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, HTTPException)
    return JSONResponse({"detail": problem.detail}, problem.status_code, headers=problem.headers)


def _detail(text: str) -> bytes:
    return json.dumps({"detail": text}).encode("ascii")

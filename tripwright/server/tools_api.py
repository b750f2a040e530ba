"""The tools over HTTP: the ASGI app of one worker. It describes itself at /openapi.json.

No request leaves anything behind but counts and cached answers, so any number of workers may serve
one port. A closed world's calls run on the event loop, since none blocks for longer than a look-up;
live ones wait for their services in threads.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tripwright import __version__
from tripwright.errors import UserError
from tripwright.server.answers import (
    MAX_BODY_BYTES,
    MAX_PAGE_ROWS,
    EncodedAnswer,
    Json,
    ServedTools,
    core_tools,
)
from tripwright.server.bodies import body_within
from tripwright.server.docs_page import add_docs
from tripwright.server.log import say_traceback
from tripwright.server.metrics import FAULTS, REFUSED, TOOL_SECONDS, UNANSWERED, UNKNOWN_TOOL
from tripwright.server.serving import metrics_page
from tripwright.tools.remote import WORLD_HEADER
from tripwright.tools.toolbox import ToolHostDown

MOST_WAITING = 256  # live calls under way in one worker; more wait for their turn
CALLS = (
    "A call that a tool cannot serve (an unknown city, a wrong argument, a body that is no JSON) is"
    " answered with status 200 and an error: the text is what the agent reads. Other status codes"
    " are faults of the request itself or of the server."
)


class SentAnswer(BaseModel):
    """What the agent reads, and the same as data. A row stands whole in the text after as many
    characters as its `row_ends` says."""

    text: str
    error: bool
    rows: dict[str, Any]
    row_ends: list[int]


class SentProblem(BaseModel):
    detail: str


class SentCall(BaseModel):
    """`arguments` is an object, or the JSON text of one, as models write it."""

    name: Any
    arguments: Any


def make_app(open_answers: Callable[[], ServedTools]) -> ToolsApp:
    """What a worker runs."""
    return ToolsApp(open_answers())


class ToolsApp:
    def __init__(self, answers: ServedTools):
        self.answers = answers
        self._header = {WORLD_HEADER: answers.content_hash}
        self._threads = ThreadPoolExecutor(MOST_WAITING) if answers.live else None
        self._seconds = {  # from the start on, so that a page has them all
            (tool, error): TOOL_SECONDS.labels(tool, "error" if error else "ok")
            for tool in (*core_tools(answers.faces), UNKNOWN_TOOL)
            for error in (False, True)
        }
        self._pages = self._routes()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Calls go past the router, which would cost as much as a cached answer."""
        if (
            scope["type"] == "http"
            and scope["method"] == "POST"
            and (scope["path"] == "/tools" or scope["path"].startswith("/tools/"))
        ):
            response = await self.call(Request(scope, receive))
            await response(scope, receive, send)
        else:
            await self._pages(scope, receive, send)

    async def call(self, request: Request) -> Response:
        """POST /tools/NAME with the arguments, or POST /tools with the name in the body."""
        started = time.perf_counter()
        path, query = request.scope["path"], request.scope["query_string"]
        try:
            body = await body_within(request, MAX_BODY_BYTES)
            if self._threads is None:
                answered = self._answered(path, body, query)
            else:
                answered = await asyncio.get_running_loop().run_in_executor(
                    self._threads, self._answered, path, body, query
                )
        except ClientDisconnect:
            return Response()  # nobody waits for it
        except ToolHostDown as fault:
            UNANSWERED.inc()
            return self._problem(503, str(fault))
        except HTTPException as refused:
            REFUSED.labels(refused.status_code).inc()
            return self._problem(refused.status_code, refused.detail)
        except UserError as error:
            REFUSED.labels(400).inc()
            return self._problem(400, str(error))
        except Exception:
            say_traceback()
            FAULTS.inc()
            return self._problem(500, "The server failed on this call; its log says why.")
        self._seconds[answered.tool, answered.error].observe(time.perf_counter() - started)
        return Response(answered.body, 200, self._header, "application/json")

    def _answered(self, path: str, body: bytes, query: bytes) -> EncodedAnswer:
        if path == "/tools":
            return self.answers.call_named(body, query)
        return self.answers.call(path.removeprefix("/tools/"), body, query)

    def _problem(self, status: int, detail: str) -> Response:
        body = json.dumps({"detail": detail})
        return Response(body, status, self._header, "application/json")

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        yield
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
        self.answers.close()

    def _routes(self) -> FastAPI:
        served = self.answers
        pages = FastAPI(
            title=f"tripwright tools: {served.what}",
            version=__version__,
            description=f"{served.about}\n\n{CALLS}",
            docs_url=None,  # FastAPI's own page loads its scripts from elsewhere
            redoc_url=None,
            lifespan=self._lifespan,
        )

        @pages.get("/health")
        async def health() -> dict[str, str]:
            return {"status": "ok"}

        @pages.get("/world")
        async def world() -> Json:
            return served.manifest

        @pages.get("/tools", openapi_extra={"parameters": self._wording(list(served.faces))})
        async def tools(request: Request) -> Json:
            try:
                box = served.toolbox(request.scope["query_string"])
            except UserError as error:
                raise HTTPException(400, str(error)) from None
            return {"face": box.face.name, "faces": list(served.faces), "schemas": box.schemas}

        @pages.get("/metrics", include_in_schema=False)
        async def metrics() -> Response:
            return Response(metrics_page(), media_type=CONTENT_TYPE_LATEST)

        add_docs(pages)
        self._describe_calls(pages)
        return pages

    def _describe_calls(self, pages: FastAPI) -> None:
        """Each tool with the schemas of its arguments, one for each way in which faces call it."""
        served = self.answers
        offering: dict[str, dict[str, Json]] = {}
        for face in served.faces.values():
            for schema in face.schemas(paged=not served.live):
                function = schema["function"]
                offering.setdefault(function["name"], {})[face.name] = function
        call = SentCall.model_json_schema()
        self._describe(pages, "/tools", "Call by name.", list(served.faces), [call], {})
        for name, functions in offering.items():
            schemas, examples = list[Json](), {}
            for face_name, function in functions.items():
                offer = served.faces[face_name].offer
                if function["parameters"] not in schemas:
                    schemas.append(function["parameters"])
                if (core := offer.core_name(name)) in served.samples:
                    sample = offer.call_of(core, served.samples[core])[1]
                    examples[face_name] = {"value": sample}
            summary = function["description"]
            self._describe(pages, f"/tools/{name}", summary, list(functions), schemas, examples)
        # for the router's 405; calls do not come this way
        pages.add_api_route(
            "/tools/{name:path}", self.call, methods=["POST"], include_in_schema=False
        )

    def _describe(
        self,
        pages: FastAPI,
        path: str,
        summary: str,
        faces: Sequence[str],
        schemas: list[Json],
        examples: Json,
    ) -> None:
        body = {"schema": {"anyOf": schemas}, "examples": examples}
        refusals = (400, 413, 503) if self.answers.live else (400, 413)
        pages.add_api_route(
            path,
            self.call,
            methods=["POST"],
            summary=summary,
            response_model=SentAnswer,
            responses={status: {"model": SentProblem} for status in refusals},
            openapi_extra={
                "parameters": self._wording(faces),
                "requestBody": {"required": True, "content": {"application/json": body}},
            },
        )

    def _wording(self, faces: Sequence[str]) -> list[Json]:
        default = self.answers.default_face
        schemas: Json = {"face": {"type": "string", "enum": faces}}
        if not self.answers.live:
            schemas["page_rows"] = {"type": "integer", "minimum": 1, "maximum": MAX_PAGE_ROWS}
        return [
            {
                "name": name,
                "in": "query",
                "schema": schema,
                "required": name == "face" and default not in faces,
            }
            for name, schema in schemas.items()
        ]

"""The tools over HTTP: the ASGI app of one worker. It describes itself at /openapi.json.

No request leaves anything behind but counts, so any number of workers may serve one port. A closed
world's calls run on the event loop, since none blocks for longer than a look-up; live ones (a
domain's `routes/`) wait for their services in threads."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import parse_qsl

from annotated_types import Ge, Le
from anyio import CapacityLimiter, to_thread
from fastapi import FastAPI
from prometheus_client import Counter, Histogram
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tripwright import __version__
from tripwright.domains import alike, domain_of_face, face_named, faces, open_folder
from tripwright.errors import UserError, first_problem
from tripwright.server.guard import Strict
from tripwright.server.serving import add_docs, refusals, refused, within
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.face import Face
from tripwright.tools.remote import MAX_BODY_BYTES, WORLD_HEADER
from tripwright.tools.toolbox import Tools
from tripwright.world.store import World

# one label for every name that is no tool: what is asked for may be any text that a model wrote
UNKNOWN_TOOL = "unknown"
TOOL_SECONDS = Histogram(
    "tripwright_tool_seconds",
    "Seconds from a call's headers to its answer. The count is the number of calls; an 'error' is"
    " an answer to the agent.",
    ["tool", "outcome"],
    buckets=(
        *(1e-5, 2.5e-5, 5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3),
        *(0.01, 0.025, 0.1, 1.0, 5.0, 30.0),
    ),
)
REFUSED = Counter(
    "tripwright_refused_requests", "Calls that no tool answered, by status.", ["status"]
)

MOST_WAITING = 256  # live calls under way in one worker; more wait for their turn
MAX_PAGE_ROWS = 1_000_000
Json = dict[str, Any]


class ToolWording(Strict):
    """In which face tools are asked for, and in pages of how many rows."""

    face: str | None = None
    page_rows: Annotated[int, Ge(1), Le(MAX_PAGE_ROWS)] | None = None

    @classmethod
    def of(cls, query: bytes) -> ToolWording:
        """Of a URL's query. Raises UserError."""
        pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True)
        if len(dict(pairs)) < len(pairs):
            raise UserError("A parameter is given twice, expected once.")
        try:
            return cls.model_validate(dict(pairs))
        except ValidationError as error:
            raise UserError(first_problem(error)) from None


@dataclass(frozen=True)
class ServedTools:
    """The tools of a server, for callers who choose the wording with each call. Raises UserError
    for a wording that does not exist.

    `what` and `about` say to people what is served, `manifest` to programs; its `content_hash`
    differs where it differs. `box` gives the tools in a face, and in pages of so many rows. With
    `live`, a call may take seconds, and raises ToolHostDown where nobody answers. `close` is called
    when the server ends.
    """

    what: str
    about: str
    manifest: Json
    faces: Mapping[str, Face]
    default_face: str
    box: Callable[[Face, int | None], Tools]
    close: Callable[[], None]
    live: bool = False

    def toolbox(self, query: bytes) -> Tools:
        """The tools in the wording that a URL's query asks for."""
        wording = ToolWording.of(query)
        name = self.default_face if wording.face is None else wording.face
        return self.box(face_named(name, self.faces), wording.page_rows)

    def call(self, path: str, body: bytes, query: bytes) -> tuple[str, ToolAnswer]:
        """What was called, by the core's name, and its answer. At /tools/NAME the body holds the
        arguments, at /tools name and arguments; both may be anything that a model wrote."""
        name, arguments = path.removeprefix("/tools/"), _text(body)
        if path == "/tools":
            try:
                call = json.loads(arguments.removeprefix("\ufeff"))
                name, arguments = call["name"], call["arguments"]
            except (ValueError, RecursionError, LookupError, TypeError):
                raise UserError(
                    'The body is no call: expected JSON like {"name": "get_cities", "arguments":'
                    ' {"state": "Texas"}}.'
                ) from None
        box = self.toolbox(query)
        return box.face.offer.core_name(name) or UNKNOWN_TOOL, box.call(name, arguments)


def world_tools(world: Path, face: str) -> ServedTools:
    """The tools of the world in a folder, in the faces of all domains that live in such a one."""
    resources = ExitStack()
    domain, place = resources.enter_context(open_folder(world, domain_of_face(face)))
    identity = place.source.manifest if isinstance(place.source, World) else place.identity
    content_hash = str(place.identity.get("content_hash", ""))
    return ServedTools(
        f"world '{place.where}'",
        "The tools of a closed world, as an agent calls them. It does not change while it is"
        " served: equal calls get equal answers.",
        {"name": place.where, **identity, "content_hash": content_hash},
        faces(alike(domain)),
        face,
        place.tools,
        resources.close,
    )


def _text(body: bytes) -> str:
    """JSON may hold lone surrogates, and ours sends them as it got them; other bytes that are no
    UTF-8 become a mark."""
    try:
        return body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace")


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


# `arguments` is an object, or the JSON text of one, as models write it
CALL: Json = {
    "type": "object",
    "properties": {"name": {}, "arguments": {}},
    "required": ["name", "arguments"],
}


class ToolsApp(FastAPI):
    """What a worker runs: it opens what it serves."""

    def __init__(self, open_answers: Callable[[], ServedTools]):
        answers = open_answers()
        super().__init__(
            title=f"tripwright tools: {answers.what}",
            version=__version__,
            description=f"{answers.about}\n\n{CALLS}",
            docs_url=None,  # FastAPI's own page loads its scripts from elsewhere
            redoc_url=None,
            lifespan=self._lifespan,
            exception_handlers=refusals(400),
        )
        self.answers = answers
        self._header = {WORLD_HEADER: str(answers.manifest["content_hash"])}
        self._waiting = CapacityLimiter(MOST_WAITING)
        # answers every call; the routes that are added below describe them
        for path in ("/tools", "/tools/{name:path}"):
            self.router.routes.append(Route(path, self.call, methods=["POST"]))
        self._add_pages()
        add_docs(self)
        self._describe_calls()

    async def call(self, request: Request) -> Response:
        """POST /tools/NAME with the arguments, or POST /tools with the name in the body."""
        started = time.perf_counter()
        path, query = request.scope["path"], request.scope["query_string"]
        try:
            body = await Request(request.scope, within(request.receive, MAX_BODY_BYTES)).body()
            if self.answers.live:
                tool, answer = await to_thread.run_sync(
                    self.answers.call, path, body, query, limiter=self._waiting
                )
            else:
                tool, answer = self.answers.call(path, body, query)
            text = json.dumps(answer.to_json(), separators=(",", ":"))
        except ClientDisconnect:
            return Response()  # nobody waits for it
        except Exception as error:
            answered = await refused(request, error, 400)
            REFUSED.labels(answered.status_code).inc()
            return answered
        seconds = TOOL_SECONDS.labels(tool, "error" if answer.error else "ok")
        seconds.observe(time.perf_counter() - started)
        return Response(text, 200, self._header, "application/json")

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        yield
        self.answers.close()

    def _add_pages(self) -> None:
        served = self.answers

        @self.get("/health")
        async def health() -> dict[str, str]:
            return {"status": "ok"}

        @self.get("/world")
        async def world() -> Json:
            return served.manifest

        @self.get("/tools", openapi_extra={"parameters": self._wording(list(served.faces))})
        async def tools(request: Request) -> Json:
            box = served.toolbox(request.scope["query_string"])
            return {"face": box.face.name, "faces": list(served.faces), "schemas": box.schemas}

    def _describe_calls(self) -> None:
        """Each tool with the schemas of its arguments, one for each way in which faces call it."""
        served = self.answers
        offering: dict[str, dict[str, Json]] = {}
        for face in served.faces.values():
            for schema in face.schemas(paged=not served.live):
                function = schema["function"]
                offering.setdefault(function["name"], {})[face.name] = function
        self._describe("/tools", "Call by name.", list(served.faces), [CALL])
        for name, functions in offering.items():
            schemas = list[Json]()
            for function in functions.values():
                if function["parameters"] not in schemas:
                    schemas.append(function["parameters"])
            self._describe(f"/tools/{name}", function["description"], list(functions), schemas)

    def _describe(self, path: str, summary: str, faces: Sequence[str], schemas: list[Json]) -> None:
        body = {"schema": {"anyOf": schemas}}
        refusals = (400, 413, 503) if self.answers.live else (400, 413)
        self.add_api_route(
            path,
            self.call,
            methods=["POST"],
            summary=summary,
            response_model=SentAnswer,
            responses={status: {} for status in refusals},
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

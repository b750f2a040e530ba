"""The tools over HTTP: the ASGI app of one worker. It describes itself at /openapi.json.

No request leaves anything behind but counts and cached answers, so any number of workers may serve
one port. A closed world's calls run on the event loop, since none blocks for longer than a look-up;
live ones wait for their services in threads.

A closed world's answer is a pure function of the wording (face, rows of a page), the tool and the
body. Answers are therefore kept under the request's own bytes, in a cache bounded in bytes: a call
that was asked before costs neither parsing nor look-ups. Live tools (a domain's `routes/`) are
remembered by their sandbox instead."""

from __future__ import annotations

import asyncio
import json
import re
import time
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qs

from fastapi import FastAPI
from prometheus_client import CONTENT_TYPE_LATEST, Counter, Histogram
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tripwright import __version__
from tripwright.domains import domain_of_face, face_named, faces
from tripwright.domains.domain import Domain, Place
from tripwright.domains.folders import alike, open_folder
from tripwright.errors import UserError
from tripwright.server.serving import add_docs, body_within, metrics_page, say_traceback
from tripwright.tools.face import Face
from tripwright.tools.remote import WORLD_HEADER
from tripwright.tools.toolbox import ToolHostDown, Tools
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
    "tripwright_refused_requests", "Requests that reached no tool, by status.", ["status"]
)
FAULTS = Counter("tripwright_server_faults", "Calls that failed for a fault of the server.")
UNANSWERED = Counter("tripwright_unanswered_calls", "Calls that a live service did not answer.")
CACHE_HITS = Counter("tripwright_answer_cache_hits", "Calls answered from a cache.")


MAX_BODY_BYTES = 1_000_000
ENTRY_BYTES = 400  # what Python needs for one entry besides the bytes of key and answer
LONGEST_BODY_BYTES = 4_096  # a longer call is not asked twice
MAX_WORDINGS = 64  # toolboxes kept; they are cheap to make again
WORDING_PARAMETERS = ("face", "page_rows")
MAX_PAGE_ROWS = 1_000_000


Json = dict[str, Any]
Key = tuple[str | None, bytes, bytes]  # tool (None: it is in the body), query, body


class EncodedAnswer(NamedTuple):
    body: bytes  # {"text": …, "error": …, "rows": …, "row_ends": …}
    tool: str  # by the core's name, whatever the face calls it; UNKNOWN_TOOL where there is none
    error: bool


class AnswerCache:
    """Least recently used answers out first. Not for several threads."""

    def __init__(self, max_bytes: int):
        self.max_bytes, self.bytes = max_bytes, 0
        self._answers: OrderedDict[Key, EncodedAnswer] = OrderedDict()

    def get(self, key: Key) -> EncodedAnswer | None:
        answer = self._answers.get(key)
        if answer is not None:
            self._answers.move_to_end(key)
            CACHE_HITS.inc()
        return answer

    def put(self, key: Key, answered: EncodedAnswer) -> None:
        """`key` is not in the cache."""
        size = _size(key, answered)
        if len(key[2]) > LONGEST_BODY_BYTES or size > self.max_bytes:
            return
        self._answers[key] = answered
        self.bytes += size
        while self.bytes > self.max_bytes:
            self.bytes -= _size(*self._answers.popitem(last=False))


def _size(key: Key, answered: EncodedAnswer) -> int:
    return len(key[0] or "") + len(key[1]) + len(key[2]) + len(answered.body) + ENTRY_BYTES


class ServedTools(ABC):
    """The tools of a server, for callers who choose the wording with each call. Raises UserError
    for a wording that does not exist.

    `what` and `about` say to people what is served, `manifest` to programs; `content_hash` differs
    where it differs. With `live`, a call may take seconds, and raises ToolHostDown where nobody
    answers.
    """

    live: ClassVar[bool]
    what: str
    about: str
    content_hash: str

    def __init__(self, faces: Mapping[str, Face], default_face: str, cache_bytes: int):
        self.faces, self.default_face = faces, face_named(default_face, faces).name
        self.cache = AnswerCache(cache_bytes)
        self._boxes: dict[bytes, Tools] = {}

    @property
    @abstractmethod
    def manifest(self) -> Json: ...

    @property
    @abstractmethod
    def samples(self) -> dict[str, Json]:
        """Arguments by the core's names, tool by tool, with which each can be tried."""

    @abstractmethod
    def _box(self, face: Face, page_rows: int | None) -> Tools: ...

    @abstractmethod
    def close(self) -> None:
        """When the server ends."""

    def call(self, tool: str, body: bytes, query: bytes = b"") -> EncodedAnswer:
        """`body` holds the arguments, meant to be JSON."""
        key = (tool, query, body)
        if (cached := self.cache.get(key)) is not None:
            return cached
        answered = self._answer(self.toolbox(query), tool, _text(body))
        self.cache.put(key, answered)
        return answered

    def call_named(self, body: bytes, query: bytes = b"") -> EncodedAnswer:
        """The same with the tool's name in the body: {"name": …, "arguments": …}. Any JSON value
        may be either."""
        key = (None, query, body)
        if (cached := self.cache.get(key)) is not None:
            return cached
        try:
            call = json.loads(_text(body).removeprefix("\ufeff"))
            name, arguments = call["name"], call["arguments"]
        except (ValueError, RecursionError, LookupError, TypeError):
            raise UserError(
                'The body is no call: expected JSON like {"name": "get_cities", "arguments":'
                ' {"state": "Texas"}}.'
            ) from None
        answered = self._answer(self.toolbox(query), name, arguments)
        self.cache.put(key, answered)
        return answered

    def toolbox(self, query: bytes) -> Tools:
        """The tools in the wording that a URL's query asks for."""
        box = self._boxes.get(query)
        if box is None:
            face, page_rows = _wording(query, self.faces)
            box = self._box(self.faces[face or self.default_face], page_rows)
            if len(self._boxes) >= MAX_WORDINGS:
                self._boxes.clear()
            self._boxes[query] = box
        return box

    def _answer(self, box: Tools, tool: Any, arguments: Any) -> EncodedAnswer:
        answer = box.call(tool, arguments)
        body = json.dumps(answer.to_json(), separators=(",", ":"))
        return EncodedAnswer(
            body.encode("ascii"), box.face.offer.core_name(tool) or UNKNOWN_TOOL, answer.error
        )


class Answers(ServedTools):
    """The tools of a closed world, in the faces of all domains that live in such a one. `opened` is
    closed when the server ends."""

    live = False
    about = (
        "The tools of a closed world, as an agent calls them. It does not change while it is"
        " served: equal calls get equal answers."
    )

    def __init__(
        self,
        domain: Domain,
        place: Place,
        default_face: str,
        cache_bytes: int,
        resources: ExitStack,
    ):
        self._domains = alike(domain)
        super().__init__(
            faces({each.name: each for each in self._domains}), default_face, cache_bytes
        )
        self._place, self._opened = place, resources
        self.content_hash = str(place.identity.get("content_hash", ""))
        self.what = f"world '{place.where}'"

    @property
    def manifest(self) -> Json:
        identity = (
            self._place.source.manifest
            if isinstance(self._place.source, World)
            else self._place.identity
        )
        return {"name": self._place.where, **identity, "content_hash": self.content_hash}

    @cached_property
    def samples(self) -> dict[str, Json]:
        return {
            tool: arguments
            for domain in self._domains
            for tool, arguments in domain.samples(self._place.source).items()
        }

    def _box(self, face: Face, page_rows: int | None) -> Tools:
        return domain_of_face(face.name).tools(self._place.source, face, page_rows)

    def close(self) -> None:
        self._opened.close()


def world_answers(world: Path, cache_bytes: int, face: str) -> Answers:
    """The tools of the world in a folder."""
    resources = ExitStack()
    domain, place = resources.enter_context(open_folder(world, domain_of_face(face)))
    return Answers(domain, place, face, cache_bytes, resources)


def core_tools(faces: Mapping[str, Face]) -> list[str]:
    """The tools of these faces by the core's names, without repetition."""
    names = (
        (face, schema["function"]["name"]) for face in faces.values() for schema in face.schemas()
    )
    return list(dict.fromkeys(core for face, name in names if (core := face.offer.core_name(name))))


def _wording(query: bytes, faces: Mapping[str, Face]) -> tuple[str | None, int | None]:
    """(face, page_rows) of a URL's query, None where it does not say."""
    parameters = parse_qs(query.decode("latin-1"), keep_blank_values=True)
    for name, values in parameters.items():
        if name not in WORDING_PARAMETERS:
            raise UserError(
                f"Unknown parameter '{name}'. The parameters are"
                f" {' and '.join(WORDING_PARAMETERS)}."
            )
        if len(values) > 1:
            raise UserError(f"Parameter '{name}' is given {len(values)} times, expected once.")
    face = face_named(parameters["face"][0], faces).name if "face" in parameters else None
    if "page_rows" not in parameters:
        return face, None
    text = parameters["page_rows"][0]
    if not re.fullmatch("[0-9]{1,7}", text) or not 1 <= int(text) <= MAX_PAGE_ROWS:
        raise UserError(
            f"Parameter 'page_rows' must be a whole number from 1 to {MAX_PAGE_ROWS:,}, found"
            f" '{text[:60]}'."
        )
    return face, int(text)


def _text(body: bytes) -> str:
    """JSON may hold lone surrogates, and ours sends them as it got them; other bytes that are no
    UTF-8 become a mark."""
    try:
        return body.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return body.decode("utf-8", "replace")


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

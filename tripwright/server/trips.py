"""The trip server: a domain's desk as a page and an API (docs/serving.md)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import secrets
import time
from collections.abc import AsyncIterator, Iterable, MutableMapping, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from importlib.resources import files
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from fastapi.security import HTTPBearer
from prometheus_client import Counter
from pydantic import AfterValidator, BaseModel, Field, StringConstraints
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from tripwright.domains.desk import (
    COMFORT,
    FieldProblem,
    FormField,
    FormProblems,
    Item,
    NoPlan,
    Swap,
    TripView,
    Understood,
)
from tripwright.errors import named
from tripwright.evals.report.page import page_file
from tripwright.llm.endpoint import Budgets
from tripwright.server import TripServer
from tripwright.server.agency import Account, Agency, TripJobs, changed, open_agency
from tripwright.server.chat_api import ChatRoutes
from tripwright.server.guard import Strict, sendable
from tripwright.server.runs import RunPages
from tripwright.server.serving import OneReader, add_docs, refusals, say
from tripwright.server.store import (
    MOST_UNFINISHED,
    OVER,
    USUAL_COMFORT,
    TripStore,
    now,
    public,
    summary,
)

REQUESTS = Counter(
    "tripwright_requests_total", "Requests by route and status.", ["method", "route", "status"]
)
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src"
        " data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}
COOKIE = "traveller"
COOKIE_HEADER = "{}={}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000"
MOST_BODY_BYTES = 65_536
MOST_TEXT = 4_000  # characters
LOOK_SECONDS = 0.05  # between two looks for events of a trip
HEARTBEAT_SECONDS = 15
WAIT_SECONDS = 300.0
READ_AT_ONCE = 32  # texts; more wait for their turn, and nobody else does
BETWEEN_SECONDS, BURST = 0.5, 20  # trips and readings of one who asks: between two, and at once
Text = Annotated[str, StringConstraints(max_length=MOST_TEXT)]
Key = Annotated[str, StringConstraints(max_length=40)]


class ChangeWords(Strict):
    text: Text


class TypedWords(ChangeWords):
    """With `values`, a form that was changed: the words are made to say it."""

    values: Annotated[dict[str, Any] | None, AfterValidator(sendable)] = None


@dataclass(frozen=True)
class ReadWords(Understood):
    text: str = ""


class AskedTrip(Strict):
    """Without `values` the text is read, and has to be a whole request."""

    values: Annotated[dict[str, Any], AfterValidator(sendable)] | None = None
    text: Text | None = None
    planner: str | None = None
    replaces: str | None = None
    # of the planner that `/desk` names; unsaid it is that of the trip that is replaced
    comfort: Annotated[float, Field(ge=0, le=1)] | None = None
    wait: bool = False


class Shared(Strict):
    shared: bool


# ---- what is answered, for /openapi.json; what is kept is not checked against it


class OpenDesk(BaseModel):
    domain: str
    title: str
    world: dict[str, str]
    form: list[FormField]
    planners: list[dict[str, str]]
    default_planner: str
    examples: list[str]
    comfort: str | None
    comfort_levels: list[str]
    reader: Literal["model", "rules"]


class ToolCalled(BaseModel):
    number: int
    tool: str
    arguments: dict[str, Any]
    thinking: str
    answer: dict[str, Any] | None
    seconds: float | None


class TripLine(BaseModel):
    id: str
    status: Literal["queued", "running", "done", "no_plan", "failed", "cancelled"]
    created_at: str


class TripSummary(TripLine):
    title: str
    cost: float | None
    currency: str | None
    passed: bool | None


class TripPage(BaseModel):
    trips: list[TripSummary]
    next: int | None


class Trip(TripLine):
    finished_at: str | None
    planner: str
    text: str | None
    values: dict[str, Any]
    words: str
    replaces: str | None
    comfort: float
    sentence: str | None = None
    cannot: list[str] = []
    unread: list[str] = []
    shared: bool
    own: bool = True
    view: TripView | None
    no_plan: NoPlan | None
    replan: str | None
    changed: list[str] | None
    error: str | None
    calls: list[ToolCalled]


class Refused(BaseModel):
    error: dict[str, Any]


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Refused} for status in (401, 403, 404, 413, 415, 422, 429, 503)
}


class WantedSwap(Strict):
    """What is to stand in the place of an item: one of its swaps, by its number from 0."""

    part: Key
    item: Key
    swap: Annotated[int, Field(ge=0, le=9)]


class OfferedSwap(BaseModel):
    """Something else in the place of an item, and what the judge says of the plan that has it."""

    item: Item
    total: float | None
    passed: bool
    problems: list[str]


class TripRoutes:
    def __init__(self, agency: Agency, store: TripStore, jobs: TripJobs, keys: tuple[str, ...]):
        self._agency, self.store, self._jobs, self._keys = agency, store, jobs, keys
        self._budgets, self.readers = Budgets(), CapacityLimiter(READ_AT_ONCE)

        @lru_cache(64)  # a plan stays as it is, and who was shown its swaps may take one
        def swaps_of(id: str, part: str, item: str) -> Sequence[Swap]:
            return agency.desk.swaps(store.record(id) or {}, part, item, agency.place)

        self._swaps_of = swaps_of
        self.router = router = APIRouter(prefix="/v1")
        for path, method, route, status, model in (
            ("/desk", "GET", self.desk, 200, OpenDesk),
            ("/read", "POST", self.read, 200, ReadWords),
            ("/trips", "POST", self.add, 202, Trip),
            ("/trips", "GET", self.page, 200, TripPage),
            ("/trips/{id}", "GET", self.trip, 200, Trip),
            ("/trips/{id}", "DELETE", self.delete, 204, None),
            ("/trips/{id}/events", "GET", self.events, 200, None),
            ("/trips/{id}/cancel", "POST", self.cancel, 200, Trip),
            ("/trips/{id}/changes", "POST", self.changes, 200, ReadWords),
            ("/trips/{id}/share", "POST", self.share, 200, Trip),
            ("/trips/{id}/swaps", "GET", self.swaps, 200, list[OfferedSwap]),
            ("/trips/{id}/swaps", "POST", self.swap, 201, Trip),
        ):
            told: dict[int | str, Any] = {status: {"model": model} if model else {}}
            if status == 202:
                told[200] = {"model": model, "description": "With `wait`: the finished trip"}
            how: dict[str, Any] = {"methods": [method], "status_code": status, "responses": told}
            router.add_api_route(path, route, response_model=None, **how)

    @property
    def planners(self) -> Iterable[str]:
        return self._agency.planners

    # ---- who asks

    def owner(self, request: Request) -> str:
        """The hash of the caller's key, or of an unguessable cookie, which the guard sets."""
        if self._keys:
            word, _, key = request.headers.get("authorization", "").partition(" ")
            match = [hmac.compare_digest(key.encode(), each.encode()) for each in self._keys]
            if word.lower() != "bearer" or not any(match):
                raise HTTPException(401, "Send a key: 'Authorization: Bearer KEY'.")
            return _hash(f"key {key}")
        cookie = request.cookies.get(COOKIE)
        if cookie is None:
            cookie = request.state.cookie = secrets.token_urlsafe(24)
        return _hash(f"cookie {cookie}")

    def _own(self, request: Request, id: str, shared: bool = False) -> dict[str, Any]:
        """With `shared` one may be somebody else's who shares it."""
        trip = self.store.trip(id)
        if trip is not None and shared and trip["shared"]:
            return {**trip, "own": False} if self._is_others(trip, request) else trip
        if trip is None or trip["owner"] != self.owner(request):
            raise HTTPException(404, f"No trip '{id[:40]}' of yours.")
        return trip

    def _is_others(self, trip: dict[str, Any], request: Request) -> bool:
        """A key is not needed to read what is shared."""
        try:
            return bool(trip["owner"] != self.owner(request))
        except HTTPException:
            return True

    def paced(self, request: Request) -> str:
        """Who asks, and may ask now: a key, or else an address. Anybody can make a cookie."""
        asker = self.owner(request)
        if not self._keys:
            host = request.client.host if request.client else ""
            if ":" in host and "." not in host:  # IPv6, of which a client has a whole network
                with suppress(ValueError):
                    host = str(ip_network((host, 64), strict=False))
            asker = _hash(f"at {host}")
        if seconds := self._budgets.take(asker, BETWEEN_SECONDS, BURST):
            after = {"Retry-After": str(math.ceil(seconds))}
            raise HTTPException(429, f"Too many at once: wait {seconds:.1f} s.", after)
        return asker

    # ---- routes

    def desk(self, request: Request) -> dict[str, Any]:
        self.owner(request)
        agency = self._agency
        return {
            "domain": agency.domain.name,
            "title": agency.domain.title,
            "world": {"name": Path(agency.place.where).name},
            "form": [asdict(each) for each in agency.desk.form(agency.place)],
            "planners": [
                {"name": name, "label": each.label} for name, each in agency.planners.items()
            ],
            "default_planner": agency.default_planner,
            "examples": agency.examples,
            "reader": "model" if agency.reader else "rules",
            "comfort": agency.comfort,
            "comfort_levels": COMFORT,
        }

    async def read(self, words: TypedWords, request: Request) -> ReadWords:
        self.paced(request)
        # a model may take its time
        return await to_thread.run_sync(self._reading, words, limiter=self.readers)

    def _reading(self, words: TypedWords) -> ReadWords:
        text = words.text
        if words.values is not None:
            text = self._agency.reworded(text, words.values)[:MOST_TEXT]
        return ReadWords(**vars(self._agency.read(text)), text=text)

    def changes(self, id: str, words: ChangeWords, request: Request) -> ReadWords:
        """What words about a plan ("a day later") would change; nothing is planned yet."""
        self.paced(request)
        trip, agency = self._own(request, id), self._agency
        if trip["view"] is None:
            raise HTTPException(409, "This trip has no plan that could be changed.")
        comfort = trip["comfort"] if trip["planner"] == agency.comfort else None
        known = (trip["values"], trip["view"], comfort, agency.place)
        understood = agency.desk.change(words.text, *known)
        text = agency.reworded(trip["text"] or "", understood.values)
        more = (each for each in (*understood.cannot, *understood.unread) if each in words.text)
        return ReadWords(**vars(understood), text=". ".join([text, *more]))

    async def add(self, asked: AskedTrip, request: Request) -> Response:
        asker = self.paced(request)
        begin = partial(self.begin, request, asker, **asked.model_dump(exclude={"wait"}))
        limiter = self.readers if asked.values is None else None
        trip = await to_thread.run_sync(begin, limiter=limiter)
        headers = {"Location": f"/v1/trips/{trip['id']}"}
        if asked.wait:
            trip = await self._finished(trip["id"])
            return JSONResponse(trip, 200 if trip["status"] in OVER else 202, headers=headers)
        if "text/event-stream" in request.headers.get("accept", ""):
            return self._stream(trip["id"], 0, headers)
        return JSONResponse(public(trip), 202, headers=headers)

    def begin(
        self,
        request: Request,
        asker: str,
        *,
        text: str | None,
        planner: str | None,
        values: dict[str, Any] | None = None,
        replaces: str | None = None,
        comfort: float | None = None,
    ) -> dict[str, Any]:
        """The trip, which is planned soon. Raises FormProblems."""
        planner = planner or self._agency.default_planner
        if named("planner", planner, self._agency.planners).paid and self._agency.is_spent:
            raise HTTPException(503, self._agency.too_dear)
        old = self._own(request, replaces) if replaces is not None else {}
        if values is None:
            values = self._read(text or "")
        wish = self._agency.desk.request(values, self._agency.place)
        trip: dict[str, Any] = {"planner": planner, "text": text, "values": values}
        trip["comfort"] = old.get("comfort", USUAL_COMFORT) if comfort is None else comfort
        trip |= {"words": wish.query, "replaces": replaces}
        trip |= self._agency.told(text or "", values)
        id = self.store.add(self.owner(request), asker, trip)
        if id is None:
            why = f"{MOST_UNFINISHED} trips are unfinished, the most there may be of one who asks."
            raise HTTPException(429, why, {"Retry-After": "5"})
        self._jobs.add(id)
        return self.store.trip(id) or {}

    def _read(self, text: str) -> dict[str, Any]:
        """Words as form values. Raises FormProblems where they are no whole request."""
        if len(text) > MOST_TEXT:
            much = f"At most {MOST_TEXT:,} characters can be read."
            raise FormProblems((FieldProblem("text", much),))
        understood = self._agency.read(text)
        problems = [FieldProblem(name, asked) for name, asked in understood.missing.items()]
        if understood.problem:
            problems.insert(0, FieldProblem("text", understood.problem))
        if problems:
            raise FormProblems(tuple(problems))
        return dict(understood.values)

    async def _finished(self, id: str) -> dict[str, Any]:
        """The trip when it is over, or as it is after five minutes."""
        until = asyncio.get_running_loop().time() + WAIT_SECONDS
        while True:
            trip = await run_in_threadpool(self.store.trip, id)
            if trip is None:
                raise HTTPException(404, "The trip was deleted.")
            if trip["status"] in OVER or asyncio.get_running_loop().time() > until:
                return public(trip)
            await asyncio.sleep(LOOK_SECONDS)

    def page(
        self,
        request: Request,
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
        before: Annotated[int | None, Field(ge=0, lt=2**62)] = None,
    ) -> dict[str, Any]:
        trips = self.store.page(self.owner(request), limit, before)
        following = trips[-1]["number"] if len(trips) == limit else None
        return {"trips": [summary(trip) for trip in trips], "next": following}

    def trip(self, id: str, request: Request) -> dict[str, Any]:
        return public(self._own(request, id, shared=True))

    def delete(self, id: str, request: Request) -> Response:
        self._own(request, id)
        self.store.delete(id)
        return Response(status_code=204)

    def cancel(self, id: str, request: Request) -> dict[str, Any]:
        self._own(request, id)
        self.store.finish(id, "cancelled", {})  # who plays it notices before the next call
        return public(self._own(request, id))

    def share(self, id: str, asked: Shared, request: Request) -> dict[str, Any]:
        """Who has its address may read it from now on, or no more."""
        self._own(request, id)
        self.store.share(id, asked.shared)
        return self.trip(id, request)

    def events(self, id: str, request: Request) -> Response:
        self._own(request, id, shared=True)
        last = request.headers.get("last-event-id", "")
        return self._stream(id, int(last) if last.isdecimal() and len(last) < 16 else 0, {})

    def swaps(self, id: str, part: Key, item: Key, request: Request) -> list[OfferedSwap]:
        return [
            OfferedSwap(
                item=swap.item,
                total=swap.view.cost,
                passed=swap.view.passed,
                problems=[check.title for check in swap.view.checks if check.state == "failed"],
            )
            for swap in self._swaps(self._own(request, id), part, item)
        ]

    def _swaps(self, trip: dict[str, Any], part: str, item: str) -> Sequence[Swap]:
        parts = trip["view"]["parts"] if trip["view"] else ()
        keys = {(each["key"], one["key"]) for each in parts for one in each["items"] if one["key"]}
        if (part, item) not in keys:
            raise HTTPException(404, f"The plan has no item '{item}' in part '{part}' to swap.")
        return self._swaps_of(trip["id"], part, item)

    def swap(self, id: str, wanted: WantedSwap, request: Request, response: Response) -> Any:
        """A trip of its own, which replaces this one: to undo it is to go back."""
        self.paced(request)
        old = self._own(request, id)
        swaps = self._swaps(old, wanted.part, wanted.item)
        if wanted.swap >= len(swaps):
            raise HTTPException(404, f"There are {len(swaps)} swaps for that item.")
        view = json.loads(json.dumps(asdict(swaps[wanted.swap].view)))
        outcome = {"view": view, "changed": changed(old["view"], view)}
        new = self.store.copy(id, outcome, swaps[wanted.swap].record)
        response.headers["Location"] = f"/v1/trips/{new}"
        return public(self._own(request, new))

    def _stream(self, id: str, after: int, headers: dict[str, str]) -> Response:
        return EventSourceResponse(
            self.events_of(id, after), ping=HEARTBEAT_SECONDS, headers=headers
        )

    async def events_of(self, id: str, after: int) -> AsyncIterator[dict[str, str]]:
        while True:
            events = await run_in_threadpool(self.store.events, id, after)
            for after, kind, body in events:
                yield {"id": str(after), "event": kind, "data": body}
                if kind == "done":
                    return
            if not events and await run_in_threadpool(self.store.trip, id) is None:
                return  # deleted
            await asyncio.sleep(LOOK_SECONDS)


class RequestLog:
    """ASGI: one line of log a request, counts, security headers."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def guarded(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if cookie := scope.get("state", {}).get("cookie"):
                    headers["Set-Cookie"] = COOKIE_HEADER.format(COOKIE, cookie)
            await send(message)

        try:
            await self._app(scope, receive, guarded)
        finally:
            route = getattr(scope.get("route"), "path", None)
            REQUESTS.labels(scope["method"] if route else "", route or "", str(status)).inc()
            line = {
                "time": now(),
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round((time.monotonic() - began) * 1000, 1),
                "trip": scope.get("path_params", {}).get("id"),
            }
            say(json.dumps(line))


def make_app(agency: Agency, settings: TripServer) -> FastAPI:
    store = TripStore(settings.state)
    agency = replace(agency, account=Account(settings.prices, store))
    threads = 32 if agency.reader else 4  # endpoints mostly wait
    jobs = TripJobs(agency, store, threads, settings.deadline_s)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        jobs.start()
        drawing = asyncio.create_task(run_in_threadpool(lambda: agency.examples))  # for the first
        yield
        await drawing
        await run_in_threadpool(jobs.stop)

    app = FastAPI(
        title="tripwright",
        docs_url=None,
        redoc_url=None,
        lifespan=lifespan,
        exception_handlers=refusals(),
        responses=REFUSALS,
        dependencies=[Depends(HTTPBearer(auto_error=False))] if settings.keys else [],
    )
    trips = TripRoutes(agency, store, jobs, settings.keys)
    app.include_router(trips.router)
    app.include_router(ChatRoutes(trips).router)
    if agency.desk.routes is not None:
        of_domain = import_module(agency.desk.routes)
        app.include_router(of_domain.router(agency.place, trips.paced))
    app.include_router(_pages())
    add_docs(app)
    if settings.runs is not None:
        app.include_router(RunPages(settings.runs).router)
    app.add_middleware(OneReader, MOST_BODY_BYTES, "/v1/score")
    app.add_middleware(RequestLog)
    return app


def trip_app(settings: TripServer) -> FastAPI:
    """What a worker runs."""
    return make_app(open_agency(settings, ExitStack()), settings)


def _pages() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    folder = Path(str(files("tripwright.server").joinpath("pages", "trip")))

    @router.get("/")
    def page() -> Response:
        return FileResponse(folder / "index.html")

    @router.get("/pages/trip/dom.js")  # elements are made as in the report
    def dom() -> Response:
        return Response(page_file("dom.js"), media_type="text/javascript")

    router.mount("/pages/trip", StaticFiles(directory=folder))

    @router.get("/healthz")
    async def health() -> dict[str, str]:
        return {"status": "ok"}

    return router


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()

"""The trip server: a domain's desk as a page and an API (docs/serving.md)."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import math
import secrets
import time
from collections.abc import AsyncIterator, MutableMapping
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from importlib import import_module
from importlib.resources import files
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.responses import FileResponse, JSONResponse
from prometheus_client import Counter
from pydantic import AfterValidator, Field, StringConstraints
from sse_starlette import EventSourceResponse
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from tripwright.domains.desk import Understood
from tripwright.errors import named
from tripwright.evals.report.page import page_file
from tripwright.llm.endpoint import Budgets
from tripwright.server import TripServer
from tripwright.server.agency import Agency, TripJobs, open_agency
from tripwright.server.guard import Strict, sendable
from tripwright.server.runs import RunPages
from tripwright.server.serving import OneReader, add_docs, refusals, say
from tripwright.server.store import (
    MOST_UNFINISHED,
    OVER,
    USUAL_COMFORT,
    TripStore,
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


class ChangeWords(Strict):
    text: Text


class TypedWords(ChangeWords):
    """With `values`, a form that was changed: the words are made to say it."""

    values: Annotated[dict[str, Any] | None, AfterValidator(sendable)] = None


@dataclass(frozen=True)
class ReadWords(Understood):
    text: str = ""


class AskedTrip(Strict):
    values: Annotated[dict[str, Any], AfterValidator(sendable)]
    text: Text | None = None
    planner: str | None = None
    replaces: str | None = None
    # of the planner that `/desk` names; unsaid it is that of the trip that is replaced
    comfort: Annotated[float, Field(ge=0, le=1)] | None = None
    wait: bool = False


class TripRoutes:
    def __init__(self, agency: Agency, store: TripStore, jobs: TripJobs, keys: tuple[str, ...]):
        self._agency, self._store, self._jobs, self._keys = agency, store, jobs, keys
        self._budgets, self._readers = Budgets(), CapacityLimiter(READ_AT_ONCE)
        self.router = router = APIRouter(prefix="/v1")
        for path, method, route in (
            ("/desk", "GET", self.desk),
            ("/read", "POST", self.read),
            ("/trips", "POST", self.add),
            ("/trips", "GET", self.page),
            ("/trips/{id}", "GET", self.trip),
            ("/trips/{id}", "DELETE", self.delete),
            ("/trips/{id}/events", "GET", self.events),
            ("/trips/{id}/cancel", "POST", self.cancel),
            ("/trips/{id}/changes", "POST", self.changes),
        ):
            router.add_api_route(path, route, methods=[method])

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

    def _own(self, request: Request, id: str) -> dict[str, Any]:
        trip = self._store.trip(id)
        if trip is None or trip["owner"] != self.owner(request):
            raise HTTPException(404, f"No trip '{id[:40]}' of yours.")
        return trip

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
        }

    async def read(self, words: TypedWords, request: Request) -> ReadWords:
        self.paced(request)
        # a model may take its time
        return await to_thread.run_sync(self._read, words, limiter=self._readers)

    def _read(self, words: TypedWords) -> ReadWords:
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
        understood = agency.desk.change(words.text, trip["values"], trip["view"], agency.place)
        text = agency.reworded(trip["text"] or "", understood.values)
        return ReadWords(
            **vars(understood), text=". ".join([text, *understood.cannot, *understood.unread])
        )

    async def add(self, asked: AskedTrip, request: Request) -> Response:
        trip = await run_in_threadpool(self._add, asked, request)
        self._jobs.add(trip["id"])
        headers = {"Location": f"/v1/trips/{trip['id']}"}
        if asked.wait:
            trip = await self._finished(trip["id"])
            return JSONResponse(trip, 200 if trip["status"] in OVER else 202, headers=headers)
        if "text/event-stream" in request.headers.get("accept", ""):
            return self._stream(trip["id"], 0, headers)
        return JSONResponse(public(trip), 202, headers=headers)

    def _add(self, asked: AskedTrip, request: Request) -> dict[str, Any]:
        asker = self.paced(request)
        planner = asked.planner or self._agency.default_planner
        named("planner", planner, self._agency.planners)
        old = self._own(request, asked.replaces) if asked.replaces is not None else {}
        wish = self._agency.desk.request(asked.values, self._agency.place)
        trip: dict[str, Any] = {"planner": planner, "text": asked.text, "values": asked.values}
        comfort = old.get("comfort", USUAL_COMFORT)
        trip["comfort"] = comfort if asked.comfort is None else asked.comfort
        trip |= {"words": wish.query, "replaces": asked.replaces}
        trip |= self._agency.told(asked.text or "", asked.values)
        id = self._store.add(self.owner(request), asker, trip)
        if id is None:
            why = f"{MOST_UNFINISHED} trips are unfinished, the most there may be of one who asks."
            raise HTTPException(429, why, {"Retry-After": "5"})
        return self._store.trip(id) or {}

    async def _finished(self, id: str) -> dict[str, Any]:
        """The trip when it is over, or as it is after five minutes."""
        until = asyncio.get_running_loop().time() + WAIT_SECONDS
        while True:
            trip = await run_in_threadpool(self._store.trip, id)
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
        trips = self._store.page(self.owner(request), limit, before)
        following = trips[-1]["number"] if len(trips) == limit else None
        return {"trips": [summary(trip) for trip in trips], "next": following}

    def trip(self, id: str, request: Request) -> dict[str, Any]:
        return public(self._own(request, id))

    def delete(self, id: str, request: Request) -> Response:
        self._own(request, id)
        self._store.delete(id)
        return Response(status_code=204)

    def cancel(self, id: str, request: Request) -> dict[str, Any]:
        self._own(request, id)
        self._store.finish(id, "cancelled", {})  # who plays it notices before the next call
        return public(self._own(request, id))

    def events(self, id: str, request: Request) -> Response:
        self._own(request, id)
        last = request.headers.get("last-event-id", "")
        return self._stream(id, int(last) if last.isdecimal() and len(last) < 16 else 0, {})

    def _stream(self, id: str, after: int, headers: dict[str, str]) -> Response:
        return EventSourceResponse(self._events(id, after), ping=HEARTBEAT_SECONDS, headers=headers)

    async def _events(self, id: str, after: int) -> AsyncIterator[dict[str, str]]:
        while True:
            events = await run_in_threadpool(self._store.events, id, after)
            for after, kind, body in events:
                yield {"id": str(after), "event": kind, "data": body}
                if kind == "done":
                    return
            if not events and await run_in_threadpool(self._store.trip, id) is None:
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
                "method": scope["method"],
                "route": route,
                "status": status,
                "ms": round((time.monotonic() - began) * 1000, 1),
                "trip": scope.get("path_params", {}).get("id"),
            }
            say(json.dumps(line))


def make_app(agency: Agency, settings: TripServer) -> FastAPI:
    store = TripStore(settings.state)
    jobs = TripJobs(agency, store, 32 if agency.reader else 4)  # endpoints mostly wait

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
    )
    trips = TripRoutes(agency, store, jobs, settings.keys)
    app.include_router(trips.router)
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

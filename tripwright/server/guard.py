"""What stands before every route of the trip server: who may ask, how much, and what browsers are
told. One shape of error: {"error": {"code", "message", "problems"}}."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import MutableMapping
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from prometheus_client import Counter
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from tripwright.server.serving import say, within

REQUESTS = Counter(
    "tripwright_requests_total", "Requests by route and status.", ["method", "route", "status"]
)
LOOPBACK = ("127.0.0.1", "localhost", "::1")
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
MOST_OWNERS = 10_000  # whose pace is remembered
CODES = {
    400: "bad_request",
    401: "no_key",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    422: "bad_form",
    429: "too_many",
    500: "server_failed",
    503: "service_down",
}


def asked_host(request: Request) -> str | None:
    """The host that a browser asks for; None where its header holds none."""
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:  # brackets around what is no address
        return None


def problem(
    status: int,
    message: str,
    problems: list[dict[str, Any]] | None = None,
    headers: dict[str, str] | None = None,
) -> JSONResponse:
    code = CODES.get(status, "failed")
    body = {"error": {"code": code, "message": message, "problems": problems or []}}
    return JSONResponse(body, status, headers=headers)


def sendable(values: Any) -> Any:
    """For pydantic: Python reads NaN and halves of characters in JSON, which nobody could be sent
    back."""
    try:
        json.dumps(values, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return values


class OwnerPace:
    """A token bucket for each owner, of this worker."""

    def __init__(self, per_second: float, burst: int):
        self._per_second, self._burst = per_second, burst
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = Lock()

    def wait(self, owner: str) -> float:
        """Takes a token and returns 0, or the seconds until there is one."""
        now = time.monotonic()
        with self._lock:
            tokens, seen = self._buckets.pop(owner, (float(self._burst), now))
            tokens = min(self._burst, tokens + (now - seen) * self._per_second)
            self._buckets[owner] = (tokens - 1 if tokens >= 1 else tokens, now)
            if len(self._buckets) > MOST_OWNERS:
                self._buckets.popitem(last=False)
        return 0.0 if tokens >= 1 else (1 - tokens) / self._per_second


class Guard:
    """ASGI: the Host check of servers on loopback (a page of somebody else's that gives its name
    to this machine's address), the size of bodies, security headers, one line of log a request."""

    def __init__(self, app: ASGIApp, local_only: bool):
        self._app, self._local_only = app, local_only

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

        app: ASGIApp = self._app
        if self._local_only and asked_host(Request(scope)) not in LOOPBACK:
            app = problem(403, "Open this page by its address on this machine.")
        try:
            await app(scope, within(receive, MOST_BODY_BYTES), guarded)
        except ClientDisconnect:
            pass  # nobody waits for an answer
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

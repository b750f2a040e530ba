"""What stands before every server of ours: how much one connection may take (`BoundedProtocol`) and
which requests are heard (`Guard`). One shape of error: {"error": {"code", "message", "problems"}}.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_PATH_CHARACTERS = 2_048
MOST_BYTES_BESIDE_BODY = 65_536  # of a request: its head, sizes of chunks, trailers
STUCK_SECONDS = 30.0
CODES = {
    400: "bad_request",
    401: "no_key",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "too_large",
    415: "no_json",
    422: "bad_form",
    429: "too_many",
    500: "server_failed",
    503: "service_down",
}


def problem(status: int, message: str, problems: Any = (), headers: Any = None) -> JSONResponse:
    code = CODES.get(status, "failed")
    body = {"error": {"code": code, "message": message, "problems": list(problems)}}
    return JSONResponse(body, status, headers=headers)


class Strict(BaseModel):
    """A body, of which every part is known."""

    model_config = ConfigDict(extra="forbid")


def sendable(values: Any) -> Any:
    """For pydantic: Python reads NaN and halves of characters in JSON, which nobody could be sent
    back."""
    try:
        json.dumps(values, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return values


def guarded(
    app: ASGIApp, listening: str, names: Sequence[str], origins: Sequence[str] = ()
) -> ASGIApp:
    """Behind the guard; pages of `origins` may ask, as browsers want it said."""
    if origins:
        app = CORSMiddleware(
            app,
            allow_origins=origins,
            allow_credentials=True,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Last-Event-ID"],
            expose_headers=["Location", "Retry-After"],
        )
    return Guard(app, listening, names, origins)


class Guard:
    """ASGI: a request has to ask for a host of this server's, must not come from another site's
    page, and what it sends has to be JSON, which such a page cannot send unasked.

    Whoever owns a name can give it this machine's address, and then their page reads what is served
    by that name (DNS rebinding). So addresses count, and names that no stranger can own: this
    machine's, in a network those without a dot, and those that the user has `allowed`, as are the
    `origins` of pages.
    """

    def __init__(
        self, app: ASGIApp, listening: str, allowed: Sequence[str], origins: Sequence[str] = ()
    ):
        self._app, self._in_network = app, listening not in LOOPBACK
        self._origins = {origin.lower() for origin in origins}
        self._allowed = {name.lower() for name in allowed}
        self._own = {"localhost", listening.lower(), *self._allowed}
        if self._in_network:
            self._own |= {socket.gethostname().lower(), socket.getfqdn().lower()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app
        if scope["type"] == "http":
            headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
            app = self._refusal(scope["path"], headers) or app
        await app(scope, receive, send)

    def _refusal(self, path: str, headers: Mapping[bytes, str]) -> ASGIApp | None:
        host = headers.get(b"host", "").lower()
        if not self._is_own(_name_in(host)):
            return problem(403, "Ask by this server's address, or allow the name: --allow-host.")
        said = headers.get(b"origin", f"//{host}").lower()
        origin = said.partition("//")[2]
        if not (said in self._origins or origin == host or _name_in(origin) in self._allowed):
            return problem(403, "A page of another site may not ask here.")
        if len(path) > MOST_PATH_CHARACTERS or not path.isprintable():
            return problem(400, "The path is too long, or holds what cannot be printed.")
        kind = headers.get(b"content-type", "").partition(";")[0].strip().lower()
        has_body = headers.get(b"content-length", "0") != "0" or b"transfer-encoding" in headers
        if has_body and kind != "application/json":
            return problem(415, "A body has to be sent as 'Content-Type: application/json'.")
        return None

    def _is_own(self, name: str) -> bool:
        is_address = name[:1] + name[-1:] == "[]" or name.replace(".", "").isdecimal()
        in_network = self._in_network and name and "." not in name
        return name in self._own or is_address or bool(in_network)


def _name_in(host: str) -> str:
    return re.sub(r":\d*$", "", host).removesuffix(".")


class BoundedProtocol(HttpToolsProtocol):
    """uvicorn's, which reads heads of any size and waits for ever. Here a request that is not whole
    after STUCK_SECONDS to twice that, and an answer of which nothing is read so long, end."""

    _beside_body = _requests = 0
    _is_whole = False
    _under_way: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._look(None)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._next_look.cancel()
        if self._under_way is not None:  # uvicorn tells only the newest of those sent at once
            self._under_way.disconnected = True
            self._under_way.message_event.set()

    def _look(self, before: tuple[int, bool, int] | None) -> None:
        unread = self.transport.get_write_buffer_size()
        now = self._requests, self._is_whole, unread
        if now == before and (unread or not self._is_whole):
            self.transport.abort()
        self._next_look = self.loop.call_later(STUCK_SECONDS, self._look, now)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._under_way = cycle
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        self._beside_body, self._is_whole = self._beside_body + len(data), False
        super().data_received(data)
        if self._beside_body > MOST_BYTES_BESIDE_BODY and not self.transport.is_closing():
            self.send_400_response("The head of this request is too large.")

    def on_body(self, body: bytes) -> None:
        self._beside_body -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._beside_body, self._is_whole = 0, True
        self._requests += 1
        super().on_message_complete()

"""One client's connection, and what it may take: uvicorn's own, which reads headers of any size and
waits for ever, with limits.

Sizes: `head_bytes` for all of a request that is not its body (request line, headers, the framing of
chunks, trailers). The body is the app's to limit.
Time: every `look_seconds` the connection is looked at. What a client still owes since the look
before (a request it has not finished, an answer it has not read) ends the connection, so a client
has between one and two looks for each. Nothing is owed while the server works, nor between two
requests: that is uvicorn's `timeout_keep_alive`.

A client sees 431 or 408 in the shape of every other error; a closed socket where it has sent
nothing or is in the middle of an answer. All of it costs a request 5 µs: looks read no clock and
set no timer for one.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from tripwright.server.log import Seldom

HEAD_BYTES = 65_536  # as uvicorn has it for h11
LOOK_SECONDS = 20.0
LINGER_SECONDS = 2.0  # for a client that is still sending to see why it was refused
_RUBBISH = Seldom()


class _HeadTooLarge(Exception):
    """Raised within the parser, which makes a fault of the request of it."""


class LimitedConnection(HttpToolsProtocol):
    head_bytes = HEAD_BYTES
    look_seconds = LOOK_SECONDS

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._refused = False
        self._head_size = 0  # bytes of the request under way that are not its body
        self._owed: object | None = object()  # the request that is not here whole; None: it is
        self._seen: tuple[object | None, object | None] = (None, None)  # at the last look
        self._next_look = self.loop.call_later(self.look_seconds, self._look)

    def connection_lost(self, exc: Exception | None) -> None:
        self._next_look.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """As in uvicorn, but within the limits; and the log says who sent what is no HTTP, and
        cannot be flooded with it."""
        if self._refused:
            return
        self._unset_keepalive_if_required()
        self._begin()
        self._head_size += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            # the request itself was read, and is answered as if it asked for no other protocol
            return
        except httptools.HttpParserError as error:
            if isinstance(error.__context__, _HeadTooLarge):
                self._refuse_head()
                return
            peer = f"{self.client[0]}:{self.client[1]}" if self.client else "a client"
            _RUBBISH.say(f"tripwright: {peer} sent what is no HTTP request")
            self.refuse(400, "This is no HTTP request.")
            return
        if self._head_size > self.head_bytes:
            self._refuse_head()

    def on_message_begin(self) -> None:
        self._begin()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        # What came in one piece is counted here: beside it, `_head_size` holds some of the body.
        if len(self.url) + sum(len(k) + len(v) + 4 for k, v in self.headers) > self.head_bytes:
            raise _HeadTooLarge
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._head_size -= len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._owed, self._head_size = None, 0
        super().on_message_complete()

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()  # an answer that is not read yet will not be

    def refuse(self, status: int, detail: str) -> None:
        """The connection's last answer. Whatever the client goes on sending is not read as HTTP."""
        self._refused = True
        cycle: Any = self.cycle
        answering = cycle is not None and not cycle.response_complete
        if self.pipeline or (
            answering and (cycle.response_started or cycle.scope is not self.scope)
        ):
            self.transport.abort()  # another answer is on its way
            return
        if answering:
            cycle.disconnected = True  # the app waits for the rest of this request: it need not
            cycle.message_event.set()
        body = json.dumps({"detail": detail}).encode("ascii")
        self.transport.write(
            STATUS_LINE[status]
            + b"".join(b"%s: %s\r\n" % header for header in self.server_state.default_headers)
            + b"content-type: application/json\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
            % len(body)
            + body
        )
        # Closed at once, the kernel would answer what is still being sent with a reset, which takes
        # the refusal away before it is read.
        self.transport.write_eof()
        self._next_look.cancel()
        self._next_look = self.loop.call_later(LINGER_SECONDS, self.transport.abort)

    def _refuse_head(self) -> None:
        self.refuse(431, f"The request line and headers are larger than {self.head_bytes:,} bytes.")

    def _begin(self) -> None:
        if self._owed is None:
            self._owed = object()

    def _look(self) -> None:
        # while we make it wait with the rest, a client owes us nothing
        request = None if self.flow.read_paused else self._owed
        answer = self.cycle if self.transport.get_write_buffer_size() else None
        owed_before, unread_before = self._seen
        if answer is not None and answer is unread_before:
            self.transport.abort()
        elif request is not None and request is owed_before:
            if self._head_size:
                self.refuse(408, "The request took too long to arrive.")
            else:
                self.transport.abort()
        else:
            self._seen = request, answer
            self._next_look = self.loop.call_later(self.look_seconds, self._look)

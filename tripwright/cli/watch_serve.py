"""The live page over HTTP, for the browser on this machine: one page, and its body drawn anew
whenever a run's files change."""

from __future__ import annotations

import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tripwright.errors import UserError
from tripwright.evals.report.live import live_page
from tripwright.training.watched import LiveBody

HOST = "127.0.0.1"  # metrics are nobody else's business
SECONDS = 3.0
REQUEST_SECONDS = 20.0  # for one request and its answer; a connection has no other
# The page runs its own few lines and asks only this server: text from a run folder cannot do
# anything, whatever it holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; script-src '{script}'"


class _PageServer(ThreadingHTTPServer):
    """A browser that has sent or read too little for too long is let go. (Headers are limited by
    http.server itself: 100 lines of 64 KiB.)"""

    daemon_threads = True
    request_seconds = REQUEST_SECONDS

    def __init__(self, *arguments: Any):
        self._begun: dict[socket.socket, float] = {}
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._begun[request] = time.monotonic()
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._begun.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        for request, begun in list(self._begun.items()):
            if time.monotonic() - begun > self.request_seconds:
                with suppress(OSError):  # it has just ended by itself
                    request.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing of a browser that left."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


def make_server(folders: Sequence[Path], names: Sequence[str], port: int) -> ThreadingHTTPServer:
    """A server that is bound and not yet running; port 0 takes any free one. Raises UserError if
    the port is taken."""
    body, (page, script) = LiveBody(folders, names), live_page(names, SECONDS)
    headers = {
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": POLICY.format(script=script),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if (self.headers.get("Host") or "").rpartition(":")[0] not in (HOST, "localhost"):
                # another site's name that points here
                self._answer(403, b"Open this page by its address on this machine.")
                return
            address = urlsplit(self.path)
            if address.path == "/":
                self._answer(200, page.encode("utf-8", "replace"))
            elif address.path == "/now":
                mark, content = body.now()
                unchanged = parse_qs(address.query).get("seen") == [mark]
                self._answer(
                    204 if unchanged else 200, b"" if unchanged else content, {"X-Seen": mark}
                )
            else:
                self._answer(404, b"There is / and /now.")

        def _answer(self, status: int, content: bytes, more: dict[str, str] | None = None) -> None:
            self.send_response(status)
            kind = "text/html" if status in (200, 204) else "text/plain"
            for name, value in {
                "Content-Type": f"{kind}; charset=utf-8",
                **headers,
                **(more or {}),
            }.items():
                self.send_header(name, value)
            if status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """A page that looks every few seconds would fill the terminal."""

    try:
        return _PageServer((HOST, port), Handler)
    except OSError as error:
        raise UserError(
            f"Cannot listen on {HOST}:{port} ({error.strerror}). Choose another --port, or 0 for"
            " any free one."
        ) from None

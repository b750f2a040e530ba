"""A local HTTP server that gives the same answer to whatever it is asked."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


class VendorServer(ThreadingHTTPServer):
    """`asked` are the paths and headers (with lower-case names) of the requests."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.base_url = f"http://127.0.0.1:{self.server_port}"
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.says({})
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    def says(
        self,
        body: Any,
        status: int = 200,
        headers: dict[str, str] | None = None,
        cut: bool = False,
    ) -> None:
        """`body` is sent as is if it is text or bytes, else as JSON. `cut` ends the connection in
        the middle of it."""
        text = body if isinstance(body, str | bytes) else json.dumps(body)
        self.content = text if isinstance(text, bytes) else text.encode()
        self.status, self.headers, self.cut = status, headers or {}, cut

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gave up is none of our errors."""


class _Handler(BaseHTTPRequestHandler):
    server: VendorServer
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        vendor = self.server
        vendor.asked.append((self.path, headers))
        self.send_response(vendor.status)
        for name, value in {"content-type": "application/json", **vendor.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(vendor.content) + (100 if vendor.cut else 0)))
        self.end_headers()
        self.wfile.write(vendor.content)
        self.close_connection = self.close_connection or vendor.cut

    do_GET = do_DELETE = do_POST

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture
def vendor() -> Iterator[VendorServer]:
    server = VendorServer()
    yield server
    server.shutdown()
    server.server_close()

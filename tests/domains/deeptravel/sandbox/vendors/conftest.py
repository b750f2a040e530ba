"""A local HTTP server that plays a vendor: scripted answers by path, rate limits, failures. Nothing
here leaves this machine."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest


@dataclass(frozen=True)
class Asked:
    """One request as it arrived. `headers` has lower-case names; `path` is without the query and
    still percent-encoded."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True))


@dataclass(frozen=True)
class Answer:
    """`body` is sent as is if it is text or bytes, else as JSON. `cut` ends the connection in the
    middle of the body, `hang` says nothing until the server ends."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False
    hang: bool = False

    def content(self) -> bytes:
        if isinstance(self.body, bytes):
            return self.body
        return (self.body if isinstance(self.body, str) else json.dumps(self.body)).encode()


class VendorServer:
    """`on` says what a path answers: one answer after the other, the last one again and again. What
    no path claims is a 404."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self._answers: dict[str, list[Answer]] = {}
        self._lock = threading.Lock()
        self.ending = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.base_url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        ).start()

    def on(self, path: str, *answers: Any) -> None:
        """A path that ends in '*' stands for all that begin so. An answer that is no `Answer` is
        the body of a 200."""
        self._answers[path] = [
            answer if isinstance(answer, Answer) else Answer(answer) for answer in answers
        ]

    def answer(
        self,
        body: Any = None,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **how: bool,
    ) -> Answer:
        return Answer(body, status, headers or {}, **how)

    def paths(self) -> list[str]:
        return [asked.path for asked in self.asked]

    def close(self) -> None:
        self.ending.set()
        self._server.shutdown()
        self._server.server_close()

    def _next(self, asked: Asked) -> Answer:
        with self._lock:
            self.asked.append(asked)
            fitting = [
                path
                for path in self._answers
                if asked.path == path or (path.endswith("*") and asked.path.startswith(path[:-1]))
            ]
            if not fitting:
                return Answer({"message": f"nothing at {asked.path}"}, 404)
            script = self._answers[max(fitting, key=len)]
            return script.pop(0) if len(script) > 1 else script[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        vendor = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _play(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("content-length") or 0))
                headers = {name.lower(): value for name, value in self.headers.items()}
                query = dict(parse_qsl(parts.query, keep_blank_values=True))
                answer = vendor._next(Asked(self.command, parts.path, query, headers, body))
                if answer.hang:
                    vendor.ending.wait(10)
                    self.close_connection = True
                    return
                content = answer.content()
                self.send_response(answer.status)
                for name, value in {"content-type": "application/json", **answer.headers}.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(content) + (100 if answer.cut else 0)))
                self.end_headers()
                self.wfile.write(content)
                self.close_connection = self.close_connection or answer.cut

            do_GET = do_POST = _play

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        return Handler


@pytest.fixture
def vendor() -> Iterator[VendorServer]:
    server = VendorServer()
    yield server
    server.close()


@dataclass(frozen=True)
class Failure:
    """What any vendor may do, and the ProviderFault that it has to become."""

    answer: Answer
    kind: str
    retry_after_s: float | None = None


FAILURES = {
    "401": Failure(Answer({"message": "no such key"}, 401), "unauthorized"),
    "403": Failure(Answer("Forbidden", 403), "unauthorized"),
    "429": Failure(Answer({"message": "slow down"}, 429, {"retry-after": "7"}), "rate_limit", 7.0),
    "500": Failure(Answer("<html>oops</html>", 500), "server_error"),
    "503 with a wait": Failure(Answer("", 503, {"retry-after": "30"}), "server_error", 30.0),
    "cut connection": Failure(Answer('{"data": [', cut=True), "connection"),
    "nonsense instead of JSON": Failure(Answer("<html>welcome</html>"), "bad_response"),
    "nothing": Failure(Answer(b""), "bad_response"),
    "bytes that are no text": Failure(Answer(b"\xff\xfe\x00{"), "bad_response"),
    "JSON too deep": Failure(Answer("[" * 200_000), "bad_response"),
    "a list of null": Failure(Answer([None]), "bad_response"),
    "another object": Failure(Answer({"hello": 1}), "bad_response"),
    "a number": Failure(Answer(7), "bad_response"),
    "null": Failure(Answer(None), "bad_response"),
}


@pytest.fixture(params=list(FAILURES), ids=list(FAILURES))
def failure(request: pytest.FixtureRequest) -> Failure:
    """Every test that takes it runs once for each failure."""
    return FAILURES[request.param]


def _spoilt(body: Any) -> Iterator[Any]:
    """The body with one part at a time left out or replaced by something of another type."""
    for name in (
        list(body) if isinstance(body, dict) else range(len(body)) if isinstance(body, list) else ()
    ):
        for other in (None, 7, "x", [], {}, [None], {"a": 1}):
            yield _with(body, name, other)
        if isinstance(body, dict):
            yield {key: value for key, value in body.items() if key != name}
        for inner in _spoilt(body[name]):
            yield _with(body, name, inner)


def _with(body: Any, name: Any, value: Any) -> Any:
    if isinstance(body, dict):
        return {**body, name: value}
    return [*body[:name], value, *body[name + 1 :]]


@pytest.fixture
def spoilt() -> Callable[[Any], Iterator[Any]]:
    return _spoilt

"""Connections for many threads: one each, used again, and room for them among the open files."""

from __future__ import annotations

import resource
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tripwright.errors import UserError
from tripwright.llm.client import ChatEndpoint, Completion, Fault
from tripwright.llm.endpoint import SPARE_FILES, allow_open_files

MESSAGES = [{"role": "user", "content": "Plan a trip."}]
BODY = b'{"choices": [{"message": {"content": "Hello."}}]}'


class Kept(ThreadingHTTPServer):
    """Keeps connections, and the ports of the clients that it saw."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        self.ports: list[int] = []
        self.together = threading.Barrier(1)
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Kept

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.ports.append(self.client_address[1])
        self.server.together.wait(10)
        self.send_response(200)
        self.send_header("Content-Length", str(len(BODY)))
        self.end_headers()
        self.wfile.write(BODY)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kept]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = Kept()
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    ).start()
    yield server
    server.shutdown()
    server.server_close()


def endpoint(server: Kept) -> ChatEndpoint:
    return ChatEndpoint(
        f"http://127.0.0.1:{server.server_address[1]}/v1", "tiny", timeout_s=60.0, max_retries=0
    )


def test_one_after_the_other_share_a_connection(kept: Kept) -> None:
    client = endpoint(kept)
    for _ in range(5):
        assert isinstance(client.complete(MESSAGES), Completion)
    assert len(kept.ports) == 5 and len(set(kept.ports)) == 1


def test_threads_that_ask_at_once_have_one_each_and_no_more_are_made(kept: Kept) -> None:
    client = endpoint(kept)
    kept.together = threading.Barrier(8)  # answers nobody before eight ask
    for _ in range(3):
        found: list[Completion | Fault] = []
        threads = [
            threading.Thread(
                target=lambda into: into.append(client.complete(MESSAGES)), args=(found,)
            )
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 8 and all(isinstance(each, Completion) for each in found)
    assert len(kept.ports) == 24 and len(set(kept.ports)) == 8


def test_nothing_is_sent_after_a_stop(kept: Kept) -> None:
    client = endpoint(kept)
    client.stop()
    fault = client.complete(MESSAGES)
    assert isinstance(fault, Fault) and fault.kind == "stopped" and not kept.ports


@pytest.mark.parametrize(
    ("soft", "hard", "count", "raised"),
    [
        (1024, 4096, 16, None),
        (1024, 4096, 2000, 2000 + SPARE_FILES),
        (256, resource.RLIM_INFINITY, 50_000, 50_000 + SPARE_FILES),
        (resource.RLIM_INFINITY, resource.RLIM_INFINITY, 50_000, None),
    ],
)
def test_open_files_are_allowed_as_far_as_the_system_lets_us(
    monkeypatch: pytest.MonkeyPatch, soft: int, hard: int, count: int, raised: int | None
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, hard))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: asked.append(limits))
    allow_open_files(count)
    assert asked == ([] if raised is None else [(raised, hard)])


def test_more_than_the_system_allows_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (1024, 4096))
    with pytest.raises(UserError, match="need some 10128 open files, and this system allows 4096"):
        allow_open_files(10_000)

"""A stop drops no request: not one in flight, not one on a connection that nobody has accepted yet,
not one of a busy client."""

from __future__ import annotations

import os
import signal
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pytest

pytest.importorskip("starlette")
httpx2 = pytest.importorskip("httpx2")

PATIENCE_SECONDS = 60


@dataclass
class Hammer:
    """A client that asks until it is told that the server is gone, and notes every request that was
    sent and not answered."""

    port: int
    keeps_alive: bool
    busy: threading.Event = field(default_factory=threading.Event)
    dropped: list[str] = field(default_factory=list)

    def run(self) -> None:
        body = b'{"expression": "6 * 7"}'
        request = (
            b"POST /tools/calculator HTTP/1.1\r\nhost: here\r\ncontent-length: %d\r\n\r\n%s"
            % (len(body), body)
        )
        while True:
            try:
                connection = socket.create_connection(
                    ("127.0.0.1", self.port), timeout=PATIENCE_SECONDS
                )
            except ConnectionError:
                return  # nothing was sent
            with connection:
                try:
                    while True:
                        connection.sendall(request)
                        answer = connection.recv(65536)
                        while answer and b"42" not in answer:
                            answer += connection.recv(65536)
                        if not answer:
                            raise ConnectionError("closed without an answer")
                        self.busy.set()
                        if not self.keeps_alive or b"connection: close" in answer:
                            break
                except ConnectionError as error:
                    self.dropped.append(str(error))


def test_a_stop_drops_no_request(serve: Any) -> None:
    served = serve("--port", "0", "--workers", "2")
    clients = [Hammer(served.port, keeps_alive=i % 2 == 0) for i in range(12)]
    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(client.run) for client in clients]
        assert all(client.busy.wait(PATIENCE_SECONDS) for client in clients)
        assert served.stop() == 0
        for client in running:
            client.result(PATIENCE_SECONDS)
    assert [problem for client in clients for problem in client.dropped] == []
    assert len(served.said) == 1


def test_a_stop_answers_connections_that_no_worker_has_accepted_yet(serve: Any) -> None:
    served = serve("--port", "0", "--workers", "2")
    for pid in served.workers:
        os.kill(pid, signal.SIGSTOP)
    clients = [Hammer(served.port, keeps_alive=False) for _ in range(30)]
    with ThreadPoolExecutor(len(clients)) as pool:
        running = [pool.submit(client.run) for client in clients]
        time.sleep(0.3)  # they have sent their request into the backlog
        served.process.send_signal(signal.SIGTERM)
        for pid in served.workers:
            os.kill(pid, signal.SIGCONT)
        for client in running:
            client.result(PATIENCE_SECONDS)
    assert [problem for client in clients for problem in client.dropped] == []
    assert served.process.wait(PATIENCE_SECONDS) == 0


def test_an_idle_connection_does_not_hold_up_a_stop(serve: Any) -> None:
    served = serve("--port", "0")
    with (
        httpx2.Client(base_url=served.url, verify=False) as kept,
        socket.create_connection(("127.0.0.1", served.port)) as silent,
    ):
        assert kept.get("/health").status_code == 200
        assert served.stop() == 0
        assert silent.recv(1) == b""
    assert len(served.said) == 1  # had the grace run out, the worker would have said so

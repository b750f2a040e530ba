"""What one connection may take, with real sockets and small limits: sizes, and the time of clients
that are slow to send or to read."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

from tripwright.server import worker
from tripwright.server.connection import LimitedConnection

HEAD_BYTES, LOOK_SECONDS = 2_000, 0.2
PATIENCE_SECONDS = 60
GET = b"GET / HTTP/1.1\r\nhost: here\r\n"
POST = b"POST / HTTP/1.1\r\nhost: here\r\n"
LARGE = 30_000_000  # bytes; more than the kernel takes off a server's hands


class Small(LimitedConnection):
    head_bytes, look_seconds = HEAD_BYTES, LOOK_SECONDS


async def app(scope: Any, receive: Any, send: Any) -> None:
    """Answers with the number of bytes of the body; at /slow after some looks, at /large with much
    more."""
    import asyncio

    if scope["type"] != "http":
        return
    size, message = 0, {"more_body": True}
    while message.get("more_body"):
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        size += len(message["body"])
    if scope["path"] == "/slow":
        await asyncio.sleep(4 * LOOK_SECONDS)
    body = b"." * LARGE if scope["path"] == "/large" else b"%d" % size
    headers = [(b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})


class Serving:
    def __init__(self, stack: ExitStack):
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=600))
        self.address, self._stack = listener.getsockname(), stack
        config = uvicorn.Config(app, http=Small, lifespan="off", log_level="warning")
        self.server = uvicorn.Server(config)
        thread = threading.Thread(target=self.server.run, args=([listener],))
        thread.start()
        stack.callback(thread.join, PATIENCE_SECONDS)
        stack.callback(setattr, self.server, "should_exit", True)

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self.address, timeout=PATIENCE_SECONDS)
        return self._stack.enter_context(closing(connection))


@pytest.fixture
def serving() -> Iterator[Serving]:
    with ExitStack() as stack:
        yield Serving(stack)


def status_and_body(connection: socket.socket) -> tuple[int, bytes]:
    """Of one answer."""
    answer = b""
    while b"\r\n\r\n" not in answer and (more := connection.recv(65_536)):
        answer += more
    head, _, body = answer.partition(b"\r\n\r\n")
    size = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
    while len(body) < size and (more := connection.recv(65_536)):
        body += more
    return int(head.split()[1]), body


def end_of(connection: socket.socket, drip: bytes = b"") -> bytes:
    """What comes before the server closes, while `drip` is sent again and again."""
    connection.settimeout(LOOK_SECONDS / 4)
    answer = b""
    for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS * 4)):
        try:
            connection.sendall(drip)
            more = connection.recv(65_536)
        except TimeoutError:
            continue
        except ConnectionError:
            return answer
        if not more:
            return answer
        answer += more
    raise AssertionError("never closed")


@pytest.mark.parametrize(
    "request_",
    [
        GET + b"x: " + b"a" * HEAD_BYTES + b"\r\n\r\n",
        GET + b"x: a\r\n" * 400 + b"\r\n",
        b"GET /" + b"a" * HEAD_BYTES + b" HTTP/1.1\r\nhost: here\r\n\r\n",
        GET + b"x: " + b"a" * 5_000_000,  # and no end of it
        POST + b"transfer-encoding: chunked\r\n\r\n1\r\n.\r\n0\r\nx: " + b"a" * 5_000_000,
        POST + b"transfer-encoding: chunked\r\n\r\n1;" + b"a" * 5_000_000,
    ],
    ids=["one header", "many headers", "path", "endless header", "trailer", "chunk extension"],
)
def test_a_large_head_is_refused_in_words(request_: bytes, serving: Serving) -> None:
    connection = serving.connect()
    connection.sendall(request_)
    status, body = status_and_body(connection)
    assert status == 431
    assert json.loads(body) == {
        "detail": "The request line and headers are larger than 2,000 bytes."
    }
    assert end_of(connection) == b""


def test_a_large_body_and_many_requests_in_one_piece_are_within_the_limits(
    serving: Serving,
) -> None:
    connection = serving.connect()
    body = b"x" * 1_000_000
    for _ in range(3):
        connection.sendall(POST + b"content-length: %d\r\n\r\n%s" % (len(body), body))
        assert status_and_body(connection) == (200, b"1000000")
    connection.sendall((GET + b"\r\n") * 200)  # 6 kB of heads
    answers = b""
    while answers.count(b"HTTP/1.1 200 OK") < 200:
        assert (more := connection.recv(65_536))
        answers += more
    assert b"431" not in answers


@pytest.mark.parametrize(
    ("start", "drip", "status"),
    [
        (b"", b"", None),
        (GET, b"", 408),
        (GET + b"x: ", b"a", 408),
        (b"", b"\r\n", 408),
        (POST + b"content-length: 100000\r\n\r\n", b"a", 408),
        (POST + b"transfer-encoding: chunked\r\n\r\n", b"1\r\na\r\n", 408),
    ],
    ids=["silence", "half a head", "header", "empty lines", "body", "chunks"],
)
def test_who_is_slow_to_send_is_let_go(
    start: bytes, drip: bytes, status: int | None, serving: Serving
) -> None:
    connection = serving.connect()
    connection.sendall(start)
    answer = end_of(connection, drip)
    assert (int(answer.split()[1]) if answer else None) == status
    if answer:
        assert answer.endswith(b'{"detail": "The request took too long to arrive."}')
        assert b"connection: close" in answer


def test_who_does_not_read_is_let_go(serving: Serving) -> None:
    connection = serving.connect()
    connection.sendall(b"GET /large HTTP/1.1\r\nhost: here\r\n\r\n")
    waiting = threading.Event()
    for _ in range(int(PATIENCE_SECONDS / LOOK_SECONDS)):
        waiting.wait(LOOK_SECONDS)
        if serving.server.server_state.total_requests and not (
            serving.server.server_state.connections
        ):
            break
    assert not serving.server.server_state.connections
    received = 0
    with pytest.raises(ConnectionError):
        while more := connection.recv(1_000_000):
            received += len(more)
        raise ConnectionError  # closed in order, but too early
    assert received < LARGE


def test_a_kept_connection_and_a_slow_answer_are_not_cut(serving: Serving) -> None:
    connection = serving.connect()
    for path in (b"/", b"/slow", b"/"):
        connection.sendall(GET.replace(b" / ", b" %s " % path) + b"\r\n")
        assert status_and_body(connection) == (200, b"0")
        threading.Event().wait(3 * LOOK_SECONDS)  # the agent thinks


def test_others_are_answered_while_500_sockets_idle(serving: Serving) -> None:
    idle = [serving.connect() for _ in range(500)]
    for i, connection in enumerate(idle):
        connection.sendall((b"", GET, POST + b"content-length: 9\r\n\r\n.")[i % 3])
    good = serving.connect()
    good.sendall(GET + b"\r\n")
    assert status_and_body(good) == (200, b"0")
    for connection in idle:
        end_of(connection)
    good = serving.connect()
    good.sendall(GET + b"\r\n")
    assert status_and_body(good) == (200, b"0")


def test_what_is_served_has_these_limits(serve: Callable[..., Any]) -> None:
    """`serve tools` and `study serve` run the same worker."""
    assert issubclass(worker._Connection, LimitedConnection)
    served = serve("--port", "0")
    (pid,) = served.workers

    def most_kib() -> int:
        with open(f"/proc/{pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

    before = most_kib() if os.path.exists("/proc/self/status") else None
    with socket.create_connection(("127.0.0.1", served.port), timeout=60) as connection:
        connection.sendall(GET + b"x: ")
        for _ in range(40):
            connection.sendall(b"a" * 1_000_000)
        assert status_and_body(connection)[0] == 431
    if before is not None:
        assert most_kib() - before < 10_000

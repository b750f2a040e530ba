"""Load for `serve_tools.py`: clients on kept connections that send prepared requests, each as soon
as the last one is answered.

Nothing is parsed but the status and the length of an answer, so that one process can keep a server
busy.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections.abc import Sequence
from typing import Any

CHECKED = 499  # the body of one answer in so many is kept; prime, so that it walks over all kinds


class Client(asyncio.Protocol):
    """One connection: send, wait, note the time, send the next."""

    def __init__(self, load: Load):
        self._load, self._number, self._sent, self._buffer = load, 0, 0.0, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport  # uvloop's is none of asyncio's classes
        self.send()

    def send(self) -> None:
        self._number, data = self._load.next_request()
        self._sent = time.perf_counter()
        self._transport.write(data)

    def data_received(self, data: bytes) -> None:
        data = self._buffer + data if self._buffer else data
        end = data.find(b"\r\n\r\n")
        at = data.find(b"content-length: ")
        if end < 0 or len(data) < end + 4 + int(data[at + 16 : data.index(b"\r\n", at)]):
            self._buffer = data
            return
        self._buffer = b""
        self._load.answered(self, self._number, self._sent, data, end + 4)

    def stop(self) -> None:
        self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        self._load.closed()


class Load:
    """One slice from one process. The clock starts when every client has had a first answer: a
    server accepts one connection at a time, between the requests of those it already has."""

    def __init__(
        self, requests: Sequence[bytes], first: int, seconds: float, clients: int, step: int
    ):
        self._requests, self._cursor, self._step = requests, first, step
        self._seconds, self._clients, self._open = seconds, clients, clients
        self._waiting: list[Client] = []
        self._deadline = float("inf")
        self.latencies, self.errors = array("d"), 0
        self.checked: list[tuple[int, bytes]] = []
        self.done = asyncio.get_running_loop().create_future()

    def next_request(self) -> tuple[int, bytes]:
        number = self._cursor
        self._cursor += self._step
        return number, self._requests[number % len(self._requests)]

    def answered(self, client: Client, number: int, sent: float, data: bytes, body_at: int) -> None:
        now = time.perf_counter()
        if not data.startswith(b"HTTP/1.1 200"):
            self.errors += 1
        elif number % CHECKED == 0:
            self.checked.append((number, data[body_at:]))
        if self._deadline == float("inf"):
            self._waiting.append(client)
            if len(self._waiting) == self._clients:
                self._deadline = now + self._seconds
                for waiting in self._waiting:
                    waiting.send()
        elif now < self._deadline:
            self.latencies.append(now - sent)
            client.send()
        else:
            client.stop()

    def closed(self) -> None:
        self.errors += time.perf_counter() < self._deadline
        self._open -= 1
        if not self._open and not self.done.done():
            self.done.set_result(None)


async def slice_of_load(
    port: int, requests: Sequence[bytes], first: int, seconds: float, clients: int, step: int
) -> Load:
    load = Load(requests, first, seconds, clients, step)
    loop = asyncio.get_running_loop()
    for _ in range(clients):
        await loop.create_connection(lambda: Client(load), "127.0.0.1", port)
    await asyncio.wait_for(load.done, seconds + 30)
    return load

"""Several worker processes behind one port: they start, are replaced when they die, and stop when
those who wait have been answered.

The port is opened here, once, and every worker accepts from it. Parent and worker hold the two ends
of a socket pair, and that is all they know of each other: the worker writes `ready` into it, and
whoever sees it closed knows that the other is gone, even after kill -9. So a dead worker is
replaced at once, and orphaned workers stop and free the port.

A stop: no new connections are made (closing.py), the workers accept those that are there, answer
what was asked on them and say with each answer that it was the connection's last (worker.py). What
may still be lost is a request that is on its way over the network while the idle connection it was
sent on is being closed, as HTTP allows; clients try such a one again.
"""

from __future__ import annotations

import errno
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tripwright.errors import UserError
from tripwright.server.closing import ignore_new_connections
from tripwright.server.log import say
from tripwright.server.worker import main as worker_main

BIND_PATIENCE_SECONDS = 1.0  # the orphans of a killed server need a moment to let go of the port
GRACE_SECONDS = 10  # for the requests in flight when the server is told to stop
LONGEST_PAUSE_SECONDS = 30.0  # before a worker that keeps dying is started again
BACKLOG = 2048
_CHILD = (
    "import json, sys; settings = json.loads(sys.argv[1]); sys.path[:] = settings.pop('path');"
    f" from {worker_main.__module__} import {worker_main.__name__};"
    f" {worker_main.__name__}(**settings)"
)


def open_port(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes any free one. Raises UserError where it cannot be had."""
    if not 0 <= port <= 65_535:
        raise UserError(f"Port {port} does not exist: expected 1 to 65535, or 0 for any free one.")
    deadline = time.monotonic() + BIND_PATIENCE_SECONDS
    while True:
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            return socket.create_server((host, port), family=family, backlog=BACKLOG)
        except socket.gaierror:
            raise UserError(
                f"Host '{host}' is no address of this machine: expected one like 127.0.0.1 or"
                " 0.0.0.0."
            ) from None
        except OSError as error:
            if error.errno == errno.EADDRINUSE and time.monotonic() < deadline:
                time.sleep(0.05)
                continue
            why = (
                "is already in use"
                if error.errno == errno.EADDRINUSE
                else f"cannot be opened ({os.strerror(error.errno or 0)})"
            )
            raise UserError(
                f"Port {port} of {host} {why}. Choose another with --port; --port 0 takes any free"
                " one."
            ) from None


def url_of(listener: socket.socket) -> str:
    """Where a client on this machine finds the listener."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


@dataclass
class _Worker:
    process: subprocess.Popen[bytes]
    channel: socket.socket
    started: float = field(default_factory=time.monotonic)
    ready: bool = False


class Supervisor:
    """Runs `count` workers until a signal arrives. `app` names a function, "module:function", that
    makes the ASGI app of a worker from `arguments` (JSON values)."""

    def __init__(
        self,
        app: str,
        arguments: Mapping[str, Any],
        listener: socket.socket,
        count: int,
        on_death: Callable[[int], None] = lambda pid: None,
    ):
        self._settings = {
            "app": app,
            "arguments": dict(arguments),
            "path": sys.path,
            "grace_seconds": GRACE_SECONDS,
        }
        self._listener, self._count = listener, count
        self._on_death = on_death
        self._workers: dict[int, _Worker] = {}  # by the descriptor of our end of the channel
        self._selector = selectors.DefaultSelector()
        self._announced = False
        self._restart_at: list[float] = []
        self._pause_seconds = 0.0

    def run(self, announce: Callable[[], None]) -> int:
        """Calls `announce` once, when all workers serve. Returns the exit code: 0 after SIGTERM,
        130 after Ctrl-C, or that of a worker that could not start."""
        with self._signals() as signals:
            self._selector.register(signals, selectors.EVENT_READ)
            try:
                for _ in range(self._count):
                    self._start_worker()
                while True:
                    for key, _ in self._selector.select(self._next_restart_seconds()):
                        if key.fileobj is signals:
                            return 130 if signals.recv(1)[0] == signal.SIGINT else 0
                        exit_code = self._hear(self._workers[key.fd])
                        if exit_code is not None:
                            return exit_code
                    self._restart_due()
                    if (
                        not self._announced
                        and len(self._workers) == self._count
                        and all(w.ready for w in self._workers.values())
                    ):
                        self._announced = True
                        announce()
            finally:
                self._stop_all(signals)

    def _start_worker(self) -> None:
        ours, theirs = socket.socketpair()
        settings = self._settings | {
            "listener_fd": self._listener.fileno(),
            "channel_fd": theirs.fileno(),
        }
        with theirs:
            # In its own process group, so that Ctrl-C reaches the parent alone and the workers stop
            # in order.
            process = subprocess.Popen(
                # -P: a `json.py` in the current folder, which may be a stranger's, is not ours
                [sys.executable, "-P", "-c", _CHILD, json.dumps(settings)],
                pass_fds=(self._listener.fileno(), theirs.fileno()),
                stdin=subprocess.DEVNULL,
                process_group=0,
            )
        self._workers[ours.fileno()] = _Worker(process, ours)
        self._selector.register(ours, selectors.EVENT_READ)

    def _hear(self, worker: _Worker) -> int | None:
        """A worker is ready, or dead. Returns an exit code where it makes no sense to go on."""
        if _received(worker.channel):
            worker.ready = True
            return None
        code = self._bury(worker)
        if not self._announced:
            return code if code > 0 else 1
        lived_seconds = time.monotonic() - worker.started
        self._pause_seconds = (
            0.0
            if worker.ready and lived_seconds > 5
            else min(2 * self._pause_seconds + 1, LONGEST_PAUSE_SECONDS)
        )
        self._restart_at.append(time.monotonic() + self._pause_seconds)
        how = f"was killed by signal {-code}" if code < 0 else f"ended with exit code {code}"
        say(
            f"tripwright: worker {worker.process.pid} {how}; another one starts in"
            f" {self._pause_seconds:g} s"
        )
        return None

    def _bury(self, worker: _Worker) -> int:
        self._selector.unregister(worker.channel)
        del self._workers[worker.channel.fileno()]
        worker.channel.close()
        try:
            code = worker.process.wait(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:  # it let go of the channel and lives on
            worker.process.kill()
            code = worker.process.wait()
        self._on_death(worker.process.pid)
        return code

    def _next_restart_seconds(self) -> float | None:
        return max(0.0, min(self._restart_at) - time.monotonic()) if self._restart_at else None

    def _restart_due(self) -> None:
        due = [moment for moment in self._restart_at if moment <= time.monotonic()]
        for moment in due:
            self._restart_at.remove(moment)
            self._start_worker()

    def _stop_all(self, signals: socket.socket) -> None:
        """Requests that were sent are answered first. Ends within the grace, or at once where a
        second signal asks for it."""
        ignore_new_connections(self._listener)
        self._listener.close()  # the workers still accept from it those that came before
        for worker in self._workers.values():
            worker.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + GRACE_SECONDS + 2
        while self._workers and (seconds := deadline - time.monotonic()) > 0:
            for key, _ in self._selector.select(seconds):
                if key.fileobj is signals:
                    deadline = 0.0
                elif not _received(self._workers[key.fd].channel):
                    self._bury(self._workers[key.fd])
        for worker in list(self._workers.values()):
            worker.process.kill()
            self._bury(worker)
        self._selector.close()

    @contextmanager
    def _signals(self) -> Iterator[socket.socket]:
        """A socket on which a byte, the signal's number, arrives for each SIGTERM and SIGINT."""
        reading, writing = socket.socketpair()
        writing.setblocking(False)

        def handle(number: int, _: Any) -> None:
            writing.send(bytes([number]))

        before = {
            number: signal.signal(number, handle) for number in (signal.SIGTERM, signal.SIGINT)
        }
        try:
            yield reading
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            reading.close()
            writing.close()


def _received(channel: socket.socket) -> bytes:
    try:
        return channel.recv(16)
    except ConnectionError:
        return b""

"""One process of a server: uvicorn with an ASGI app, on a port that the supervisor opened. See
supervisor.py for who stops whom."""

from __future__ import annotations

import asyncio
import importlib
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
import uvloop

from tripwright.errors import UserError
from tripwright.server.closing import readable
from tripwright.server.connection import LimitedConnection
from tripwright.server.log import say

# an agent thinks between two calls, and its connection should still be there
KEEP_ALIVE_SECONDS = 75
# at a stop: for clients that have a connection, or are getting one, to ask once more
DRAIN_SECONDS = 0.5
# from the last connection accepted to the closing of those on which nothing was asked
SETTLE_SECONDS = 0.1


class _Connection(LimitedConnection):
    def finish_soon(self) -> None:
        """The request that is being answered is the last of this connection, and its answer says
        so."""
        if self.cycle is not None:
            self.cycle.keep_alive = False

    def shutdown(self) -> None:
        """Closes the connection unless there is something left to answer: uvicorn would drop a
        request that has arrived but is not read."""
        last_scope = self.cycle.scope if self.cycle is not None else None
        answered = self.cycle is None or self.cycle.response_complete
        if (
            answered
            and self.scope is last_scope
            and not readable(self.transport.get_extra_info("socket").fileno())
        ):
            self.transport.close()
        else:
            self.finish_soon()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The supervisor decides, so that nothing is raised again after a graceful stop."""
        yield

    def stop_accepting(self) -> None:
        for accepting in self.servers:
            accepting.close()

    async def drain(self, listener: socket.socket) -> None:
        """Every answer from now on is the last of its connection. Accepts until no connection
        waits, then lets uvicorn stop."""
        closing = [(b"connection", b"close")]
        self.config.encoded_headers = self.config.encoded_headers + closing
        self.server_state.default_headers = self.server_state.default_headers + closing
        for connection in self.server_state.connections:
            if isinstance(connection, _Connection):
                connection.finish_soon()
        await asyncio.sleep(DRAIN_SECONDS)
        while readable(listener.fileno()):
            await asyncio.sleep(0)
        self.stop_accepting()
        await asyncio.sleep(SETTLE_SECONDS)
        self.should_exit = True


def main(
    app: str, arguments: dict[str, Any], listener_fd: int, channel_fd: int, grace_seconds: int
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, function = app.partition(":")
    try:
        asgi_app = getattr(importlib.import_module(module), function)(**arguments)
    except UserError as error:
        say(f"tripwright: {error}")
        sys.exit(2)
    config = uvicorn.Config(
        asgi_app,
        http=_Connection,
        loop="uvloop",
        ws="none",
        log_config=None,  # warnings and tracebacks still reach stderr
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=grace_seconds,
    )
    server = _Server(config)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(
            _serve(server, socket.socket(fileno=listener_fd), socket.socket(fileno=channel_fd))
        )


async def _serve(server: _Server, listener: socket.socket, channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    tasks: set[asyncio.Task[None]] = set()  # the loop itself holds them weakly

    def stop() -> None:
        if server.started and len(tasks) == 1:
            tasks.add(asyncio.create_task(server.drain(listener)))
        elif not server.started:
            server.should_exit = True

    def orphaned() -> None:
        """The supervisor is gone: the port must be free for its successor before the last requests
        are answered."""
        loop.remove_reader(channel)
        server.stop_accepting()
        server.should_exit = True

    async def report_ready() -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        loop.add_reader(channel, orphaned)
        channel.send(b"ready")

    loop.add_signal_handler(signal.SIGTERM, stop)
    tasks.add(asyncio.create_task(report_ready()))
    await server.serve(sockets=[listener])
    for task in tasks:
        task.cancel()

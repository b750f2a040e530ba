"""One process of a server: uvicorn with an ASGI app, on a port that the supervisor opened. See supervisor.py for who stops whom."""

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

KEEP_ALIVE_SECONDS = 75  # an agent thinks between two calls, and its connection should still be there


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The supervisor decides, so that nothing is raised again after a graceful stop."""
        yield


def main(app: str, arguments: dict[str, Any], listener_fd: int, channel_fd: int, grace_seconds: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    module, _, function = app.partition(":")
    try:
        made = getattr(importlib.import_module(module), function)(**arguments)
    except UserError as error:
        print(f"tripwright: {error}", file=sys.stderr)
        sys.exit(2)
    config = uvicorn.Config(
        made,
        http="httptools",
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
        runner.run(_serve(server, socket.socket(fileno=listener_fd), socket.socket(fileno=channel_fd)))


async def _serve(server: uvicorn.Server, listener: socket.socket, channel: socket.socket) -> None:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True

    def orphaned() -> None:
        """The supervisor is gone: the port must be free for its successor before the last requests are answered."""
        loop.remove_reader(channel)
        for accepting in server.servers:
            accepting.close()
        stop()

    async def report_ready() -> None:
        while not server.started:
            await asyncio.sleep(0.01)
        loop.add_reader(channel, orphaned)
        channel.send(b"ready")

    loop.add_signal_handler(signal.SIGTERM, stop)
    reporting = asyncio.create_task(report_ready())
    await server.serve(sockets=[listener])
    reporting.cancel()

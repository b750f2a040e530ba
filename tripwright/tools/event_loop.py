"""Runs asynchronous work from threads, under a deadline for the whole of it.

The time limits of blocking clients are per read: a server that sends a byte now and then is waited
for without end. What is asynchronous can be cancelled at any moment. One event loop serves a whole
process; its thread is a daemon, so nothing waits for it when the process ends.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


def start(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Its outcome, once there is one. Cancelling it cancels the work."""
    return asyncio.run_coroutine_threadsafe(work, _event_loop())


def run(work: Coroutine[Any, Any, T], timeout_s: float) -> T:
    """What `work` returns or raises. Raises TimeoutError, and cancels the work, when it has not
    ended after so many seconds."""
    future = start(work)
    try:
        return future.result(timeout_s)
    finally:
        future.cancel()  # of what has ended, nothing


_loops: dict[int, asyncio.AbstractEventLoop] = {}  # by process: a fork has not got the thread


def _event_loop() -> asyncio.AbstractEventLoop:
    process = os.getpid()
    if process not in _loops:
        loop = asyncio.new_event_loop()
        # told of how work ended that was cancelled, and that nobody waits for any more
        loop.set_exception_handler(lambda *_: None)
        if _loops.setdefault(process, loop) is loop:  # no other thread was faster
            name = "tripwright event loop"
            threading.Thread(target=loop.run_forever, name=name, daemon=True).start()
        else:
            loop.close()
    return _loops[process]

"""Work shared by processes, results in the order of the tasks: the same as in one process, only
sooner.

Processes are spawned, not forked, so they hold nothing open of ours; each leaves by itself when the
process that started it is gone, however that ended.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing.connection import wait
from typing import Any, TypeVar

from tripwright.errors import UserError

S = TypeVar("S")  # what the tasks share
T = TypeVar("T")
R = TypeVar("R")
TASKS_AHEAD = 8  # of each process
SMALL = 40  # tasks for which a further process is not worth its start

_state: Any = None  # of a worker process


def worker_count(workers: int | None, tasks: int) -> int:
    """As asked; else one for each core, and no more than there is work for."""
    return workers or max(1, min(os.cpu_count() or 1, tasks // SMALL))


def in_order(
    start: Callable[..., S],
    arguments: tuple[Any, ...],
    work: Callable[[S, T], R],
    tasks: Iterable[T],
    workers: int,
) -> Iterator[R]:
    """work(start(*arguments), task) for every task. With several workers, everything passed must be
    picklable.

    Raises what `work` raises, at its task's place, and UserError if a process is killed.
    """
    if workers == 1:
        state = start(*arguments)
        for task in tasks:
            yield work(state, task)
        return
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(
        workers, mp_context=spawn, initializer=_enter, initargs=(start, arguments)
    )
    waiting: deque[Future[R]] = deque()
    try:
        for task in tasks:
            waiting.append(pool.submit(_work, work, task))
            if len(waiting) >= workers * TASKS_AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError(
            "A worker process was killed (is memory short?). Run the same command again, perhaps"
            " with --workers 1."
        ) from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _enter(start: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    global _state
    # Ctrl-C is for the process that was started by hand
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    _state = start(*arguments)


def _leave_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def _work(work: Callable[[Any, T], R], task: T) -> R:
    return work(_state, task)

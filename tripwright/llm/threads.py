"""Many requests at once, one thread each: what an endpoint's answers are waited for with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from queue import SimpleQueue
from typing import TypeVar

MOST_FAULTS = 20  # in a row: then an endpoint counts as dead, and nobody waits for it any more

Item = TypeVar("Item")
Result = TypeVar("Result")


def map_unordered(
    work: Callable[[Item], Result], items: Iterable[Item], concurrency: int
) -> Iterator[Result]:
    """work(item) of every item, in the order they finish, `concurrency` at once. Items are drawn,
    here, as threads come free.

    What `work` raises is raised here, the first of several. Then, or when nobody draws results any
    more, what is in flight is left alone.
    """
    waiting, finished = iter(items), SimpleQueue[Result | BaseException]()
    in_flight = 0

    def run(item: Item) -> None:
        try:
            finished.put(work(item))
        except BaseException as error:  # raised again by whoever draws the results
            finished.put(error)

    while True:
        for item in islice(waiting, concurrency - in_flight):
            # Daemons: an interrupted run must not wait for the slowest answer before it can end.
            threading.Thread(target=run, args=(item,), daemon=True).start()
            in_flight += 1
        if not in_flight:
            return
        outcome = finished.get()
        in_flight -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        yield outcome

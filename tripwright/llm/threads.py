"""Many requests at once, one thread each: what an endpoint's answers are waited for with."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from queue import SimpleQueue
from typing import TypeVar

from tripwright.llm.endpoint import Fault

MOST_FAULTS = 20  # in a row: then an endpoint counts as dead, and nobody waits for it any more

LIVING = ("rejected", "context_overflow", "rate_limit")  # faults that a dead endpoint does not have

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


class Breaker:
    """Shared by the threads of one play(): counts faults in a row."""

    def __init__(self) -> None:
        self.abandoned = False  # nobody consumes play() any more
        self._last_fault = ""
        self._in_a_row = 0
        self._lock = threading.Lock()

    @property
    def is_open(self) -> bool:
        return self._in_a_row >= MOST_FAULTS

    @property
    def why(self) -> str:
        """Of an episode that an open one ends."""
        return (
            f"not asked: {MOST_FAULTS} requests in a row had failed, the last because"
            f" {self._last_fault}"
        )

    def note(self, outcome: object) -> None:
        """A refused request says nothing about the next one, and who says "too many" is alive;
        every other fault may be the end."""
        with self._lock:
            if not isinstance(outcome, Fault):
                self._in_a_row = 0
            elif outcome.kind not in LIVING:
                self._in_a_row += 1
                self._last_fault = outcome.message

"""Where a turn is taken: in place, or by threads that wait for slow tools while the other rows
decode.

Whoever submitted a session leaves it alone until it comes back, so that only one thread at a time
ever touches it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import Empty, SimpleQueue
from typing import Generic, TypeVar

from tripwright.agent.session import Session, Turn

Row = TypeVar("Row")


class TurnThreads(Generic[Row]):
    """`threads` turns are taken at once; with 0, each is taken when it is submitted. What a tool
    raises is raised by `finished`."""

    def __init__(self, threads: int):
        self.in_flight = 0
        self._work = SimpleQueue[tuple[Row, Session, Turn] | None]()
        self._done = SimpleQueue[tuple[Row, list[int] | BaseException]]()
        self._closed = False
        # Daemons: an interrupted run must not wait for the slowest answer before it can end.
        self._threads = [
            threading.Thread(target=self._serve, name="tools", daemon=True) for _ in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, row: Row, session: Session, turn: Turn) -> None:
        self.in_flight += 1
        if self._threads:
            self._work.put((row, session, turn))
        else:
            self._take(row, session, turn)

    def finished(self, wait: bool = False) -> Iterator[tuple[Row, list[int]]]:
        """(row, ids up to its next turn) of the turns that were taken since, in that order; with
        `wait`, of one at least."""
        while self.in_flight:
            try:
                row, outcome = self._done.get(block=wait)
            except Empty:
                return
            self.in_flight -= 1
            if isinstance(outcome, BaseException):
                raise outcome
            wait = False
            yield row, outcome

    def close(self) -> None:
        """Nothing more is begun; what a thread waits for just now is left to it."""
        self._closed = True
        for _ in self._threads:
            self._work.put(None)

    def _serve(self) -> None:
        while (work := self._work.get()) is not None and not self._closed:
            self._take(*work)

    def _take(self, row: Row, session: Session, turn: Turn) -> None:
        try:
            self._done.put((row, session.take(turn)))
        except BaseException as error:  # raised again by `finished`
            self._done.put((row, error))

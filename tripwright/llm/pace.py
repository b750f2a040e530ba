"""How fast one endpoint is asked, by however many threads: so many requests a second, and none
while it has asked for a pause."""

from __future__ import annotations

import random
import threading
import time

SPREAD = 0.25  # of a pause: threads that waited for its end do not come back at the same moment


class Pace:
    """Threads share one. Without `requests_per_second` only pauses are waited for.

    Turns are evenly spaced and given in the order in which they are asked for; a retry takes a turn
    like any other request.
    """

    def __init__(self, requests_per_second: float | None = None):
        self._between_s = 1 / requests_per_second if requests_per_second else 0.0
        self._lock = threading.Lock()
        self._free_at = self._held_until = 0.0
        self._stopped = threading.Event()

    def wait(self) -> bool:
        """Waits for this thread's turn. False: nothing is to be sent any more."""
        wait_s = self._reserved_s()
        while wait_s > 0:
            if not self.sleep(wait_s):
                return False
            wait_s = self._held_s()
        return not self._stopped.is_set()

    def sleep(self, seconds: float) -> bool:
        """False where `stop` ended the sleep."""
        return not self._stopped.wait(seconds)

    def hold(self, seconds: float) -> None:
        """The endpoint asks for a pause: nobody's turn comes before it is over."""
        with self._lock:
            self._held_until = max(self._held_until, time.monotonic() + seconds)

    def stop(self) -> None:
        """Ends every wait, now and from now on: what is waiting is not sent."""
        self._stopped.set()

    def _reserved_s(self) -> float:
        with self._lock:
            now = time.monotonic()
            turn = max(self._free_at, now)
            if self._between_s:
                turn = max(turn, self._held_until)
                self._free_at = turn + self._between_s
        return max(turn - now, self._held_s())

    def _held_s(self) -> float:
        left_s = self._held_until - time.monotonic()
        return left_s * (1 + SPREAD * random.random()) if left_s > 0 else 0.0

"""How fast a vendor may be asked: one token bucket per vendor, which remembers when its next token
is due.

A caller reserves its turn and then waits for it. Turns are reserved for the next few seconds only:
those that a killed process had reserved are lost, and whoever comes after it must not wait for
hundreds of them.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Protocol

from tripwright.domains.deeptravel.sandbox.provider import Terms

LONGEST_QUEUE_S = 10.0  # how far ahead a turn may be reserved


class RateLimits(Protocol):
    """All seconds. A store has these for the processes that share it, `LocalLimits` for the threads
    of one process."""

    def reserve(self, vendor: str, requests_per_second: float, burst: int) -> float | None:
        """Takes the next free turn and says how long it is until then; None where more than
        LONGEST_QUEUE_S are taken: ask later."""
        ...

    def pause(self, vendor: str, seconds: float) -> None:
        """Nobody asks this vendor for so long."""
        ...

    def paused_s(self, vendor: str) -> float:
        """How much is left of a pause, 0 or less for nothing."""
        ...


class LocalLimits:
    """For live mode, which shares nothing with other processes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free_at: dict[str, float] = {}
        self._paused_until: dict[str, float] = {}

    def reserve(self, vendor: str, requests_per_second: float, burst: int) -> float | None:
        between_s = 1 / requests_per_second
        with self._lock:
            now = time.monotonic()
            if self._free_at.get(vendor, 0.0) > now + burst * between_s + LONGEST_QUEUE_S:
                return None
            # a pause uses up the burst
            resumed_at = self._paused_until.get(vendor, 0.0) + (burst - 1) * between_s
            free_at = max(self._free_at.get(vendor, 0.0), resumed_at, now) + between_s
            self._free_at[vendor] = free_at
        return max(0.0, free_at - now - burst * between_s)

    def pause(self, vendor: str, seconds: float) -> None:
        with self._lock:
            self._paused_until[vendor] = max(
                self._paused_until.get(vendor, 0.0), time.monotonic() + seconds
            )

    def paused_s(self, vendor: str) -> float:
        return self._paused_until.get(vendor, 0.0) - time.monotonic()


def wait_for_turn(
    limits: RateLimits, vendor: str, terms: Terms, sleep: Callable[[float], None]
) -> float:
    """Seconds waited until this vendor may be asked once. Whoever slept through the beginning of a
    pause reserves anew after it."""
    waited_s = 0.0

    def wait(seconds: float) -> None:
        nonlocal waited_s
        waited_s += seconds
        sleep(seconds)

    while True:
        turn_s = (
            limits.reserve(vendor, terms.requests_per_second, terms.burst)
            if terms.requests_per_second
            else 0.0
        )
        if turn_s is None:
            wait(LONGEST_QUEUE_S * random.uniform(0.3, 0.6))
            continue
        if turn_s > 0:
            wait(turn_s)
        if (pause_s := limits.paused_s(vendor)) <= 0:
            return waited_s
        wait(pause_s)

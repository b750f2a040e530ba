"""From a name to a position, by asking a provider of places. What was found is remembered: vendors
of open data ask for that."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from tripwright.domains.deeptravel.sandbox.limits import LocalLimits, RateLimits, wait_for_turn
from tripwright.domains.deeptravel.sandbox.provider import Provider, ProviderFault
from tripwright.domains.deeptravel.tools.answers import PointOfInterest
from tripwright.world.geography import Position

REMEMBERED = 10_000  # names, then the oldest is forgotten


class Positions:
    """Threads may share one. Faults of the provider of places pass through and are not remembered.

    A sandbox in front of a provider of routes cannot see what that provider asks a provider of
    places. So the turns are kept here: give the sandbox's `limits` (its store), and both draw on
    one budget.
    """

    def __init__(
        self,
        places: Provider,
        limits: RateLimits | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ):
        self.places = places
        self._limits = limits or LocalLimits()
        self._sleep = sleep
        self._found: dict[tuple[str, str], Position | None] = {}
        self._lock = threading.Lock()

    def of_city(self, city: str) -> Position | None:
        return self.of_place(city, "")

    def of_place(self, name: str, city: str) -> Position | None:
        """None: nobody knows such a place in this city. Raises ProviderFault."""
        key = (name.casefold(), city.casefold())
        with self._lock:
            if key in self._found:
                return self._found[key]
        # outside of the lock: a slow answer for one name must not hold up the others
        position = self._asked(name, city)
        with self._lock:
            if len(self._found) >= REMEMBERED:
                self._found.pop(next(iter(self._found)))
            self._found[key] = position
        return position

    def _asked(self, name: str, city: str) -> Position | None:
        wait_for_turn(self._limits, self.places.name, self.places.terms, self._sleep)
        try:
            answer = self.places.ask("poi_search", {"query": name, "city_name": city})
        except ProviderFault as fault:
            if fault.retry_after_s:
                self._limits.pause(self.places.name, fault.retry_after_s)
            raise
        return next(
            (place for record in answer.records if (place := _position(record)) is not None), None
        )


def _position(record: object) -> Position | None:
    if (
        isinstance(record, PointOfInterest)
        and record.latitude is not None
        and record.longitude is not None
    ):
        return Position(record.latitude, record.longitude)
    return None

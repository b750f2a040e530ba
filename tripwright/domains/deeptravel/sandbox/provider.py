"""What a vendor has to offer to stand behind a tool (a name, a version, terms, and one blocking
call), and how fast it may be asked.

A provider does one attempt and waits for nothing. Retries, rate limits, single flight and memory
belong to the sandbox, so that every vendor gets them alike. What a vendor cannot do today (a
timeout, a 503, a limit) is a `ProviderFault` and our side's fault; what does not exist or cannot be
asked so is an answer (`ProviderAnswer` with a note).

Each vendor has one token bucket, which remembers when its next token is due. A caller reserves its
turn and then waits for it. Turns are reserved for the next few seconds only: those that a killed
process had reserved are lost, and whoever comes after it must not wait for hundreds of them.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from tripwright.domains.deeptravel.tools.answers import Provenance, ProviderAnswer, Record
from tripwright.tools.http import FaultKind, ProviderFault

if TYPE_CHECKING:
    from tripwright.domains.deeptravel.sandbox.store import Store  # loads SQLAlchemy

__all__ = ["PASSING", "FaultKind", "Provider", "ProviderFault", "Terms"]

# worth another attempt
PASSING: frozenset[FaultKind] = frozenset(("timeout", "connection", "server_error", "rate_limit"))
LONGEST_QUEUE_S = 10.0  # how far ahead a turn may be reserved


@dataclass(frozen=True)
class Terms:
    """How a vendor wants to be treated. `requests_per_second` is one budget for everything that is
    asked of this vendor."""

    requests_per_second: float | None = None
    burst: int = 1
    may_store: bool = True
    attribution: str = ""


class Provider(Protocol):
    """`tools` are those of row D1 that it answers. Threads may share one."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def tools(self) -> frozenset[str]: ...
    @property
    def terms(self) -> Terms: ...

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """One attempt. `arguments` are complete and of the right types. Raises ProviderFault and
        nothing else."""
        ...


def answer_from(
    provider: Provider, records: tuple[Record, ...], note: str, *, refused: bool = False
) -> ProviderAnswer:
    """What a provider has just answered; `note` is for an answer without records."""
    at, terms = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), provider.terms
    source = Provenance(provider.name, provider.version, at, terms.attribution, terms.may_store)
    return ProviderAnswer(records, source, "" if records else note, refused)


class LocalLimits:
    """For live mode, which shares nothing with other processes; a store keeps the same for the
    processes that share it. All seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free_at: dict[str, float] = {}
        self._paused_until: dict[str, float] = {}

    def reserve(self, vendor: str, requests_per_second: float, burst: int) -> float | None:
        """Takes the next free turn and says how long it is until then; None where more than
        LONGEST_QUEUE_S are taken: ask later."""
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
        """Nobody asks this vendor for so long."""
        with self._lock:
            self._paused_until[vendor] = max(
                self._paused_until.get(vendor, 0.0), time.monotonic() + seconds
            )

    def paused_s(self, vendor: str) -> float:
        """How much is left of a pause, 0 or less for nothing."""
        return self._paused_until.get(vendor, 0.0) - time.monotonic()


def wait_for_turn(
    limits: LocalLimits | Store, vendor: str, terms: Terms, sleep: Callable[[float], None]
) -> float:
    """Seconds waited until this vendor may be asked once. Whoever slept through the beginning of a
    pause reserves anew after it."""
    waited_s = 0.0
    while True:
        turn_s: float | None = 0.0
        if terms.requests_per_second:
            turn_s = limits.reserve(vendor, terms.requests_per_second, terms.burst)
        is_queued = turn_s is not None
        wait_s = turn_s if turn_s is not None else LONGEST_QUEUE_S * random.uniform(0.3, 0.6)
        if wait_s > 0:
            waited_s += wait_s
            sleep(wait_s)
        if is_queued:
            if (pause_s := limits.paused_s(vendor)) <= 0:
                return waited_s
            waited_s += pause_s
            sleep(pause_s)

"""What a vendor has to offer to stand behind a tool (a name, a version, terms, and one blocking
call), and how fast it may be asked.

A provider does one attempt and waits for nothing. Retries, rate limits, single flight and memory
belong to the sandbox, so that every vendor gets them alike. What a vendor cannot do today (a
timeout, a 503, a limit) is a `ProviderFault` and our side's fault; what does not exist or cannot be
asked so is an answer (`ProviderAnswer` with a note).

Each vendor has one token bucket, which remembers when its next token is due. Nobody reserves a
token: who finds none sleeps until the next one is due and looks again, so that neither a killed
process nor a pause that begins meanwhile has to be reckoned with.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, NonNegativeFloat, PositiveInt

from tripwright.domains.deeptravel.tools.answers import Provenance, ProviderAnswer, Record
from tripwright.tools.http import FaultKind, ProviderFault

__all__ = ["PASSING", "FaultKind", "Provider", "ProviderFault", "Terms"]

# worth another attempt
PASSING: frozenset[FaultKind] = frozenset(("timeout", "connection", "server_error", "rate_limit"))


class Options(BaseModel):
    """A vendor's table in a services file."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Terms(Options):
    """How a vendor wants to be treated. `requests_per_second` is one budget for everything that is
    asked of this vendor; 0 stands for no limit."""

    requests_per_second: NonNegativeFloat = 0.0
    burst: PositiveInt = 1
    may_store: bool = True
    attribution: str = ""

    @property
    def between_s(self) -> float:
        return 1 / self.requests_per_second if self.requests_per_second else 0.0

    @property
    def burst_s(self) -> float:
        """How long before its time a token may be taken."""
        return (self.burst - 1) * self.between_s


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


class Limits:
    """The vendors' buckets. These are for live mode, which shares nothing with other processes; a
    store keeps the same for the processes that share it. All seconds."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free_at: dict[str, float] = {}

    def take(self, vendor: str, terms: Terms) -> float:
        """0 where a request may be made now, which takes a token; else how long to wait before
        asking again."""
        with self._lock:
            now, free_at = time.monotonic(), self._free_at.get(vendor, 0.0)
            if free_at - terms.burst_s > now:
                return free_at - terms.burst_s - now
            self._free_at[vendor] = max(free_at, now) + terms.between_s
            return 0.0

    def pause(self, vendor: str, terms: Terms, seconds: float) -> None:
        """Nobody asks this vendor for so long. A pause uses up the burst."""
        with self._lock:
            until = time.monotonic() + seconds + terms.burst_s
            self._free_at[vendor] = max(self._free_at.get(vendor, 0.0), until)

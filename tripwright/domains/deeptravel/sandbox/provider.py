"""What a vendor has to offer to stand behind a tool (a name, a version, terms, and one blocking
call), and how fast it may be asked.

A provider does one attempt and waits for nothing. Retries, rate limits, single flight and memory
belong to the sandbox, so that every vendor gets them alike. What a vendor cannot do today (a
timeout, a 503, a limit) is a `ProviderFault` and our side's fault; what does not exist or cannot be
asked so is an answer (`ProviderAnswer` with a note).

Of each vendor is remembered when it may be asked again. Nobody reserves a turn: who comes too early
sleeps until then and looks again, so that neither a killed process nor a pause that begins
meanwhile has to be reckoned with.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, NonNegativeFloat

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
    may_store: bool = True
    attribution: str = ""

    @property
    def between_s(self) -> float:
        return 1 / self.requests_per_second if self.requests_per_second else 0.0


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
    """When vendors may be asked again, in seconds. These are for live mode, which shares nothing
    with other processes; a store keeps the same for the processes that share it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free_at: dict[str, float] = {}

    def take(self, vendor: str, terms: Terms) -> float:
        """0 where a request may be made now, which takes this turn; else how long to wait before
        looking again."""
        with self._lock:
            now = time.monotonic()
            if (wait_s := self._free_at.get(vendor, 0.0) - now) > 0:
                return wait_s
            self._free_at[vendor] = now + terms.between_s
            return 0.0

    def pause(self, vendor: str, seconds: float) -> None:
        """Nobody asks this vendor for so long."""
        with self._lock:
            until = time.monotonic() + seconds
            self._free_at[vendor] = max(self._free_at.get(vendor, 0.0), until)

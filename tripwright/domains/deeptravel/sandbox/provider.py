"""What a vendor has to offer to stand behind a tool: a name, a version, terms, and one blocking
call.

A provider does one attempt and waits for nothing. Retries, rate limits, single flight and memory
belong to the sandbox, so that every vendor gets them alike. What a vendor cannot do today (a
timeout, a 503, a limit) is a `ProviderFault` and our side's fault; what does not exist or cannot be
asked so is an answer (`ProviderAnswer` with a note).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tripwright.domains.deeptravel.tools.answers import ProviderAnswer
from tripwright.tools.http import FaultKind, ProviderFault

__all__ = ["PASSING", "FaultKind", "Provider", "ProviderFault", "Terms"]

# worth another attempt
PASSING: frozenset[FaultKind] = frozenset(("timeout", "connection", "server_error", "rate_limit"))


@dataclass(frozen=True)
class Terms:
    """How a vendor wants to be treated. `requests_per_second` is one budget for everything that is
    asked of this vendor."""

    requests_per_second: float | None = None
    burst: int = 1
    may_store: bool = True
    attribution: str = ""
    terms_url: str = ""


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

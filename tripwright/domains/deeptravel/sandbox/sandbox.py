"""A cache between an agent and live travel services: it asks vendors as often as their terms allow,
remembers what they answered, and gives it again byte for byte (DeepTravel, section 3.2; row D2).

| mode | asks vendors | store |
|---|---|---|
| `live` | at every call | none |
| `record` | where the store has no answer yet | reads and writes |
| `replay` | never: what is not recorded is a `NoRecording`, and counted | reads |

In `record`, each key is asked once: threads of a process share a call under way, processes agree
through a lease in the store. An answer that stays in the store is what every caller gets, the one
who asked included. Refusals and empty answers are answers; faults are not.
"""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Literal, get_args

from tripwright.domains.deeptravel.sandbox.counts import SandboxCounts
from tripwright.domains.deeptravel.sandbox.keys import (
    DEFAULTS,
    SandboxQuestion,
    canonical_arguments,
    checked_day,
    complete_arguments,
)
from tripwright.domains.deeptravel.sandbox.leases import Leases
from tripwright.domains.deeptravel.sandbox.provider import (
    PASSING,
    LocalLimits,
    Provider,
    ProviderFault,
    RateLimits,
    wait_for_turn,
)
from tripwright.domains.deeptravel.sandbox.store import Store, StoredAnswer
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer
from tripwright.errors import UserError
from tripwright.tools.http import Redaction

Mode = Literal["live", "record", "replay"]
LONGEST_POLL_S = 0.25  # between two looks at what another process is asking


@dataclass(frozen=True)
class NoRecording:
    """Replay has no answer to this question. An answer all the same: the same question gets the
    same one every time."""

    question: SandboxQuestion

    @property
    def note(self) -> str:
        call, day = f"{self.question.tool} {self.question.arguments}", self.question.snapshot
        return f"{call} is not recorded in the snapshot of {day}."


@dataclass(frozen=True)
class SandboxAnswer:
    """`hit`: no call at a vendor was made for it."""

    answer: ProviderAnswer | NoRecording
    hit: bool
    key: str


@dataclass(frozen=True)
class Retries:
    """After a fault that may pass. Seconds; a wait doubles with each retry and varies by a quarter,
    so that callers who failed together do not come back together. What a vendor asks for is
    respected up to `longest_wait_s`."""

    most: int = 5
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0

    def wait_s(self, attempt: int) -> float:
        return min(
            self.first_wait_s * 2.0 ** min(attempt - 1, 20) * (0.75 + 0.5 * random.random()),
            self.longest_wait_s,
        )


class _Process:
    """What belongs to one process and must not cross a fork."""

    def __init__(self, store: Store | None, lease_s: float):
        self.pid, self.lock = os.getpid(), threading.Lock()
        self.flights: dict[str, Future[ProviderAnswer]] = {}
        self.leases = Leases(store, lease_s) if store else None


class Sandbox:
    """Threads may share one. `providers` says who answers which tool; `snapshot` is the day under
    which answers are remembered. In `record` the store keeps the vendors' budgets."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        store: Store | None = None,
        mode: Mode = "live",
        snapshot: str = "",
        *,
        retries: Retries | None = None,
        lease_s: float = 10.0,
        defaults: Mapping[str, Mapping[str, Any]] = DEFAULTS,
    ):
        if mode not in get_args(Mode):
            raise UserError(
                f"Sandbox mode '{mode}' is not known. Accepted: {', '.join(get_args(Mode))}."
            )
        if mode != "live" and store is None:
            raise UserError(
                f"A sandbox in mode {mode} needs a store, for instance runs/live.sqlite."
            )
        self.providers, self.store, self.mode = dict(providers), store, mode
        self.snapshot = checked_day(snapshot) if mode != "live" or snapshot else ""
        if mode == "replay" and store is not None:
            _check_recorded(store, self.snapshot)
        self.counts = SandboxCounts()
        self._retries, self._lease_s, self._defaults = retries or Retries(), lease_s, defaults
        self._limits: RateLimits = (
            store if mode == "record" and store is not None else LocalLimits()
        )
        self._redacted = Redaction()
        self._process = _Process(store, lease_s)

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(self.providers)

    def question(self, tool: str, arguments: Mapping[str, Any]) -> SandboxQuestion:
        """Raises KeyError for a tool without a provider. A key of ours in an argument goes to no
        vendor and into no store."""
        provider = self.providers[tool]
        canonical = canonical_arguments(self._redacted.within(arguments), self._defaults.get(tool))
        return SandboxQuestion(tool, provider.name, provider.version, canonical, self.snapshot)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> SandboxAnswer:
        """Answers one call whose arguments were checked. Raises ProviderFault where our side could
        not answer."""
        question = self.question(tool, arguments)
        self.counts.add(tool, question.provider, "asked")
        try:
            answer, how = self._answer(question)
        except ProviderFault:
            self.counts.add(tool, question.provider, "unanswered")
            raise
        self.counts.add(tool, question.provider, how)
        return SandboxAnswer(answer, how in ("hits", "shared"), question.key)

    def _answer(self, question: SandboxQuestion) -> tuple[ProviderAnswer | NoRecording, str]:
        """The answer, and the figure that counts how it was got."""
        if self.mode == "live" or self.store is None:
            return self._call(question), "answered_live"
        if (body := self.store.find(question.key)) is not None:
            return self._read(body), "hits"
        if self.mode == "replay":
            return NoRecording(question), "missed"
        if not self.providers[question.tool].terms.may_store:
            self.counts.add(question.tool, question.provider, "not_stored")
            return self._call(question), "answered_live"
        return self._shared(question)

    def _shared(self, question: SandboxQuestion) -> tuple[ProviderAnswer, str]:
        """One thread of this process asks, the others wait for what it gets, its fault included."""
        if self._process.pid != os.getpid():
            self._process = _Process(self.store, self._lease_s)
        process = self._process
        with process.lock:
            flight = process.flights.get(question.key)
            leads = flight is None
            if flight is None:
                flight = process.flights[question.key] = Future()
        if not leads:
            try:
                return flight.result(), "shared"
            except ProviderFault as fault:
                raise ProviderFault(fault.kind, str(fault), fault.retry_after_s) from None
        try:
            answer, how = self._record(question, process)
            flight.set_result(answer)
            return answer, how
        except BaseException as error:
            flight.set_exception(error)
            raise
        finally:
            with process.lock:
                del process.flights[question.key]

    def _record(self, question: SandboxQuestion, process: _Process) -> tuple[ProviderAnswer, str]:
        store, leases, poll_s = self.store, process.leases, 0.01
        assert store is not None and leases is not None
        while not leases.claim(question.key):  # another process is asking
            time.sleep(poll_s)
            poll_s = min(poll_s * 1.5, LONGEST_POLL_S)
            if (body := store.find(question.key)) is not None:
                return self._read(body), "shared"
        try:
            # answered between our look and our lease
            if (body := store.find(question.key)) is not None:
                return self._read(body), "shared"
            answer = self._call(question)
            if not answer.source.may_store:
                self.counts.add(question.tool, question.provider, "not_stored")
                return answer, "answered_live"
            kept = store.keep(StoredAnswer(question, answer.to_json().encode()))
            return self._read(kept), "answered_live"
        finally:
            leases.release(question.key)

    def _read(self, body: bytes) -> ProviderAnswer:
        """Of a store that somebody else may have filled."""
        try:
            return ProviderAnswer.from_json(body)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            name = self.store.name if self.store else ""
            raise UserError(f"The store {name} is damaged: an answer in it is none.") from None

    def _call(self, question: SandboxQuestion) -> ProviderAnswer:
        """The vendor's answer, after as many attempts as it is worth. Raises ProviderFault."""
        tool, provider, attempt = question.tool, self.providers[question.tool], 0
        arguments = complete_arguments(question.arguments, self._defaults.get(tool))
        while True:
            attempt += 1
            self.counts.waited(
                tool,
                provider.name,
                wait_for_turn(self._limits, provider.name, provider.terms, time.sleep),
            )
            self.counts.add(tool, provider.name, "live_calls")
            try:
                return self._clean(question, provider.ask(tool, arguments))
            except ProviderFault as fault:
                self.counts.fault(tool, provider.name, fault.kind)
                asked_for_s = min(fault.retry_after_s or 0.0, self._retries.longest_wait_s)
                if fault.kind == "rate_limit" and asked_for_s:
                    # everybody waits, not only who was told to
                    self._limits.pause(provider.name, asked_for_s)
                if fault.kind not in PASSING or attempt > self._retries.most:
                    message = f"{fault} ({attempt} attempts)" if attempt > 1 else str(fault)
                    raise ProviderFault(
                        fault.kind, self._redacted(message), fault.retry_after_s
                    ) from None
                self.counts.add(tool, provider.name, "retries")
                time.sleep(
                    max(
                        self._retries.wait_s(attempt),
                        0.0 if fault.kind == "rate_limit" else asked_for_s,
                    )
                )

    def _clean(self, question: SandboxQuestion, answer: ProviderAnswer) -> ProviderAnswer:
        """As it will be read back: without secrets, and without what UTF-8 cannot hold (half a
        character, which JSON can)."""
        text = answer.to_json()
        if self._redacted(text) != text:
            self.counts.add(question.tool, question.provider, "redacted")
            text = json.dumps(self._redacted.within(json.loads(text)), ensure_ascii=False)
        return ProviderAnswer.from_json(text.encode("utf-8", "replace"))


def _check_recorded(store: Store, snapshot: str) -> None:
    """A replay of a day that nobody recorded is a mistake, not a run full of misses."""
    days = sorted({count.snapshot for count in store.counts()})
    if snapshot not in days:
        has = f"it has {', '.join(days[-5:])}" if days else "it is empty"
        raise UserError(
            f"The store {store.name} has no snapshot of {snapshot}: {has}. Record it first, or"
            " import it."
        )

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
import secrets
import socket
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from tripwright.domains.deeptravel.sandbox.keys import (
    DEFAULTS,
    SandboxQuestion,
    StoredAnswer,
    canonical_arguments,
    checked_day,
    complete_arguments,
)
from tripwright.domains.deeptravel.sandbox.provider import (
    PASSING,
    LocalLimits,
    Provider,
    ProviderFault,
    wait_for_turn,
)
from tripwright.domains.deeptravel.tools.answers import ProviderAnswer
from tripwright.errors import UserError
from tripwright.tools.http import Redaction

if TYPE_CHECKING:
    from tripwright.domains.deeptravel.sandbox.store import Store  # loads SQLAlchemy

Mode = Literal["live", "record", "replay"]
LONGEST_POLL_S = 0.25  # between two looks at what another process is asking
FIGURES = (
    "asked",  # = hits + shared + missed + answered_live + unanswered
    "hits",  # the store knew the answer
    "shared",  # a call that another thread or process had under way answered it
    "missed",  # replay: not recorded
    "answered_live",
    "unanswered",  # a fault stayed after all retries
    "not_stored",  # answered live in record mode, but the terms forbid keeping it
    "live_calls",  # attempts at the vendor, those that failed too
    "retries",
    "waits",  # for a vendor's limit
    "redacted",  # answers in which a secret stood
)
FAULT = "fault "  # before its kind, among the counts


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


class SandboxCounts:
    """What a sandbox did, per tool and vendor and in all. Threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def add(self, tool: str, vendor: str, *figures: str) -> None:
        with self._lock:
            self._counts[tool, vendor].update(figures)

    def fault(self, tool: str, vendor: str, kind: str) -> None:
        self.add(tool, vendor, f"{FAULT}{kind}")

    def waited(self, tool: str, vendor: str, seconds: float) -> None:
        if seconds > 0:
            with self._lock:
                self._counts[tool, vendor].update(waits=1, wait_ms=round(seconds * 1000))

    def as_dict(self) -> dict[str, Any]:
        """{"total": figures, "tools": {tool: {vendor: figures}}}; figures are those above,
        `wait_s`, and `faults` by kind."""
        with self._lock:
            tools: dict[str, dict[str, Any]] = {}
            for (tool, vendor), counts in sorted(self._counts.items()):
                tools.setdefault(tool, {})[vendor] = _figures(counts)
            return {"total": _figures(sum(self._counts.values(), Counter())), "tools": tools}


def _figures(counts: Counter[str]) -> dict[str, Any]:
    faults = {name.removeprefix(FAULT): n for name, n in counts.items() if name.startswith(FAULT)}
    return {
        **{name: counts[name] for name in FIGURES},
        "wait_s": counts["wait_ms"] / 1000,
        "faults": dict(sorted(faults.items())),
    }


class Leases:
    """Locks between threads and processes that share a store, so that only one of them asks a
    vendor for a missing answer; these are those of one process. While it lives they are renewed in
    the background, however long a vendor takes; when it is killed they run out after `seconds`."""

    def __init__(self, store: Store, seconds: float):
        self._store, self._seconds = store, seconds
        self.owner = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._idle = threading.Event()
        self._keeper: threading.Thread | None = None

    def claim(self, key: str) -> bool:
        if not self._store.claim(key, self.owner, self._seconds):
            return False
        with self._lock:
            self._held.add(key)
            self._idle.clear()
            if self._keeper is None:
                self._keeper = threading.Thread(
                    target=self._renew, name="tripwright leases", daemon=True
                )
                self._keeper.start()
        return True

    def release(self, key: str) -> None:
        with self._lock:
            self._held.discard(key)
            if not self._held:
                self._idle.set()
        self._store.release(key, self.owner)

    def _renew(self) -> None:
        """Ends when nothing is held any more: the next claim starts it again."""
        while True:
            if self._idle.wait(self._seconds / 3):
                with self._lock:
                    if not self._held:
                        self._keeper = None
                        return
                continue  # released and claimed again: a lease that is new needs nothing yet
            try:
                self._store.renew(self.owner, self._seconds)
            except (ProviderFault, UserError):
                continue  # whoever asks next meets the same fault and reports it


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
            check_recorded(store, self.snapshot)
        self.counts = SandboxCounts()
        self._retries, self._lease_s = retries or Retries(), lease_s
        self._limits = store if mode == "record" and store is not None else LocalLimits()
        self._redacted = Redaction()
        self._process = _Process(store, lease_s)

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(self.providers)

    def question(self, tool: str, arguments: Mapping[str, Any]) -> SandboxQuestion:
        """Raises KeyError for a tool without a provider. A key of ours in an argument goes to no
        vendor and into no store."""
        provider = self.providers[tool]
        canonical = canonical_arguments(self._redacted.within(arguments), DEFAULTS.get(tool))
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
        arguments = complete_arguments(question.arguments, DEFAULTS.get(tool))
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


def check_recorded(store: Store, snapshot: str) -> None:
    """A replay of a day that nobody recorded is a mistake, not a run full of misses. Raises
    UserError."""
    days = sorted({count.snapshot for count in store.counts()})
    if snapshot not in days:
        has = f"it has {', '.join(days)}" if days else "it is empty"
        raise UserError(f"The store {store.name} has no snapshot of {snapshot}: {has}.")

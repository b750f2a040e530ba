"""A cache between an agent and live travel services: it asks vendors as often as their terms allow,
remembers what they answered, and gives it again byte for byte (DeepTravel, section 3.2; row D2).

| with | asks vendors | store |
|---|---|---|
| no store | at every call | none |
| a store | where the store has no answer yet | reads and writes |
| a store, `replay` | never: what is not recorded has no answer, and is counted | reads |

A day that is handed on is a store with nothing else in it. Equal days have equal hashes, whichever
store they are in.

With a store, each key is asked once: threads of a process share a call under way, processes agree
through a lock of the store. An answer that stays in the store is what every caller gets, the one
who asked included. Refusals and empty answers are answers; faults are not.
"""

from __future__ import annotations

import hashlib
import json
import os
import threading
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from tripwright.domains.deeptravel.sandbox.provider import PASSING, Provider, Terms
from tripwright.domains.deeptravel.tools.answers import RECORDS, ProviderAnswer, is_day
from tripwright.errors import UserError, printable
from tripwright.llm.endpoint import Budgets, backoff_s, map_unordered
from tripwright.llm.http import ProviderFault, Redaction

if TYPE_CHECKING:
    from tripwright.domains.deeptravel.sandbox.store import Store  # which imports this module

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


# ---- keys: tool, provider, its version, canonical arguments, day

# Arguments of row D1 that a call may leave out. Left out or said, it is the same question.
DEFAULTS: Mapping[str, Mapping[str, Any]] = {
    "flight_search": {"depart_poi": "", "arrival_poi": ""},
    "train_search": {"is_transfer": 0},
    "hotel_search": {"hotel_name": ""},
}


@dataclass(frozen=True)
class SandboxQuestion:
    """One call as a store knows it. `arguments` is canonical JSON in ASCII, so that every store
    takes whatever a model wrote."""

    tool: str
    provider: str
    version: str
    arguments: str
    snapshot: str  # "2026-06-20", or "" for a call that nobody remembers

    @property
    def key(self) -> str:
        """Equal in every process and on every machine."""
        parts = [self.tool, self.provider, self.version, self.arguments, self.snapshot]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


@dataclass(frozen=True)
class StoredAnswer:
    """One remembered answer: what was asked, and `ProviderAnswer.to_json()` as bytes."""

    question: SandboxQuestion
    body: bytes

    def row(self) -> dict[str, Any]:
        return {"key": self.question.key, **vars(self.question), "body": self.body}


def canonical_arguments(tool: str, arguments: Mapping[str, Any]) -> str:
    """Texts trimmed and in Unicode's NFC, whole numbers without a point, names sorted, unknown
    values (None) and defaults left out."""
    defaults = DEFAULTS.get(tool, {})
    canonical = {name: _canonical(value) for name, value in arguments.items()}
    values = {
        name: value
        for name, value in canonical.items()
        # to Python False is 0
        if value is not None and repr(value) != repr(defaults.get(name))
    }
    return json.dumps(values, sort_keys=True, separators=(",", ":"))


def complete_arguments(tool: str, canonical: str) -> dict[str, Any]:
    """What a provider is asked: it depends on the key alone, not on how the first caller happened
    to write it."""
    return {**DEFAULTS.get(tool, {}), **json.loads(canonical)}


def checked_day(text: str) -> str:
    """A day of the calendar as "2026-06-20". Raises UserError."""
    if is_day(text):
        return text
    raise UserError(
        f"A snapshot is named by its day: found '{printable(text)}', expected one like 2026-06-20."
    )


def _canonical(value: Any) -> Any:
    if isinstance(value, str):
        return unicodedata.normalize("NFC", value).strip()
    return int(value) if isinstance(value, float) and value.is_integer() else value


# ---- answers and counts


class NotRecorded(LookupError):
    """A replay has no answer to this question, every time that it is asked."""


@dataclass(frozen=True)
class Retries:
    """After a fault that may pass, in seconds (`backoff_s`). What a vendor asks for is respected up
    to `longest_wait_s`."""

    most: int = 5
    first_wait_s: float = 0.5
    longest_wait_s: float = 60.0


class SandboxCounts:
    """What a sandbox did, per tool and vendor and in all. Threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)

    def add(self, question: SandboxQuestion, *figures: str, waited_s: float = 0.0) -> None:
        with self._lock:
            counts = self._counts[question.tool, question.provider]
            counts.update(figures)
            if waited_s:
                counts.update(waits=1, wait_ms=round(waited_s * 1000))

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


# calls under way: (process, store, key) → what will be answered. A fork has another process number.
_flights: dict[tuple[int, str, str], Future[ProviderAnswer]] = {}


class Sandbox:
    """Threads may share one. `providers` says who answers which tool; `snapshot` is the day under
    which answers are remembered. A store keeps the vendors' budgets, too."""

    def __init__(
        self,
        providers: Mapping[str, Provider],
        store: Store | None = None,
        snapshot: str = "",
        *,
        replay: bool = False,
        retries: Retries | None = None,
    ):
        self.providers, self.store, self.replay = dict(providers), store, replay
        self.snapshot = checked_day(snapshot) if store is not None else ""
        if store is not None and replay:
            check_recorded(store, self.snapshot)
        self.counts, self._retries = SandboxCounts(), retries or Retries()
        self._limits = store or Budgets()
        self._turns: dict[tuple[int, str], threading.Lock] = {}  # of a process and a vendor
        self._redacted = Redaction()

    @property
    def tools(self) -> frozenset[str]:
        return frozenset(self.providers)

    def question(self, tool: str, arguments: Mapping[str, Any]) -> SandboxQuestion:
        """Raises KeyError for a tool without a provider. A key of ours in an argument goes to no
        vendor and into no store."""
        provider = self.providers[tool]
        canonical = canonical_arguments(tool, self._redacted.within(arguments))
        return SandboxQuestion(tool, provider.name, provider.version, canonical, self.snapshot)

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        """Answers one call whose arguments were checked. Raises ProviderFault where our side could
        not answer, NotRecorded in a replay."""
        question = self.question(tool, arguments)
        self.counts.add(question, "asked")
        try:
            answer, how = self._answer(question)
        except ProviderFault:
            self.counts.add(question, "unanswered")
            raise
        self.counts.add(question, how)
        return answer

    def _answer(self, question: SandboxQuestion) -> tuple[ProviderAnswer, str]:
        """The answer, and the figure that counts how it was got."""
        store = self.store
        if store is None:
            return self._call(question), "answered_live"
        if (body := store.find(question.key)) is not None:
            return read_body(body, store.name), "hits"
        if self.replay:
            self.counts.add(question, "missed")
            raise NotRecorded(
                f"this search is not recorded in the snapshot of {question.snapshot}."
            )
        if not self.providers[question.tool].terms.may_store:
            self.counts.add(question, "not_stored")
            return self._call(question), "answered_live"
        return self._shared(question, store)

    def _shared(self, question: SandboxQuestion, store: Store) -> tuple[ProviderAnswer, str]:
        """One thread of this process asks, the others wait for what it gets, its fault included."""
        place, mine = (os.getpid(), store.place, question.key), Future[ProviderAnswer]()
        flight = _flights.setdefault(place, mine)
        if flight is not mine:
            try:
                return flight.result(), "shared"
            except ProviderFault as fault:
                raise ProviderFault(fault.kind, str(fault), fault.retry_after_s) from None
        try:
            answer, how = self._record(question, store)
            mine.set_result(answer)
            return answer, how
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            del _flights[place]

    def _record(self, question: SandboxQuestion, store: Store) -> tuple[ProviderAnswer, str]:
        with store.locked(question.key):
            if (body := store.find(question.key)) is not None:  # answered by another process
                return read_body(body, store.name), "shared"
            answer = self._call(question)
            if not answer.source.may_store:
                self.counts.add(question, "not_stored")
                return answer, "answered_live"
            kept = store.keep(StoredAnswer(question, answer.to_json().encode()))
            return read_body(kept, store.name), "answered_live"

    def _call(self, question: SandboxQuestion) -> ProviderAnswer:
        """The vendor's answer, after as many attempts as it is worth. Raises ProviderFault."""
        provider, attempt, retries = self.providers[question.tool], 0, self._retries
        arguments = complete_arguments(question.tool, question.arguments)
        while True:
            attempt += 1
            # one thread after the other: of several that wait, one could lose every time
            turn = self._turns.setdefault((os.getpid(), provider.name), threading.Lock())
            began, has_waited = time.monotonic(), turn.locked()
            with turn:
                while wait_s := self._limits.take(provider.name, provider.terms.between_s):
                    has_waited = True
                    time.sleep(wait_s)
            waited_s = time.monotonic() - began if has_waited else 0.0
            self.counts.add(question, "live_calls", waited_s=waited_s)
            try:
                return self._clean(question, provider.ask(question.tool, arguments))
            except ProviderFault as fault:
                self.counts.add(question, f"{FAULT}{fault.kind}")
                pause_s = min(fault.retry_after_s or 0.0, retries.longest_wait_s)
                if fault.kind == "rate_limit" and pause_s:
                    # everybody waits, not only who was told to
                    self._limits.pause(provider.name, pause_s)
                    pause_s = 0.0
                if fault.kind not in PASSING or attempt > retries.most:
                    message = f"{fault} ({attempt} attempts)" if attempt > 1 else str(fault)
                    raise ProviderFault(
                        fault.kind, self._redacted(message), fault.retry_after_s
                    ) from None
                self.counts.add(question, "retries")
                wait_s = backoff_s(retries.first_wait_s, attempt, retries.longest_wait_s)
                time.sleep(max(wait_s, pause_s))

    def _clean(self, question: SandboxQuestion, answer: ProviderAnswer) -> ProviderAnswer:
        """As it will be read back: without secrets, and without what UTF-8 cannot hold (half a
        character, which JSON can)."""
        text = answer.to_json()
        if self._redacted(text) != text:
            self.counts.add(question, "redacted")
            text = json.dumps(self._redacted.within(json.loads(text)), ensure_ascii=False)
        return ProviderAnswer.from_json(text.encode("utf-8", "replace"))


def read_body(body: bytes, store: str) -> ProviderAnswer:
    """Of a store that somebody else may have filled. Raises UserError."""
    try:
        return ProviderAnswer.from_json(body)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
        raise UserError(f"The store {store} is damaged: an answer in it cannot be read.") from None


def check_recorded(store: Store, snapshot: str) -> None:
    """A replay of a day that nobody recorded is a mistake, not a run full of misses. Raises
    UserError."""
    if snapshot not in (days := store.days()):
        has = f"it has {', '.join(days)}" if days else "it is empty"
        raise UserError(f"The store {store.name} has no snapshot of {snapshot}: {has}.")


# ---- a day: its contents, a copy of it, a replay, and a new day's answers to its questions

# what row D2 refreshes daily; places and ways stay
DAILY = ("flight_search", "train_search", "hotel_search")
CARRIED_AT_ONCE = 500


@dataclass(frozen=True)
class Snapshot:
    """What is in one day. `tools` are answers by tool and vendor; `content_hash` is over every
    question and answer."""

    snapshot: str
    answers: int
    tools: dict[str, dict[str, int]]
    content_hash: str


def describe(store: Store, day: str) -> Snapshot:
    """Reads the whole day. Raises UserError where the store has none of it."""
    check_recorded(store, checked_day(day))
    content, counts = hashlib.sha256(), Counter[tuple[str, str]]()
    for answer in store.recorded(day):
        # a store that somebody else has filled may hold anything
        body = answer.body.decode("utf-8", "replace")
        entry = {"key": answer.question.key, **vars(answer.question), "answer": body}
        del entry["snapshot"]
        content.update((json.dumps(entry, ensure_ascii=False) + "\n").encode())
        counts[answer.question.tool, answer.question.provider] += 1
    tools: dict[str, dict[str, int]] = {}
    for (tool, provider), answers in sorted(counts.items()):
        tools.setdefault(tool, {})[provider] = answers
    return Snapshot(day, counts.total(), tools, content.hexdigest())


def copy_day(source: Store, day: str, target: Store) -> Snapshot:
    """All of a day's answers: all of them or none, and none that contradicts what the target has
    or that may not be kept. Raises UserError."""
    snapshot, differing = describe(source, day), 0
    for answer in source.recorded(day):
        if not read_body(answer.body, source.name).source.may_store:
            raise UserError(f"The store {source.name} holds an answer that may not be kept.")
        differing += target.find(answer.question.key) not in (None, answer.body)
    if differing:
        raise UserError(
            f"{source.name} contradicts the store {target.name}: {differing:,} answers of {day}"
            " differ. Name another store."
        )
    target.keep_all(source.recorded(day))
    return snapshot


@dataclass(frozen=True)
class RecordedProvider:
    """Stands for a vendor in replay, where none is asked: no key and no client are needed to train
    on what was recorded."""

    name: str
    version: str
    tools: frozenset[str]
    terms: Terms = Terms()

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> ProviderAnswer:
        raise ProviderFault("unauthorized", f"{self.name} is only replayed here.")


def recorded_providers(
    store: Store, day: str, tools: Iterable[str] = RECORDS
) -> dict[str, Provider]:
    """Who answers which tool in a snapshot. Raises UserError where several did.

    One of `tools` that nobody was asked for stands there too, with nothing recorded: an agent
    is to see the tools that it saw then.
    """
    providers: dict[str, Provider] = {}
    for tool, name, version in store.vendors(checked_day(day)):
        if (other := providers.get(tool)) is not None:
            raise UserError(
                f"The snapshot of {day} has {tool} answered by '{other.name} {other.version}',"
                f" '{name} {version}': one day's answers are of one provider. Record the day anew"
                " under another."
            )
        providers[tool] = RecordedProvider(name, version, frozenset((tool,)))
    for tool in tools:
        providers.setdefault(tool, RecordedProvider("nobody", "", frozenset((tool,))))
    return providers


@dataclass
class RefreshCounts:
    """`known` were in the new day already; `unanswered` are questions by tool whose vendor failed;
    `problems` say how, once a tool."""

    questions: int
    carried: int = 0
    known: int = 0
    answered: int = 0
    unanswered: Counter[str] = field(default_factory=Counter)
    problems: dict[str, str] = field(default_factory=dict)

    @property
    def done(self) -> int:
        return self.known + self.answered + self.unanswered.total()

    def add(self, tool: str, found: bool | ProviderFault) -> None:
        """One question more: whether its answer was known, or why there is none."""
        if isinstance(found, ProviderFault):
            self.unanswered[tool] += 1
            self.problems.setdefault(tool, str(found))
        else:
            self.known += found
            self.answered += not found


def refresh(
    sandbox: Sandbox,
    from_day: str,
    tools: Sequence[str] = DAILY,
    threads: int = 8,
    report: Callable[[RefreshCounts], object] = lambda counts: None,
) -> RefreshCounts:
    """Asks every question of `from_day` to one of `tools` again, under the day of `sandbox`, which
    records. The answers of all other tools are carried over as they are, so that the new day is
    whole.

    What the new day has is not asked again: a refresh that was stopped goes on where it was. Raises
    UserError.
    """
    store, to_day = sandbox.store, sandbox.snapshot
    if store is None or checked_day(from_day) == to_day:
        raise UserError(
            f"A refresh records another day than it reads: found {from_day} and {to_day or 'none'}."
        )
    check_recorded(store, from_day)
    asked = {  # each once, whoever answered it
        (answer.question.tool, answer.question.arguments)
        for answer in store.recorded(from_day)
        if answer.question.tool in tools
    }
    if absent := sorted({tool for tool, _ in asked} - sandbox.tools):
        raise UserError(
            f"No provider answers {absent[0]}, which the snapshot of {from_day} has. Name one, or"
            " refresh other tools."
        )
    counts = RefreshCounts(len(asked))
    copies = (
        StoredAnswer(replace(answer.question, snapshot=to_day), answer.body)
        for answer in store.recorded(from_day)
        if answer.question.tool not in tools
    )
    while chunk := list(islice(copies, CARRIED_AT_ONCE)):
        store.keep_all(chunk)
        counts.carried += len(chunk)
    refusing: dict[str, ProviderFault] = {}  # such a vendor is not asked a thousand times

    def ask(question: tuple[str, str]) -> tuple[str, bool | ProviderFault]:
        tool, arguments = question
        if tool in refusing:
            return tool, refusing[tool]
        try:
            call = complete_arguments(tool, arguments)
            is_known = store.find(sandbox.question(tool, call).key) is not None
            sandbox.ask(tool, call)
            return tool, is_known
        except ProviderFault as fault:
            if fault.kind == "unauthorized":
                refusing[tool] = fault
            return tool, fault

    for tool, found in map_unordered(ask, sorted(asked), threads):
        counts.add(tool, found)
        report(counts)
    return counts

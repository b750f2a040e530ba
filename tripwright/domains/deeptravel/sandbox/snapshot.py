"""The answers of live services on one day: their contents and hash, a copy of them in another
store, providers that answer from them, and a new day's answers to the same questions (DeepTravel,
section 3.2, where the sandbox is refreshed daily; row D2).

A day that is handed on is a store with nothing else in it. Equal days have equal hashes, whichever
store they are in.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from tripwright.domains.deeptravel.sandbox.provider import Provider, ProviderFault, Terms
from tripwright.domains.deeptravel.sandbox.sandbox import (
    Sandbox,
    StoredAnswer,
    check_recorded,
    checked_day,
    complete_arguments,
    read_body,
)
from tripwright.domains.deeptravel.tools.answers import RECORDS, ProviderAnswer
from tripwright.errors import UserError

if TYPE_CHECKING:
    from tripwright.domains.deeptravel.sandbox.store import Store  # loads SQLAlchemy

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
            " differ. Drop that day first, or name another store."
        )
    target.keep_all(source.recorded(day))
    return snapshot


def only_day(store: Store) -> str:
    """Raises UserError where a store has none or several."""
    days = {count.snapshot for count in store.counts()}
    if len(days) != 1:
        raise UserError(
            f"{store.name} has {len(days)} days: expected the one of a file that 'tripwright"
            " sandbox export' wrote."
        )
    return checked_day(days.pop())


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
    for count in store.counts():
        if count.snapshot != checked_day(day):
            continue
        if (other := providers.get(count.tool)) is not None:
            raise UserError(
                f"The snapshot of {day} has {count.tool} answered by '{other.name}"
                f" {other.version}', '{count.provider} {count.version}': one day's answers are of"
                " one provider. Record the day anew under another."
            )
        offered = frozenset((count.tool,))
        providers[count.tool] = RecordedProvider(count.provider, count.version, offered)
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
    if store is None or sandbox.mode != "record" or checked_day(from_day) == to_day:
        raise UserError(
            f"A refresh records another day than it reads: found {from_day} and {to_day or 'none'},"
            f" mode {sandbox.mode}."
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
    _ask_all(sandbox, sorted(asked), threads, counts, report)
    return counts


def _ask_all(
    sandbox: Sandbox,
    questions: list[tuple[str, str]],
    threads: int,
    counts: RefreshCounts,
    report: Callable[[RefreshCounts], object],
) -> None:
    refusing: dict[str, ProviderFault] = {}

    def ask(question: tuple[str, str]) -> bool | ProviderFault:
        """Whether the answer was known; a vendor that refuses us is not asked a thousand times."""
        tool, arguments = question
        try:
            return refusing.get(tool) or sandbox.ask(tool, complete_arguments(tool, arguments)).hit
        except ProviderFault as fault:
            if fault.kind == "unauthorized":
                refusing[tool] = fault
            return fault

    with ThreadPoolExecutor(threads) as pool:
        try:
            for (tool, _), found in zip(questions, pool.map(ask, questions), strict=True):
                if isinstance(found, ProviderFault):
                    counts.unanswered[tool] += 1
                    counts.problems.setdefault(tool, str(found))
                elif found:
                    counts.known += 1
                else:
                    counts.answered += 1
                report(counts)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

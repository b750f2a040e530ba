"""Makes a new day's snapshot of live answers from an old one, by asking the same questions again
(DeepTravel, section 3.2: the sandbox is refreshed daily; row D2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace

from tripwright.domains.deeptravel.sandbox.keys import checked_day, complete_arguments
from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.sandbox.sandbox import Sandbox, SandboxAnswer
from tripwright.domains.deeptravel.sandbox.store import Store, StoredAnswer
from tripwright.errors import UserError

# what row D2 refreshes daily; places and ways stay
DAILY = ("flight_search", "train_search", "hotel_search")


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
    report: Callable[[RefreshCounts], None] | None = None,
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
    questions, carried = _divide(store, from_day, tools)
    if not questions and not carried:
        raise UserError(f"The store {store.name} has no snapshot of {from_day}.")
    if absent := sorted({tool for tool, _ in questions} - sandbox.tools):
        raise UserError(
            f"No provider answers {absent[0]}, which the snapshot of {from_day} has. Name one, or"
            " refresh other tools."
        )
    counts = RefreshCounts(len(questions), carried)
    store.keep_all(
        StoredAnswer(replace(answer.question, snapshot=to_day), answer.body)
        for answer in store.recorded(from_day)
        if answer.question.tool not in tools
    )
    _ask_all(sandbox, questions, threads, counts, report or (lambda _: None))
    return counts


def _divide(store: Store, from_day: str, tools: Sequence[str]) -> tuple[list[tuple[str, str]], int]:
    """(the questions to ask, each once whoever answered it; how many answers are carried over)."""
    questions: dict[tuple[str, str], None] = {}
    carried = 0
    for answer in store.recorded(from_day):
        if answer.question.tool in tools:
            questions[answer.question.tool, answer.question.arguments] = None
        else:
            carried += 1
    return sorted(questions), carried


def _ask_all(
    sandbox: Sandbox,
    questions: list[tuple[str, str]],
    threads: int,
    counts: RefreshCounts,
    report: Callable[[RefreshCounts], None],
) -> None:
    # a vendor that does not know our key is not asked a thousand times more
    hopeless: set[str] = set()
    waiting: dict[Future[SandboxAnswer], str] = {}
    with ThreadPoolExecutor(threads) as pool:
        try:
            for tool, arguments in questions:
                if tool in hopeless:
                    counts.unanswered[tool] += 1
                    continue
                waiting[pool.submit(sandbox.ask, tool, complete_arguments(arguments))] = tool
                while len(waiting) >= 2 * threads:
                    hopeless |= _collect(waiting, counts)
                    report(counts)
            while waiting:
                _collect(waiting, counts)
                report(counts)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _collect(waiting: dict[Future[SandboxAnswer], str], counts: RefreshCounts) -> set[str]:
    """Counts what came back; returns the tools whose vendor refuses us."""
    refusing = set()
    for future in wait(waiting, return_when=FIRST_COMPLETED).done:
        tool = waiting.pop(future)
        try:
            if future.result().hit:
                counts.known += 1
            else:
                counts.answered += 1
        except ProviderFault as fault:
            counts.unanswered[tool] += 1
            counts.problems.setdefault(tool, str(fault))
            if fault.kind == "unauthorized":
                refusing.add(tool)
    return refusing

"""The answers of live services on one day: their contents and hash, one file to hand on, providers
that answer from it, and a new day's answers to the same questions (DeepTravel, section 3.2, where
the sandbox is refreshed daily; row D2).

A file is gzip over lines of JSON. The first says what it is: format, day, counts, and the SHA-256
of all lines after it. The others are the answers, ordered by key. Equal snapshots are equal bytes,
whichever store they come from.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripwright.domains.deeptravel.sandbox.keys import (
    SandboxQuestion,
    StoredAnswer,
    checked_day,
    complete_arguments,
)
from tripwright.domains.deeptravel.sandbox.provider import Provider, ProviderFault, Terms
from tripwright.domains.deeptravel.sandbox.sandbox import Sandbox, SandboxAnswer, check_recorded
from tripwright.domains.deeptravel.tools.answers import RECORDS, ProviderAnswer
from tripwright.errors import UserError, printable
from tripwright.files import make_parent

if TYPE_CHECKING:
    from tripwright.domains.deeptravel.sandbox.store import Store  # loads SQLAlchemy

# what row D2 refreshes daily; places and ways stay
DAILY = ("flight_search", "train_search", "hotel_search")
CARRIED_AT_ONCE = 500
FORMAT = "tripwright snapshot"
FORMAT_VERSION = 1
LONGEST_LINE_BYTES = 100_000_000
_GZIP = b"\x1f\x8b"  # how every such file begins
_A_SNAPSHOT = (
    "a day's answers as 'tripwright sandbox export' writes them (gzip over lines of JSON,"
    " DAY.jsonl.gz)"
)


@dataclass(frozen=True)
class Snapshot:
    """What is in one day. `tools` are answers by tool and vendor; `content_hash` is over every
    question and answer."""

    snapshot: str
    answers: int
    tools: dict[str, dict[str, int]]
    content_hash: str

    def header(self) -> dict[str, Any]:
        return {"format": FORMAT, "version": FORMAT_VERSION, **asdict(self)}


class _Tally:
    """Counts and hashes lines as they go by."""

    def __init__(self, day: str):
        self._day, self._hash = day, hashlib.sha256()
        self._counts: Counter[tuple[str, str]] = Counter()

    def add(self, line: bytes, question: SandboxQuestion) -> None:
        self._hash.update(line)
        self._counts[question.tool, question.provider] += 1

    def snapshot(self) -> Snapshot:
        tools: dict[str, dict[str, int]] = {}
        for (tool, provider), answers in sorted(self._counts.items()):
            tools.setdefault(tool, {})[provider] = answers
        return Snapshot(self._day, self._counts.total(), tools, self._hash.hexdigest())


def describe(store: Store, day: str) -> Snapshot:
    """Reads the whole day. Raises UserError where the store has none of it."""
    tally = _Tally(checked_day(day))
    check_recorded(store, day)
    for answer in store.recorded(day):
        tally.add(_line(answer), answer.question)
    return tally.snapshot()


def export_snapshot(store: Store, day: str, out: Path) -> Snapshot:
    """Writes one day as one file, whole or not at all. What is recorded meanwhile may or may not be
    in it; header and lines agree."""
    tally = _Tally(checked_day(day))
    if out.is_dir():
        raise UserError(
            f"'{out}' is a folder: name the file to write, for instance {out / f'{day}.jsonl.gz'}."
        )
    check_recorded(store, day)
    make_parent(out)
    partial = out.with_name(out.name + ".partial")
    with tempfile.TemporaryFile(dir=out.parent) as lines, partial.open("wb") as file:
        with _zipped(lines) as zipped:
            for answer in store.recorded(day):
                line = _line(answer)
                tally.add(line, answer.question)
                zipped.write(line)
        snapshot = tally.snapshot()
        with _zipped(file) as zipped:
            zipped.write(_json_line(snapshot.header()))
        lines.seek(0)
        shutil.copyfileobj(lines, file)  # gzip reads two archives one after the other as one
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, out)
    return snapshot


def import_snapshot(path: Path, store: Store) -> Snapshot:
    """Adds a file's answers to a store: all of them or none, and none that contradicts what the
    store has. Raises UserError."""
    snapshot = check_file(path)
    differing = sum(
        store.find(answer.question.key) not in (None, answer.body)
        for _, answer in _read(path, snapshot.snapshot)
    )
    if differing:
        raise UserError(
            f"'{path}' contradicts the store {store.name}: {differing:,} answers of"
            f" {snapshot.snapshot} differ. Drop that day first, or name another store."
        )
    store.keep_all(answer for _, answer in _read(path, snapshot.snapshot))
    return snapshot


def check_file(path: Path) -> Snapshot:
    """What a file holds, read to its end. Raises UserError where it is not what it says."""
    if not path.is_file():
        raise UserError(f"No snapshot at '{path}': expected {_A_SNAPSHOT}.")
    with path.open("rb") as file:
        if file.read(len(_GZIP)) != _GZIP:
            raise UserError(
                f"'{path}' is no snapshot: found a file that is not gzip, expected {_A_SNAPSHOT}."
            )
    try:
        with gzip.open(path) as lines:
            header = _object(lines.readline(LONGEST_LINE_BYTES))
        if header.get("format") != FORMAT:
            raise UserError(
                f"'{path}' is no snapshot: found gzip over something else, expected {_A_SNAPSHOT}."
            )
        if header.get("version") != FORMAT_VERSION:
            raise UserError(
                f"'{path}' is a snapshot of version {printable(header.get('version'))};"
                " this tripwright reads"
                f" version {FORMAT_VERSION}."
            )
        day = checked_day(str(header.get("snapshot")))
        tally = _Tally(day)
        for line, answer in _read(path, day):
            tally.add(line, answer.question)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, str(error)) from None
    snapshot = tally.snapshot()
    if snapshot.header() != header:
        promise = f"{header.get('answers')} answers with hash {header.get('content_hash')}"
        raise _damaged(
            path,
            f"its header says {printable(promise)}, it holds {snapshot.answers} with hash"
            f" {snapshot.content_hash}",
        )
    return snapshot


def _read(path: Path, day: str) -> Iterator[tuple[bytes, StoredAnswer]]:
    with gzip.open(path) as lines:
        next(lines)
        # a line without end is no line: what comes of it is no JSON
        pieces = iter(partial(lines.readline, LONGEST_LINE_BYTES), b"")
        for number, line in enumerate(pieces, start=2):
            entry = _object(line)
            try:
                question = SandboxQuestion(
                    entry["tool"], entry["provider"], entry["version"], entry["arguments"], day
                )
                body = entry["answer"].encode()
                is_valid = (
                    question.key == entry["key"] and ProviderAnswer.from_json(body).source.may_store
                )
            except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
                is_valid = False
            if not is_valid:
                raise _damaged(path, f"line {number} is no answer of {day} that may be kept")
            yield line, StoredAnswer(question, body)


def _line(answer: StoredAnswer) -> bytes:
    """The answer as a text inside JSON, so that its bytes come back as they were."""
    question = answer.question
    fields = {
        "tool": question.tool,
        "provider": question.provider,
        "version": question.version,
        "arguments": question.arguments,
    }
    # a store that somebody else has filled may hold anything, which an import then refuses
    text = answer.body.decode("utf-8", "replace")
    return _json_line({"key": question.key, **fields, "answer": text})


def _json_line(entry: Mapping[str, Any]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode()


def _zipped(file: Any) -> gzip.GzipFile:
    # no name, no time: equal bytes
    return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _damaged(path: Path, why: str) -> UserError:
    return UserError(
        f"'{path}' is damaged: {why}. Nothing was imported; export the snapshot again."
    )


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
    who: dict[str, list[tuple[str, str]]] = {}
    for count in store.counts():
        if count.snapshot == checked_day(day):
            who.setdefault(count.tool, []).append((count.provider, count.version))
    providers: dict[str, Provider] = {}
    for tool, pairs in who.items():
        if len(pairs) > 1:
            has = ", ".join(f"'{name} {version}'" for name, version in pairs)
            raise UserError(
                f"The snapshot of {day} has {tool} answered by {has}: one day's answers are of one"
                " provider. Record the day anew under another."
            )
        providers[tool] = RecordedProvider(*pairs[0], frozenset((tool,)))
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
    check_recorded(store, from_day)
    questions, carried = _divide(store, from_day, tools)
    if absent := sorted({tool for tool, _ in questions} - sandbox.tools):
        raise UserError(
            f"No provider answers {absent[0]}, which the snapshot of {from_day} has. Name one, or"
            " refresh other tools."
        )
    counts = RefreshCounts(len(questions), carried)
    copies = (
        StoredAnswer(replace(answer.question, snapshot=to_day), answer.body)
        for answer in store.recorded(from_day)
        if answer.question.tool not in tools
    )
    while chunk := list(islice(copies, CARRIED_AT_ONCE)):
        store.keep_all(chunk)
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

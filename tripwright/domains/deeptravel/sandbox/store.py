"""Where answers of live services are remembered, for many threads and processes of one machine at
once: a SQLite file (DeepTravel, section 3.2; row D2). Many machines replay copies of a recorded
day, or ask one `tripwright serve tools`, which has the file.

`sandbox_answer` only grows: the first answer to a key stays, whoever comes later gets it too.
`sandbox_budget` says when a vendor may be asked again. Who is asking a vendor right now holds a
lock of the operating system, which ends with the process however it ends. Every statement stands
alone: between any two of them a process may be killed and nothing is half done.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from tripwright.domains.deeptravel.sandbox.sandbox import SandboxQuestion, StoredAnswer
from tripwright.errors import UserError
from tripwright.files import make_parent
from tripwright.llm.http import ProviderFault

CHUNK_ROWS = 500  # of a long table, in memory at a time
LONGEST_VALUE_BYTES = 100_000_000  # a stranger's SQLite file may hold a longer one
BUSY_SECONDS = 60.0  # how long a writer waits for the others before it gives up
LONGEST_POLL_S = 0.25  # between two looks at what another process is asking
PATIENCE_S = 600.0  # with a process that holds a lock and does not move: then it is asked twice
OURS = ("sandbox_", "sqlite_")  # what its tables and indexes are called
GO_ON = "Make room there: the same command goes on where it stopped."

PARTS = ("snapshot", "tool", "provider", "version", "arguments")  # of a question
SCHEMA = """
CREATE TABLE IF NOT EXISTS sandbox_answer (
    key TEXT NOT NULL PRIMARY KEY,
    snapshot TEXT NOT NULL,
    tool TEXT NOT NULL,
    provider TEXT NOT NULL,
    version TEXT NOT NULL,
    arguments TEXT NOT NULL,
    body BLOB NOT NULL
);
CREATE INDEX IF NOT EXISTS sandbox_answer_by_snapshot ON sandbox_answer (snapshot, key);
CREATE TABLE IF NOT EXISTS sandbox_budget (
    vendor TEXT NOT NULL PRIMARY KEY,
    free_at DOUBLE NOT NULL  -- seconds since 1970
);
"""
INSERT = (
    "INSERT INTO sandbox_answer (key, snapshot, tool, provider, version, arguments, body) VALUES"
    " (:key, :snapshot, :tool, :provider, :version, :arguments, :body) ON CONFLICT (key) DO NOTHING"
)


class Store:
    """Beside the file is one with ".lock" behind its name, whose bytes are the locks.

    Raises ProviderFault where others hold the file for too long just now, UserError where it cannot
    be used any more (a full disk). It keeps the vendors' budgets as `Budgets` does. A process has
    one connection, which its threads take turns with."""

    def __init__(self, name: str | Path, create: bool = True):
        self.name, self._path = str(name), Path(name)
        if "://" in self.name or not self.name.strip():
            shown = self.name.partition("://")[0] + "://…" if self.name.strip() else f"'{name}'"
            raise UserError(f"Store {shown} is not known: expected a path like runs/live.sqlite.")
        if self._path.is_dir():
            example = self._path / "live.sqlite"
            raise UserError(f"'{name}' is a folder: a store is a file, for instance {example}.")
        if not create and not self._path.is_file():
            raise UserError(
                f"No store at '{name}': expected a file that recording or 'sandbox export' made."
            )
        if create:
            make_parent(self._path)
        self.place = str(self._path.absolute())
        self._mode = "rwc" if create else "rw"
        # by process: a fork opens its own, and may not even close its parent's
        self._connections: dict[int, tuple[sqlite3.Connection, threading.RLock]] = {}
        try:
            self._check(create)
            if create:
                with self._turn() as db:
                    db.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT")
        except ProviderFault as fault:
            raise UserError(str(fault)) from None

    def _connect(self) -> sqlite3.Connection:
        uri = f"{self._path.absolute().as_uri()}?mode={self._mode}"
        db = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False, isolation_level=None
        )
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
        db.execute("PRAGMA trusted_schema=OFF")
        # on the disk before anybody gets an answer: a commit survives `kill -9`, and a cut of the
        # power; milliseconds, little beside what an answer cost
        db.execute("PRAGMA synchronous=EXTRA")
        return db

    @contextmanager
    def _turn(self) -> Iterator[sqlite3.Connection]:
        """This process's connection, for one thread at a time."""
        process = os.getpid()
        try:
            if process not in self._connections:
                self._connections.setdefault(process, (self._connect(), threading.RLock()))
            db, turn = self._connections[process]
            with turn:
                yield db
        except sqlite3.Error as error:
            raise self._fault(error) from None

    def _run(self, sql: str, **parameters: Any) -> list[Any]:
        """The rows of one statement, which is a transaction of its own."""
        with self._turn() as db:
            return db.execute(sql, parameters).fetchall()

    def close(self) -> None:
        if own := self._connections.pop(os.getpid(), None):
            own[0].close()

    def _check(self, create: bool) -> None:
        """Raises UserError where no store is and none is to be made."""
        entries = self._run("SELECT type, name FROM sqlite_master")
        # a stranger's view or trigger would work with every look-up and every answer that is kept
        others = [
            kind
            for kind, name in entries
            if kind not in ("table", "index") or not name.startswith(OURS)
        ]
        if others or not (create or ("table", "sandbox_answer") in entries):
            found = f"found other {others[0]}s in it" if others else "it has no answers"
            raise UserError(f"'{self.name}' is no store of live tools: {found}. Name another file.")

    def _fault(self, error: sqlite3.Error) -> ProviderFault | UserError:
        """Others may hold the file for too long, and that passes; all else stays for every call
        that comes, so that whoever plays episodes had better stop."""
        problem = f"The store {self.name} cannot be used: {error}."
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return ProviderFault("connection", problem)
        return UserError(f"{problem} {GO_ON}" if code == sqlite3.SQLITE_FULL else problem)

    def _lock(self, number: int) -> bool:
        """Whether this process now holds the lock of this number."""
        try:
            fcntl.lockf(_lock_file(self.place), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except BlockingIOError:
            return False
        except OSError as error:
            raise UserError(f"The store {self.name} cannot be used: {error}.") from None
        return True

    def find(self, key: str) -> bytes | None:
        rows = self._run("SELECT body FROM sandbox_answer WHERE key = :key", key=key)
        return self._body(rows[0][0]) if rows else None

    def _body(self, value: Any) -> bytes:
        """SQLite keeps in any column whatever it is given; bytes(10**9) would be a gigabyte."""
        if not isinstance(value, bytes):
            raise UserError(f"The store {self.name} is damaged: an answer in it is no bytes.")
        return value

    @contextmanager
    def locked(self, key: str) -> Iterator[None]:
        """For one process at a time, which may ask a vendor for this key."""
        number, poll_s, give_up_at = int(key[:15], 16), 0.01, time.monotonic() + PATIENCE_S
        while not (is_held := self._lock(number)) and time.monotonic() < give_up_at:
            time.sleep(poll_s)
            poll_s = min(poll_s * 1.5, LONGEST_POLL_S)
        try:
            yield
        finally:
            if is_held:
                fcntl.lockf(_lock_file(self.place), fcntl.LOCK_UN, 1, number)

    def keep(self, answer: StoredAnswer) -> bytes:
        """Remembers an answer for good. Returns the one that stands: an earlier one wins."""
        self.keep_all([answer])
        return self.find(answer.question.key) or answer.body

    def keep_all(self, answers: Iterable[StoredAnswer]) -> None:
        """All of them or none."""
        with self._turn() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                db.executemany(INSERT, (answer.row() for answer in answers))
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:  # a full disk has ended it already
                    db.execute("ROLLBACK")
                raise

    def recorded(self, snapshot: str) -> Iterator[StoredAnswer]:
        """The answers of one day, by key."""
        sql = (
            f"SELECT key, {', '.join(PARTS)}, body FROM sandbox_answer WHERE snapshot = :snapshot"
            f" AND key > :last ORDER BY key LIMIT {CHUNK_ROWS}"
        )
        last = ""
        while rows := self._run(sql, snapshot=snapshot, last=last):
            for last, *parts, body in rows:
                question = SandboxQuestion(**dict(zip(PARTS, parts, strict=True)))
                if question.key != last:
                    raise UserError(
                        f"The store {self.name} is damaged: an answer of {snapshot} is not under"
                        " the key of its question."
                    )
                yield StoredAnswer(question, self._body(body))

    def days(self) -> list[str]:
        sql = "SELECT DISTINCT snapshot FROM sandbox_answer ORDER BY snapshot"
        return [day for (day,) in self._run(sql)]

    def vendors(self, snapshot: str) -> list[tuple[str, str, str]]:
        """Who answered on a day: (tool, provider, version)."""
        columns = "tool, provider, version"
        sql = f"SELECT DISTINCT {columns} FROM sandbox_answer WHERE snapshot = :snapshot"
        return self._run(f"{sql} ORDER BY {columns}", snapshot=snapshot)

    def take(self, vendor: str, between_s: float) -> float:
        sql = "SELECT free_at FROM sandbox_budget WHERE vendor = :vendor"
        while True:
            now, rows = time.time(), self._run(sql, vendor=vendor)
            if rows and (wait_s := rows[0][0] - now) > 0:
                return float(wait_s)
            if not between_s or self._take_until(vendor, now + between_s, now):
                return 0.0

    def pause(self, vendor: str, seconds: float) -> None:
        until = time.time() + seconds
        self._take_until(vendor, until, until)

    def _take_until(self, vendor: str, free_at: float, if_free_by: float) -> bool:
        """Whether the vendor was to be free by `if_free_by`: it then is so again at `free_at`."""
        sql = (
            "INSERT INTO sandbox_budget VALUES (:vendor, :free_at) ON CONFLICT (vendor) DO UPDATE"
            " SET free_at = excluded.free_at WHERE sandbox_budget.free_at <= :by RETURNING vendor"
        )
        return bool(self._run(sql, vendor=vendor, free_at=free_at, by=if_free_by))


@cache
def _lock_file(place: str) -> int:
    """POSIX's locks are a process's own (a fork has none, threads share them), and closing any
    descriptor of the file would end them all: this one stays open."""
    return os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT, 0o666)


@contextmanager
def opened_store(name: str, create: bool) -> Iterator[Store]:
    """A store that fails while it is used is one line for the user."""
    with closing(Store(name, create)) as store:
        try:
            yield store
        except ProviderFault as fault:
            raise UserError(str(fault)) from None

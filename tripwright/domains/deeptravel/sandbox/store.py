"""Where answers of live services are remembered, for many threads and processes of one machine at
once: a SQLite file (DeepTravel, section 3.2; row D2).

`sandbox_answer` only grows: the first answer to a key stays, whoever comes later gets it too.
`sandbox_budget` says when a vendor may be asked again. Who is asking a vendor right now holds a
lock of the operating system, which ends with the process however it ends. Every statement stands
alone: between any two of them a process may be killed and nothing is half done.
"""

from __future__ import annotations

import fcntl
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault, Terms
from tripwright.domains.deeptravel.sandbox.sandbox import SandboxQuestion, StoredAnswer
from tripwright.errors import UserError
from tripwright.files import make_parent

CHUNK_ROWS = 500  # of a long table, in memory at a time
LONGEST_VALUE_BYTES = 100_000_000  # a stranger's file may hold a longer one
BUSY_SECONDS = 60.0  # how long a writer waits for the others before it gives up
LONGEST_POLL_S = 0.25  # between two looks at what another process is asking
PATIENCE_S = 600.0  # with a process that holds a lock and does not move: then it is asked twice
OURS = ("sandbox_", "sqlite_")  # what the tables and indexes are called
GO_ON = "Make room there: the same command goes on where it stopped."
TABLES = (
    """CREATE TABLE IF NOT EXISTS sandbox_answer (
        key TEXT PRIMARY KEY NOT NULL, snapshot TEXT NOT NULL, tool TEXT NOT NULL,
        provider TEXT NOT NULL, version TEXT NOT NULL, arguments TEXT NOT NULL,
        body BLOB NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS sandbox_answer_by_snapshot ON sandbox_answer (snapshot, key)",
    # seconds since 1970
    """CREATE TABLE IF NOT EXISTS sandbox_budget (
        vendor TEXT PRIMARY KEY NOT NULL, free_at DOUBLE NOT NULL)""",
)
INSERT = (
    "INSERT INTO sandbox_answer (key, snapshot, tool, provider, version, arguments, body) VALUES"
    " (:key, :snapshot, :tool, :provider, :version, :arguments, :body) ON CONFLICT (key) DO NOTHING"
)
PARTS = ("snapshot", "tool", "provider", "version", "arguments")  # of a question


class Count(NamedTuple):
    snapshot: str
    tool: str
    provider: str
    version: str
    answers: int


class Store:
    """`place` is where the file is, `name` what the user called it; beside it is one with ".lock"
    behind its name, whose bytes are the locks. Raises ProviderFault where others hold the file for
    too long, UserError where it cannot be used any more (a full disk). It keeps the vendors'
    budgets as `Limits` does. A process has one connection, which its threads take turns with."""

    def __init__(self, name: str | Path, create: bool = True):
        """Raises UserError for what is no store and, without `create`, where there is none."""
        self.name, path = str(name), Path(name)
        if "://" in self.name or not self.name.strip():  # an address may hold a password
            shown = re.sub("://.*", "://…", self.name)
            raise UserError(f"Store '{shown}' is not known: expected a path like runs/live.sqlite.")
        if path.is_dir():
            example = path / "live.sqlite"
            raise UserError(f"'{name}' is a folder: a store is a file, for instance {example}.")
        if not create and not path.is_file():
            raise UserError(
                f"No store at '{name}': expected a file that recording, 'sandbox refresh' or"
                " 'sandbox import' made."
            )
        if create:
            make_parent(path)
        self.place = str(path.absolute())
        self._address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        # by the number of the process
        self._connections, self._turns = dict[int, sqlite3.Connection](), dict[int, Lock]()
        try:
            self._check(create)
            for statement in TABLES if create else ():
                self._run(statement)
        except ProviderFault as fault:
            raise UserError(str(fault)) from None

    def _check(self, create: bool) -> None:
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

    def _lock(self, number: int) -> bool:
        """Whether this process now holds the lock of this number."""
        try:
            fcntl.lockf(_lock_file(self.place), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except (BlockingIOError, PermissionError):
            return False
        except OSError as error:
            raise UserError(f"The store {self.name} cannot be used: {error}.") from None
        return True

    def keep(self, answer: StoredAnswer) -> bytes:
        """Remembers an answer for good. Returns the one that stands: an earlier one wins."""
        self.keep_all([answer])
        stands = self.find(answer.question.key)
        # None: the day was dropped at this very moment
        return answer.body if stands is None else stands

    def keep_all(self, answers: Iterable[StoredAnswer]) -> None:
        """All of them or none. They may not come out of this store, whose connection is busy.

        Committed, they are on the disk before anybody gets one: they survive `kill -9` (as every
        commit does), a crash of the machine, and a cut of the power."""
        rest = iter(answers)
        with self._connection() as db:
            db.execute("BEGIN IMMEDIATE")
            try:
                while chunk := [answer.row() for answer in islice(rest, CHUNK_ROWS)]:
                    db.executemany(INSERT, chunk)
                db.execute("COMMIT")
            finally:
                if db.in_transaction:
                    db.execute("ROLLBACK")

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

    def counts(self) -> list[Count]:
        columns = "snapshot, tool, provider, version"
        sql = f"SELECT {columns}, count(*) FROM sandbox_answer GROUP BY {columns}"
        return [Count(*row) for row in self._run(f"{sql} ORDER BY {columns}")]

    def drop(self, snapshot: str) -> None:
        self._run("DELETE FROM sandbox_answer WHERE snapshot = :snapshot", snapshot=snapshot)

    def take(self, vendor: str, terms: Terms) -> float:
        sql = "SELECT free_at FROM sandbox_budget WHERE vendor = :vendor"
        while True:
            now, rows = time.time(), self._run(sql, vendor=vendor)
            if rows and (wait_s := rows[0][0] - now) > 0:
                return float(wait_s)
            if not terms.between_s or self._take_until(vendor, now + terms.between_s, now):
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

    def close(self) -> None:
        if (db := self._connections.pop(os.getpid(), None)) is not None:
            db.close()

    def _run(self, sql: str, **parameters: Any) -> list[Any]:
        """The rows of one statement, which is a transaction of its own."""
        with self._connection() as db:
            return db.execute(sql, parameters).fetchall()

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        """This process's own: SQLite does not allow a fork its parent's, not even to be closed."""
        process = os.getpid()
        with self._turns.setdefault(process, Lock()):
            try:
                if process not in self._connections:
                    self._connections[process] = self._connect()
                yield self._connections[process]
            except sqlite3.Error as error:
                raise self._fault(error) from None

    def _connect(self) -> sqlite3.Connection:
        db = sqlite3.connect(
            self._address,
            uri=True,
            timeout=BUSY_SECONDS,
            check_same_thread=False,
            isolation_level=None,
        )
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA synchronous=EXTRA")  # milliseconds, little beside what an answer cost
        return db

    def _fault(self, error: sqlite3.Error) -> ProviderFault | UserError:
        """Others may hold the file for too long, and that passes; all else stays for every call
        that comes, so that whoever plays episodes had better stop."""
        problem = f"The store {self.name} cannot be used: {error}."
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return ProviderFault("connection", problem)
        return UserError(f"{problem} {GO_ON}" if code == sqlite3.SQLITE_FULL else problem)


@cache
def _lock_file(place: str) -> int:
    """POSIX's locks are a process's own (a fork has none, threads share them), and closing any
    descriptor of the file would end them all: this one stays open."""
    return os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT, 0o666)

"""Where answers of live services are remembered, for many threads and processes at once: a SQLite
file for those of one machine, or a PostgreSQL database for many (extra `postgres`). Both have the
same tables and the same statements (DeepTravel, section 3.2; row D2).

`sandbox_answer` only grows: the first answer to a key stays, whoever comes later gets it too.
`sandbox_budget` says when a vendor may be asked again. Who is asking a vendor right now holds a
lock of the operating system or of the database, which ends with the process however it ends. Every
statement stands alone: between any two of them a process may be killed and nothing is half done.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from sqlalchemy import (
    Column,
    Connection,
    Double,
    Index,
    LargeBinary,
    MetaData,
    Table,
    Text,
    create_engine,
    text,
)
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import Pool, QueuePool
from sqlalchemy.schema import CreateIndex, CreateTable

from tripwright.domains.deeptravel.sandbox.sandbox import SandboxQuestion, StoredAnswer
from tripwright.errors import UserError
from tripwright.files import make_parent
from tripwright.llm.http import ProviderFault, Redaction, hidden

CHUNK_ROWS = 500  # of a long table, in memory at a time
LONGEST_VALUE_BYTES = 100_000_000  # a stranger's SQLite file may hold a longer one
BUSY_SECONDS = 60.0  # how long a writer of a SQLite file waits for the others before it gives up
LONGEST_POLL_S = 0.25  # between two looks at what another process is asking
PATIENCE_S = 600.0  # with a process that holds a lock and does not move: then it is asked twice
CONNECT_SECONDS = 10
RECONNECT_SECONDS = (0.1, 0.5, 2.0, 5.0)  # a database that is started anew is back within these
OURS = ("sandbox_", "sqlite_")  # what the tables and indexes of a SQLite file are called
# any number, as long as all agree: two processes that create tables at once get in each other's way
SCHEMA_LOCK = 0x7472_6970
GO_ON = "Make room there: the same command goes on where it stopped."

TABLES = MetaData()
PARTS = ("snapshot", "tool", "provider", "version", "arguments")  # of a question
Table(
    "sandbox_answer",
    TABLES,
    Column("key", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in PARTS),
    Column("body", LargeBinary, nullable=False),
    Index("sandbox_answer_by_snapshot", "snapshot", "key"),
)
Table(
    "sandbox_budget",
    TABLES,
    Column("vendor", Text, primary_key=True),
    Column("free_at", Double, nullable=False),  # seconds since 1970
)
INSERT = text(
    "INSERT INTO sandbox_answer (key, snapshot, tool, provider, version, arguments, body) VALUES"
    " (:key, :snapshot, :tool, :provider, :version, :arguments, :body) ON CONFLICT (key) DO NOTHING"
)
_Result = TypeVar("_Result")


class Store:
    """A SQLite file; beside it is one with ".lock" behind its name, whose bytes are the locks.

    `place` is where it is, `name` the same as a person may read it: never with a password.
    Raises ProviderFault where the store cannot be reached just now, UserError where it cannot be
    used any more (a full disk). It keeps the vendors' budgets as `Budgets` does. A process has one
    connection, which its threads take turns with."""

    DRIVER: ClassVar[str] = "sqlite"
    place: str
    reconnect_s: tuple[float, ...] = ()

    def __init__(self, path: str | Path, create: bool = True):
        self._path = Path(path)
        if self._path.is_dir():
            example = self._path / "live.sqlite"
            raise UserError(f"'{path}' is a folder: a store is a file, for instance {example}.")
        if not create and not self._path.is_file():
            raise UserError(
                f"No store at '{path}': expected a file that recording, 'sandbox refresh' or"
                " 'sandbox import' made."
            )
        if create:
            make_parent(self._path)
        self.place = str(self._path.absolute())
        self._open(str(path), create)

    def _open(self, name: str, create: bool) -> None:
        self.name, self._process, self._inherited = name, os.getpid(), list[Pool]()
        self._engine = create_engine(
            f"{self.DRIVER}://",
            creator=lambda: self._driver_connection(create),
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            pool_timeout=None,
        )
        try:
            self._check(create)
            if create:
                self._transaction(self._create_tables)
        except ProviderFault as fault:
            raise UserError(str(fault)) from None

    def _driver_connection(self, create: bool) -> Any:
        """A new connection of the database's own driver."""
        uri = f"{self._path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
        db.execute("PRAGMA trusted_schema=OFF")
        db.execute("PRAGMA synchronous=EXTRA")  # milliseconds, little beside what an answer cost
        return db

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

    def _now(self) -> float:
        """Seconds since 1970 by one clock for all who share the store."""
        return time.time()

    def _lock(self, number: int) -> bool:
        """Whether this process now holds the lock of this number."""
        try:
            fcntl.lockf(_lock_file(self.place), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, number)
        except BlockingIOError:
            return False
        except OSError as error:
            raise UserError(f"The store {self.name} cannot be used: {error}.") from None
        return True

    def _unlock(self, number: int) -> None:
        fcntl.lockf(_lock_file(self.place), fcntl.LOCK_UN, 1, number)

    def _fault(self, error: DBAPIError) -> ProviderFault | UserError:
        """Others may hold the file for too long, and that passes; all else stays for every call
        that comes, so that whoever plays episodes had better stop."""
        problem = f"The store {self.name} cannot be used: {error.orig}."
        code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return ProviderFault("connection", problem)
        return UserError(f"{problem} {GO_ON}" if code == sqlite3.SQLITE_FULL else problem)

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
                with suppress(ProviderFault):  # a lost connection has lost its locks, too
                    self._unlock(number)

    def keep(self, answer: StoredAnswer) -> bytes:
        """Remembers an answer for good. Returns the one that stands: an earlier one wins."""
        self.keep_all([answer])
        stands = self.find(answer.question.key)
        # None: the day was dropped at this very moment
        return answer.body if stands is None else stands

    def keep_all(self, answers: Iterable[StoredAnswer]) -> None:
        """All of them or none. They may not come out of this store, whose connection is busy."""
        if self.reconnect_s:  # they may have to be sent once more
            answers = list(answers)

        def work(db: Connection) -> None:
            rest = iter(answers)
            while chunk := [answer.row() for answer in islice(rest, CHUNK_ROWS)]:
                db.execute(INSERT, chunk)

        self._transaction(work)

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

    def drop(self, snapshot: str) -> None:
        self._run("DELETE FROM sandbox_answer WHERE snapshot = :snapshot", snapshot=snapshot)

    def take(self, vendor: str, between_s: float) -> float:
        sql = "SELECT free_at FROM sandbox_budget WHERE vendor = :vendor"
        while True:
            now, rows = self._now(), self._run(sql, vendor=vendor)
            if rows and (wait_s := rows[0][0] - now) > 0:
                return float(wait_s)
            if not between_s or self._take_until(vendor, now + between_s, now):
                return 0.0

    def pause(self, vendor: str, seconds: float) -> None:
        until = self._now() + seconds
        self._take_until(vendor, until, until)

    def _take_until(self, vendor: str, free_at: float, if_free_by: float) -> bool:
        """Whether the vendor was to be free by `if_free_by`: it then is so again at `free_at`."""
        sql = (
            "INSERT INTO sandbox_budget VALUES (:vendor, :free_at) ON CONFLICT (vendor) DO UPDATE"
            " SET free_at = excluded.free_at WHERE sandbox_budget.free_at <= :by RETURNING vendor"
        )
        return bool(self._run(sql, vendor=vendor, free_at=free_at, by=if_free_by))

    def close(self) -> None:
        if self._process == os.getpid():
            self._engine.dispose()

    def _run(self, sql: str, **parameters: Any) -> list[Any]:
        """The rows of one statement, which is a transaction of its own."""

        def work(db: Connection) -> list[Any]:
            result = db.execution_options(isolation_level="AUTOCOMMIT").execute(
                text(sql), parameters
            )
            return list(result.all()) if result.returns_rows else []

        return self._on_connection(work)

    def _transaction(self, work: Callable[[Connection], None]) -> None:
        """Committed, it is on the disk before anybody gets an answer: it survives `kill -9` (as
        every commit does), a crash of the machine, and a cut of the power."""

        def whole(db: Connection) -> None:
            with db.begin():
                work(db)

        self._on_connection(whole)

    def _on_connection(self, work: Callable[[Connection], _Result]) -> _Result:
        """Where a lost connection is made again, it is done once more on the new one: every
        statement may be run twice."""
        if self._process != os.getpid():
            # A fork opens its own: neither database allows the parent's, not even to be closed.
            self._inherited.append(self._engine.pool)
            self._engine.dispose(close=False)
            self._process = os.getpid()
        for pause_s in (*self.reconnect_s, None):
            try:
                with self._engine.connect() as db:
                    return work(db)
            except DBAPIError as error:
                fault = self._fault(error)
                if pause_s is None or isinstance(fault, UserError):
                    raise fault from None
                time.sleep(pause_s)
        raise AssertionError("unreachable")

    def _create_tables(self, db: Connection) -> None:
        for table in TABLES.sorted_tables:
            db.execute(CreateTable(table, if_not_exists=True))
            for index in table.indexes:
                db.execute(CreateIndex(index, if_not_exists=True))


@cache
def _lock_file(place: str) -> int:
    """POSIX's locks are a process's own (a fork has none, threads share them), and closing any
    descriptor of the file would end them all: this one stays open."""
    return os.open(f"{place}.lock", os.O_RDWR | os.O_CREAT, 0o666)


class PostgresStore(Store):
    """A URL like postgresql://user:password@host:5432/database. The password shows in no
    message."""

    DRIVER = "postgresql+psycopg"

    def __init__(self, url: str, create: bool = True):
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        user, _, password = user.partition(":")
        options = [value for name, value in parse_qsl(parts.query) if "password" in name]
        for secret in (password, unquote(password), parts.query, *options):
            hidden(secret)
        self.place = url
        self._open(f"{parts.scheme}://{user}{at}{host}{parts.path}", create)
        self.reconnect_s = RECONNECT_SECONDS

    def _driver_connection(self, create: bool) -> Any:
        import psycopg

        db = psycopg.connect(
            self.place,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="tripwright",
        )
        # whatever the server's default is: a commit is on its disk
        db.execute("SET synchronous_commit TO on")
        db.execute("SET client_min_messages TO warning")
        return db

    def _check(self, create: bool) -> None:
        # in whichever schema this user's tables are
        if not create and self._run("SELECT to_regclass('sandbox_answer')") == [(None,)]:
            raise UserError(
                f"No store in {self.name}: expected tables that recording, 'sandbox refresh' or"
                " 'sandbox import' made."
            )

    def _create_tables(self, db: Connection) -> None:
        db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
        super()._create_tables(db)

    def _now(self) -> float:  # the server's: the machines' clocks may differ
        return float(self._run("SELECT extract(epoch FROM clock_timestamp())")[0][0])

    def _lock(self, number: int) -> bool:
        return bool(self._run("SELECT pg_try_advisory_lock(:number)", number=number)[0][0])

    def _unlock(self, number: int) -> None:
        self._run("SELECT pg_advisory_unlock(:number)", number=number)

    def _fault(self, error: DBAPIError) -> ProviderFault | UserError:
        import psycopg

        said = Redaction()(" ".join(str(error.orig).split()))
        problem = f"The store {self.name} cannot be used: {said}"
        if isinstance(error.orig, psycopg.errors.DiskFull):
            return UserError(f"{problem} {GO_ON}")
        is_lost = isinstance(error.orig, psycopg.OperationalError | psycopg.InterfaceError)
        return ProviderFault("connection", problem) if is_lost else UserError(problem)


def open_store(name: str, create: bool = True) -> Store:
    """A path of a SQLite file, or the URL of a PostgreSQL database. Raises UserError, without
    `create` also where there is no store."""
    scheme = urlsplit(name).scheme if "://" in name else ""
    if scheme in ("postgresql", "postgres"):
        return PostgresStore(name, create)
    if scheme or not name.strip():
        place = f"{scheme}://…" if scheme else f"'{name}'"
        raise UserError(
            f"Store {place} is not known: expected a path like runs/live.sqlite or a URL like"
            " postgresql://user@host/database."
        )
    return Store(name, create)

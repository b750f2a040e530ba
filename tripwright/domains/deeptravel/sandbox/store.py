"""Where answers of live services are remembered, for many threads and processes at once: a SQLite
file for those of one machine, or a PostgreSQL database for many (extra `postgres`). Both have the
same tables and the same statements (DeepTravel, section 3.2; row D2).

`sandbox_answer` only grows: the first answer to a key stays, whoever comes later gets it too.
`sandbox_lease` says who is asking a vendor right now; it runs out by itself, so that a killed
process blocks nobody for long. `sandbox_limit` holds the vendors' token buckets. Every statement
stands alone: between any two of them a process may be killed and nothing is half done.
"""

from __future__ import annotations

import os
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar
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

from tripwright.domains.deeptravel.sandbox.keys import SandboxQuestion, StoredAnswer
from tripwright.domains.deeptravel.sandbox.provider import LONGEST_QUEUE_S, ProviderFault
from tripwright.errors import UserError
from tripwright.files import make_parent

SCHEMA_VERSION = "1"
CHUNK_ROWS = 500  # of a long table, in memory at a time
LONGEST_VALUE_BYTES = 100_000_000  # a stranger's SQLite file may hold a longer one
BUSY_SECONDS = 60.0  # how long a writer of a SQLite file waits for the others before it gives up
CONNECT_SECONDS = 10
RECONNECT_SECONDS = (0.1, 0.5, 2.0, 5.0)  # a database that is started anew is back within these
OURS = ("sandbox_", "sqlite_")  # what the tables and indexes of a SQLite file are called
# any number, as long as all agree: two processes that create tables at once get in each other's way
SCHEMA_LOCK = 0x7472_6970
GO_ON = "Make room there: the same command goes on where it stopped."

TABLES = MetaData()
PARTS = ("snapshot", "tool", "provider", "version", "arguments")  # of a question
Table(
    "sandbox_about",
    TABLES,
    Column("name", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
Table(
    "sandbox_answer",
    TABLES,
    Column("key", Text, primary_key=True),
    *(Column(name, Text, nullable=False) for name in PARTS),
    Column("body", LargeBinary, nullable=False),
    Index("sandbox_answer_by_snapshot", "snapshot", "key"),
)
Table(
    "sandbox_lease",
    TABLES,
    Column("key", Text, primary_key=True),
    Column("owner", Text, nullable=False),
    Column("expires_at", Double, nullable=False),
)
Table(
    "sandbox_limit",
    TABLES,
    Column("vendor", Text, primary_key=True),
    Column("free_at", Double, nullable=False),
    Column("paused_until", Double, nullable=False),
)
INSERT = text(
    "INSERT INTO sandbox_answer (key, snapshot, tool, provider, version, arguments, body) VALUES"
    " (:key, :snapshot, :tool, :provider, :version, :arguments, :body) ON CONFLICT (key) DO NOTHING"
)
_Result = TypeVar("_Result")


class Count(NamedTuple):
    snapshot: str
    tool: str
    provider: str
    version: str
    answers: int


class Store(ABC):
    """`name` is as a person may read it: never with a password. Raises ProviderFault where the
    store cannot be reached just now, UserError where it cannot be used any more (a full disk). It
    keeps the vendors' budgets as `LocalLimits` does. A process has one connection, which its
    threads take turns with."""

    DRIVER: ClassVar[str]
    NOW: ClassVar[str]  # seconds since 1970 by one clock for all who share the store
    MOST: ClassVar[str]  # the function that gives the largest of its arguments
    BEFORE: ClassVar[tuple[str, ...]]  # a transaction
    AFTER: ClassVar[tuple[str, ...]] = ()
    reconnect_s: tuple[float, ...] = ()

    def __init__(self, name: str, create: bool):
        self.name, self._process, self._inherited = name, os.getpid(), list[Pool]()
        self._engine = create_engine(
            f"{self.DRIVER}://",
            creator=lambda: self._driver_connection(create),
            isolation_level="AUTOCOMMIT",
            poolclass=QueuePool,
            pool_size=1,
            max_overflow=0,
            pool_timeout=None,
        )
        try:
            self._prepare(create)
            version = dict(self._run("SELECT name, value FROM sandbox_about")).get("schema_version")
        except ProviderFault as fault:
            raise UserError(str(fault)) from None
        if version != SCHEMA_VERSION:
            raise UserError(
                f"The store {self.name} has schema version {version}; this tripwright reads version"
                f" {SCHEMA_VERSION}."
            )

    @abstractmethod
    def _driver_connection(self, create: bool) -> Any:
        """A new connection of the database's own driver."""

    @abstractmethod
    def _prepare(self, create: bool) -> None:
        """Checks that this is a store, and makes its tables where there are none."""

    @abstractmethod
    def _fault(self, error: DBAPIError) -> ProviderFault | UserError: ...

    def find(self, key: str) -> bytes | None:
        rows = self._run("SELECT body FROM sandbox_answer WHERE key = :key", key=key)
        return self._body(rows[0][0]) if rows else None

    def _body(self, value: Any) -> bytes:
        """SQLite keeps in any column whatever it is given; bytes(10**9) would be a gigabyte."""
        if not isinstance(value, bytes):
            raise UserError(f"The store {self.name} is damaged: an answer in it is no bytes.")
        return value

    def claim(self, key: str, owner: str, seconds: float) -> bool:
        """Whether `owner` alone may ask for this key for so long. Claiming again what one holds
        renews it."""
        sql = (
            f"INSERT INTO sandbox_lease (key, owner, expires_at) VALUES (:key, :owner, {self.NOW} +"
            " :seconds) ON CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at ="
            f" excluded.expires_at WHERE sandbox_lease.expires_at < {self.NOW} OR"
            " sandbox_lease.owner = excluded.owner RETURNING owner"
        )
        return bool(self._run(sql, key=key, owner=owner, seconds=seconds))

    def renew(self, owner: str, seconds: float) -> None:
        """Everything that `owner` holds."""
        sql = f"UPDATE sandbox_lease SET expires_at = {self.NOW} + :seconds WHERE owner = :owner"
        self._run(sql, owner=owner, seconds=seconds)

    def release(self, key: str, owner: str) -> None:
        sql = "DELETE FROM sandbox_lease WHERE key = :key AND owner = :owner"
        self._run(sql, key=key, owner=owner)

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

        self._in_transaction(work)

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

    def reserve(self, vendor: str, requests_per_second: float, burst: int) -> float | None:
        between_s = 1 / requests_per_second
        sql = (
            "INSERT INTO sandbox_limit (vendor, free_at, paused_until) VALUES (:vendor,"
            f" {self.NOW} + :between, 0) ON CONFLICT (vendor) DO UPDATE SET free_at ="
            f" {self.MOST}(sandbox_limit.free_at, sandbox_limit.paused_until + :burst, {self.NOW})"
            f" + :between WHERE sandbox_limit.free_at <= {self.NOW} + :furthest RETURNING free_at -"
            f" {self.NOW}"
        )
        spans = {"between": between_s, "burst": (burst - 1) * between_s}  # a pause uses it up
        furthest_s = burst * between_s + LONGEST_QUEUE_S
        rows = self._run(sql, vendor=vendor, furthest=furthest_s, **spans)
        return max(0.0, float(rows[0][0]) - burst * between_s) if rows else None

    def pause(self, vendor: str, seconds: float) -> None:
        sql = (
            "INSERT INTO sandbox_limit (vendor, free_at, paused_until) VALUES (:vendor, 0,"
            f" {self.NOW} + :seconds) ON CONFLICT (vendor) DO UPDATE SET paused_until ="
            f" {self.MOST}(sandbox_limit.paused_until, excluded.paused_until)"
        )
        self._run(sql, vendor=vendor, seconds=seconds)

    def paused_s(self, vendor: str) -> float:
        sql = f"SELECT paused_until - {self.NOW} FROM sandbox_limit WHERE vendor = :vendor"
        rows = self._run(sql, vendor=vendor)
        return float(rows[0][0]) if rows else 0.0

    def close(self) -> None:
        if self._process == os.getpid():
            self._engine.dispose()

    def _run(self, sql: str, **parameters: Any) -> list[Any]:
        """The rows of one statement, which is committed."""

        def work(db: Connection) -> list[Any]:
            result = db.execute(text(sql), parameters)
            return list(result.all()) if result.returns_rows else []

        return self._on_connection(work)

    def _in_transaction(self, work: Callable[[Connection], None]) -> None:
        """Committed, it is on the disk before anybody gets an answer: it survives `kill -9` (as
        every commit does), a crash of the machine, and a cut of the power."""

        def whole(db: Connection) -> None:
            try:
                for sql in self.BEFORE:
                    db.exec_driver_sql(sql)
                work(db)
                db.exec_driver_sql("COMMIT")
            except BaseException:
                with suppress(DBAPIError):  # the database may have given it up already
                    db.exec_driver_sql("ROLLBACK")
                raise
            finally:
                for sql in self.AFTER:
                    db.exec_driver_sql(sql)

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
        TABLES.create_all(db)
        about = "INSERT INTO sandbox_about VALUES ('schema_version', :now) ON CONFLICT DO NOTHING"
        db.execute(text(about), {"now": SCHEMA_VERSION})


class SqliteStore(Store):
    """One file in write-ahead mode: readers never wait, writers wait for each other."""

    DRIVER = "sqlite"
    NOW = "((julianday('now') - 2440587.5) * 86400.0)"
    MOST = "max"
    # one sync takes milliseconds, which is little beside the call that an answer cost
    BEFORE = ("PRAGMA synchronous=FULL", "BEGIN IMMEDIATE")
    AFTER = ("PRAGMA synchronous=NORMAL",)

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
        super().__init__(str(path), create)

    def _driver_connection(self, create: bool) -> sqlite3.Connection:
        uri = f"{self._path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        db = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, check_same_thread=False)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
        db.execute("PRAGMA trusted_schema=OFF")
        # of leases and limits: the last ones may be lost where the power is cut
        db.execute("PRAGMA synchronous=NORMAL")
        return db

    def _prepare(self, create: bool) -> None:
        entries = self._run("SELECT type, name FROM sqlite_master")
        # a stranger's view or trigger would work with every look-up and every answer that is kept
        others = [
            kind
            for kind, name in entries
            if kind not in ("table", "index") or not name.startswith(OURS)
        ]
        if ("table", "sandbox_about") in entries and not others:
            return
        if entries or not create:
            found = f"found other {others[0]}s in it" if others else "it is empty"
            raise UserError(f"'{self.name}' is no store of live tools: {found}. Name another file.")
        give_up = time.monotonic() + BUSY_SECONDS
        # the change to write-ahead mode does not wait for other processes as everything else does
        while True:
            try:
                self._run("PRAGMA journal_mode=WAL")
                break
            except ProviderFault:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.01)
        self._in_transaction(self._create_tables)

    def _fault(self, error: DBAPIError) -> ProviderFault | UserError:
        """Others may hold the file for too long, and that passes; all else stays for every call
        that comes, so that whoever plays episodes had better stop."""
        problem = f"The store {self.name} cannot be used: {error.orig}."
        code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
            return ProviderFault("connection", problem)
        return UserError(f"{problem} {GO_ON}" if code == sqlite3.SQLITE_FULL else problem)


class PostgresStore(Store):
    """A URL like postgresql://user:password@host:5432/database. The password shows in no
    message."""

    DRIVER = "postgresql+psycopg"
    # the server's: the machines' clocks may differ
    NOW = "CAST(extract(epoch FROM clock_timestamp()) AS double precision)"
    MOST = "greatest"
    BEFORE = ("BEGIN",)

    def __init__(self, url: str, create: bool = True):
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
        user, _, password = user.partition(":")
        options = [value for name, value in parse_qsl(parts.query) if "password" in name]
        secrets = (password, unquote(password), parts.query, *options)
        self._url, self._secrets = url, [part for part in secrets if part]
        super().__init__(f"{parts.scheme}://{user}{at}{host}{parts.path}", create)
        self.reconnect_s = RECONNECT_SECONDS

    def _driver_connection(self, create: bool) -> Any:
        import psycopg

        db = psycopg.connect(
            self._url,
            autocommit=True,
            connect_timeout=CONNECT_SECONDS,
            application_name="tripwright",
        )
        # whatever the server's default is: a commit is on its disk
        db.execute("SET synchronous_commit TO on")
        db.execute("SET client_min_messages TO warning")
        return db

    def _prepare(self, create: bool) -> None:
        # in whichever schema this user's tables are
        if self._run("SELECT to_regclass('sandbox_about')") != [(None,)]:
            return
        if not create:
            raise UserError(
                f"No store in {self.name}: expected tables that recording, 'sandbox refresh' or"
                " 'sandbox import' made."
            )

        def make(db: Connection) -> None:
            db.exec_driver_sql(f"SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")
            self._create_tables(db)

        self._in_transaction(make)

    def _fault(self, error: DBAPIError) -> ProviderFault | UserError:
        import psycopg

        said = " ".join(str(error.orig).split())
        for part in self._secrets:
            said = said.replace(part, "***")
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
    return SqliteStore(name, create)

"""The store of one machine: a SQLite file that any number of its processes share."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.sandbox.store import (
    GO_ON,
    INSERT,
    SCHEMA,
    SqlStore,
    StoredAnswer,
)
from tripwright.errors import UserError
from tripwright.files import make_parent

OURS = ("sandbox_", "sqlite_")  # what the tables and indexes of a store are called
LONGEST_VALUE_BYTES = 100_000_000  # a stranger's file may hold a longer one
BUSY_SECONDS = 60.0  # how long a writer waits for the others before it gives up


class _Connected:
    """The connection of one process. Its threads take turns: a statement takes microseconds."""

    def __init__(self, path: Path, create: bool):
        self.pid, self.lock = os.getpid(), threading.RLock()
        uri = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
        self.db = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )


class SqliteStore(SqlStore):
    """One file in write-ahead mode: readers never wait, writers wait for each other."""

    NOW = "((julianday('now') - 2440587.5) * 86400.0)"
    MOST = "max"

    def __init__(self, path: str | Path, create: bool = True):
        super().__init__(str(path))
        self._path = Path(path)
        if self._path.is_dir():
            raise UserError(
                f"'{path}' is a folder: a store is a file, for instance"
                f" {self._path / 'live.sqlite'}."
            )
        if not create and not self._path.is_file():
            raise UserError(
                f"No store at '{path}': expected a file that recording, 'sandbox refresh' or"
                " 'sandbox import' made."
            )
        if create:
            make_parent(self._path)
        try:
            self._process = self._connect(create)
            self._prepare(create)
        except (sqlite3.DatabaseError, ProviderFault) as error:
            raise UserError(f"'{path}' cannot be used as a store: {error}.") from None
        self._check_version()

    def _connect(self, create: bool = False) -> _Connected:
        connected = _Connected(self._path, create)
        connected.db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
        connected.db.execute("PRAGMA trusted_schema=OFF")
        # of leases and limits: the last ones may be lost where the power is cut
        connected.db.execute("PRAGMA synchronous=NORMAL")
        return connected

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
                self._process.db.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError:
                if time.monotonic() > give_up:
                    raise
                time.sleep(0.01)
        self._in_transaction(lambda db: [db.execute(sql) for sql in SCHEMA])

    def _here(self) -> _Connected:
        # SQLite forbids using a connection after a fork, and the lock may be held for ever
        if self._process.pid != os.getpid():
            self._inherited, self._process = self._process, self._connect()
        return self._process

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        process = self._here()
        with process.lock:
            try:
                return process.db.execute(sql, parameters).fetchall()
            except sqlite3.DatabaseError as error:
                raise self._fault(error) from None

    def keep(self, answer: StoredAnswer) -> bytes:
        with self._synced():
            return super().keep(answer)

    def keep_all(self, answers: Iterable[StoredAnswer]) -> None:
        with self._synced():
            self._in_transaction(
                lambda db: db.executemany(INSERT, (entry.row() for entry in answers))
            )

    @contextmanager
    def _synced(self) -> Iterator[None]:
        """Commits in here are on the disk before anybody gets the answer: they survive `kill -9`
        (as all commits do), a crash of the machine, and a cut of the power. One sync takes
        milliseconds, which is little beside the call that the answer cost."""
        process = self._here()
        with process.lock:
            process.db.execute("PRAGMA synchronous=FULL")
            try:
                yield
            finally:
                process.db.execute("PRAGMA synchronous=NORMAL")

    def _in_transaction(self, work: Callable[[sqlite3.Connection], object]) -> None:
        process = self._here()
        with process.lock:
            try:
                process.db.execute("BEGIN IMMEDIATE")
                try:
                    work(process.db)
                    process.db.execute("COMMIT")
                except BaseException:
                    if process.db.in_transaction:  # SQLite may have given it up already
                        process.db.execute("ROLLBACK")
                    raise
            except sqlite3.DatabaseError as error:
                raise self._fault(error) from None

    def _fault(self, error: sqlite3.DatabaseError) -> Exception:
        """Others may hold the file for too long, and that passes; all else stays for every call
        that comes, so that whoever plays episodes had better stop."""
        problem = f"The store {self.name} cannot be used: {error}."
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL):
            return ProviderFault("connection", problem)
        return UserError(f"{problem} {GO_ON}" if code == sqlite3.SQLITE_FULL else problem)

    def close(self) -> None:
        if self._process.pid == os.getpid():
            self._process.db.close()

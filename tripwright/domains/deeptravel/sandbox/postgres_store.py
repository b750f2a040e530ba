"""The store of many machines: the same tables in a PostgreSQL database (extra `postgres`)."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, unquote, urlsplit

from tripwright.domains.deeptravel.sandbox.provider import ProviderFault
from tripwright.domains.deeptravel.sandbox.store import (
    GO_ON,
    INSERT,
    SCHEMA,
    SqlStore,
    StoredAnswer,
)
from tripwright.errors import UserError

if TYPE_CHECKING:
    import psycopg

RECONNECT_SECONDS = (0.1, 0.5, 2.0, 5.0)  # a database that is started anew is back within these
CONNECT_SECONDS = 10
FIND_TABLES = "SELECT to_regclass('sandbox_about')"  # in whichever schema this user's tables are
# any number, as long as all agree: two processes that create tables at once get in each other's way
SCHEMA_LOCK = 0x7472_6970

_Result = TypeVar("_Result")


class _Connected:
    """The connection of one process. Its threads take turns."""

    def __init__(self) -> None:
        self.pid, self.lock = os.getpid(), threading.RLock()
        self.db: psycopg.Connection[Any] | None = None


class PostgresStore(SqlStore):
    """A URL like postgresql://user:password@host:5432/database. The password shows in no
    message."""

    # the server's: the machines' clocks may differ
    NOW = "extract(epoch FROM clock_timestamp())::double precision"
    MOST = "greatest"

    def __init__(self, url: str, create: bool = True):
        import psycopg

        super().__init__(shown_url(url))
        self._url, self._process = url, _Connected()
        try:
            self._connect()
            if not create and self._run(FIND_TABLES) == [(None,)]:
                raise UserError(
                    f"No store in {self.name}: expected tables that recording, 'sandbox refresh' or"
                    " 'sandbox import' made."
                )
            if create:
                self._in_transaction(self._create)
        except (psycopg.Error, ProviderFault) as error:
            raise UserError(f"The store {self.name} cannot be used: {self._said(error)}") from None
        self._check_version()

    def _create(self, db: psycopg.Connection[Any]) -> None:
        db.execute("SELECT pg_advisory_xact_lock(%s)", (SCHEMA_LOCK,))
        if db.execute(FIND_TABLES).fetchall() == [(None,)]:
            for sql in SCHEMA:
                db.execute(sql.encode())

    def _connect(self) -> psycopg.Connection[Any]:
        import psycopg

        process = self._here()
        if process.db is None or process.db.closed:
            process.db = psycopg.connect(
                self._url,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                application_name="tripwright",
            )
            # A commit is on the server's disk before anybody gets the answer, whatever the server's
            # default is.
            process.db.execute("SET synchronous_commit TO on")
            process.db.execute("SET client_min_messages TO warning")
        return process.db

    def _here(self) -> _Connected:
        # psycopg closes a connection only in the process that opened it
        if self._process.pid != os.getpid():
            self._inherited, self._process = self._process, _Connected()
        return self._process

    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        def work(db: psycopg.Connection[Any]) -> list[Any]:
            cursor = db.execute(sql.replace("?", "%s").encode(), parameters)
            return cursor.fetchall() if cursor.description else []

        return self._on_connection(work)

    def keep_all(self, answers: Iterable[StoredAnswer]) -> None:
        rows = [entry.row() for entry in answers]

        def work(db: psycopg.Connection[Any]) -> None:
            with db.cursor() as cursor:
                cursor.executemany(INSERT.replace("?", "%s").encode(), rows)

        self._in_transaction(work)

    def _in_transaction(self, work: Callable[[psycopg.Connection[Any]], None]) -> None:
        def whole(db: psycopg.Connection[Any]) -> None:
            with db.transaction():
                work(db)

        self._on_connection(whole)

    def _on_connection(self, work: Callable[[psycopg.Connection[Any]], _Result]) -> _Result:
        """Done once more on a new connection if this one is lost: every statement may be run
        twice."""
        import psycopg

        for pause_s in (*RECONNECT_SECONDS, None):
            process = self._here()
            try:
                with process.lock:
                    return work(self._connect())
            except psycopg.errors.DiskFull as error:
                raise UserError(
                    f"The store {self.name} cannot be used: {self._said(error)} {GO_ON}"
                ) from None
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if pause_s is None:
                    raise ProviderFault(
                        "connection", f"The store {self.name} cannot be used: {self._said(error)}"
                    ) from None
                time.sleep(pause_s)
        raise AssertionError("unreachable")

    def _said(self, error: Exception) -> str:
        """One line of a driver's message, without the password that the URL holds."""
        line = " ".join(str(error).split())
        for part in _secret_parts(self._url):
            line = line.replace(part, "***")
        return line

    def close(self) -> None:
        if self._process.pid == os.getpid() and self._process.db is not None:
            self._process.db.close()


def shown_url(url: str) -> str:
    """The URL without password and without options, which may hold one."""
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    return f"{parts.scheme}://{user.partition(':')[0]}{at}{host}{parts.path}"


def _secret_parts(url: str) -> list[str]:
    parts = urlsplit(url)
    password = parts.netloc.rpartition("@")[0].partition(":")[2]
    options = [value for name, value in parse_qsl(parts.query) if "password" in name]
    return [part for part in (password, unquote(password), parts.query, *options) if part]

"""Where answers of live services are remembered: a protocol, and the SQL that SQLite and PostgreSQL
share (DeepTravel, section 3.2; row D2).

Three tables. `sandbox_answer` only grows: the first answer to a key stays, whoever comes later gets
it too. `sandbox_lease` says who is asking a vendor right now; it runs out by itself, so that a
killed process blocks nobody for long. `sandbox_limit` holds the vendors' token buckets. Every
statement stands alone: between any two of them a process may be killed and nothing is half done.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol
from urllib.parse import urlsplit

from tripwright.domains.deeptravel.sandbox.keys import SandboxQuestion
from tripwright.domains.deeptravel.sandbox.provider import LONGEST_QUEUE_S, RateLimits
from tripwright.errors import UserError

SCHEMA_VERSION = "1"
GO_ON = "Make room there: the same command goes on where it stopped."
CHUNK_ROWS = 500  # of a long table, in memory at a time

# SQLite takes PostgreSQL's names of types as they are.
SCHEMA = (
    "CREATE TABLE IF NOT EXISTS sandbox_about (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    (
        "CREATE TABLE IF NOT EXISTS sandbox_answer (key TEXT PRIMARY KEY, snapshot TEXT NOT NULL,"
        " tool TEXT NOT NULL, provider TEXT NOT NULL, version TEXT NOT NULL, arguments TEXT NOT"
        " NULL, body BYTEA NOT NULL)"
    ),
    "CREATE INDEX IF NOT EXISTS sandbox_answer_by_snapshot ON sandbox_answer (snapshot, key)",
    (
        "CREATE TABLE IF NOT EXISTS sandbox_lease (key TEXT PRIMARY KEY, owner TEXT NOT NULL,"
        " expires_at DOUBLE PRECISION NOT NULL)"
    ),
    (
        "CREATE TABLE IF NOT EXISTS sandbox_limit (vendor TEXT PRIMARY KEY, free_at DOUBLE"
        " PRECISION NOT NULL, paused_until DOUBLE PRECISION NOT NULL)"
    ),
    (
        f"INSERT INTO sandbox_about (name, value) VALUES ('schema_version', '{SCHEMA_VERSION}') ON"
        " CONFLICT (name) DO NOTHING"
    ),
)
INSERT = (
    "INSERT INTO sandbox_answer (key, snapshot, tool, provider, version, arguments, body) VALUES"
    " (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING"
)


@dataclass(frozen=True)
class StoredAnswer:
    """One remembered answer: what was asked, and `ProviderAnswer.to_json()` as bytes."""

    question: SandboxQuestion
    body: bytes

    def row(self) -> tuple[str, str, str, str, str, str, bytes]:
        question = self.question
        return (
            question.key,
            question.snapshot,
            question.tool,
            question.provider,
            question.version,
            question.arguments,
            self.body,
        )


class Count(NamedTuple):
    snapshot: str
    tool: str
    provider: str
    version: str
    answers: int


class Store(RateLimits, Protocol):
    """Many threads and processes may share one. Raises ProviderFault where the store itself cannot
    be reached just now, UserError where it cannot be used any more (a full disk)."""

    @property
    def name(self) -> str:
        """As a person may read it: never with a password."""
        ...

    def find(self, key: str) -> bytes | None: ...

    def claim(self, key: str, owner: str, seconds: float) -> bool:
        """Whether `owner` alone may ask for this key for so long. Claiming again what one holds
        renews it."""
        ...

    def renew(self, owner: str, seconds: float) -> None:
        """Everything that `owner` holds."""
        ...

    def release(self, key: str, owner: str) -> None: ...

    def keep(self, answer: StoredAnswer) -> bytes:
        """Remembers an answer for good. Returns the one that stands: an earlier one wins."""
        ...

    def keep_all(self, answers: Iterable[StoredAnswer]) -> None:
        """All of them or none."""
        ...

    def recorded(self, snapshot: str) -> Iterator[StoredAnswer]:
        """The answers of one day, by key."""
        ...

    def counts(self) -> list[Count]: ...

    def drop(self, snapshot: str) -> None: ...

    def close(self) -> None: ...


class SqlStore(ABC):
    """What both databases do alike. A subclass runs one statement, whole or not at all, and names
    what differs in the words of SQL."""

    NOW: ClassVar[str]  # seconds since 1970 by one clock for all who share the store
    MOST: ClassVar[str]  # the function that gives the largest of its arguments

    def __init__(self, name: str):
        self.name = name

    @abstractmethod
    def _run(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        """The rows of one statement, which is committed. Parameters are marked with `?`."""

    def find(self, key: str) -> bytes | None:
        rows = self._run("SELECT body FROM sandbox_answer WHERE key = ?", (key,))
        return self._body(rows[0][0]) if rows else None

    def _body(self, value: Any) -> bytes:
        """SQLite keeps in any column whatever it is given; bytes(10**9) would be a gigabyte."""
        if not isinstance(value, bytes):
            raise UserError(f"The store {self.name} is damaged: an answer in it is no bytes.")
        return value

    def claim(self, key: str, owner: str, seconds: float) -> bool:
        sql = (
            f"INSERT INTO sandbox_lease (key, owner, expires_at) VALUES (?, ?, {self.NOW} + ?) ON"
            " CONFLICT (key) DO UPDATE SET owner = excluded.owner, expires_at ="
            f" excluded.expires_at WHERE sandbox_lease.expires_at < {self.NOW} OR"
            " sandbox_lease.owner = excluded.owner RETURNING owner"
        )
        return bool(self._run(sql, (key, owner, seconds)))

    def renew(self, owner: str, seconds: float) -> None:
        self._run(
            f"UPDATE sandbox_lease SET expires_at = {self.NOW} + ? WHERE owner = ?",
            (seconds, owner),
        )

    def release(self, key: str, owner: str) -> None:
        self._run("DELETE FROM sandbox_lease WHERE key = ? AND owner = ?", (key, owner))

    def keep(self, answer: StoredAnswer) -> bytes:
        self._run(INSERT, answer.row())
        stands = self.find(answer.question.key)
        # None: the day was dropped at this very moment
        return answer.body if stands is None else stands

    def recorded(self, snapshot: str) -> Iterator[StoredAnswer]:
        last = ""
        while True:
            rows = self._run(
                "SELECT key, tool, provider, version, arguments, snapshot, body FROM"
                f" sandbox_answer WHERE snapshot = ? AND key > ? ORDER BY key LIMIT {CHUNK_ROWS}",
                (snapshot, last),
            )
            for key, *parts, body in rows:
                question = SandboxQuestion(*parts)
                if question.key != key:
                    raise UserError(
                        f"The store {self.name} is damaged: an answer of {snapshot} is not under"
                        " the key of its question."
                    )
                yield StoredAnswer(question, self._body(body))
            if len(rows) < CHUNK_ROWS:
                return
            last = rows[-1][0]

    def counts(self) -> list[Count]:
        columns = "snapshot, tool, provider, version"
        rows = self._run(
            f"SELECT {columns}, count(*) FROM sandbox_answer GROUP BY {columns} ORDER BY {columns}"
        )
        return [Count(*row) for row in rows]

    def drop(self, snapshot: str) -> None:
        self._run("DELETE FROM sandbox_answer WHERE snapshot = ?", (snapshot,))

    def reserve(self, vendor: str, requests_per_second: float, burst: int) -> float | None:
        between_s = 1 / requests_per_second
        sql = (
            f"INSERT INTO sandbox_limit (vendor, free_at, paused_until) VALUES (?, {self.NOW} + ?,"
            f" 0) ON CONFLICT (vendor) DO UPDATE SET free_at = {self.MOST}(sandbox_limit.free_at,"
            f" sandbox_limit.paused_until + ?, {self.NOW}) + ? WHERE sandbox_limit.free_at <="
            f" {self.NOW} + ? RETURNING free_at - {self.NOW}"
        )
        furthest_s = burst * between_s + LONGEST_QUEUE_S
        rows = self._run(sql, (vendor, between_s, (burst - 1) * between_s, between_s, furthest_s))
        return max(0.0, float(rows[0][0]) - burst * between_s) if rows else None

    def pause(self, vendor: str, seconds: float) -> None:
        sql = (
            f"INSERT INTO sandbox_limit (vendor, free_at, paused_until) VALUES (?, 0, {self.NOW} +"
            " ?) ON CONFLICT (vendor) DO UPDATE SET paused_until ="
            f" {self.MOST}(sandbox_limit.paused_until, excluded.paused_until)"
        )
        self._run(sql, (vendor, seconds))

    def paused_s(self, vendor: str) -> float:
        rows = self._run(
            f"SELECT paused_until - {self.NOW} FROM sandbox_limit WHERE vendor = ?", (vendor,)
        )
        return float(rows[0][0]) if rows else 0.0

    def _check_version(self) -> None:
        """Raises UserError for a store of another tripwright."""
        version = dict(self._run("SELECT name, value FROM sandbox_about")).get("schema_version")
        if version != SCHEMA_VERSION:
            raise UserError(
                f"The store {self.name} has schema version {version}; this tripwright reads version"
                f" {SCHEMA_VERSION}."
            )


def open_store(name: str, create: bool = True) -> Store:
    """A path of a SQLite file, or the URL of a PostgreSQL database. Raises UserError, without
    `create` also where there is no store."""
    scheme = urlsplit(name).scheme if "://" in name else ""
    if scheme in ("postgresql", "postgres"):
        from tripwright.domains.deeptravel.sandbox.postgres_store import PostgresStore

        return PostgresStore(name, create)
    if scheme or not name.strip():
        place = f"{scheme}://…" if scheme else f"'{name}'"
        raise UserError(
            f"Store {place} is not known: expected a path like runs/live.sqlite or a URL like"
            " postgresql://user@host/database."
        )
    from tripwright.domains.deeptravel.sandbox.sqlite_store import SqliteStore

    return SqliteStore(name, create)

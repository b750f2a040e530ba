"""Trips on disk: one SQLite file (WAL) of one server.

A trip is a row, and so is each event of it, so that a browser can be told what happened, from the
start or after an event it has seen. What a server that was killed had under way is queued again by
the next one, and played from the start. Of finished trips the newest are kept.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

Json = Mapping[str, Any]
OVER = ("done", "no_plan", "failed", "cancelled")
MOST_UNFINISHED, MOST_UNFINISHED_OF_ALL = 16, 1_000  # of one who asks; of all
MOST_FINISHED = 10_000
USUAL_COMFORT = 0.5  # share of what the budget leaves above the cheapest good plan
SCHEMA = """
CREATE TABLE IF NOT EXISTS trips (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, owner TEXT NOT NULL,
    status TEXT NOT NULL, created_at TEXT NOT NULL, finished_at TEXT, asked TEXT NOT NULL,
    outcome TEXT, record TEXT, asker TEXT NOT NULL DEFAULT '', shared INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS costs (day TEXT PRIMARY KEY, usd REAL NOT NULL);
CREATE INDEX IF NOT EXISTS trips_of_owner ON trips (owner, number);
CREATE INDEX IF NOT EXISTS trips_by_status ON trips (status, number);
CREATE INDEX IF NOT EXISTS trips_by_end ON trips (finished_at);
CREATE TABLE IF NOT EXISTS events (
    trip INTEGER NOT NULL REFERENCES trips (number) ON DELETE CASCADE, number INTEGER NOT NULL,
    kind TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (trip, number)) WITHOUT ROWID;
"""


class TripStore:
    """Safe to share between threads: each has its own connection."""

    def __init__(self, file: Path):
        self._file, self._local = file, threading.local()
        file.parent.mkdir(parents=True, exist_ok=True)
        self._db.executescript(SCHEMA)
        known = {row["name"] for row in self._db.execute("PRAGMA table_info(trips)")}
        for name, kind in (("asker", "TEXT NOT NULL DEFAULT ''"), ("shared", "INTEGER DEFAULT 0")):
            if name not in known:  # of an older server
                self._db.execute(f"ALTER TABLE trips ADD COLUMN {name} {kind}")

    @property
    def _db(self) -> sqlite3.Connection:
        if not hasattr(self._local, "db"):
            db = sqlite3.connect(self._file, timeout=30, isolation_level=None)
            db.row_factory = sqlite3.Row
            # secure_delete: what a traveller deletes is overwritten, not only forgotten
            for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "foreign_keys=ON"):
                db.execute(f"PRAGMA {pragma}")
            db.execute("PRAGMA secure_delete=ON")
            self._local.db = db
        return self._local.db  # type: ignore[no-any-return]

    # ---- travellers

    def add(self, owner: str, asker: str, asked: Json) -> str | None:
        """`asked`: planner, text, values, words, replaces, comfort, what was understood. None where
        too many trips are unfinished, of the one who asks or of all; who asked is forgotten when a
        trip ends."""
        id = secrets.token_urlsafe(12)
        unfinished = "(SELECT count(*) FROM trips WHERE status IN ('queued','running'){}) < ?"
        added = self._db.execute(
            "INSERT INTO trips (id, owner, asker, status, created_at, asked)"
            f" SELECT ?,?,?,'queued',?,? WHERE {unfinished.format(' AND asker=?')}"
            f" AND {unfinished.format('')}",
            (id, owner, asker, now(), json.dumps(asked))
            + (asker, MOST_UNFINISHED, MOST_UNFINISHED_OF_ALL),
        )
        if not added.rowcount:
            return None
        self._tell(id, "status", {"status": "queued"})
        return id

    def trip(self, id: str) -> dict[str, Any] | None:
        row = self._db.execute("SELECT * FROM trips WHERE id=?", (id,)).fetchone()
        return None if row is None else self._json(row)

    def page(self, owner: str, limit: int, before: int | None) -> list[dict[str, Any]]:
        rows = self._db.execute(
            "SELECT * FROM trips WHERE owner=? AND number<? ORDER BY number DESC LIMIT ?",
            (owner, before if before is not None else 2**62, limit),
        )
        return [self._json(row, calls=False) for row in rows]

    def delete(self, id: str) -> None:
        self._db.execute("DELETE FROM trips WHERE id=?", (id,))

    def share(self, id: str, shared: bool) -> None:
        """Whether whoever knows its id may read it."""
        self._db.execute("UPDATE trips SET shared=? WHERE id=?", (shared, id))

    def spent(self, usd: float = 0.0) -> float:
        """What models have cost today (UTC), these included."""
        row = self._db.execute(
            "INSERT INTO costs VALUES (?,?) ON CONFLICT (day) DO UPDATE SET usd=usd+excluded.usd"
            " RETURNING usd",
            (now()[:10], usd),
        ).fetchone()
        return float(row["usd"])

    def record(self, id: str) -> dict[str, Any] | None:
        """Of the finished episode, which a new plan is made from."""
        row = self._db.execute("SELECT record FROM trips WHERE id=?", (id,)).fetchone()
        return json.loads(row["record"]) if row and row["record"] else None

    def events(self, id: str, after: int) -> list[tuple[int, str, str]]:
        """(number, kind, body as JSON)"""
        rows = self._db.execute(
            "SELECT e.number, e.kind, e.body FROM events e JOIN trips t ON t.number=e.trip"
            " WHERE t.id=? AND e.number>? ORDER BY e.number",
            (id, after),
        )
        return [(row["number"], row["kind"], row["body"]) for row in rows]

    # ---- jobs

    def unfinished_trips(self) -> list[str]:
        """Of a server that ended, the first asked for first; all of them are in the queue again."""
        self._db.execute("UPDATE trips SET status='queued' WHERE status='running'")
        rows = self._db.execute("SELECT id FROM trips WHERE status='queued' ORDER BY number")
        return [row["id"] for row in rows]

    def begin(self, id: str) -> dict[str, Any] | None:
        """A trip of the queue, which is under way now; None where it was cancelled or deleted. What
        was seen of a first try is taken back."""
        row = self._db.execute(
            "UPDATE trips SET status='running' WHERE id=? AND status='queued' RETURNING *", (id,)
        ).fetchone()
        if row is None:
            return None
        # the events begin anew, but their numbers go on, for browsers that resume
        self._tell(id, "status", {"status": "running"})
        newest = "(SELECT max(number) FROM events WHERE trip=:trip)"
        self._db.execute(
            f"DELETE FROM events WHERE trip=:trip AND number<{newest}", {"trip": row["number"]}
        )
        return self._json(row)

    def copy(self, id: str, outcome: Json, record: Json) -> str:
        """A finished trip once more, with another plan in place of its own, which it replaces."""
        new = secrets.token_urlsafe(12)
        self._db.execute(
            "INSERT INTO trips (id, owner, status, created_at, finished_at, asked, outcome, record)"
            " SELECT ?, owner, 'done', ?, ?, json_set(asked, '$.replaces', id), ?, ? FROM trips"
            " WHERE id=?",
            (new, now(), now(), json.dumps(outcome), json.dumps(record), id),
        )
        self._db.execute(
            "INSERT INTO events SELECT t.number, e.number, e.kind, e.body FROM events e JOIN trips"
            " o ON o.number=e.trip JOIN trips t ON t.id=? WHERE o.id=? AND e.kind!='done'",
            (new, id),
        )
        self._tell(new, "done", public(self.trip(new) or {}))
        return new

    def tell(self, id: str, kind: str, body: Json) -> bool:
        """False where the trip is not under way any more: cancelled or deleted."""
        query = "SELECT 1 FROM trips WHERE id=? AND status='running'"
        under_way = self._db.execute(query, (id,)).fetchone() is not None
        if under_way:
            self._tell(id, kind, body)
        return under_way

    def finish(self, id: str, status: str, outcome: Json, record: Json | None = None) -> bool:
        """`outcome`: view, no_plan, replan, changed, error. False where it had ended before."""
        done = self._db.execute(
            "UPDATE trips SET status=?, finished_at=?, outcome=?, record=?, asker='' WHERE id=? AND"
            " status IN ('queued','running')",
            (status, now(), json.dumps(outcome), json.dumps(record) if record else None, id),
        )
        if done.rowcount:
            self._tell(id, "status", {"status": status})
            self._tell(id, "done", public(self.trip(id) or {}))
            self._db.execute(
                "DELETE FROM trips WHERE finished_at <= (SELECT finished_at FROM trips WHERE"
                " finished_at IS NOT NULL ORDER BY finished_at DESC LIMIT 1 OFFSET ?)",
                (MOST_FINISHED,),
            )
        return bool(done.rowcount)

    def _tell(self, id: str, kind: str, body: Json) -> None:
        self._db.execute(
            "INSERT INTO events SELECT t.number, (SELECT coalesce(max(e.number), 0) + 1 FROM events"
            " e WHERE e.trip=t.number), ?, ? FROM trips t WHERE t.id=?",
            (kind, json.dumps(body), id),
        )

    def _json(self, row: sqlite3.Row, calls: bool = True) -> dict[str, Any]:
        asked, outcome = json.loads(row["asked"]), json.loads(row["outcome"] or "{}")
        blank = dict.fromkeys(("view", "no_plan", "replan", "changed", "error"))
        blank |= {"comfort": USUAL_COMFORT}
        same = ("id", "owner", "number", "status", "created_at", "finished_at")
        trip: dict[str, Any] = {name: row[name] for name in same} | blank | asked | outcome
        trip["shared"] = bool(row["shared"])
        return trip | {"calls": self._calls(row["id"])} if calls else trip

    def _calls(self, id: str) -> list[dict[str, Any]]:
        calls: dict[int, dict[str, Any]] = {}
        for _, kind, text in self.events(id, 0):
            if kind not in ("call", "answer"):
                continue
            body = json.loads(text)
            if kind == "call":
                calls[body["number"]] = {**body, "answer": None, "seconds": None}
            elif call := calls.get(body["number"]):
                call["answer"] = {name: body[name] for name in ("text", "error", "rows")}
                call["seconds"] = body["seconds"]
        return list(calls.values())


def public(trip: Json) -> dict[str, Any]:
    """The trip as its owner sees it."""
    return {name: value for name, value in trip.items() if name not in ("owner", "number")}


def summary(trip: Json) -> dict[str, Any]:
    view = trip["view"] or {}
    same = {name: trip[name] for name in ("id", "status", "created_at")}
    return {
        **same,
        "title": view.get("title") or trip["words"],
        "cost": view.get("cost"),
        "currency": view.get("currency"),
        "passed": view.get("passed") and not trip.get("unread"),
    }


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

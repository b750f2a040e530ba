"""Trips as jobs: threads that claim a trip, play its episode and keep what happens as it happens.

Planners are short bursts of Python and endpoints mostly wait, so threads do; a model of our own is
played by one thread at a time.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext, suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import islice
from typing import Any

from tripwright.agent.chat import ChatFormat
from tripwright.agent.dialect import Dialect
from tripwright.agent.turn import Call, opening_thoughts
from tripwright.domains.desk import Desk, FormProblems, Understood
from tripwright.domains.domain import Domain, Place
from tripwright.episode import Episode, closed, open_session
from tripwright.errors import UserError
from tripwright.policies.base import Policy
from tripwright.server.log import say_traceback
from tripwright.server.reading import ModelReader
from tripwright.server.store import LEASE_SECONDS, TripStore
from tripwright.server.trip_metrics import TRIP_SECONDS, TRIPS
from tripwright.transcript import ToolCall

MOST_EXAMPLES = 2
LOOK_SECONDS = 0.2  # between two looks for trips that other workers were asked for


class GivenUp(Exception):
    """The trip is no longer this worker's, or the server stops."""


@dataclass(frozen=True)
class Planner:
    """One who plans: by its name on the page. `alone`: plays one trip at a time."""

    label: str
    policy: Callable[[], Policy]
    dialect: Dialect
    chat: ChatFormat | None = None
    alone: bool = False


@dataclass(frozen=True)
class Agency:
    """What one server offers: a domain's desk at one place, and who plans there."""

    domain: Domain
    desk: Desk
    place: Place
    planners: dict[str, Planner]
    reader: ModelReader | None = None  # of words; without one the desk reads them

    @cached_property
    def examples(self) -> list[str]:
        """Wishes to begin with: drawn ones that the desk reads whole and takes."""
        return list(islice(self._readable_wishes(), MOST_EXAMPLES))

    def _readable_wishes(self) -> Iterator[str]:
        with suppress(UserError, LookupError):  # a place may be too small to draw any
            for wish in self.desk.wishes(self.place):
                understood = self.desk.read(wish.query, self.place)
                if understood.missing:
                    continue
                with suppress(FormProblems):
                    self.desk.request(understood.values, self.place)
                    yield wish.query

    def read(self, text: str) -> Understood:
        if self.reader is not None:
            return self.reader.read(text, self.desk, self.place)
        return self.desk.read(text, self.place)

    @property
    def default_planner(self) -> str:
        return next(iter(self.planners))


class TripJobs:
    def __init__(self, agency: Agency, store: TripStore, threads: int = 4):
        self._agency, self._store = agency, store
        self._worker = f"{os.getpid()}-{secrets.token_hex(4)}"
        self._wake, self._stopping = threading.Semaphore(0), threading.Event()
        self._model = threading.Lock()
        self._threads = [
            threading.Thread(target=target, daemon=True)
            for target in (*([self._work] * threads), self._renew)
        ]

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float = 5.0) -> None:
        """What is under way goes back into the queue, at its next call."""
        self._stopping.set()
        until = time.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))

    def wake(self) -> None:
        """A trip has been added."""
        self._wake.release()

    def _renew(self) -> None:
        while not self._stopping.wait(LEASE_SECONDS / 3):
            self._store.renew(self._worker)

    def _work(self) -> None:
        while not self._stopping.is_set():
            trip = self._store.claim(self._worker)
            if trip is None:
                self._wake.acquire(timeout=LOOK_SECONDS)
                continue
            try:
                with TRIP_SECONDS.time():
                    self._play(trip)
            except GivenUp:
                self._store.put_back(trip["id"], self._worker)
            except Exception:
                say_traceback()
                error = "The server failed on this trip; its log says why."
                self._store.finish(trip["id"], self._worker, "failed", {"error": error}, None)
                TRIPS.labels("failed").inc()

    def _play(self, trip: dict[str, Any]) -> None:
        desk, place = self._agency.desk, self._agency.place
        request = desk.request(trip["values"], place)
        planner = self._agency.planners[trip["planner"]]
        policy, words, before = planner.policy, None, None
        old = self._store.record(trip["replaces"]) if trip["replaces"] else None
        if old is not None and (replan := desk.replan(old, request, place)) is not None:
            policy, words = (lambda: replan.policy), replan.words
            planner = self._agency.planners[self._agency.default_planner]
        with self._model if planner.alone else nullcontext():
            episode = self._episode(trip["id"], request, planner, policy())
        record = episode.record()
        outcome: dict[str, Any] = {"replan": words}
        if episode.transcript.answer is not None and episode.scored:
            outcome["view"] = asdict(desk.view(record, place))
            if old is not None:
                before = asdict(desk.view(old, place))
                outcome["changed"] = _changed(before, outcome["view"])
        status = "done" if outcome.get("view") else "failed"
        refused = episode.scored and not episode.passed
        if refused and (no_plan := desk.no_plan(request, place)) is not None:
            status, outcome["no_plan"] = "no_plan", asdict(no_plan)
        if status == "failed":
            outcome["error"] = episode.transcript.fault or "The agent ended without a plan."
        self._store.finish(trip["id"], self._worker, status, outcome, record)
        TRIPS.labels(status).inc()

    def _episode(self, id: str, request: Any, planner: Planner, policy: Policy) -> Episode:
        task = self._agency.domain.task(id, request, self._agency.place.source)
        session = open_session(task, planner.dialect, planner.chat)
        session.watcher = _Telling(self._tell, id, planner.dialect)
        return next(closed(policy.play([session])))

    def _tell(self, id: str, kind: str, body: dict[str, Any]) -> None:
        if self._stopping.is_set() or not self._store.tell(id, self._worker, kind, body):
            raise GivenUp


class _Telling:
    """A session's watcher: every call and answer becomes an event."""

    def __init__(self, tell: Callable[[str, str, dict[str, Any]], None], id: str, dialect: Dialect):
        self._tell, self._id, self._dialect = tell, id, dialect
        self._asked_at = 0.0

    def on_call(self, number: int, call: Call, turn: str) -> None:
        thoughts = opening_thoughts(turn, self._dialect.turns).thoughts
        body = {"number": number, "tool": call.name, "arguments": call.arguments}
        self._tell(self._id, "call", {**body, "thinking": "\n".join(thoughts).strip()})
        self._asked_at = time.monotonic()

    def on_answer(self, number: int, call: ToolCall, shown: str) -> None:
        rows = None if call.rows is None else call.rows.records()
        seconds = round(time.monotonic() - self._asked_at, 4)
        body = {"number": number, "text": shown, "error": call.error, "rows": rows}
        self._tell(self._id, "answer", {**body, "seconds": seconds})


def _changed(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """Keys of the parts that differ, those that are gone among them. Which call a line rests on is
    no difference: the same trip may have been looked up in another order."""
    before, after = (
        {
            part["key"]: {**part, "items": [{**item, "evidence": None} for item in part["items"]]}
            for part in view["parts"]
        }
        for view in (old, new)
    )
    keys = dict.fromkeys((*after, *before))
    return [key for key in keys if before.get(key) != after.get(key)]

"""judgements.jsonl: every vote that was paid for, in a journal; so a killed run repeats no paid
call.

Two kinds of lines: a vote of an item ("vote", from 1) or a fault in its place, and an item once it
is decided ("votes", "agreement"). A line belongs to its `key`, a hash of the whole question and of
who is asked, so several files of transcripts may share one log.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any

from tripwright.files import Journal


class JudgementLog:
    """Written by one process at a time, by many threads. Without a path it remembers for as long as
    it lives."""

    def __init__(self, path: Path | None = None):
        self.path = path
        self._votes: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._decided: set[tuple[str, int]] = set()  # with the number of votes
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        if path:
            self._journal = Journal(
                path,
                self._take_up,
                "not a judgement. Remove this line, or name another file for --judgements.",
                in_use=(
                    f"'{path}' is in use: another process judges with it now. Wait for it, or name"
                    " another --judgements."
                ),
            )

    def __enter__(self) -> JudgementLog:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Threads that are left alone with a request in flight may still come: what they bring is
        then remembered by nobody."""
        with self._lock:
            if self._journal:
                self._journal.close()
                self._journal = None

    def votes(self, key: str) -> dict[int, dict[str, Any]]:
        """The readable votes on this item, by number."""
        with self._lock:
            return dict(self._votes.get(key, {}))

    def add(self, line: dict[str, Any]) -> None:
        with self._lock:
            if "votes" in line and (line["key"], len(line["votes"])) in self._decided:
                return
            if self._journal:
                self._journal.append(line)
            self._remember(line)

    def _remember(self, line: dict[str, Any]) -> None:
        if "votes" in line:
            self._decided.add((line["key"], len(line["votes"])))
        elif line.get("judged") is not None:  # a fault is tried again
            self._votes[line["key"]][line["vote"]] = line

    def _take_up(self, record: Any) -> None:
        str(record["key"]), len(record["votes"]) if "votes" in record else int(record["vote"])
        self._remember(record)

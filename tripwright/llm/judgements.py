"""judgements.jsonl: what models that take part in judging have answered, in a journal; so a killed
run repeats no paid call.

Two kinds of lines: a vote on an item ("vote", from 1; a formatter has one) or a fault in its place,
and an item once it is decided ("votes", "agreement"). A line belongs to its `key`, a hash of the
whole question and of who is asked, so several files of transcripts may share one log.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from pathlib import Path
from types import TracebackType
from typing import Any

from tripwright.files import Journal
from tripwright.llm.paid_calls import COUNTED, CostLimitReached
from tripwright.llm.prices import Prices


class JudgementLog:
    """Written by one process at a time, by many threads. Without a path it remembers for as long as
    it lives."""

    def __init__(
        self, path: Path | None = None, prices: Prices | None = None, max_usd: float | None = None
    ):
        """With `max_usd` nobody is asked once all that stands here has cost so much."""
        self.path, self.prices, self.max_usd = path, prices, max_usd
        self.usage = Counter[str]()  # of all votes, those of earlier starts too
        self._votes: dict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
        self._decided: set[tuple[str, int]] = set()  # with the number of votes
        self._lock = threading.Lock()
        self._journal: Journal | None = None
        if path:
            self._journal = Journal(
                path,
                self._take_up,
                "not a judgement. Remove this line, or move the file away.",
                in_use=f"'{path}' is in use: another process judges with it now. Wait for it.",
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

    def check_cost(self) -> None:
        """Before a request. Raises CostLimitReached."""
        if self.prices is None or self.max_usd is None:
            return
        with self._lock:
            cost = self.prices.usd(self.usage)
        if cost >= self.max_usd:
            raise CostLimitReached(
                f"Judging has cost ${cost:,.2f} of the ${self.max_usd:,.2f} allowed"
                " (max_cost_usd). What is judged is kept; the same command goes on with more."
            )

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
            return
        self.usage.update({name: n for name, n in line.get("usage", {}).items() if name in COUNTED})
        if line.get("judged") is not None:  # a fault is tried again
            self._votes[line["key"]][line["vote"]] = line

    def _take_up(self, record: Any) -> None:
        str(record["key"]), len(record["votes"]) if "votes" in record else int(record["vote"])
        self._remember(record)

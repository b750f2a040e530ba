"""What a sandbox did, in figures: per tool and vendor, and in all."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

FIGURES = (
    "asked",  # = hits + shared + missed + answered_live + unanswered
    "hits",  # the store knew the answer
    "shared",  # a call that another thread or process had under way answered it
    "missed",  # replay: not recorded
    "answered_live",
    "unanswered",  # a fault stayed after all retries
    "not_stored",  # answered live in record mode, but the terms forbid keeping it
    "live_calls",  # attempts at the vendor, those that failed too
    "retries",
    "waits",  # for a vendor's limit
    "redacted",  # answers in which a secret stood
)


class SandboxCounts:
    """Threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._figures: dict[tuple[str, str], Counter[str]] = {}
        self._faults: dict[tuple[str, str], Counter[str]] = {}
        self._wait_s: Counter[tuple[str, str]] = Counter()

    def add(self, tool: str, vendor: str, *figures: str) -> None:
        with self._lock:
            self._figures.setdefault((tool, vendor), Counter()).update(figures)

    def fault(self, tool: str, vendor: str, kind: str) -> None:
        with self._lock:
            self._faults.setdefault((tool, vendor), Counter())[kind] += 1

    def waited(self, tool: str, vendor: str, seconds: float) -> None:
        if seconds > 0:
            self.add(tool, vendor, "waits")
            with self._lock:
                self._wait_s[tool, vendor] += seconds  # type: ignore[assignment]  # a Counter adds seconds as well

    def as_dict(self) -> dict[str, Any]:
        """{"total": figures, "tools": {tool: {vendor: figures}}}; figures are those above,
        `wait_s`, and `faults` by kind."""
        with self._lock:
            places = sorted({*self._figures, *self._faults})
            tools: dict[str, dict[str, Any]] = {}
            for tool, vendor in places:
                tools.setdefault(tool, {})[vendor] = self._sum([(tool, vendor)])
            return {"total": self._sum(places), "tools": tools}

    def _sum(self, places: list[tuple[str, str]]) -> dict[str, Any]:
        figures: Counter[str] = sum(
            (self._figures.get(place, Counter()) for place in places), Counter()
        )
        faults: Counter[str] = sum(
            (self._faults.get(place, Counter()) for place in places), Counter()
        )
        wait_s = round(sum(self._wait_s[place] for place in places), 3)
        return {
            **{name: figures[name] for name in FIGURES},
            "wait_s": wait_s,
            "faults": dict(sorted(faults.items())),
        }

"""What a server says on stderr. Whoever read it may have left (`tripwright serve … 2>&1 | head
-1`): the server goes on all the same."""

from __future__ import annotations

import sys
import time
import traceback

PAUSE_SECONDS = 60.0


def say(line: str) -> None:
    _write(f"{line}\n")


def say_traceback() -> None:
    """Of the exception that is being handled."""
    _write(traceback.format_exc())


def _write(text: str) -> None:
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):  # its reader left, its disk is full, or it was closed
        return


class Seldom:
    """Says that something happened, at most once in `pause_seconds`, and how often it did
    meanwhile: a stranger cannot flood the log."""

    def __init__(self, pause_seconds: float = PAUSE_SECONDS):
        self._pause_seconds = pause_seconds
        self._said_at = -pause_seconds
        self._unsaid = 0

    def say(self, line: str) -> None:
        now = time.monotonic()
        if now - self._said_at < self._pause_seconds:
            self._unsaid += 1
            return
        say(f"{line} (and {self._unsaid:,} like it before)" if self._unsaid else line)
        self._said_at, self._unsaid = now, 0

"""Where long work stands, as one line on stderr. Every room may import this."""

from __future__ import annotations

import shutil
import sys
import time


class StatusLine:
    """Rewritten in place on a terminal, a new line now and then elsewhere; work that ends sooner
    than that shows nothing."""

    def __init__(self, terminal_seconds: float = 0.5, log_seconds: float = 20):
        self._terminal = sys.stderr.isatty()
        self._every = terminal_seconds if self._terminal else log_seconds
        self._shown_at = self.started = time.monotonic()
        self._shown = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    def show(self, line: str, always: bool = False) -> None:
        now = time.monotonic()
        if now - self._shown_at < self._every and not always:
            return
        if self._terminal:  # a line that wraps could not be written over
            line = line[: shutil.get_terminal_size().columns - 1]
        self._shown_at, self._shown = now, True
        print(
            f"\r\x1b[K{line}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=sys.stderr,
            flush=True,
        )

    def end(self) -> None:
        if self._terminal and self._shown:
            print(file=sys.stderr)
        self._shown = False

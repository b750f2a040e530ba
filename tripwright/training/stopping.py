"""Ctrl-C and SIGTERM (a cluster that takes its machine back) between two steps: first the
checkpoint, then the end."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Stopping:
    """While entered, the first signal is only noted; whoever works asks, and leaves when it is
    ready. A second one ends at once."""

    def __init__(self) -> None:
        self.asked: int | None = None
        self._at_once = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stopping:
        # elsewhere Python takes no handlers, and gets no signals
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Meanwhile the first signal ends the work, for what can be stopped anywhere."""
        self._at_once = True
        try:
            yield
        finally:
            self._at_once = False

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.asked is not None:
            self.leave_if_asked()
        self.asked = number
        if self._at_once:
            self.leave_if_asked()
        # not print: the signal may have come in the middle of one
        os.write(
            2,
            b"\nfinishing this step, then writing a checkpoint; the same signal again stops at"
            b" once\n",
        )

    def leave_if_asked(self) -> None:
        """Exit codes as a shell has them: 130 after Ctrl-C (the command line's own words), 143
        after SIGTERM."""
        if self.asked == signal.SIGINT:
            raise KeyboardInterrupt
        if self.asked is not None:
            raise SystemExit(128 + self.asked)

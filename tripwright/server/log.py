"""What a server says on stderr. Whoever read it may have left (`tripwright serve … 2>&1 | head
-1`): the server goes on all the same."""

from __future__ import annotations

import sys
import traceback


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

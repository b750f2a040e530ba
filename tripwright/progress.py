"""What a terminal gets: of strangers' texts nothing that it would obey, and where long work
stands, as one line on stderr. Every room may import this."""

from __future__ import annotations

import re
import shutil
import sys
import time
from typing import Any

# control characters (escape codes begin with one), a return to the line's beginning, other ends of
# lines, marks that turn the direction of writing
_OBEYED = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]|\r(?!\n)"
)


def harmless(text: str) -> str:
    """With a question mark for each character that a terminal would obey, ends of lines and
    tabulators excepted."""
    return _OBEYED.sub("?", text)


class HarmlessOutput:
    """Stands before stdout or stderr (`cli/main.py`): whatever is printed anywhere is harmless. It
    is no terminal, so that libraries send it no codes; ours go to `beneath`, which `terminal`
    finds."""

    def __init__(self, beneath: Any):
        self.beneath = terminal(beneath)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.beneath, name)

    def write(self, text: str) -> int:
        return int(self.beneath.write(harmless(text)))

    def writelines(self, lines: Any) -> None:
        self.write("".join(lines))

    def isatty(self) -> bool:
        return False


def terminal(stream: Any) -> Any:
    """For our own codes, around texts that are harmless: the stream itself."""
    return getattr(stream, "beneath", stream)


class StatusLine:
    """Rewritten in place on a terminal, a new line now and then elsewhere; work that ends sooner
    than that shows nothing."""

    def __init__(self, terminal_seconds: float = 0.5, log_seconds: float = 20):
        self._terminal = terminal(sys.stderr).isatty()
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
            f"\r\x1b[K{harmless(line)}" if self._terminal else line,
            end="" if self._terminal else "\n",
            file=terminal(sys.stderr) if self._terminal else sys.stderr,
            flush=True,
        )

    def count(self, done: int, total: int, what: str, more: str = "", before: int = 0) -> None:
        """ "12 of 28 requests worded, 3.4 a second, about 0.1 min left"; of `done`, `before` were
        there when it began."""
        rate = (done - before) / max(self.seconds, 1e-9)
        fast = f"{rate:,.0f}" if rate >= 10 else f"{rate:.2g}"
        left = f", {fast} a second, about {(total - done) / rate / 60:.1f} min left" if rate else ""
        self.show(f"{done:,} of {total:,} {what}{left}{more}")

    def end(self) -> None:
        if self._terminal and self._shown:
            print(file=sys.stderr)
        self._shown = False

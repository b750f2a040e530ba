"""Where a run stands, as one line on stderr: rewritten in place on a terminal, otherwise a line
every tenth of the way and every minute."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Sequence

from tripwright.episode import Episode
from tripwright.errors import counted
from tripwright.llm.paid_calls import PaidCalls
from tripwright.statistics.rates import wilson

TERMINAL_SECONDS, LOG_SECONDS = 1.0, 60.0  # between two lines while no episode ends


class ProgressLine:
    """`results`: of the episodes scored in an earlier start, whether each passed. `calls` has
    tokens, cost and faults, where there are any.

    The interval is Wilson's over the episodes so far: with several samples of a query the true one
    is wider. As a context it also moves while no episode ends. `silent` shows nothing at all.
    """

    def __init__(
        self,
        total: int,
        results: Sequence[bool] = (),
        calls: PaidCalls | None = None,
        silent: bool = False,
    ):
        self.total, self.scored, self.passed, self.unscored = total, len(results), sum(results), 0
        self._earlier, self._calls, self._silent = len(results), calls, silent
        self._started = time.monotonic()
        self._in_place = sys.stderr.isatty()
        self._shown = False
        self._lock = threading.Lock()
        self._ended = threading.Event()

    def __enter__(self) -> ProgressLine:
        if self._earlier:
            self.say(f"{self._earlier} of {self.total} episodes are there already")
        if not self._silent:
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        with self._lock:
            if self._in_place and self._shown:
                print(file=sys.stderr)

    def add(self, episode: Episode) -> None:
        with self._lock:
            if episode.verdict is None:
                self.unscored += 1
            else:
                self.scored += 1
                self.passed += episode.verdict.final
            episodes = self.scored + self.unscored
            if (
                self._in_place
                or episodes == self.total
                or 10 * episodes // self.total > 10 * (episodes - 1) // self.total
            ):
                self._show()

    def play_again(self, episodes: int) -> None:
        """So many that were unscored are tried again."""
        with self._lock:
            self.unscored -= episodes
            self._note(f"{counted(episodes, 'unscored episode')} tried again")

    def say(self, text: str) -> None:
        """A line of its own."""
        with self._lock:
            self._note(text)

    def _note(self, text: str) -> None:
        if self._silent:
            return
        print(f"\n{text}" if self._in_place and self._shown else text, file=sys.stderr, flush=True)
        self._shown = False

    def text(self) -> str:
        episodes = self.scored + self.unscored
        seconds = max(time.monotonic() - self._started, 1e-9)
        per_second = (episodes - self._earlier) / seconds
        remaining = f", {_clock((self.total - episodes) / per_second)} left" if per_second else ""
        unscored = f", {self.unscored} unscored" if self.unscored else ""
        return (
            f"{episodes}/{self.total} episodes, {self._pass()}{unscored}{self._paid()},"
            f" {_rate(per_second)}/s{remaining}"
        )

    def _pass(self) -> str:
        if not self.scored:
            return "pass -"
        low, high = wilson(self.passed, self.scored)
        return f"pass {self.passed / self.scored:.1%} [{low:.0%}, {high:.0%}]"

    def _paid(self) -> str:
        calls = self._calls
        if calls is None or not (calls.usage["requests"] or calls.faults):
            return ""
        usage, cost = calls.usage, calls.cost_usd
        tokens = (
            f", {_short(usage['prompt_tokens'])} in {_short(usage['completion_tokens'])} out"
            if usage["prompt_tokens"]
            else ""
        )
        limit = f" of ${calls.max_usd:g}" if calls.max_usd is not None else ""
        dollars = f", ${cost:.2f}{limit}" if cost is not None else ""
        faults = f", {calls.faults} faults" if calls.faults else ""
        return f", {_short(usage['requests'])} requests{tokens}{dollars}{faults}"

    def _show(self) -> None:
        if self._silent:
            return
        text = self.text()
        if self._in_place:  # a line that wraps could not be written over
            text = f"\r{text[: shutil.get_terminal_size().columns - 1]}\033[K"
        print(text, end="" if self._in_place else "\n", file=sys.stderr, flush=True)
        self._shown = True

    def _tick(self) -> None:
        while not self._ended.wait(TERMINAL_SECONDS if self._in_place else LOG_SECONDS):
            with self._lock:
                if not self._ended.is_set():
                    self._show()


def _rate(per_second: float) -> str:
    """Two digits of a slow one, whole numbers of a fast one."""
    return f"{per_second:.2g}" if per_second < 10 else f"{per_second:,.0f}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


def _short(count: float) -> str:
    """1234567 → 1.2M."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if count >= size:
            return f"{count / size:.1f}{letter}"
    return f"{count:.0f}"

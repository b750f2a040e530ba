"""Looking at runs until they end: in the terminal, or on a page for the browser."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from tripwright.cli.watch_serve import make_server
from tripwright.cli.watch_text import BLOCKS, PLAIN, frame
from tripwright.training.watched import Watched, read, signature

LOOK_SECONDS = 1.0


class Screen(Protocol):
    def show(self, text: str) -> None: ...


def serve(runs: Sequence[Path], names: Sequence[str], port: int) -> None:
    with make_server(runs, names, port) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        print("Ctrl-C ends the page; the run goes on.", file=sys.stderr)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return  # the way to end it, and nothing is left unfinished


def follow(runs: Sequence[Path], names: Sequence[str], screen: Screen) -> None:
    """Until every run is finished."""
    seen: list[Any] = [None] * len(runs)
    state: list[Watched | None] = [None] * len(runs)
    try:
        while True:
            changed = False
            for i, (folder, name) in enumerate(zip(runs, names, strict=True)):
                if (now := signature(folder)) != seen[i]:
                    seen[i], state[i], changed = now, read(folder, name), True
            watched = [run for run in state if run is not None]
            if changed:
                screen.show(frame(watched, blocks=blocks()))
            if all(run.finished for run in watched):
                return
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        return


@contextmanager
def open_screen() -> Iterator[Screen]:
    """Rewritten in place on a terminal, with `rich` where it is; elsewhere each frame follows the
    last."""
    if not sys.stdout.isatty():
        yield _Plain("\n\n")
    elif importlib.util.find_spec("rich") is None:
        yield _Plain("\n", before="\x1b[H\x1b[J")
    else:
        from rich.live import Live
        from rich.text import Text

        with Live(Text(""), auto_refresh=False, vertical_overflow="ellipsis") as live:
            yield _Rich(live, Text)


class _Plain:
    def __init__(self, after: str, before: str = ""):
        self._after, self._before = after, before

    def show(self, text: str) -> None:
        print(f"{self._before}{text}", end=self._after, flush=True)


class _Rich:
    def __init__(self, live: Any, text: Any):
        self._live, self._text = live, text

    def show(self, text: str) -> None:
        self._live.update(self._text(text), refresh=True)


def blocks() -> str:
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS

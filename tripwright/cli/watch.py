"""`tripwright watch`: how a training run goes, in the terminal or as a local page, while it goes or
afterwards."""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Protocol

import typer

from tripwright.cli.watch_serve import make_server
from tripwright.cli.watch_state import Watched, read, signature
from tripwright.cli.watch_text import BLOCKS, PLAIN, frame
from tripwright.errors import UserError
from tripwright.evals.report.overlay import check_count
from tripwright.evals.report.together import run_names

LOOK_SECONDS = 1.0


class Screen(Protocol):
    def show(self, text: str) -> None: ...


def watch(
    runs: Annotated[
        list[Path],
        typer.Argument(metavar="RUN...", help="Run folders; several are put into the same charts."),
    ],
    serve: Annotated[
        bool,
        typer.Option(
            "--serve", help="Serve a page with live charts to the browser on this machine."
        ),
    ] = False,
    port: Annotated[
        int, typer.Option(help="Port of the page; 0 takes any free one.", min=0, max=65535)
    ] = 8322,
    once: Annotated[bool, typer.Option("--once", help="Print the state of now and end.")] = False,
) -> None:
    """See how training goes: stage, time left, rewards, passes, entropy, lengths, speed, and
    warnings with advice.

    Reads RUN/metrics.jsonl as it grows, and goes on when a resumed run cuts it. In the terminal it
    ends with the training, or with Ctrl-C. The page of --serve is for this machine alone
    (127.0.0.1), needs no network and looks for news every few seconds.

    Examples:
      tripwright watch runs/nano
      tripwright watch runs/nano --serve
      tripwright watch runs/grpo runs/dapo --serve --port 0
      tripwright watch runs/nano --once
    """
    if serve and once:
        raise UserError("--serve and --once do not go together: the page is live.")
    for folder in runs:
        if not folder.is_dir():
            raise UserError(
                f"No run folder at '{folder}'. Expected a folder made by 'tripwright quickstart',"
                " 'sft' or 'train'."
            )
    check_count(len(runs))
    names = run_names(runs)
    if serve:
        _serve(runs, names, port)
    elif once:
        print(
            frame(
                [read(folder, name) for folder, name in zip(runs, names, strict=True)],
                blocks=_blocks(),
            )
        )
    else:
        with _screen() as screen:
            _follow(runs, names, screen)


def _serve(runs: Sequence[Path], names: Sequence[str], port: int) -> None:
    with make_server(runs, names, port) as server:
        print(f"http://127.0.0.1:{server.server_port}/", flush=True)
        print("Ctrl-C ends the page; the run goes on.", file=sys.stderr)
        try:
            server.serve_forever(poll_interval=0.2)
        except KeyboardInterrupt:
            return  # the way to end it, and nothing is left unfinished


def _follow(runs: Sequence[Path], names: Sequence[str], screen: Screen) -> None:
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
                screen.show(frame(watched, blocks=_blocks()))
            if all(run.finished for run in watched):
                return
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        return


@contextmanager
def _screen() -> Iterator[Screen]:
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


def _blocks() -> str:
    try:
        BLOCKS.encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return BLOCKS

"""`tripwright watch`: how a training run goes, in the terminal or as a local page, while it goes or
afterwards."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import check_folders
from tripwright.errors import UserError
from tripwright.runs import METRICS, RECIPE, found_in


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
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the state of now as JSON, a line for each run.")
    ] = False,
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
      tripwright watch runs/nano runs/dapo --json
    """
    if serve and (once or as_json):
        raise UserError("--serve goes with neither --once nor --json: the page is live.")
    check_folders(runs)
    for folder in runs:
        if not any((folder / name).is_file() for name in (METRICS, RECIPE)):
            raise UserError(
                f"'{folder}' is no training: it holds neither {RECIPE} nor {METRICS}"
                f" ({found_in(folder)}). 'train', 'sft' and 'quickstart' make such folders;"
                " 'tripwright report' reads other runs."
            )
    from tripwright.cli import watch_follow
    from tripwright.cli.watch_text import frame
    from tripwright.evals.report.overlay import check_count
    from tripwright.evals.report.together import run_names
    from tripwright.training.watched import read

    check_count(len(runs))
    names = run_names(runs)
    if serve:
        watch_follow.serve(runs, names, port)
    elif once or as_json:
        states = [read(folder, name) for folder, name in zip(runs, names, strict=True)]
        lines = [json.dumps(state.record()) for state in states]
        typer.echo("\n".join(lines) if as_json else frame(states, blocks=watch_follow.blocks()))
    else:
        with watch_follow.open_screen() as screen:
            watch_follow.follow(runs, names, screen)

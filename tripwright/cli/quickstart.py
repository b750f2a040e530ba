"""`tripwright quickstart`: the whole loop on a laptop CPU."""

from __future__ import annotations

import time
from pathlib import Path

from tripwright.cli.examine import compared_in_points
from tripwright.cli.options import option
from tripwright.cli.table import print_figures


def quickstart(
    out: Path = option(Path("runs/quickstart"), "Run folder; a run found there is continued."),
    minutes: float | None = option(
        None,
        "Time to take, roughly; training is shortened or lengthened to fit.",
        min=1,
        show_default="the recipe's steps, some 11 to 40 minutes",
    ),
    seed: int = option(0, "Of the model, the sampling and the order of data."),
    threads: int = option(2, "Processor threads to use.", min=1),
) -> None:
    """See it all work: worlds, queries, cold start, RL, evaluation, report. Needs no GPU, download
    or key.

    First it times the processor and says how long it will take. It goes by steps: a slow or busy
    machine takes longer and learns as much. docs/results.md has what came out on several; with
    --minutes it takes fewer steps and learns less.

    Writes OUT/report.html and OUT/score.json. Stopped at any moment, the same command continues,
    training from its newest checkpoint.

    Examples:
      tripwright quickstart
      tripwright quickstart --out runs/short --minutes 5 --seed 1
    """
    from tripwright.training.stages import quickstart as whole_loop

    began = time.monotonic()
    figures = compared_in_points(whole_loop(out, minutes, seed, threads))
    print_figures({**figures, "minutes": (time.monotonic() - began) / 60}, as_json=False)

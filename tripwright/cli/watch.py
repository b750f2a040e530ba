"""`tripwright watch`: how a training run goes, in the terminal, while it goes or afterwards."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tripwright.cli.options import argument, check_folders, flag
from tripwright.errors import UserError
from tripwright.progress import terminal
from tripwright.runs import METRICS, RECIPE, found_in

if TYPE_CHECKING:
    from tripwright.training.watched import Watched

LOOK_SECONDS = 2.0
BLOCKS = "▁▂▃▄▅▆▇█"
SHOWN = (  # figures of metrics.jsonl (docs/training-metrics.md), where a stage logs them
    *("loss", "copy_length", "reward_mean", "pass_rate", "official_pass_rate", "schema_rate"),
    *("entropy", "kl", "kept_groups", "clip_fraction", "grad_norm", "turns_mean"),
    *("tool_calls_mean", "completion_tokens_mean", "tool_call_accuracy"),
    *("tokens_per_second", "mfu", "peak_memory_mb"),
)


def watch(
    runs: list[Path] = argument(
        "Run folders; several are shown one under another.", metavar="RUN..."
    ),
    once: bool = flag("--once", "Print the state of now and end."),
    as_json: bool = flag("--json", "Print the state of now as JSON, a line for each run."),
) -> None:
    """See how training goes: stage, time left, rewards, passes, entropy, lengths, speed, and
    warnings with advice.

    Reads RUN/metrics.jsonl as it grows, and goes on when a resumed run cuts it. It ends with the
    training, or with Ctrl-C. For charts in the browser: tripwright serve --runs FOLDER.

    Examples:
      tripwright watch runs/nano
      tripwright watch runs/nano --once
      tripwright watch runs/nano runs/dapo --json
    """
    check_folders(runs)
    for folder in runs:
        if not any((folder / name).is_file() for name in (METRICS, RECIPE)):
            raise UserError(
                f"'{folder}' is no training: it holds neither {RECIPE} nor {METRICS}"
                f" ({found_in(folder)}). 'train', 'sft' and 'quickstart' make such folders;"
                " 'tripwright report' reads other runs."
            )
    from tripwright.evals.comparison import run_names
    from tripwright.evals.report.learning import check_count
    from tripwright.training.watched import read

    check_count(len(runs))
    names = run_names(runs)
    shown = None
    try:
        while True:
            states = [read(folder, name) for folder, name in zip(runs, names, strict=True)]
            if as_json:
                typer.echo("\n".join(json.dumps(state.record()) for state in states))
                return
            if (text := frame(states)) != shown:
                if shown is not None and (screen := terminal(sys.stdout)).isatty():
                    screen.write("\x1b[H\x1b[J")
                _show(text)
                shown = text
            if once or all(run.finished for run in states):
                return
            time.sleep(LOOK_SECONDS)
    except KeyboardInterrupt:
        return


def _show(text: str) -> None:
    """With "?" for what the terminal's encoding does not have."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, "replace").decode(encoding), end="\n\n", flush=True)


def frame(runs: Sequence[Watched], width: int | None = None) -> str:
    """All runs, one under another, in lines of at most `width` columns (default: the
    terminal's)."""
    width = max(40, width or shutil.get_terminal_size().columns)
    return "\n\n".join("\n".join(_lines(run, width)) for run in runs)


def _lines(run: Watched, width: int) -> list[str]:
    """A row for each figure: its course as a sparkline, its value now, and its range."""
    from tripwright.evals.report.markup import number, short
    from tripwright.training.watched import standing

    words = "   ".join(f"{what} {how}" for what, how in standing(run))
    lines = textwrap.wrap(f"{run.name}   {words}", width, subsequent_indent="  ")
    room = max(4, min(60, width - 60))
    for key in SHOWN:
        values = [v for row in run.stage_rows if (v := number(row.get(key))) is not None]
        if values:
            extremes = min(values), max(values), values[-1]
            low, high, now = (short(float(f"{value:.4g}")) for value in extremes)
            course = sparkline(values, room)
            lines.append(f"  {key:22} {course:{room}} {now:>9}  ({low} to {high})"[:width])
    for warning in run.warnings:
        if warning.until_step is None and warning.stage == run.stage:
            lines += textwrap.wrap(str(warning), width - 2, initial_indent="! ")
    return lines


def sparkline(values: Sequence[float], room: int) -> str:
    """`room` characters at most, each the mean of equally many neighbours; a line that does not
    move is drawn at its foot."""
    size = -(-len(values) // room)
    parts = [values[i : i + size] for i in range(0, len(values), size)]
    means = [sum(part) / len(part) for part in parts]
    low, high = min(means), max(means)
    scale = len(BLOCKS) / (high - low) if high > low else 0.0
    return "".join(BLOCKS[min(len(BLOCKS) - 1, int((mean - low) * scale))] for mean in means)

"""A run in the terminal: one frame of plain text, a row for each figure with its course as a
sparkline. Pure."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence

from tripwright.evals.report.markup import number, percent, short
from tripwright.training.watched import Watched, episode_shape, standing

BLOCKS, PLAIN = "▁▂▃▄▅▆▇█", "_.-=+*#@"  # PLAIN: where the terminal's encoding has no blocks
MOST_WARNINGS = 5  # of those that go on; the page has all
SHOWN = (  # figure, name, is it a share
    ("loss", "loss", False),
    ("copy_length", "copied length", False),
    ("reward_mean", "reward", False),
    ("pass_rate", "passes", True),
    ("official_pass_rate", "official passes", True),
    ("schema_rate", "plans that can be read", True),
    ("entropy", "entropy, nats/token", False),
    ("kl", "KL, nats/token", False),
    ("kept_groups", "groups that teach", True),
    ("clip_fraction", "clipped tokens", True),
    ("grad_norm", "gradient norm", False),
    ("turns_mean", "turns", False),
    ("completion_tokens_mean", "tokens written", False),
    ("tool_call_accuracy", "calls without error", True),
    ("tokens_per_second", "tokens per second", False),
    ("mfu", "MFU", True),
    ("peak_memory_mb", "peak memory, MB", False),
)
_NAME, _VALUE = 24, 9


def frame(runs: Sequence[Watched], width: int | None = None, blocks: str = BLOCKS) -> str:
    """All runs, one under another, in lines of at most `width` columns (default: the
    terminal's)."""
    width = max(40, width or shutil.get_terminal_size().columns)
    return "\n\n".join("\n".join(_lines(run, width, blocks)) for run in runs)


def _lines(run: Watched, width: int, blocks: str) -> list[str]:
    facts = (
        "   ".join(f"{what} {words}" for what, words in standing(run))
        if run.rows
        else standing(run)[0][1]
    )
    lines = textwrap.wrap(f"{run.name}   {facts}", width, subsequent_indent="  ")
    rows = run.stage_rows
    for key, name, share in SHOWN:
        values = [value for row in rows if (value := number(row.get(key))) is not None]
        if values:
            room = max(4, min(60, width - _NAME - _VALUE - 30))
            lines.append(_row(name, values, share, room, blocks)[:width])
    if shape := episode_shape(run.last):
        lines += textwrap.wrap(
            f"episodes of step {short(number(run.last.get('step')) or 0)}: {shape}",
            width,
            subsequent_indent="  ",
        )
    return lines + _warnings(run, width)


def _row(name: str, values: Sequence[float], share: bool, room: int, blocks: str) -> str:
    def words(value: float) -> str:
        return percent(value) if share else short(float(f"{value:.4g}"))

    spread = f"{words(min(values))} to {words(max(values))}"
    return (
        f"  {name:<{_NAME}}{sparkline(values, room, blocks):<{room}} {words(values[-1]):>{_VALUE}} "
        f" ({spread})"
    )


def sparkline(values: Sequence[float], room: int, blocks: str = BLOCKS) -> str:
    """`room` characters at most, each the mean of equally many neighbours; a line that does not
    move is drawn at its foot."""
    if not values:
        return ""
    size = -(-len(values) // room)
    means = [
        sum(part) / len(part)
        for part in (values[i : i + size] for i in range(0, len(values), size))
    ]
    low, high = min(means), max(means)
    if high == low:
        return blocks[0] * len(means)
    return "".join(
        blocks[min(len(blocks) - 1, int((mean - low) / (high - low) * len(blocks)))]
        for mean in means
    )


def _warnings(run: Watched, width: int) -> list[str]:
    current = [
        warning
        for warning in run.warnings
        if warning.until_step is None and warning.stage == run.stage
    ]
    lines = []
    for warning in current[-MOST_WARNINGS:]:
        words = f"! since step {warning.since_step}: {warning.what}. {warning.advice}"
        lines += textwrap.wrap(words, width - 2, initial_indent="  ", subsequent_indent="    ")
    over = len(run.warnings) - len(current)
    if over:
        lines.append(f"  ({over} earlier {'warning is' if over == 1 else 'warnings are'} over)")
    return lines

"""What `tripwright fit` prints for people."""

from __future__ import annotations

from tripwright.training.fit import GB, WEIGHT_BYTES
from tripwright.training.fit_advice import peak
from tripwright.training.fit_estimate import FitEstimate
from tripwright.training.fit_time import StepWork


def estimate_lines(estimate: FitEstimate) -> list[str]:
    episode = estimate.lengths
    lines = [
        (
            f"{estimate.size.name}: {estimate.size.parameters / 1e6:,.1f} million parameters,"
            f" {WEIGHT_BYTES} bytes each while they are trained"
        ),
        "",
        "memory, at most",
    ]
    for stage in estimate.stages:
        lines.append(f"  {stage.stage}: {_gb(stage.peak)}")
        for kind, parts in (
            ("held", stage.held),
            ("learning", stage.learning),
            ("playing", stage.playing),
        ):
            if parts:
                lines.append(
                    f"    {kind:9}"
                    + ", ".join(f"{name} {_gb(value)}" for name, value in parts.items() if value)
                )
    how = "as the expert's" if episode.measured else "as long as they may be, or as you said"
    lines += [
        "",
        (
            f"a step, with episodes of {episode.episode} tokens, {episode.agent} of them the"
            f" agent's ({how})"
        ),
    ]
    for work in estimate.works:
        rolled = f", {work.rollout_flops:.2g} FLOP to play" if work.rollout_flops else ""
        lines.append(
            f"  {work.stage}: {work.tokens:,} tokens, {work.update_flops:.2g} FLOP to"
            f" learn{rolled}{_time(work)}"
        )
    return [*lines, "", *_verdict(estimate)]


def _time(work: StepWork) -> str:
    if work.seconds is None:
        return "; time not estimated"
    parts = (
        f" ({_seconds(work.rollout_seconds)} to play)" if work.rollout_seconds is not None else ""
    )
    return f"; about {_seconds(work.seconds)}{parts}"


def _seconds(seconds: float) -> str:
    return f"{seconds:.2g} s" if seconds < 10 else f"{seconds:,.0f} s"


def _verdict(estimate: FitEstimate) -> list[str]:
    needed, there = peak(estimate.stages), estimate.available_gb
    if there is None:
        return [
            f"It needs {needed:.1f} GB. How much there is cannot be seen here: say with --memory."
        ]
    if estimate.fits:
        return [f"It fits: {needed:.1f} GB of {there:.1f}."]
    lines = [
        f"It does not fit: {needed:.1f} GB, {there:.1f} there are."
        + (" Change, in this order:" if estimate.changes else "")
    ]
    lines += [f"  {change.setting}  → {change.peak_gb:.1f} GB" for change in estimate.changes]
    return (
        lines
        if estimate.changes_suffice
        else [
            *lines,
            "  Not enough, nor is a smaller model: shorten the context, or play fewer at once.",
        ]
    )


def _gb(value: float) -> str:
    return f"{value / GB:.2f} GB" if value >= 0.01 * GB else f"{value / 1e6:.1f} MB"

"""What `tripwright fit` prints for people."""

from __future__ import annotations

from tripwright.training.fit import GB
from tripwright.training.fit_advice import peak
from tripwright.training.fit_devices import CARDS_GB, DevicePeak
from tripwright.training.fit_estimate import FitEstimate
from tripwright.training.fit_time import StepWork


def estimate_lines(estimate: FitEstimate) -> list[str]:
    episode, size = estimate.lengths, estimate.size
    how = "each while they are trained"
    if estimate.trained < size.parameters:
        how = f"each, and {estimate.trained / 1e6:,.1f} million in an adapter that is trained"
    lines = [
        f"{size.name}: {size.parameters / 1e6:,.1f} million parameters,"
        f" {estimate.weight_bytes} bytes {how}",
        "",
        "memory, at most",
    ]
    for stage in estimate.stages:
        lines.append(f"  {stage.stage}: {_gb(stage.peak)}")
        for kind, parts in (
            ("held", stage.held),
            ("learning", stage.learning),
            ("playing", stage.playing),
            ("host", stage.host),
        ):
            if parts:
                lines.append(
                    f"    {kind:9}"
                    + ", ".join(f"{name} {_gb(value)}" for name, value in parts.items() if value)
                )
    lines.append(
        f"  all of it: {estimate.kept_gb:.2f} GB with activations kept,"
        f" {estimate.checkpointed_gb:.2f} GB with model.checkpoint_activations"
    )
    lines += _devices(estimate.devices)
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


def _devices(peaks: list[DevicePeak]) -> list[str]:
    """A line for each number of GPUs: the peak of each, and which cards have so much."""
    lines = ["", "each of so many GPUs, activations kept or checkpointed"] if peaks else []
    for kept, checkpointed in zip(peaks[::2], peaks[1::2], strict=True):
        number = f"  {kept.devices}:"
        lines.append(
            f"{number:6}{kept.peak_gb:.1f} GB {_cards(kept)}; {checkpointed.peak_gb:.1f} GB"
            f" {_cards(checkpointed)} ({kept.record()['state']})"
        )
        if gained := [card for card in checkpointed.cards if card not in kept.cards]:
            cards = " and ".join(map(str, gained))
            lines.append(f"      model.checkpoint_activations = true makes it fit {cards} GB")
    return lines


def _cards(each: DevicePeak) -> str:
    cards = " and ".join(map(str, each.cards))
    return f"fits {cards}" if cards else f"fits neither {' nor '.join(map(str, CARDS_GB))}"


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

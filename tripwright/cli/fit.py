"""`tripwright fit`: what a recipe will take, before it starts."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from tripwright.errors import UserError
from tripwright.training.fit import GB, WEIGHT_BYTES, StageMemory, memory, total_memory_gb
from tripwright.training.fit_advice import Change, changes, peak
from tripwright.training.fit_time import Lengths, StepWork, lengths, steps_of
from tripwright.training.model_shapes import ModelSize, size_of
from tripwright.training.recipe import load_recipe

DEVICES = ("cpu", "cuda")


def fit(
    recipe: Annotated[Path, typer.Argument(help="TOML recipe.")],
    most: Annotated[
        float | None,
        typer.Option("--memory", help="GB there are; default: this machine's.", show_default=False),
    ] = None,
    device: Annotated[
        str, typer.Option(help=f"What it would run on: {', '.join(DEVICES)}.")
    ] = "cpu",
    model: Annotated[
        str | None,
        typer.Option(help="Reckon with this model, a folder or a name.", show_default=False),
    ] = None,
    tokens: Annotated[
        int | None,
        typer.Option(help="Mean tokens of an episode, where you know them.", show_default=False),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Estimate memory and time of a recipe before it starts, and say what to change where it does
    not fit.

    Nothing is loaded or downloaded. Memory is what the stages may need at most, with episodes as
    long as the dialect allows. Time is of one step with episodes as long as the expert's, at rates
    measured here for a second. The exit code is 1 where --memory is not enough.

    Examples:
      tripwright fit recipes/nano/quickstart.toml
      tripwright fit recipes/planner_r1/8b.toml --memory 80 --device cuda
      tripwright fit recipes/star/7b_sum.toml --model Qwen/Qwen2.5-7B-Instruct --memory 80 \\
        --device cuda --json
    """
    if device not in DEVICES:
        raise UserError(f"Unknown device '{device}'. Accepted: {', '.join(DEVICES)}.")
    if most is not None and not 0 < most < math.inf:
        raise UserError(f"--memory is in GB and above 0, found {most}.")
    if tokens is not None and tokens < 2:
        raise UserError(f"--tokens must be at least 2, found {tokens}.")
    read = load_recipe(recipe)
    size = size_of(read, model)
    stages = memory(read, size, device)
    if not stages:
        raise UserError(
            f"{recipe}: no stage in it ([copy_pretraining], [sft], [grpo], [ppo] or [rft]), so"
            " there is nothing to estimate."
        )
    there = most if most is not None else total_memory_gb(device)
    found = lengths(read, size, tokens)
    needed = changes(read, size, there, device) if there is not None else ([], True)
    made = Estimate(size, stages, steps_of(read, size, found, device), found, there, *needed)
    if as_json:
        typer.echo(json.dumps(_record(made), indent=2))
    else:
        typer.echo("\n".join(_lines(made)))
    if most is not None and not made.fits:
        raise typer.Exit(1)


@dataclass(frozen=True)
class Estimate:
    """What is printed. `available_gb` None: cannot be seen here. `changes_suffice` is True where
    none are needed."""

    size: ModelSize
    stages: list[StageMemory]
    works: list[StepWork]
    lengths: Lengths
    available_gb: float | None
    changes: list[Change]
    changes_suffice: bool

    @property
    def fits(self) -> bool:
        return self.available_gb is None or peak(self.stages) <= self.available_gb


def _record(made: Estimate) -> dict[str, Any]:
    """Bytes, FLOPs, seconds, tokens; GB where it says so."""
    return {
        "model": {
            "name": made.size.name,
            "parameters": made.size.parameters,
            "weight_bytes": WEIGHT_BYTES,
            **asdict(made.size.shape),
        },
        "memory": [{**asdict(stage), "peak": stage.peak} for stage in made.stages],
        "peak_gb": peak(made.stages),
        "available_gb": made.available_gb,
        "fits": made.fits,
        "changes": [asdict(change) for change in made.changes],
        "changes_suffice": made.changes_suffice,
        "episode": asdict(made.lengths),
        "steps": [{**asdict(work), "seconds": work.seconds} for work in made.works],
    }


def _lines(made: Estimate) -> list[str]:
    found = made.lengths
    lines = [
        (
            f"{made.size.name}: {made.size.parameters / 1e6:,.1f} million parameters,"
            f" {WEIGHT_BYTES} bytes each while they are trained"
        ),
        "",
        "memory, at most",
    ]
    for stage in made.stages:
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
    how = "as the expert's" if found.measured else "as long as they may be, or as you said"
    lines += [
        "",
        (
            f"a step, with episodes of {found.episode} tokens, {found.agent} of them the agent's"
            f" ({how})"
        ),
    ]
    for work in made.works:
        rolled = f", {work.rollout_flops:.2g} FLOP to play" if work.rollout_flops else ""
        lines.append(
            f"  {work.stage}: {work.tokens:,} tokens, {work.update_flops:.2g} FLOP to"
            f" learn{rolled}{_time(work)}"
        )
    return [*lines, "", *_verdict(made)]


def _time(work: StepWork) -> str:
    if work.seconds is None:
        return "; time not estimated"
    parts = f" ({work.rollout_seconds:.2g} s to play)" if work.rollout_seconds is not None else ""
    return f"; about {work.seconds:.2g} s{parts}"


def _verdict(made: Estimate) -> list[str]:
    needed, there = peak(made.stages), made.available_gb
    if there is None:
        return [
            f"It needs {needed:.1f} GB. How much there is cannot be seen here: say with --memory."
        ]
    if made.fits:
        return [f"It fits: {needed:.1f} GB of {there:.1f}."]
    lines = [
        f"It does not fit: {needed:.1f} GB, {there:.1f} there are."
        + (" Change, in this order:" if made.changes else "")
    ]
    lines += [f"  {change.setting}  → {change.peak_gb:.1f} GB" for change in made.changes]
    return (
        lines
        if made.changes_suffice
        else [
            *lines,
            "  That is not enough: no known model of this kind fits with the rest as it is.",
        ]
    )


def _gb(value: float) -> str:
    return f"{value / GB:.2f} GB" if value >= 0.01 * GB else f"{value / 1e6:.1f} MB"

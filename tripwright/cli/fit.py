"""`tripwright fit`: what a recipe will take, before it starts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import typer

from tripwright.cli.options import Changes, Json, RecipeFile, option
from tripwright.cli.table import table_lines
from tripwright.training.recipe_list import recipe_file


def fit(
    recipe: RecipeFile,
    changes: Changes = None,
    most: float | None = option(
        None, "GB there are; default: this machine's.", "--memory", min=0.001, max=1e6
    ),
    device: Literal["cpu", "cuda"] = option("cpu", "What it would run on."),
    model: str | None = option(None, "Reckon with this model, a folder or a name."),
    tokens: int | None = option(None, "Mean tokens of an episode, where you know them.", min=2),
    as_json: Json = False,
) -> None:
    """Estimate memory and time of a recipe before it starts, and say what to change where it does
    not fit.

    Nothing is loaded or downloaded. Memory is what the stages may need at most, with episodes as
    long as the dialect allows. Time is roughly that of one step on this processor, with episodes as
    long as the expert's. The exit code is 1 where --memory is not enough.

    Examples:
      tripwright fit nano/quickstart
      tripwright fit planner_r1/8b --set model.checkpoint_activations=true --device cuda
      tripwright fit star/7b_sum --model Qwen/Qwen2.5-7B-Instruct --memory 80 \\
        --device cuda --json
    """
    path = recipe_file(recipe)
    from tripwright.training.fit import estimate
    from tripwright.training.recipe import load_recipe

    found = estimate(load_recipe(path, changes or ()), device, most, model, tokens)
    typer.echo(json.dumps(found, indent=2) if as_json else "\n".join(_lines(found)))
    if most is not None and not found["fits"]:
        raise typer.Exit(1)


def _lines(found: Mapping[str, Any]) -> list[str]:
    model, episode = found["model"], found["episode"]
    trained = "all of them trained"
    if model["trained_parameters"] < model["parameters"]:
        trained = f"{model['trained_parameters'] / 1e6:,.1f} million trained, in an adapter"
    parts = [
        [stage["stage"], kind, name, f"{size / 1e9:.2f} GB"]
        for stage in found["memory"]
        for kind in ("held", "learning", "playing", "host")
        for name, size in stage[kind].items()
        if size >= 5e6
    ]
    peaks = [[s["stage"], "peak", "", f"{s['peak'] / 1e9:.2f} GB"] for s in found["memory"]]
    how = "as the expert's" if episode["measured"] else "as long as they may be, or as you said"
    steps = [
        [
            step["stage"],
            f"{step['tokens']:,} tokens",
            f"{step['update_flops'] + step['rollout_flops']:.2g} FLOP",
            f"about {step['seconds']:,.1f} s" if step["seconds"] else "time not estimated",
        ]
        for step in found["steps"]
    ]
    devices = [
        [
            str(each["devices"]),
            "checkpointed" if each["checkpoint_activations"] else "kept",
            f"{each['peak_gb']:.1f} GB",
            ", ".join(name.replace("_gb", " GB") for name, fits in each["fits"].items() if fits)
            or "none",
        ]
        for each in found["devices"]
    ]
    header = ["GPUs", "activations", "each", "fits"]
    return [
        f"{model['name']}: {model['parameters'] / 1e6:,.1f} million parameters of"
        f" {model['weight_bytes']} bytes, {trained}",
        "memory, at most",
        *table_lines([*parts, *peaks], align="<<<>"),
        *(["not verified; of several GPUs by an engine that shards (verl)"] if devices else []),
        *(table_lines(devices, align="><><", header=header) if devices else []),
        f"a step, with episodes of {episode['episode']} tokens, {episode['agent']} of them the"
        f" agent's ({how})",
        *table_lines(steps),
        *_verdict(found),
    ]


def _verdict(found: Mapping[str, Any]) -> list[str]:
    needed, there = found["peak_gb"], found["available_gb"]
    if there is None:
        return [f"It needs {needed:.1f} GB. How much there is cannot be seen: say with --memory."]
    if found["fits"]:
        return [f"It fits: {needed:.1f} GB of {there:.1f}."]
    lines = [f"It does not fit: {needed:.1f} GB, {there:.1f} there are."]
    if found["changes"]:
        rows = [[f"--set '{c['setting']}'", f"{c['peak_gb']:.1f} GB"] for c in found["changes"]]
        lines += ["Change, in this order:", *table_lines(rows, align="<>")]
    if not found["changes_suffice"]:
        lines.append(
            "That is not enough: a smaller model, [model.lora], a shorter context or more GPUs are."
        )
    return lines

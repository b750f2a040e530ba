"""`tripwright merge`: a LoRA adapter into its base."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from tripwright.cli.options import Json


def merge(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="RUN|ADAPTER",
            help="A folder with adapter_config.json; or a run folder: its last finished stage.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="New folder for the plain model.")],
    as_json: Json = False,
) -> None:
    """Merge a LoRA adapter into its base: a plain model folder, in the base's number format.

    Other verbs need no merging: they open an adapter's folder where they open a model's. This is
    for servers and libraries that read plain models only. In bfloat16 the merged weights are
    rounded, and say what the adapter says up to that.

    Examples:
      tripwright merge runs/lora --out models/planner
      tripwright merge runs/lora/model/rl-step-40 --out models/step-40
    """
    from tripwright.training.merge import merge as merge_folder

    adapter = merge_folder(source, out)
    figures = {"model": str(out), "adapter": str(adapter)}
    typer.echo(json.dumps(figures) if as_json else f"model {out}  of {adapter}")

"""`tripwright merge`: a LoRA adapter into its base."""

from __future__ import annotations

from pathlib import Path

from tripwright.cli.options import Json, argument, option
from tripwright.cli.table import print_figures
from tripwright.errors import UserError
from tripwright.files import make_parent, whole_folder, written_by_library


def merge(
    source: Path = argument(
        "A folder with adapter_config.json; or a run folder: its last finished stage.",
        metavar="RUN|ADAPTER",
    ),
    out: Path = option(..., "New folder for the plain model."),
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
    from tripwright.inference.local import load_model
    from tripwright.inference.models import adapter_of, merged, save_model

    adapter = adapter_of(source)
    if out.exists():
        raise UserError(f"'{out}' is there already. Choose a new folder for --out.")
    make_parent(out)
    model, tokenizer = load_model(adapter)
    with whole_folder(out) as partial, written_by_library(partial):
        save_model(merged(model), partial)
        tokenizer.save_pretrained(partial)
    print_figures({"model": str(out), "adapter": str(adapter)}, as_json)

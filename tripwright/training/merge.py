"""An adapter merged into its base: a plain folder of `transformers`, for whoever reads no
adapters."""

from __future__ import annotations

from pathlib import Path

from tripwright.errors import UserError
from tripwright.files import make_parent, whole_folder
from tripwright.inference.local import load_model
from tripwright.inference.models import is_adapter, merged, save_model

LAST_FIRST = ("rl", "sft", "copy_pretraining")  # the stages of a run


def merge(source: Path, out: Path) -> Path:
    """Writes the merged model and its tokenizer to `out`, whole or not at all, in the base's number
    format; the adapter's folder. Raises UserError where `out` is there, or `source` is neither an
    adapter nor a run that trained one."""
    adapter = adapter_folder(source)
    if out.exists():
        raise UserError(f"'{out}' is there already. Choose a new folder for --out.")
    make_parent(out)
    model, tokenizer = load_model(adapter)
    with whole_folder(out) as partial:
        save_model(merged(model), partial)
        tokenizer.save_pretrained(partial)
    return adapter


def adapter_folder(source: Path) -> Path:
    """`source`, or of a run the adapter of its last finished stage."""
    if is_adapter(source):
        return source
    last = next((source / "model" / s for s in LAST_FIRST if (source / "model" / s).is_dir()), None)
    if last is None:
        raise UserError(
            f"No adapter in '{source}'. Expected a folder with adapter_config.json, or a run folder"
            " with a finished stage that trained one."
        )
    if not is_adapter(last):
        raise UserError(
            f"'{last}' is a whole model: nothing is to be merged. (The recipe had no [model.lora].)"
        )
    return last

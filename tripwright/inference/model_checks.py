"""Whether a model can be loaded and played here, from its configuration and its files' headers:
said in one line, before a weight is read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.files import json_object

SUPPORTED = ("qwen3", "qwen2", "llama")
# frequencies of positions that do not change with a text's length; `Decoder` reads them once
ROPE = ("default", "linear", "llama3", "yarn")
INDEX, SINGLE = "model.safetensors.index.json", "model.safetensors"
GB = 1e9


def check_known(config: Any) -> None:
    """Raises UserError for a `transformers` config of a model that `Decoder` cannot compute."""
    if config.model_type not in SUPPORTED:
        raise UserError(
            f"Local generation knows models of type {', '.join(SUPPORTED)}; this one is"
            f" '{config.model_type}'. Serve it with another engine and play it by --policy"
            " endpoint, or take another model."
        )
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        raise UserError(
            "Local generation attends to the whole context; this model has layers with"
            f" sliding-window attention ({config.sliding_window:,} tokens). Where no context is"
            " longer, set use_sliding_window to false in its config.json; else take another model."
        )
    rope = (getattr(config, "rope_parameters", None) or {}).get("rope_type", "default")
    for name, found, known in (
        ("rope_type", rope, ROPE),
        ("hidden_act", config.hidden_act, ("silu",)),
    ):
        if found not in known:
            raise UserError(
                f"Local generation knows {name} {', '.join(known)}; this model has '{found}'. Serve"
                " it with another engine and play it by --policy endpoint, or take another model."
            )


def check_whole(folder: Path) -> None:
    """Raises UserError for a folder whose weights are not all there, or more than this machine's
    memory holds."""
    index, none = folder / INDEX, f"No model could be loaded from '{folder}'"
    names = [SINGLE]
    if index.is_file():
        weights = (json_object(index) or {}).get("weight_map")
        if not isinstance(weights, dict) or not weights:
            raise UserError(f"{none}: {INDEX} names no weights. Download it again.")
        names = sorted(set(map(str, weights.values())))
    if missing := [name for name in names if not (folder / name).is_file()]:
        of = f" ({len(names) - len(missing)} of {len(names)} files are there)"
        raise UserError(
            f"{none}: {missing[0]} is missing{of if len(names) > 1 else ''}. Weights are"
            " safetensors; download the model again, to its end."
        )
    for name in names:
        size, declared = (folder / name).stat().st_size, _declared_bytes(folder / name)
        if declared is None:
            raise UserError(f"{none}: {name} is no safetensors file. Download it again.")
        if size < declared:
            raise UserError(
                f"{none}: {name} is cut short, {size:,} of {declared:,} bytes. Download it again."
            )
    check_room(folder, sum((folder / name).stat().st_size for name in names))


def check_room(folder: Path, needed: float) -> None:
    """Raises UserError where weights of so many bytes cannot be held."""
    there = memory_bytes()
    if there is not None and needed > there:
        raise UserError(
            f"'{folder}' is too large for this machine: its weights alone take {needed / GB:.1f} GB"
            f" of {there / GB:.1f} GB. Take a smaller model, or serve it elsewhere and play it by"
            " --policy endpoint."
        )


def memory_bytes() -> float | None:
    """Of this machine; None where it is not told."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (ValueError, OSError, AttributeError):
        return None


def _declared_bytes(path: Path) -> int | None:
    """How long a safetensors file is by its header, which is eight bytes of length and JSON; None
    where that is no such file."""
    with path.open("rb") as content:
        length = int.from_bytes(content.read(8), "little")
        if not 2 <= length < 2**27:
            return None
        text = content.read(length)
    try:
        tensors = {**json.loads(text)}
        tensors.pop("__metadata__", None)
        return 8 + length + max((each["data_offsets"][1] for each in tensors.values()), default=0)
    except (ValueError, TypeError, KeyError):
        # a header that is cut short is no JSON
        return 8 + length if len(text) < length else None

"""What a model is made of, before anything is loaded: from a folder's config.json, from the local
cache of downloads, from a table of the Qwen2.5 and Qwen3 models by name, or from a recipe's own
shape."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tripwright.errors import UserError
from tripwright.files import json_object
from tripwright.inference.models import SUPPORTED, base_of, is_adapter
from tripwright.learning.flops import ModelShape
from tripwright.training.recipe import Recipe

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2, "float64": 8}
FIXED_TOKENS = 3698  # bytes, letters and control tokens of the tokenizer that a new model gets

# hidden, layers, heads, key-value heads, head size, feed-forward, vocabulary, tied embeddings: as
# their config.json have them
_QWEN25 = {
    "0.5B": (896, 24, 14, 2, 64, 4864, 151936, True),
    "1.5B": (1536, 28, 12, 2, 128, 8960, 151936, True),
    "3B": (2048, 36, 16, 2, 128, 11008, 151936, True),
    "7B": (3584, 28, 28, 4, 128, 18944, 152064, False),
    "14B": (5120, 48, 40, 8, 128, 13824, 152064, False),
    "32B": (5120, 64, 40, 8, 128, 27648, 152064, False),
    "72B": (8192, 80, 64, 8, 128, 29568, 152064, False),
}
_QWEN3 = {
    "0.6B": (1024, 28, 16, 8, 128, 3072, 151936, True),
    "1.7B": (2048, 28, 16, 8, 128, 6144, 151936, True),
    "4B": (2560, 36, 32, 8, 128, 9728, 151936, True),
    "8B": (4096, 36, 32, 8, 128, 12288, 151936, False),
    "14B": (5120, 40, 40, 8, 128, 17408, 151936, False),
    "32B": (5120, 64, 64, 8, 128, 25600, 151936, False),
}


@dataclass(frozen=True)
class ModelSize:
    """`positions`: how many the model has."""

    name: str
    kind: str  # one of SUPPORTED
    shape: ModelShape
    tied: bool
    positions: int

    @property
    def parameters(self) -> int:
        s = self.shape
        norms = 2 * s.hidden + (2 * s.head_size if self.kind == "qwen3" else 0)
        biases = (s.heads + 2 * s.kv_heads) * s.head_size if self.kind == "qwen2" else 0
        return (
            s.vocabulary * s.hidden * (1 if self.tied else 2)
            + s.layers * (s.layer_parameters + norms + biases)
            + s.hidden
        )

    @property
    def matrix_parameters(self) -> int:
        """Those that Muon takes: the matrices inside the layers."""
        return self.shape.layers * self.shape.layer_parameters


def known_models() -> dict[str, ModelSize]:
    """By the names under which they are published."""
    models = {}
    for size, (*numbers, tied) in _QWEN25.items():
        for ending in ("", "-Instruct"):
            name = f"Qwen/Qwen2.5-{size}{ending}"
            models[name] = ModelSize(name, "qwen2", ModelShape(*numbers), bool(tied), 32768)
    for size, (*numbers, tied) in _QWEN3.items():
        models[f"Qwen/Qwen3-{size}"] = ModelSize(
            f"Qwen/Qwen3-{size}", "qwen3", ModelShape(*numbers), bool(tied), 40960
        )
    return models


def size_of(recipe: Recipe, instead: str | None = None) -> ModelSize:
    """Of the recipe's model, or of the folder or name given `instead`. Raises UserError where
    neither is known here."""
    name = instead or recipe.model.pretrained
    if name is not None and is_adapter(name):
        name = base_of(name)
    if name is None:
        shape, settings = recipe.model.shape, recipe.model
        # at most: fewer superwords may be found
        vocabulary = FIXED_TOKENS + len(recipe.domain.closed_lists) + settings.superwords
        model_shape = ModelShape(
            shape.hidden,
            shape.layers,
            shape.heads,
            shape.kv_heads,
            shape.head_size,
            shape.feed_forward,
            vocabulary,
        )
        return ModelSize("a new model", "qwen3", model_shape, True, shape.positions)
    config = _config(name)
    if config is not None:
        return _of_config(name, config)
    if (size := known_models().get(name)) is not None:
        return size
    raise UserError(
        f"The model '{name}' is not here: no folder with a config.json, not downloaded, and none of"
        " the Qwen2.5 and Qwen3 models by name. Make or download it first, or say with --model"
        " which one to reckon with."
    )


def _config(name: str) -> dict[str, Any] | None:
    path = Path(name) / "config.json"
    if not path.is_file():
        # comes with transformers; looks at this disk alone
        from huggingface_hub import try_to_load_from_cache
        from huggingface_hub.errors import HFValidationError

        try:
            cached = try_to_load_from_cache(name, "config.json")
        except HFValidationError:  # a path, and no name
            return None
        if not isinstance(cached, str):
            return None
        path = Path(cached)
    config = json_object(path)
    if config is None:
        raise UserError(f"'{path}' is not a model's configuration (a JSON object).")
    return config


def _of_config(name: str, config: dict[str, Any]) -> ModelSize:
    kind = str(config.get("model_type"))
    if kind not in SUPPORTED:
        raise UserError(f"'{name}' is a model of type '{kind}'. Accepted: {', '.join(SUPPORTED)}.")
    try:
        hidden, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
        shape = ModelShape(
            hidden=hidden,
            layers=int(config["num_hidden_layers"]),
            heads=heads,
            kv_heads=int(config.get("num_key_value_heads") or heads),
            head_size=int(config.get("head_dim") or hidden // heads),
            feed_forward=int(config["intermediate_size"]),
            vocabulary=int(config["vocab_size"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise UserError(f"The config.json of '{name}' lacks a size: {error}.") from None
    tied, positions = (
        bool(config.get("tie_word_embeddings", True)),
        int(config.get("max_position_embeddings", 2048)),
    )
    return ModelSize(name, kind, shape, tied, positions)

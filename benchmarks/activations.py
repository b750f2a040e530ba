"""Peak memory and CPU seconds of training a model of 29 million parameters, beside what `tripwright
fit` says of it: weights in fp32 and in bf16 with fp32 masters, activations kept and checkpointed,
all of it trained and a LoRA adapter beside it.

    python benchmarks/activations.py [--tokens 2048] [--threads 1]

Each way fine-tunes in a process of its own, by the loop that `tripwright train` drives: two steps
of two rows, one a pass, every token with loss; AdamW, products in the weights' format. Exit code 1
where `fit` is off by more than 15% of the measured peak. That checkpointing leaves the same
gradients, bit for bit, is tested (tests/training/test_checkpointed_activations.py).
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import torch
import transformers

from tripwright.inference.models import LoraSettings, add_adapter, convert_weights, precision_named
from tripwright.training.fit import ModelSize, memory
from tripwright.training.metrics import ModelShape, peak_memory_mb
from tripwright.training.optim import OptimizerSettings
from tripwright.training.recipe import DialectSettings, ModelSettings, Recipe
from tripwright.training.run_folder import keep_freed_memory
from tripwright.training.sft import FineTuning, SftSettings

SHAPE = ModelShape(
    hidden=512, layers=8, heads=8, kv_heads=4, head_size=64, feed_forward=1536, vocabulary=8192
)
OFF = 0.15


def recipe_of(weights: str, again: bool, adapter: bool, tokens: int) -> Recipe:
    return Recipe(
        dialect=DialectSettings(context_tokens=tokens + 1),
        model=ModelSettings(
            weights=weights,
            checkpoint_activations=again,
            lora=LoraSettings() if adapter else None,
        ),
        sft=SftSettings(
            batch_size=2,
            micro_batch_size=1,
            dtype=weights,
            optimizer=OptimizerSettings(name="adamw"),
        ),
    )


def new_weights(shape: ModelShape = SHAPE, tied: bool = True) -> Any:
    torch.manual_seed(0)
    return transformers.Qwen3ForCausalLM(
        transformers.Qwen3Config(
            vocab_size=shape.vocabulary,
            hidden_size=shape.hidden,
            intermediate_size=shape.feed_forward,
            num_hidden_layers=shape.layers,
            num_attention_heads=shape.heads,
            num_key_value_heads=shape.kv_heads,
            head_dim=shape.head_size,
            max_position_embeddings=32769,
            tie_word_embeddings=tied,
        )
    )


class Rows:
    """The same row for ever, of so many tokens that are predicted."""

    def __init__(self, tokens: int):
        ids = [token % SHAPE.vocabulary for token in range(tokens + 1)]
        self.row = SimpleNamespace(token_ids=ids, loss_mask=[1] * len(ids))

    def __iter__(self) -> Any:
        return itertools.repeat(self.row)

    def state_dict(self) -> dict[str, Any]:
        return {}


def train(recipe: Recipe, tokens: int, threads: int) -> dict[str, float]:
    """In this process: the peak since it began, and the second step's CPU seconds."""
    torch.set_num_threads(threads)
    keep_freed_memory()  # as a run does
    model = new_weights()
    convert_weights(model, precision_named(recipe.model.weights))
    if recipe.model.lora is not None:
        add_adapter(model, recipe.model.lora, "base", seed=0)
    assert recipe.sft is not None
    loop = FineTuning(model, Rows(tokens), recipe.sft)  # type: ignore[arg-type]
    loop.decoder.checkpoint_activations = recipe.model.checkpoint_activations
    loop.take_step()
    began = time.process_time()
    loop.take_step()
    return {"gb": peak_memory_mb() / 1e3, "seconds": time.process_time() - began}


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--tokens", type=int, default=2048)
    asked.add_argument("--threads", type=int, default=1)
    asked.add_argument("--way", choices=("float32", "bfloat16"), help=argparse.SUPPRESS)
    asked.add_argument("--again", action="store_true", help=argparse.SUPPRESS)
    asked.add_argument("--adapter", action="store_true", help=argparse.SUPPRESS)
    given = asked.parse_args()
    if given.way:
        recipe = recipe_of(given.way, given.again, given.adapter, given.tokens)
        print(json.dumps(train(recipe, given.tokens, given.threads)))
        return
    size = ModelSize("measured", "qwen3", SHAPE, True, 32768)
    print(f"{size.parameters:,} parameters, rows of {given.tokens:,} tokens")
    worst = 0.0
    ways = itertools.product(("float32", "bfloat16"), (False, True), (False, True))
    for weights, adapter, again in ways:
        (stage,) = memory(recipe_of(weights, again, adapter, given.tokens), size)
        options = ["--way", weights, *(["--again"] if again else [])]
        options += ["--adapter"] if adapter else []
        options += ["--tokens", str(given.tokens), "--threads", str(given.threads)]
        output = subprocess.run(
            [sys.executable, __file__, *options], check=True, capture_output=True, text=True
        ).stdout
        found = json.loads(output.splitlines()[-1])
        off = stage.peak / 1e9 / found["gb"] - 1
        worst = max(worst, abs(off))
        way = f"{weights}{', LoRA' if adapter else ''}"
        print(
            f"{way}, activations {'checkpointed' if again else 'kept'}: {found['gb']:.2f} GB at"
            f" the peak (fit: {stage.peak / 1e9:.2f}, {off:+.0%}), {found['seconds']:.1f} CPU"
            " seconds a step"
        )
    if worst > OFF:
        sys.exit(1)


if __name__ == "__main__":
    main()

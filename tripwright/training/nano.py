"""A Qwen3-shaped model of a few million parameters, made on the spot."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

Count = Annotated[int, Ge(1)]


@dataclass(frozen=True)
class NanoShape:
    hidden: Count = 256
    layers: Count = 4
    heads: Count = 4
    kv_heads: Count = 2
    head_size: Count = 64
    feed_forward: Count = 768
    positions: Count = 2048


def new_model(shape: NanoShape, tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """Random weights, fp32, deterministic in the seed."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=shape.hidden,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_size,
        intermediate_size=shape.feed_forward,
        max_position_embeddings=shape.positions,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config)

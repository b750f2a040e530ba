"""A Qwen3-shaped model of a few million parameters, made on the spot.

Its weights are random but for three things (docs/log.md, 2026-11-23):
- heads of the first layer look one or two tokens back from the start. To copy, a model has to find
  what followed the same token earlier: one layer has to say of each token which one stood before
  it, and the next to look for that. Neither is of use without the other, which is why random
  weights take three times as long to find both;
- layers begin by adding nothing: what random ones add is louder than the embeddings;
- the last norm multiplies by LOUDNESS. With tied embeddings as small as they begin, the surest
  prediction has a probability of a few percent. Until embeddings have grown nothing else can be
  sure, and large ones drown in the residual stream what the layers find.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import torch
from annotated_types import Ge
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from tripwright.errors import UserError

Count = Annotated[int, Ge(1)]
# Of queries and keys of the first layer: in the default shape 0.9 of the attention goes where it
# should. Heads of 16 have one fast frequency, and look back hardly at all.
SHARPNESS = 1.5
LOUDNESS = 3.0
ROPE_THETA = 1e6  # Qwen3's; with 1e4 half as many frequencies see an episode from end to end


@dataclass(frozen=True)
class NanoShape:
    hidden: Count = 256
    layers: Count = 4
    heads: Count = 4
    kv_heads: Count = 2
    head_size: Count = 64
    feed_forward: Count = 768
    positions: Count = 2048

    def __post_init__(self) -> None:
        if self.heads % self.kv_heads:
            raise UserError(
                f"heads ({self.heads}) must be a multiple of kv_heads ({self.kv_heads}), which they"
                " share."
            )
        if self.head_size % 2:
            raise UserError(
                f"head_size must be even, for rotary positions: found {self.head_size}."
            )


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
        rope_parameters={"rope_type": "default", "rope_theta": ROPE_THETA},
    )
    model = Qwen3ForCausalLM(config)
    torch.nn.init.constant_(model.model.norm.weight, LOUDNESS)
    for layer in model.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    _look_back(model)
    return model


@torch.no_grad()
def _look_back(model: Qwen3ForCausalLM) -> None:
    """The heads of the first layer attend to the token before, or to the one before that, whatever
    the tokens are.

    All embeddings get a common part, which says nothing (with tied weights it adds the same to
    every logit). Queries and keys of the first layer read mostly that, so what they agree on is
    positions: keys are turned by the rotation of one position, or two, and meet their query so far
    back. The fastest frequencies tell neighbours apart.
    """
    config = model.config
    size = config.head_dim
    common_H = config.initializer_range * torch.randn(config.hidden_size)
    model.model.embed_tokens.weight += common_H
    attention = model.model.layers[0].self_attn
    attention.q_norm.weight.fill_(SHARPNESS)
    attention.k_norm.weight.fill_(SHARPNESS)
    is_fast = (torch.arange(size // 2) < max(1, size // 10)).float()
    frequency = model.model.rotary_emb.inv_freq
    query = torch.cat([is_fast, torch.zeros(size // 2)])
    attention.q_proj.weight += torch.outer(query.repeat(config.num_attention_heads), common_H)
    for head in range(config.num_key_value_heads):
        turn = frequency * (1 + head % 2)
        key = torch.cat([is_fast * turn.cos(), is_fast * turn.sin()])
        attention.k_proj.weight[head * size : (head + 1) * size] += torch.outer(key, common_H)

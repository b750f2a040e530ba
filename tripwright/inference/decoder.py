"""The forward pass of Qwen-shaped decoders over a key-value cache that we own, for batched
multi-turn generation and for training.

`transformers` keeps the weights, the loading and the saving; this page reads its modules. Owning
the pass is what lets a cache live across turns, rows leave and enter a batch, and one prompt's
cache be copied to a whole group. A test holds it to `transformers`' logits.

The new tokens of one pass lie end to end, whatever rows they belong to (`CacheView`): a row that
says one token stands beside a row that reads a long tool answer, and nothing is padded. Attention
alone is told which token belongs where.

Shapes: B rows, S new tokens of a row, N new tokens in all, T cached positions, H heads, K key-value
heads, G = H / K, D head size, L layers."""

from __future__ import annotations

import math
import mmap
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from tripwright.inference.models import check_known, linear, precision_named

# rows whose single tokens attend together on a CPU: as far as the longest of them has come, and not
# at all where none speaks
CHUNK = 16


def round_up(size: int, step: int = 64) -> int:
    """Sizes that grow by one at a time are rounded up: the CPU's matrix kernels are compiled anew,
    at some cost, for every new shape."""
    return -(-size // step) * step


class Cache:
    """Keys and values of every row: (L, rows, K, T, D) each. Rows are independent; copying one is a
    fork."""

    def __init__(self, decoder: Decoder, rows: int, positions: int, dtype: torch.dtype):
        shape = (len(decoder.layers), rows, decoder.kv_heads, positions, decoder.head_size)
        self.keys, self.values = (_zeros(shape, dtype, decoder.device) for _ in range(2))

    def copy_row(self, source: int, target: int, length: int) -> None:
        """Makes `target` a fork of `source` up to `length` positions."""
        self.keys[:, target, :, :length] = self.keys[:, source, :, :length]
        self.values[:, target, :, :length] = self.values[:, source, :, :length]


def _zeros(shape: tuple[int, ...], dtype: torch.dtype, device: torch.device) -> Tensor:
    """On a CPU of pages that take no memory before something is written there: most rows never
    come as far as the longest."""
    if device.type != "cpu":
        return torch.zeros(shape, dtype=dtype, device=device)
    size = math.prod(shape) * dtype.itemsize
    pages = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return torch.frombuffer(pages, dtype=dtype).view(shape)


class CacheView:
    """One pass's window on the cache: where to write, and how far each token reads. Row `rows[i]`
    takes `counts[i]` tokens from position `starts[i]` on, end to end in this order; what follows
    them in the pass's ids is padding and leaves no trace."""

    def __init__(self, cache: Cache, rows: list[int], starts: list[int], counts: list[int]):
        self.cache, device = cache, cache.keys.device
        self.tokens = sum(counts)
        firsts = [0]
        for count in counts:
            firsts.append(firsts[-1] + count)
        self.rows = torch.tensor(
            [row for row, count in zip(rows, counts, strict=True) for _ in range(count)],
            device=device,
        )
        self.positions = torch.tensor(
            [s + n for s, count in zip(starts, counts, strict=True) for n in range(count)],
            device=device,
        )
        single = [i for i, count in enumerate(counts) if count == 1]
        self.singles = torch.tensor([firsts[i] for i in single], dtype=torch.long, device=device)
        self.single_rows = torch.tensor([rows[i] for i in single], dtype=torch.long, device=device)
        self.chunks = self._chunks({rows[i]: starts[i] for i in single})
        reading = [(i, starts[i], count) for i, count in enumerate(counts) if count > 1]
        # members of a group read alike
        masks = {(start, count): self._mask(start, count) for _, start, count in reading}
        self.readers = [
            (rows[i], firsts[i], count, start + count, masks[start, count])
            for i, start, count in reading
        ]

    def _chunks(self, speaking: dict[int, int]) -> list[tuple[int, int, int, Tensor]]:
        """(first row, end, positions read, what each row may not see (rows, 1, 1, T)) of the chunks
        in which a row says one token."""
        keys = self.cache.keys
        size, chunks = CHUNK if keys.device.type == "cpu" else keys.shape[1], []
        for first in range(0, max(speaking, default=-1) + 1, size):
            inside = range(first, min(first + size, keys.shape[1]))
            alive = [row for row in inside if row in speaking]
            if alive:
                inside = range(alive[0], alive[-1] + 1)
                # a silent row's result is not looked at
                own = torch.tensor([speaking.get(row, 0) for row in inside], device=keys.device)
                reach = min(round_up(int(own.max()) + 1), keys.shape[3])
                unseen = torch.arange(reach, device=keys.device)[None] > own[:, None]
                chunks.append(
                    (inside.start, inside.stop, reach, _bias(unseen, keys.dtype)[:, None, None])
                )
        return chunks

    def _mask(self, start: int, count: int) -> Tensor:
        """(count, T): causal within what is read now, and all of what came before."""
        device = self.cache.keys.device
        reached = torch.arange(start + count, device=device)
        own = torch.arange(start, start + count, device=device)
        return _bias(reached[None] > own[:, None], self.cache.keys.dtype)

    def attend(self, index: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q (B, H, S, D), k and v (B, K, S, D) of the new tokens → (B, H, S, D). B × S are the N
        tokens in order, and padding."""
        keys, values = self.cache.keys[index], self.cache.values[index]
        b, heads, s, size = q.shape
        kv_heads, n = k.shape[1], self.tokens
        flat = q.transpose(1, 2).reshape(b * s, kv_heads, heads // kv_heads, size)
        keys[self.rows, :, self.positions] = (
            k.transpose(1, 2).reshape(b * s, kv_heads, size)[:n].to(keys.dtype)
        )
        values[self.rows, :, self.positions] = (
            v.transpose(1, 2).reshape(b * s, kv_heads, size)[:n].to(values.dtype)
        )
        out = torch.zeros_like(flat)
        if self.chunks:
            out[self.singles] = self._speak(flat[self.singles], keys, values)
        for row, first, count, reach, mask in self.readers:
            # (K, G, count, D): heads of one key head beside each other
            mine = flat[first : first + count].permute(1, 2, 0, 3)
            k_row, v_row = (
                part[row, :, None, :reach].expand(-1, mine.shape[1], -1, -1)
                for part in (keys, values)
            )
            attended = F.scaled_dot_product_attention(mine, k_row, v_row, attn_mask=mask)
            out[first : first + count] = attended.permute(2, 0, 1, 3)
        return out.view(b, s, heads, size).transpose(1, 2)

    def _speak(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """q (tokens, K, G, D) of rows that take one token each. Heads that share keys become rows
        of one matrix product."""
        first, last = self.chunks[0][0], self.chunks[-1][1]
        spread = q.new_zeros(last - first, *q.shape[1:])
        spread[self.single_rows - first] = q * q.shape[-1] ** -0.5
        out = torch.empty_like(spread)
        for start, end, reach, bias in self.chunks:
            mine = spread[start - first : end - first]
            k = keys[start:end, :, :reach]
            v = values[start:end, :, :reach]
            if k.dtype in (torch.float32, torch.float64):
                weights = (torch.einsum("bktd,bkgd->bkgt", k, mine) + bias).softmax(-1)
            else:
                # keys times queries, not queries times keys: the same numbers, four times as fast
                # in bf16 on a CPU
                weights = (
                    (torch.matmul(k, mine.transpose(2, 3)).transpose(2, 3).float() + bias)
                    .softmax(-1)
                    .to(v.dtype)
                )
            out[start - first : end - first] = torch.matmul(weights, v)
        return out[self.single_rows - first]


def _bias(unseen: Tensor, dtype: torch.dtype) -> Tensor:
    return torch.zeros(unseen.shape, dtype=dtype, device=unseen.device).masked_fill_(
        unseen, float("-inf")
    )


# Queries that attend at once in training on a CPU, up to so many positions: beyond them the weights
# that the gradient needs are too many.
BLOCK, MOST_IN_BLOCKS = 128, 6144


class Decoder:
    """Reads the modules of a Hugging Face causal LM once. Its parameters are used as they are:
    training it trains what is read here.

    `checkpoint_activations`: where gradients are asked for, of each layer only its input is kept,
    and the rest is computed again in the backward pass.
    """

    def __init__(self, model: Any):
        config = model.config
        check_known(config)
        self.model, self.layers, self.norm, self.embed = (
            model,
            list(model.model.layers),
            model.model.norm,
            model.model.embed_tokens,
        )
        self.heads, self.kv_heads = config.num_attention_heads, config.num_key_value_heads
        self.head_size = getattr(config, "head_dim", None) or config.hidden_size // self.heads
        self.eps = config.rms_norm_eps
        self.checkpoint_activations = False
        self.device = self.embed.weight.device
        frequencies = model.model.rotary_emb.inv_freq.float().to(self.device)
        angles = torch.outer(
            torch.arange(config.max_position_embeddings, device=self.device).float(), frequencies
        )
        scaling = float(getattr(model.model.rotary_emb, "attention_scaling", 1.0))  # 1 but for YaRN
        self.cos, self.sin = angles.cos() * scaling, angles.sin() * scaling  # (positions, D / 2)

    def precision(self, name: str) -> torch.dtype:
        """Of this model's matrix products, where `name` asks for it."""
        return precision_named(name, self.embed.weight)

    def hidden(
        self,
        ids: Tensor,
        positions: Tensor,
        view: CacheView | None = None,
        places: Tensor | None = None,
    ) -> Tensor:
        """ids (B, S), positions (B, S) → last hidden states (B, S, hidden). With a view of a cache,
        new keys and values are written there.

        Without one rows attend causally within `ids` (right padding needs no mask: no real token
        comes after it). `places` (N,) of the flattened B · S: only their hidden states are asked
        for, as (N, hidden); the last layer does the less.
        """
        x = self.embed(ids)
        # (B, 1, S, D / 2)
        cos = self.cos[positions].to(x.dtype)[:, None]
        sin = self.sin[positions].to(x.dtype)[:, None]
        again = self.checkpoint_activations and torch.is_grad_enabled()
        for index in range(len(self.layers)):
            asked = places if index == len(self.layers) - 1 else None
            inputs = (index, x, cos, sin, view, asked)
            if again:  # what is drawn at random is an adapter's dropout, in training mode
                drawn = self.model.training
                x = checkpoint(self._layer, *inputs, use_reentrant=False, preserve_rng_state=drawn)
            else:
                x = self._layer(*inputs)
        return _rms(x, self.norm.weight, self.eps)

    def _layer(
        self,
        index: int,
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        view: CacheView | None,
        places: Tensor | None,
    ) -> Tensor:
        layer = self.layers[index]
        normed = _rms(x, layer.input_layernorm.weight, self.eps)
        mixed = self._attention(index, layer.self_attn, normed, cos, sin, view)
        if places is not None:
            # index_select, because the backward pass of a boolean index is slower
            x, mixed = (part.flatten(0, 1).index_select(0, places) for part in (x, mixed))
        x = x + linear(layer.self_attn.o_proj, mixed)
        h = _rms(x, layer.post_attention_layernorm.weight, self.eps)
        gate, up = linear(layer.mlp.gate_proj, h), linear(layer.mlp.up_proj, h)
        return x + linear(layer.mlp.down_proj, F.silu(gate) * up)

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.model.lm_head(hidden)
        return scores if scores.dtype == torch.float64 else scores.float()

    def _attention(
        self, index: int, block: Any, x: Tensor, cos: Tensor, sin: Tensor, view: CacheView | None
    ) -> Tensor:
        b, s, _ = x.shape
        q = linear(block.q_proj, x).view(b, s, self.heads, self.head_size)
        k = linear(block.k_proj, x).view(b, s, self.kv_heads, self.head_size)
        v = linear(block.v_proj, x).view(b, s, self.kv_heads, self.head_size).transpose(1, 2)
        if hasattr(block, "q_norm"):
            q, k = _rms(q, block.q_norm.weight, self.eps), _rms(k, block.k_norm.weight, self.eps)
        q, k = _rotate(q.transpose(1, 2), cos, sin), _rotate(k.transpose(1, 2), cos, sin)
        if view is None:
            out = _causal_attention(q, k, v)
        else:
            out = view.attend(index, q, k, v)
        return out.transpose(1, 2).reshape(b, s, -1)


def _causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """q (B, H, T, D), k and v (B, K, T, D) → (B, H, T, D)."""
    if q.device.type != "cpu" or q.shape[2] > MOST_IN_BLOCKS:
        groups = q.shape[1] // k.shape[1]
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=groups > 1)
    mixed: Tensor = _BlockAttention.apply(q.to(v.dtype), k.to(v.dtype), v)
    return mixed


class _BlockAttention(torch.autograd.Function):
    """Causal attention of queries in blocks, each against the keys up to its own end: half the
    products of the whole square. Its gradient is by hand, because that of a slice is a zeroed
    tensor of the whole. Forward and backward of 4 × 4 heads × 704 positions: 20 ms in bf16 and
    39 in fp32, where the fused CPU kernel takes 40 and 41."""

    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        b, heads, t, size = q.shape
        q = (q * size**-0.5).view(b, k.shape[1], -1, t, size)
        keys_KT = k.transpose(2, 3)
        later = torch.full((BLOCK, BLOCK), float("-inf"), dtype=q.dtype).triu(1)
        out, kept = torch.empty_like(q), []
        for rows, end in _blocks(t):
            scores = torch.matmul(q[:, :, :, rows].flatten(2, 3), keys_KT[..., :end])
            square = scores.view(*q.shape[:3], -1, end)[..., rows]
            square += later[: square.shape[3], : square.shape[3]]
            kept.append(scores.softmax(-1))
            mixed = torch.matmul(kept[-1], v[:, :, :end])
            out[:, :, :, rows] = mixed.view(*q.shape[:3], -1, size)
        ctx.save_for_backward(q, k, v, *kept)
        return out.view(b, heads, t, size)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v, *kept = ctx.saved_tensors
        d_out, d_q = gradients[0].reshape(q.shape), torch.empty_like(q)
        exact = torch.promote_types(k.dtype, torch.float32)
        d_k, d_v = torch.zeros_like(k, dtype=exact), torch.zeros_like(v, dtype=exact)
        values_KT = v.transpose(2, 3)
        for (rows, end), weights in zip(_blocks(q.shape[3]), kept, strict=True):
            d_mixed = d_out[:, :, :, rows].flatten(2, 3)
            d_v[:, :, :end] += torch.matmul(weights.transpose(2, 3), d_mixed)
            d_weights = torch.matmul(d_mixed, values_KT[..., :end])
            d_scores = torch._softmax_backward_data(d_weights, weights, -1, weights.dtype)
            d_q[:, :, :, rows] = torch.matmul(d_scores, k[:, :, :end]).view_as(d_q[:, :, :, rows])
            d_k[:, :, :end] += torch.matmul(
                d_scores.transpose(2, 3), q[:, :, :, rows].flatten(2, 3)
            )
        shape = (q.shape[0], -1, *q.shape[3:])
        return (d_q * q.shape[-1] ** -0.5).view(shape), d_k.to(k.dtype), d_v.to(v.dtype)


def _blocks(length: int) -> list[tuple[slice, int]]:
    """Each block's rows, and where its keys end."""
    begins = range(0, length, BLOCK)
    return [(slice(begin, begin + BLOCK), min(begin + BLOCK, length)) for begin in begins]


def _rms(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    if x.dtype == torch.float32 and x.device.type == "cpu":
        if not torch.is_grad_enabled():
            return x.mul(_scale(x, eps)).mul_(weight)
        normed: Tensor = _RmsNorm.apply(x, weight, eps)
        return normed
    wide = x if x.dtype == torch.float64 else x.float()
    return F.rms_norm(wide, x.shape[-1:], eps=eps).to(x.dtype) * weight.to(x.dtype)


def _scale(x: Tensor, eps: float) -> Tensor:
    square = torch.linalg.vector_norm(x, dim=-1, keepdim=True).square_()
    scale: Tensor = square.div_(x.shape[-1]).add_(eps).rsqrt_()
    return scale


class _RmsNorm(torch.autograd.Function):
    """x / RMS(x) · weight with its gradient by hand: torch has no fused kernel for the CPU, and a
    dozen passes over memory were a tenth of a training step (7 against 25 ms, forward and backward,
    for 8 × 576 × 256)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:
        scale = _scale(x, eps)
        normed = x * scale
        ctx.save_for_backward(normed, scale, weight)
        return normed * weight

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        normed, scale, weight = ctx.saved_tensors
        along = (gradients[0] * normed).flatten(0, -2)
        mean = torch.mv(along, weight).view(scale.shape).div_(normed.shape[-1])
        return (
            torch.addcmul(gradients[0] * weight, normed, mean, value=-1).mul_(scale),
            along.sum(0),
            None,
        )


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding in the half-split layout of Llama and Qwen."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)

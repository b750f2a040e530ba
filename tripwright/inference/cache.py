"""Keys and values of a batch of episodes, and attention over them: one token of many rows, or many
tokens of a few, in one pass.

The new tokens of one pass lie end to end, whatever rows they belong to (`Cache.packed`): a row that
says one token stands beside a row that reads a long tool answer, and nothing is padded. Attention
alone is told which token belongs where.

Shapes: N new tokens in all, T cached positions, H heads, K key-value heads, G = H / K, D head size,
L layers.
"""

from __future__ import annotations

from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

# rows whose single tokens attend together on a CPU: as far as the longest of them has come, and not
# at all where none speaks
CHUNK = 16


def round_up(size: int, step: int = 64) -> int:
    """Sizes that grow by one at a time are rounded up: the CPU's matrix kernels are compiled anew,
    at some cost, for every new shape."""
    return -(-size // step) * step


class CacheShape(Protocol):
    """What a cache must know of its decoder."""

    layers: list[object]
    kv_heads: int
    head_size: int
    device: torch.device


class Cache:
    """Keys and values of every row: (L, rows, K, T, D) each. Rows are independent; copying one is a
    fork."""

    def __init__(self, decoder: CacheShape, rows: int, positions: int, dtype: torch.dtype):
        shape = (len(decoder.layers), rows, decoder.kv_heads, positions, decoder.head_size)
        self.keys = torch.zeros(shape, dtype=dtype, device=decoder.device)
        self.values = torch.zeros(shape, dtype=dtype, device=decoder.device)

    def copy_row(self, source: int, target: int, length: int) -> None:
        """Makes `target` a fork of `source` up to `length` positions."""
        self.keys[:, target, :, :length] = self.keys[:, source, :, :length]
        self.values[:, target, :, :length] = self.values[:, source, :, :length]

    def packed(self, rows: list[int], starts: list[int], counts: list[int]) -> Packed:
        """For a pass in which row `rows[i]` takes `counts[i]` tokens from position `starts[i]` on,
        end to end in this order."""
        return Packed(self, rows, starts, counts)

    def view(self, ids: Tensor, positions: Tensor, rows: Tensor | None) -> CacheView:
        """Of ids (B, S): the batch stands for the first B rows of the cache, or for `rows`."""
        slots = list(range(len(ids))) if rows is None else rows.tolist()
        return CacheView(self, slots, positions[:, 0].tolist(), [ids.shape[1]] * len(ids))


class Packed(Cache):
    """A cache seen by one pass over packed tokens; what follows the packed ones in its ids is
    padding and leaves no trace."""

    def __init__(self, cache: Cache, rows: list[int], starts: list[int], counts: list[int]):
        self.keys, self.values = cache.keys, cache.values
        self._window = CacheView(cache, rows, starts, counts)

    def view(self, ids: Tensor, positions: Tensor, rows: Tensor | None) -> CacheView:
        return self._window


class CacheView:
    """One pass's window on the cache: where to write, and how far each token reads."""

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
        reached, own = (
            torch.arange(start + count, device=device),
            torch.arange(start, start + count, device=device),
        )
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
            mine, k, v = (
                spread[start - first : end - first],
                keys[start:end, :, :reach],
                values[start:end, :, :reach],
            )
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

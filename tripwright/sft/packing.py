"""Several transcripts in one row without padding: each attends to itself alone, and its positions
begin at 0 again.

Everything but attention looks at one token at a time, so the transcripts of a step are laid end to
end in one long row and only attention is told where each begins. It runs on each transcript's own
square, so nothing is computed across them. The decoder asks the cache it is given how to attend;
`Blocks` is such a "cache" that keeps nothing. Loss and gradients are those of the unpacked rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from tripwright.inference.decoder import Cache, CacheView, round_up
from tripwright.learning.batches import Batch


class Blocks(Cache):
    """`lengths`: tokens of each transcript, in the order in which they lie in the row; what comes
    after them is padding."""

    def __init__(self, lengths: Sequence[int]):
        self.lengths = list(lengths)

    def view(self, ids: Tensor, positions: Tensor, rows: Tensor | None) -> CacheView:
        return _BlockView(self.lengths, ids.shape[1] - sum(self.lengths))


class _BlockView(CacheView):
    def __init__(self, lengths: list[int], padding: int):
        self.lengths = [*lengths, *([padding] if padding else [])]

    def attend(self, index: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """q (1, H, S, D), k and v (1, K, S, D) → (1, H, S, D)."""
        gqa = q.shape[1] != k.shape[1]
        parts = [part.split(self.lengths, dim=2) for part in (q, k, v)]
        return torch.cat(
            [
                F.scaled_dot_product_attention(a, b, c, is_causal=True, enable_gqa=gqa)
                for a, b, c in zip(*parts, strict=True)
            ],
            dim=2,
        )


def pack(
    rows: Sequence[tuple[Sequence[int], Sequence[int]]], pad_id: int = 0
) -> tuple[Batch, Tensor, Blocks]:
    """(token ids, loss mask) of each transcript → one row, its positions, and who may attend to
    whom."""
    lengths = [len(ids) - 1 for ids, _ in rows]
    padding = round_up(sum(lengths)) - sum(lengths)

    def laid(parts: list[list[int]], fill: int) -> Tensor:
        return torch.tensor([[*(x for part in parts for x in part), *[fill] * padding]])

    ids = laid([list(tokens[:-1]) for tokens, _ in rows], pad_id)
    targets = laid([list(tokens[1:]) for tokens, _ in rows], 0)
    mask = laid([list(loss_mask[1:]) for _, loss_mask in rows], 0).float()
    positions = laid([list(range(length)) for length in lengths], 0)
    real = torch.arange(ids.shape[1])[None] < sum(lengths)
    return Batch(ids, targets, mask, torch.zeros_like(mask), real), positions, Blocks(lengths)

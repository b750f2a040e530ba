"""Muon: momentum whose matrices are made orthogonal before they are applied (Jordan et al., 2024),
all matrices of one shape at once.

The same arithmetic as `torch.optim.Muon` (a test holds it to that), which works on one matrix at a
time and always in bfloat16: on a processor without bfloat16 instructions most of a small model's
step would go into the optimizer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

# of the quintic whose repeated use drives every singular value towards 1
COEFFICIENTS = (3.4445, -4.7750, 2.0315)
ITERATIONS = 5


class Muon(torch.optim.Optimizer):
    """For weight matrices (2-D parameters) only. Nesterov momentum; the update of an (A, B) matrix
    is scaled by √max(1, A / B)."""

    def __init__(
        self,
        matrices: Iterable[Tensor],
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        dtype: torch.dtype = torch.float32,
    ):
        super().__init__(matrices, {"lr": lr, "momentum": momentum, "weight_decay": weight_decay})
        self.dtype = dtype

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:
        for group in self.param_groups:
            by_shape: dict[torch.Size, list[Tensor]] = defaultdict(list)
            for matrix in group["params"]:
                if matrix.grad is not None:
                    by_shape[matrix.shape].append(matrix)
            for shape, matrices in by_shape.items():
                updates = orthogonal(
                    torch.stack([self._momentum(matrix, group["momentum"]) for matrix in matrices]),
                    self.dtype,
                )
                rate = group["lr"] * max(1.0, shape[0] / shape[1]) ** 0.5
                for matrix, update in zip(matrices, updates, strict=True):
                    matrix.mul_(1 - group["lr"] * group["weight_decay"])
                    matrix.add_(update, alpha=-rate)

    def _momentum(self, matrix: Tensor, momentum: float) -> Tensor:
        assert matrix.grad is not None
        state = self.state[matrix]
        if not state:
            state["momentum_buffer"] = torch.zeros_like(matrix)
        buffer: Tensor = state["momentum_buffer"]
        buffer.lerp_(matrix.grad, 1 - momentum)
        return matrix.grad.lerp(buffer, momentum)


def orthogonal(matrices: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """(N, A, B) → (N, A, B): about U Vᵀ of each matrix's singular value decomposition (singular
    values end up between .7 and 1.2)."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[1] > matrices.shape[2]
    x = (matrices.transpose(1, 2) if tall else matrices).to(dtype)
    x = x / x.flatten(1).norm(dim=1).clamp(min=1e-7)[:, None, None]
    for _ in range(ITERATIONS):
        gram = x @ x.transpose(1, 2)
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return (x.transpose(1, 2) if tall else x).to(matrices.dtype)

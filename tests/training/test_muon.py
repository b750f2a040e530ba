"""Our Muon against torch's, and what makes it Muon."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.training.optim import Muon

SHAPES = [(24, 16), (16, 24), (24, 16), (16, 16)]


def trained(kind: Any, steps: int, **settings: Any) -> list[Any]:
    torch.manual_seed(0)
    matrices = [torch.nn.Parameter(torch.randn(shape)) for shape in SHAPES]
    optimizer = kind(matrices, lr=0.05, momentum=0.9, weight_decay=0.1, **settings)
    for _ in range(steps):
        for matrix in matrices:
            matrix.grad = torch.randn_like(matrix)
        optimizer.step()
    return [matrix.detach() for matrix in matrices]


def test_steps_are_those_of_torch():
    """To the rounding of bfloat16, in which torch makes its updates orthogonal."""
    for ours, theirs, start in zip(
        trained(Muon, 4, dtype=torch.bfloat16),
        trained(torch.optim.Muon, 4),
        trained(Muon, 0),
        strict=True,
    ):
        assert (theirs - start).norm() > 0.1
        assert (ours - theirs).norm() < 0.02 * (theirs - start).norm()


def test_a_gradient_of_zero_moves_nothing():
    matrix = torch.nn.Parameter(torch.ones(4, 3))
    matrix.grad = torch.zeros(4, 3)
    Muon([matrix]).step()
    assert torch.equal(matrix, torch.ones(4, 3))

"""Our Muon against torch's, and what makes it Muon."""

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.training.optim import Muon, orthogonal

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


@pytest.mark.parametrize("shape", SHAPES)
def test_an_update_is_nearly_orthogonal(shape):
    torch.manual_seed(1)
    found = torch.linalg.svdvals(orthogonal(torch.randn(3, *shape) * 1e-3))
    assert found.min() > 0.4
    assert found.max() < 1.3


def test_a_gradient_of_zero_moves_nothing():
    matrix = torch.nn.Parameter(torch.ones(4, 3))
    matrix.grad = torch.zeros(4, 3)
    Muon([matrix]).step()
    assert torch.equal(matrix, torch.ones(4, 3))


def test_state_survives_saving():
    torch.manual_seed(0)
    grads = [torch.randn(4, 3) for _ in range(4)]

    def run(stop_after: int | None) -> Any:
        matrix = torch.nn.Parameter(torch.ones(4, 3))
        optimizer = Muon([matrix])
        for step, grad in enumerate(grads):
            if step == stop_after:
                saved, optimizer = optimizer.state_dict(), Muon([matrix])
                optimizer.load_state_dict(saved)
            matrix.grad = grad.clone()
            optimizer.step()
        return matrix.detach()

    assert torch.equal(run(None), run(2))

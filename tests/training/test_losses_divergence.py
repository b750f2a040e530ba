"""KL estimates and entropy where verl's own (test_losses_golden_verl.py) stop: far and near gaps,
tokens that cannot come, chunks, formats."""

import math
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.training import losses
from tripwright.training.losses import kl_estimate, token_entropy


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=tolerance, rtol=tolerance
    )


# ---- KL


def test_a_far_token_keeps_its_gradient_and_nothing_overflows():
    """At 5 nats the estimate is e⁵ − 6 = 142; at 200 it is held at e²⁰ − 21."""
    logprobs = torch.tensor([-5.0, -200.0, 0.0]).requires_grad_()
    found = kl_estimate(logprobs, torch.tensor([0.0, 0.0, -200.0]), "k3")
    found.sum().backward()
    close(found.detach(), [math.exp(5) - 6, math.exp(20) - 21, math.exp(-20) + 19], 1e-5)
    close(logprobs.grad, [1 - math.exp(5), 0.0, 0.0], 1e-5)


def test_small_gaps_are_not_lost_to_rounding():
    """x²/2 is left of eˣ − x − 1 at x = 1e-3, which in fp32 has three digits if the one is
    subtracted last."""
    found = kl_estimate(torch.tensor([-1e-3]), torch.tensor([0.0]), "k3")
    torch.testing.assert_close(found, torch.tensor([5.0016671e-7]), atol=0, rtol=2e-4)


# ---- entropy


def test_entropy_and_gradient_do_not_depend_on_the_chunks(monkeypatch):
    """The gradient is that of the plain formula, row by row with its own factor."""
    logits = 3 * torch.randn(7, 11, generator=torch.Generator().manual_seed(0))
    factors = torch.arange(1.0, 8.0)
    plain = logits.clone().requires_grad_()
    logprobs = torch.log_softmax(plain, 1)
    expected = -(logprobs.exp() * logprobs).sum(1)
    (expected * factors).sum().backward()
    for numbers in (1, 25, 10_000):
        monkeypatch.setattr(losses, "CHUNK_NUMBERS", numbers)
        leaf = logits.clone().requires_grad_()
        found = token_entropy(leaf)
        (found * factors).sum().backward()
        close(found.detach(), expected.detach())
        close(leaf.grad, plain.grad, 1e-5)


def test_a_token_that_cannot_come_has_no_gradient():
    logits = torch.tensor([[1.0, 0.0, float("-inf")]], requires_grad=True)
    plain = torch.tensor([[1.0, 0.0]], requires_grad=True)
    found, expected = token_entropy(logits), token_entropy(plain)
    close(found.detach(), expected.detach())
    (found + expected).sum().backward()
    close(logits.grad, [[*plain.grad[0].tolist(), 0.0]])


def test_entropy_keeps_nothing_but_the_logits():
    kept: list[int] = []

    def pack(tensor: Any) -> Any:
        kept.append(tensor.numel())
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        token_entropy(torch.randn(6, 50, requires_grad=True))
    assert sum(kept) == 6 * 50 + 6


def test_entropy_of_half_precision_logits_is_counted_in_fp32():
    logits = torch.zeros(2, 1000, dtype=torch.bfloat16, requires_grad=True)
    found = token_entropy(logits)
    found.sum().backward()
    assert found.dtype == torch.float32
    assert logits.grad.dtype == torch.bfloat16
    close(found.detach(), [math.log(1000)] * 2, 1e-5)


def test_entropy_of_no_rows():
    assert token_entropy(torch.zeros(0, 5)).shape == (0,)

"""What PPO adds, where verl's own (test_losses_golden_verl.py) stops: observations, ends."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tripwright.training.losses import gae, whiten


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=tolerance, rtol=tolerance
    )


@given(
    said=st.lists(st.booleans(), min_size=1, max_size=12),
    seed=st.integers(0, 99),
    gamma=st.sampled_from([0.9, 1.0]),
    lam=st.floats(0, 1),
)
@settings(deadline=None)
def test_observations_might_as_well_be_cut_out(said, seed, gamma, lam):
    """Beside another row, whose own tokens lie elsewhere."""
    g = torch.Generator().manual_seed(seed)
    mask = torch.tensor([said, [True] * len(said)])
    values, rewards = (
        torch.randn(2, len(said), generator=g),
        torch.randn(2, len(said), generator=g) * mask,
    )
    for found, cut in zip(
        gae(rewards, values, mask, gamma, lam),
        gae(rewards[:1, mask[0]], values[:1, mask[0]], torch.ones(1, sum(said)), gamma, lam)
        if any(said)
        else [torch.zeros(1, 0)] * 2,
        strict=True,
    ):
        close(found[:1, mask[0]], cut, 1e-5)
        assert not found[~mask].any()


def test_gae_has_no_gradient():
    advantages, returns = gae(
        torch.ones(1, 2), torch.zeros(1, 2, requires_grad=True), torch.ones(1, 2), 1.0, 0.95
    )
    assert not advantages.requires_grad
    assert not returns.requires_grad


@pytest.mark.parametrize("tokens", [0, 1])
def test_fewer_than_two_tokens_cannot_be_whitened(tokens):
    assert whiten(torch.tensor([[5.0, 7.0]]), torch.arange(2)[None] < tokens).tolist() == [
        [0.0, 0.0]
    ]

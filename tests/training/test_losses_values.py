"""What PPO adds, by hand: advantages over an observation, and whitening. The rest is verl's
(test_losses_golden_verl.py)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tripwright.training.losses import gae, whiten

NAN = float("nan")


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=tolerance, rtol=tolerance
    )


def test_gae_by_hand_over_an_observation():
    """Two tokens, an observation, two tokens; γ = 0.9, λ = 0.5, so γλ = 0.45. The step from the
    second token leads to the fourth.

    t=4: δ = 1 − 0.6         =  0.40, A = 0.4
    t=3: δ = 0.9·0.6 − 0.2   =  0.34, A =  0.34 + 0.45·0.4   =  0.52
    t=1: δ = 0.9·0.2 − 0.4   = −0.22, A = −0.22 + 0.45·0.52  =  0.014
    t=0: δ = 0.9·0.4 − 0.5   = −0.14, A = −0.14 + 0.45·0.014 = −0.1337
    """
    mask, rewards = (
        torch.tensor([[1.0, 1.0, 0.0, 1.0, 1.0]]),
        torch.tensor([[0.0, 0.0, 0.0, 0.0, 1.0]]),
    )
    for of_observation in (99.0, NAN):
        values = torch.tensor([[0.5, 0.4, of_observation, 0.2, 0.6]])
        advantages, returns = gae(rewards, values, mask, 0.9, 0.5)
        close(advantages, [[-0.1337, 0.014, 0.0, 0.52, 0.4]])
        close(returns, [[0.3663, 0.414, 0.0, 0.72, 1.0]])


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


def test_whiten_by_hand():
    """1, 2 and 3 have mean 2 and sample variance 1; what is masked has no influence and gets
    nothing."""
    for masked in (100.0, NAN):
        close(
            whiten(
                torch.tensor([[1.0, masked], [2.0, 3.0]]), torch.tensor([[1.0, 0.0], [1.0, 1.0]])
            ),
            [[-1.0, 0.0], [0.0, 1.0]],
        )


@pytest.mark.parametrize("tokens", [0, 1])
def test_fewer_than_two_tokens_cannot_be_whitened(tokens):
    assert whiten(torch.tensor([[5.0, 7.0]]), torch.arange(2)[None] < tokens).tolist() == [
        [0.0, 0.0]
    ]

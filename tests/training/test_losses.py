"""Losses where TRL's and verl's own code (test_losses_golden_*.py) says nothing: advantages; KL
estimates and entropy at far and near gaps, of tokens that cannot come, in chunks and formats; the
gap between sampler and trainer, per sequence; observations and ends of PPO."""

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tripwright.training import losses
from tripwright.training.losses import (
    Importance,
    gae,
    group_advantages,
    importance_weights,
    kl_estimate,
    token_entropy,
    whiten,
)


def test_advantages_with_the_population_std():
    """Rewards 0, 1, 2, 5: mean 2, squares 4 + 1 + 0 + 9 = 14, std √(14/4) = 1.870829 (eq. 9)."""
    scored = torch.ones(1, 4, dtype=torch.bool)
    found = group_advantages(torch.tensor([[0.0, 1.0, 2.0, 5.0]]), scored, population=True)
    expected = torch.tensor([[-1.069045, -0.534522, 0.0, 1.603567]])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scored", [[False] * 4, [True, False, False, False]])
def test_fewer_than_two_scored_members_teach_nothing(scored):
    rewards = torch.tensor([[3.0, 1.0, 2.0, 5.0]])
    assert not group_advantages(rewards, torch.tensor([scored])).any()


@pytest.mark.parametrize("normalise", ["group", "batch", "none"])
@pytest.mark.parametrize("population", [False, True])
@given(reward=st.floats(0, 5, width=32), members=st.integers(2, 16))
@settings(deadline=None)
def test_a_group_that_agrees_teaches_exactly_nothing(normalise, population, reward, members):
    """Exactly: the mean of seven times 4.2 is not 4.2 in fp32, and the difference over its own size
    would be an advantage of 0.3."""
    rewards = torch.full((1, members), reward)
    scored = torch.ones(1, members, dtype=torch.bool)
    assert not group_advantages(rewards, scored, normalise, population).any()
    assert not group_advantages(rewards, scored, normalise, population, eps=0.0).any()


GROUPS = st.integers(2, 8).flatmap(
    lambda g: st.lists(st.lists(st.integers(0, 40), min_size=g, max_size=g), min_size=1, max_size=4)
)


@pytest.mark.parametrize("normalise", ["group", "batch", "none"])
@given(eighths=GROUPS, unscored=st.integers(0, 7))
@settings(deadline=None)
def test_advantages_of_a_group_sum_to_zero(normalise, eighths, unscored):
    rewards = torch.tensor(eighths) / 8
    scored = torch.arange(rewards.shape[1]).expand_as(rewards) != unscored
    found = group_advantages(rewards, scored, normalise)
    torch.testing.assert_close(found.sum(1), torch.zeros(len(rewards)), atol=1e-4, rtol=0)
    assert not found[~scored].any()


# ---- KL estimates and entropy


def close(found: Any, expected: Any, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(
        found, torch.as_tensor(expected, dtype=found.dtype), atol=tolerance, rtol=tolerance
    )


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


# ---- the gap between sampler and trainer


RATIOS = torch.tensor([0.5, 1.5, 4.0])
SAMPLER = torch.tensor([-1.0, -2.0, -3.0])
TRAINER = SAMPLER + RATIOS.log()


ROWS = torch.tensor([[0.5, 1.5, 4.0], [1.5, 1.0, 7.0], [9.0, 9.0, 9.0]])
PADDED = torch.tensor([[1, 1, 1], [1, 1, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("correction", "weights"),
    [
        ("none", [[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]),
        ("truncate", [[2.0, 2.0, 2.0], [1.5, 1.5, 0.0], [0.0, 0.0, 0.0]]),
        ("mask", [[0.0, 0.0, 0.0], [1.5, 1.5, 0.0], [0.0, 0.0, 0.0]]),
    ],
)
@pytest.mark.parametrize("in_padding", [7.0, float("nan")])
def test_weights_per_sequence_by_hand(correction, weights, in_padding):
    """The products are 3 and 1.5; the third row has no token. Of two rows one is capped; (3 + 1.5)²
    = 20.25 over 2·(9 + 2.25) = 22.5."""
    trainer = ROWS.log().masked_fill(PADDED == 0, in_padding)
    found, figures = importance_weights(
        trainer, torch.zeros(3, 3), Importance(correction, 2.0, "sequence"), PADDED
    )
    close(found, weights)
    assert figures["capped_share"] == pytest.approx(1 / 2)
    assert figures["effective_share"] == pytest.approx(20.25 / 22.5)


def test_weights_have_no_gradient():
    found, _ = importance_weights(TRAINER.clone().requires_grad_(), SAMPLER, Importance("truncate"))
    assert not found.requires_grad


def test_no_tokens_at_all():
    found, figures = importance_weights(
        torch.zeros(2, 3), torch.ones(2, 3), Importance("truncate"), torch.zeros(2, 3)
    )
    assert not found.any()
    none = dict.fromkeys(("gap_mean", "gap_max", "kl", "capped_share"), 0.0)
    assert figures == none | {"effective_share": 1.0}


# ---- what PPO adds


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
    values = torch.randn(2, len(said), generator=g)
    rewards = torch.randn(2, len(said), generator=g) * mask
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
    ones, values = torch.ones(1, 2), torch.zeros(1, 2, requires_grad=True)
    assert not any(found.requires_grad for found in gae(ones, values, ones, 1.0, 0.95))


@pytest.mark.parametrize("tokens", [0, 1])
def test_fewer_than_two_tokens_cannot_be_whitened(tokens):
    assert not whiten(torch.tensor([[5.0, 7.0]]), torch.arange(2)[None] < tokens).any()

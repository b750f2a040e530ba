"""The arithmetic of GRPO against numbers worked out by hand (row P6), and what must not change it (row P16, App. H)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tripwright.training.objectives import Clip, clipped_loss, group_advantages, token_weights  # noqa: E402

ALL = torch.ones(1, 4, dtype=torch.bool)


def close(found: object, expected: object, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(found, torch.tensor(expected), atol=tolerance, rtol=tolerance)


# ---- advantages


def test_advantages_with_the_sample_std() -> None:
    """Rewards 0, 1, 2, 5: mean 2, squares 4 + 1 + 0 + 9 = 14, std √(14/3) = 2.160247."""
    found = group_advantages(torch.tensor([[0.0, 1.0, 2.0, 5.0]]), ALL)
    close(found, [[-0.925820, -0.462910, 0.0, 1.388730]])


def test_advantages_with_the_population_std() -> None:
    """… √(14/4) = 1.870829 (eq. 9)."""
    found = group_advantages(torch.tensor([[0.0, 1.0, 2.0, 5.0]]), ALL, population=True)
    close(found, [[-1.069045, -0.534522, 0.0, 1.603567]])


def test_groups_are_apart() -> None:
    found = group_advantages(torch.tensor([[0.0, 1.0], [100.0, 50.0]]), torch.ones(2, 2, dtype=torch.bool))
    close(found, [[-0.707107, 0.707107], [0.707107, -0.707107]])


def test_an_unscored_member_leaves_its_group() -> None:
    """What stands in its place has no influence, and it gets nothing."""
    scored = torch.tensor([[True, True, False, True]])
    for whatever in (0.0, 77.0, -1e6):
        found = group_advantages(torch.tensor([[0.0, 2.0, whatever, 4.0]]), scored)
        close(found, [[-1.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("scored", [[False] * 4, [True, False, False, False]])
def test_fewer_than_two_scored_members_teach_nothing(scored: list[bool]) -> None:
    assert group_advantages(torch.tensor([[3.0, 1.0, 2.0, 5.0]]), torch.tensor([scored])).tolist() == [[0.0] * 4]


@pytest.mark.parametrize("population", [False, True])
@given(reward=st.floats(0, 5, width=32), members=st.integers(2, 16))
@settings(deadline=None)
def test_a_group_that_agrees_teaches_exactly_nothing(population: bool, reward: float, members: int) -> None:
    """Exactly: the mean of seven times 4.2 is not 4.2 in fp32, and the difference over its own size would be an advantage of 0.3."""
    rewards = torch.full((1, members), reward)
    assert not group_advantages(rewards, torch.ones(1, members, dtype=torch.bool), population).any()


@pytest.mark.parametrize("population", [False, True])
@given(
    rewards=st.lists(st.integers(0, 40), min_size=2, max_size=8), factor=st.sampled_from([0.25, 0.5, 2.0, 3.0]), shift=st.integers(-5, 5)
)
@settings(deadline=None)
def test_positive_affine_maps_of_the_reward_change_nothing(population: bool, rewards: list[int], factor: float, shift: int) -> None:
    plain = torch.tensor([rewards], dtype=torch.float) / 8
    scored = torch.ones_like(plain, dtype=torch.bool)
    found = group_advantages(factor * plain + shift, scored, population)
    torch.testing.assert_close(found, group_advantages(plain, scored, population), atol=1e-4, rtol=1e-4)


# ---- clipping


@pytest.mark.parametrize(
    ("ratio", "advantage", "loss", "clipped"),
    [
        (1.0, 2.0, -2.0, False),
        (1.1, 2.0, -2.2, False),
        (1.5, 2.0, -2.4, True),  # no more to gain than 1.2 × 2
        (0.5, 2.0, -1.0, False),  # worse than the old policy: the whole way back is open
        (0.9, -2.0, 1.8, False),
        (0.5, -2.0, 1.6, True),  # no more to gain than 0.8 × 2
        (2.0, -2.0, 4.0, False),
        (10.0, -2.0, 6.0, True),  # dual clip: 3 × 2 instead of 10 × 2
        (10.0, 2.0, -2.4, True),
        (1.0, 0.0, 0.0, False),
    ],
)
def test_clip_and_dual_clip(ratio: float, advantage: float, loss: float, clipped: bool) -> None:
    old = torch.tensor([-1.3])
    found, cut = clipped_loss(old + torch.tensor([ratio]).log(), old, torch.tensor([advantage]), Clip())
    close(found, [loss])
    assert cut.tolist() == [clipped]


def test_without_the_dual_clip_the_loss_is_open_upwards() -> None:
    found, cut = clipped_loss(torch.tensor([10.0]).log(), torch.zeros(1), torch.tensor([-2.0]), Clip(dual=None))
    close(found, [20.0])
    assert not cut.any()


def test_clip_higher() -> None:
    """Row S6: ε_low < ε_high."""
    ratios = torch.tensor([1.25, 1.4, 0.75])
    found, _ = clipped_loss(ratios.log(), torch.zeros(3), torch.tensor([1.0, 1.0, -1.0]), Clip(low=0.2, high=0.28))
    close(found, [-1.25, -1.28, 0.8])


def test_a_clipped_token_has_no_gradient() -> None:
    logprobs = torch.tensor([1.5, 1.1, 0.5, 10.0]).log().requires_grad_()
    losses, clipped = clipped_loss(logprobs, torch.zeros(4), torch.tensor([2.0, 2.0, -2.0, -2.0]), Clip())
    losses.sum().backward()
    assert clipped.tolist() == [True, False, True, True]
    close(logprobs.grad, [0.0, -2.2, 0.0, 0.0])


# ---- aggregation

MASK = torch.tensor([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])


def test_token_mean_weighs_every_token_of_the_batch_alike() -> None:
    """Ten tokens in the batch: six here, four in groups that agree and are not computed."""
    close(token_weights(MASK, "token-mean", rollouts=3, tokens=10), [[0.0, 0.1, 0.1, 0.0], [0.1, 0.1, 0.1, 0.1]])


def test_trajectory_mean_weighs_every_rollout_alike() -> None:
    close(token_weights(MASK, "trajectory-mean", rollouts=4, tokens=10), [[0, 0.125, 0.125, 0], [0.0625, 0.0625, 0.0625, 0.0625]])


def test_other_aggregations_are_refused() -> None:
    with pytest.raises(ValueError, match="'token-mean' or 'trajectory-mean'"):
        token_weights(MASK, "sum", 1, 1)

"""Advantages, clipping and aggregation against numbers worked out by hand (rows P6, S6), and what
must not change them (P16, App. H)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tripwright.training.losses import (
    Clip,
    clipped_loss,
    group_advantages,
    token_weights,
)

ALL = torch.ones(1, 4, dtype=torch.bool)


def close(found: object, expected: object, tolerance: float = 1e-5) -> None:
    torch.testing.assert_close(found, torch.tensor(expected), atol=tolerance, rtol=tolerance)


# ---- advantages


def test_advantages_with_the_sample_std():
    """Rewards 0, 1, 2, 5: mean 2, squares 4 + 1 + 0 + 9 = 14, std √(14/3) = 2.160247."""
    found = group_advantages(torch.tensor([[0.0, 1.0, 2.0, 5.0]]), ALL)
    close(found, [[-0.925820, -0.462910, 0.0, 1.388730]])


def test_advantages_with_the_population_std():
    """… √(14/4) = 1.870829 (eq. 9)."""
    found = group_advantages(torch.tensor([[0.0, 1.0, 2.0, 5.0]]), ALL, population=True)
    close(found, [[-1.069045, -0.534522, 0.0, 1.603567]])


def test_groups_are_apart():
    found = group_advantages(
        torch.tensor([[0.0, 1.0], [100.0, 50.0]]), torch.ones(2, 2, dtype=torch.bool)
    )
    close(found, [[-0.707107, 0.707107], [0.707107, -0.707107]])


def test_an_unscored_member_leaves_its_group():
    """What stands in its place has no influence, and it gets nothing."""
    scored = torch.tensor([[True, True, False, True]])
    for whatever in (0.0, 77.0, -1e6):
        found = group_advantages(torch.tensor([[0.0, 2.0, whatever, 4.0]]), scored)
        close(found, [[-1.0, 0.0, 0.0, 1.0]])


@pytest.mark.parametrize("scored", [[False] * 4, [True, False, False, False]])
def test_fewer_than_two_scored_members_teach_nothing(scored):
    assert group_advantages(
        torch.tensor([[3.0, 1.0, 2.0, 5.0]]), torch.tensor([scored])
    ).tolist() == [[0.0] * 4]


def test_batch_normalisation_divides_by_the_std_of_all_rewards():
    """Groups (0, 2) and (10, 14): mean of all 6.5, squares 42.25 + 20.25 + 12.25 + 56.25 = 131, std
    √(131/3) = 6.608076."""
    found = group_advantages(
        torch.tensor([[0.0, 2.0], [10.0, 14.0]]), torch.ones(2, 2, dtype=torch.bool), "batch"
    )
    close(found, [[-0.151330, 0.151330], [-0.302660, 0.302660]])


def test_batch_normalisation_with_unscored_members():
    """Scored are 0, 2 and 10, 14, as above; the fives are not."""
    rewards, scored = (
        torch.tensor([[0.0, 5.0, 2.0], [10.0, 14.0, 5.0]]),
        torch.tensor([[True, False, True], [True, True, False]]),
    )
    close(
        group_advantages(rewards, scored, "batch"),
        [[-0.151330, 0.0, 0.151330], [-0.302660, 0.302660, 0.0]],
    )


def test_without_normalisation_the_mean_alone_is_taken_off():
    """Dr. GRPO."""
    found = group_advantages(torch.tensor([[0.0, 1.0, 2.0, 5.0]]), ALL, "none")
    assert found.tolist() == [[-2.0, -1.0, 0.0, 3.0]]


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


@pytest.mark.parametrize("normalise", ["group", "batch"])
@pytest.mark.parametrize("population", [False, True])
@given(
    eighths=GROUPS, factor=st.sampled_from([0.25, 0.3, 2.0, 3.0, 100.0]), shift=st.integers(-5, 5)
)
@settings(deadline=None)
def test_positive_affine_maps_of_the_reward(normalise, population, eighths, factor, shift):
    """Exactly, A(a·r + b) with a·eps is A(r) with eps. With one eps for both, the two differ by
    less than eps·|1 − 1/a| / std of A."""
    rewards, eps = torch.tensor(eighths) / 8, 1e-3
    scored = torch.ones_like(rewards, dtype=torch.bool)
    mapped, plain = (
        factor * rewards + shift,
        group_advantages(rewards, scored, normalise, population, eps),
    )
    torch.testing.assert_close(
        group_advantages(mapped, scored, normalise, population, eps * factor),
        plain,
        atol=2e-4,
        rtol=2e-4,
    )
    stds = (rewards if normalise == "group" else rewards.reshape(1, -1)).std(
        1, correction=int(not population)
    )
    most = eps * abs(1 - 1 / factor) / min([std for std in stds.tolist() if std > 0], default=1.0)
    torch.testing.assert_close(
        group_advantages(mapped, scored, normalise, population, eps),
        plain,
        atol=2e-4,
        rtol=2e-4 + most,
    )


@given(eighths=GROUPS, factor=st.sampled_from([0.25, 2.0, 3.0]), shift=st.integers(-5, 5))
@settings(deadline=None)
def test_without_normalisation_the_scale_of_the_reward_is_kept(eighths, factor, shift):
    rewards = torch.tensor(eighths) / 8
    scored = torch.ones_like(rewards, dtype=torch.bool)
    plain = group_advantages(rewards, scored, "none")
    torch.testing.assert_close(
        group_advantages(factor * rewards + shift, scored, "none"),
        factor * plain,
        atol=1e-5,
        rtol=1e-5,
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
def test_clip_and_dual_clip(ratio, advantage, loss, clipped):
    old = torch.tensor([-1.3])
    found, cut = clipped_loss(
        old + torch.tensor([ratio]).log(), old, torch.tensor([advantage]), Clip()
    )
    close(found, [loss])
    assert cut.tolist() == [clipped]


def test_without_the_dual_clip_the_loss_is_open_upwards():
    found, cut = clipped_loss(
        torch.tensor([10.0]).log(), torch.zeros(1), torch.tensor([-2.0]), Clip(dual=None)
    )
    close(found, [20.0])
    assert not cut.any()


def test_clip_higher():
    """Row S6: ε_low < ε_high."""
    ratios = torch.tensor([1.25, 1.4, 0.75])
    found, _ = clipped_loss(
        ratios.log(), torch.zeros(3), torch.tensor([1.0, 1.0, -1.0]), Clip(low=0.2, high=0.28)
    )
    close(found, [-1.25, -1.28, 0.8])


def test_a_clipped_token_has_no_gradient():
    logprobs = torch.tensor([1.5, 1.1, 0.5, 10.0]).log().requires_grad_()
    losses, clipped = clipped_loss(
        logprobs, torch.zeros(4), torch.tensor([2.0, 2.0, -2.0, -2.0]), Clip()
    )
    losses.sum().backward()
    assert clipped.tolist() == [True, False, True, True]
    close(logprobs.grad, [0.0, -2.2, 0.0, 0.0])


def test_an_enormous_ratio_leaves_no_nan():
    """e^200 is infinite in fp32, and zero times infinity is not a number: neither in the loss nor
    in the gradient."""
    logprobs = torch.tensor([200.0, 200.0, -200.0, 200.0], requires_grad=True)
    losses, clipped = clipped_loss(
        logprobs, torch.zeros(4), torch.tensor([1.0, -1.0, -1.0, 0.0]), Clip()
    )
    losses.sum().backward()
    close(losses.detach(), [-1.2, 3.0, 0.8, 0.0])
    assert clipped.tolist() == [True, True, True, False]
    assert logprobs.grad.tolist() == [0.0] * 4


# ---- aggregation

MASK = torch.tensor([[0.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 1.0]])


def test_token_mean_weighs_every_token_of_the_batch_alike():
    """Ten tokens in the batch: six here, four in groups that agree and are not computed."""
    close(
        token_weights(MASK, "token-mean", rollouts=3, tokens=10),
        [[0.0, 0.1, 0.1, 0.0], [0.1, 0.1, 0.1, 0.1]],
    )


def test_trajectory_mean_weighs_every_rollout_alike():
    close(
        token_weights(MASK, "trajectory-mean", rollouts=4, tokens=10),
        [[0, 0.125, 0.125, 0], [0.0625, 0.0625, 0.0625, 0.0625]],
    )


def test_trajectory_sum_weighs_every_rollout_by_its_length():
    close(
        token_weights(MASK, "trajectory-sum", rollouts=4, tokens=10),
        [[0.0, 0.25, 0.25, 0.0], [0.25] * 4],
    )


def test_group_token_mean_by_hand():
    """The formula of S6. Group one has rollouts of 2 and 4 tokens with losses 1 and 2: (2·1 + 4·2)
    / 6 = 5/3. Group two has rollouts of 1 and 3 tokens with losses 3 and 5: (1·3 + 3·5) / 4 = 4.5.
    Their mean is 37/12; the token mean would be 28/10, the trajectory mean 11/4.
    """
    mask = torch.tensor(
        [[1.0, 1.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.0], [1.0, 1.0, 0.0, 1.0]]
    )
    losses, group_tokens = (
        torch.tensor([[1.0], [2.0], [3.0], [5.0]]).expand(4, 4),
        torch.tensor([6, 6, 4, 4]),
    )
    close((losses * token_weights(mask, "group-token-mean", 4, 10, group_tokens, 2)).sum(), 37 / 12)
    close((losses * token_weights(mask, "token-mean", 4, 10)).sum(), 2.8)
    close((losses * token_weights(mask, "trajectory-mean", 4, 10)).sum(), 2.75)
    # rows in any pieces, as long as each knows the size of its whole group and the number of groups
    part = slice(1, 3)
    close(
        (
            losses[part]
            * token_weights(mask[part], "group-token-mean", 4, 10, group_tokens[part], 2)
        ).sum(),
        (8 / 6 + 3 / 4) / 2,
    )

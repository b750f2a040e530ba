"""Advantages: what TRL's and verl's own code (test_losses_golden_*.py, which have clipping and
aggregation too) does not say of them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from tripwright.training.losses import group_advantages


def test_advantages_with_the_population_std():
    """Rewards 0, 1, 2, 5: mean 2, squares 4 + 1 + 0 + 9 = 14, std √(14/4) = 1.870829 (eq. 9)."""
    scored = torch.ones(1, 4, dtype=torch.bool)
    found = group_advantages(torch.tensor([[0.0, 1.0, 2.0, 5.0]]), scored, population=True)
    expected = torch.tensor([[-1.069045, -0.534522, 0.0, 1.603567]])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("scored", [[False] * 4, [True, False, False, False]])
def test_fewer_than_two_scored_members_teach_nothing(scored):
    assert group_advantages(
        torch.tensor([[3.0, 1.0, 2.0, 5.0]]), torch.tensor([scored])
    ).tolist() == [[0.0] * 4]


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

"""P4's reward against cases worked out by hand. That only a passing plan reaches the full value:
tests/training/test_reward_variance.py."""

from dataclasses import replace

import pytest

from tripwright.domains.travelplanner.rewards import MACRO, REWARDS, SUCCESS, SUM, TERMS
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    HARD_NAMES,
    plan_verdict,
)
from tripwright.episode import Episode
from tripwright.rewards.reward import Reward, RewardBreakdown
from tripwright.verdict import Fact, Facts, State, Verdict, format_group

PASSED, FAILED, NOT_ASKED = State.PASSED, State.FAILED, State.NOT_APPLICABLE
FULL_VALUE = {SUM: 5.0, MACRO: 3.0, SUCCESS: 1.0}


def facts(names: tuple[str, ...], state: State = PASSED, **others: State) -> Facts:
    return {name: Fact(name, others.get(name, state)) for name in names}


def verdict(
    commonsense: Facts | None,
    hard: Facts | None,
    error: str | None = None,
    delivered: bool = True,
) -> Verdict:
    asked = tuple(name for name, fact in (hard or {}).items() if fact.state is not NOT_ASKED)
    return plan_verdict("official", asked, commonsense, hard, error=error, delivered=delivered)


UNDELIVERED = verdict(None, None, delivered=False)


def rewarded(judged: Verdict, asked_hard: int, readable: bool, reward: Reward) -> RewardBreakdown:
    """Of an episode with this verdict, whose request carries so many hard constraints: those that
    were judged, or else any."""
    _, commonsense, hard = judged.groups
    hard = replace(hard, asked=hard.asked or HARD_NAMES[-asked_hard:])
    assert len(hard.asked) == asked_hard
    groups = (format_group(None if readable else "no plan"), commonsense, hard)
    return reward(Episode(None, None, replace(judged, groups=groups)))


def terms(*values: float) -> dict[str, float]:
    return dict(zip(TERMS, values, strict=True))


def wished(*names: str, **others: State) -> Facts:
    """Hard facts of a request that carries the budget and these wishes; `others` sets single
    states."""
    asked = dict.fromkeys(("valid_cost", *names), PASSED)
    return facts(HARD_NAMES, NOT_ASKED, **{**asked, **others})


WHOLE = facts(COMMONSENSE_NAMES)


ALL = ("valid_cuisine", "valid_room_rule", "valid_transportation", "valid_room_type")


@pytest.mark.parametrize(("weights", "value"), FULL_VALUE.items())
@pytest.mark.parametrize("wishes", [(), ALL[:1], ALL])
def test_a_passing_plan_is_worth_exactly_5_3_1(weights, value, wishes):
    made = rewarded(verdict(WHOLE, wished(*wishes)), 1 + len(wishes), True, weights)
    assert (made.total, made.parts) == (value, terms(1, 1, 1, 1, 1))


@pytest.mark.parametrize(
    ("broken", "hard", "parts"),
    [
        # two commonsense constraints and one of three hard ones
        (
            ("is_valid_restaurants", "is_valid_transportation"),
            wished("valid_cuisine", "valid_room_type", valid_cost=FAILED),
            terms(6 / 8, 2 / 3, 0, 0, 0),
        ),
        # all commonsense, but over the budget
        ((), wished("valid_cuisine", valid_cost=FAILED), terms(1, 1 / 2, 1, 0, 0)),
        (("is_valid_attractions",), wished("valid_cuisine"), terms(7 / 8, 1, 0, 1, 0)),
        # hard constraints behind a shut gate count as failed
        (("is_valid_information_in_sandbox",), None, terms(7 / 8, 0, 0, 0, 0)),
    ],
)
def test_what_is_broken_costs_its_share_of_each_stage(broken, hard, parts):
    judged = verdict(facts(COMMONSENSE_NAMES, **dict.fromkeys(broken, FAILED)), hard)
    asked = 3 if hard is None else sum(fact.state is not NOT_ASKED for fact in hard.values())
    values = list(parts.values())
    for stage, value in (("stage1", sum(values)), ("stage2", sum(values[2:])), ("stage3", 0.0)):
        made = rewarded(judged, asked, True, REWARDS[stage])
        assert made.total == pytest.approx(value, abs=1e-12) and made.parts == parts


def test_only_what_was_asked_for_is_counted():
    """One hard constraint failed: a half of two that were asked for, a fifth of five."""
    two = rewarded(verdict(WHOLE, wished("valid_cuisine", valid_cuisine=FAILED)), 2, True, SUM)
    five = rewarded(verdict(WHOLE, wished(*ALL, valid_cuisine=FAILED)), 5, True, SUM)
    assert (two.parts["hard_micro"], five.parts["hard_micro"]) == (1 / 2, 4 / 5)


@pytest.mark.parametrize("weights", FULL_VALUE)
@pytest.mark.parametrize(
    ("judged", "readable"),
    [
        (verdict(WHOLE, wished()), False),  # it breaks the schema, whatever the judge would say
        (verdict(None, None, "KeyError"), True),  # the judge crashes
        (verdict(WHOLE, None, "ValueError"), True),
        (UNDELIVERED, True),
    ],
)
def test_what_cannot_be_judged_is_worth_0(judged, readable, weights):
    made = rewarded(judged, 1, readable, weights)
    assert (made.total, made.parts) == (0.0, terms(0, 0, 0, 0, 0))


def test_the_names_of_star_are_the_stages_of_planner_r1():
    assert REWARDS["sum"] is REWARDS["stage1"] is SUM
    assert REWARDS["macro"] is REWARDS["stage2"] is MACRO
    assert REWARDS["success"] is REWARDS["stage3"] is SUCCESS

"""The experts' settings on the command line: taken by those that decide from answers, kept in the
run card, refused by all others."""

from typing import Any

import pytest

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy, ExpertStyle
from tripwright.errors import UserError
from tripwright.evals.evaluate import choose_policy
from tripwright.policies.settings import PolicyChoice, PolicySettings


def chosen(name: str, **told: Any) -> PolicyChoice:
    return choose_policy(PolicySettings(name=name, **told), dialect_named("planner_r1"))


def test_what_was_told_replaces_the_style_s_own_values():
    found = chosen("expert-brief", seed=3, thoughts="long", extra_searches=2, compared_cities=0)
    assert isinstance(found.policy, ExpertPolicy)
    told = {"seed": 3, "thoughts": "long", "compared_cities": 0}
    assert found.policy.style == ExpertStyle("brief", **told, max_extra_searches=2)
    assert found.decoding == {**told, "extra_searches": 2}


def test_without_them_the_run_card_says_what_the_style_does():
    careful = STYLES["careful"]
    found = chosen("expert-careful")
    assert isinstance(found.policy, ExpertPolicy) and found.policy.style == careful
    assert found.decoding["extra_searches"] == careful.max_extra_searches
    assert found.decoding["thoughts"] == careful.thoughts
    assert chosen("expert").decoding == {}


@pytest.mark.parametrize("name", ["expert", "first-row", "cheapest-row", "endpoint", "local"])
@pytest.mark.parametrize(
    ("told", "option"),
    [
        ({"thoughts": "none"}, "--thoughts"),
        ({"extra_searches": 0}, "--extra-searches"),
        ({"compared_cities": 0}, "--compared-cities"),
    ],
)
def test_other_policies_refuse_them_in_one_line(name, told, option):
    with pytest.raises(
        UserError, match=f"Policy '{name}' does not know {option}: .*expert-careful or expert-brief"
    ) as refused:
        chosen(name, **told)
    assert "\n" not in str(refused.value)


def test_a_thought_that_is_none_is_refused():
    with pytest.raises(UserError, match="none, short, long; found 'deep'"):
        chosen("expert-careful", thoughts="deep")

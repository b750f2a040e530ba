"""The theory that can be tested (row P16): what a valid plan is worth, and when dense rewards vary
more than sparse ones."""

import itertools
from fractions import Fraction
from statistics import variance
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.baselines import RowsPolicy
from tripwright.domains.travelplanner.expert import ExpertPolicy
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.rewards import MACRO, SUCCESS, SUM
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.rules.facts import (
    COMMONSENSE_NAMES,
    HARD_NAMES,
    plan_verdict,
)
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, play
from tripwright.rewards.reward import Reward
from tripwright.training.metrics import variances
from tripwright.verdict import Fact, State
from tripwright.world.generator import build_tables
from tripwright.world.store import World

WORTH: dict[Reward, float] = {SUM: 5.0, MACRO: 3.0, SUCCESS: 1.0}
ASKED = (State.PASSED, State.FAILED, State.NOT_APPLICABLE)
FACTS = {
    (name, state): Fact(name, state)
    for name in (*COMMONSENSE_NAMES, *HARD_NAMES)
    for state in State
}


def judged(*facts: Any, asked: tuple[str, ...] = HARD_NAMES, **more: Any) -> Episode:
    return Episode(None, None, plan_verdict("strict", asked, *facts, **more))


def test_lemma_1_a_valid_plan_is_worth_exactly_5_3_1_and_nothing_else_reaches_it():
    """All commonsense facts kept, each of them broken, and any number of them; each wish kept,
    broken or not made, the budget kept, broken or not judged."""
    wishes = HARD_NAMES[:-1]
    seen = {True: 0, False: 0}
    hards = [
        {
            name: FACTS[name, state]
            for name, state in zip(HARD_NAMES, (*states, budget), strict=True)
        }
        for states in itertools.product(ASKED, repeat=len(wishes))
        for budget in (State.PASSED, State.FAILED, State.NOT_EVALUATED)
    ]
    asked = [
        tuple(name for name, fact in hard.items() if fact.state is not State.NOT_APPLICABLE)
        for hard in hards
    ]
    each = [{name} for name in COMMONSENSE_NAMES]
    for broken in (*each, *({*COMMONSENSE_NAMES[:count]} for count in (0, *range(2, 9)))):
        facts = {
            name: FACTS[name, State.FAILED if name in broken else State.PASSED]
            for name in COMMONSENSE_NAMES
        }
        sound = all(fact.passed for fact in facts.values())
        for hard, asked_hard in zip(hards, asked, strict=True):
            valid = sound and all(
                fact.state in (State.PASSED, State.NOT_APPLICABLE) for fact in hard.values()
            )
            episode = judged(facts, hard, asked=asked_hard)
            assert episode.passed is valid
            seen[valid] += 1
            for reward, worth in WORTH.items():
                total = reward(episode).total
                assert total == worth if valid else 0 <= total < worth, (broken, hard)
    assert seen == {True: 2**4, False: 16 * 3**5 - 2**4}


@pytest.fixture(scope="module")
def rollouts() -> list[list[Episode]]:
    """The expert's and two scripts' episodes of the same trips, grouped by trip."""
    world = World.in_memory(build_tables("nano", 11))
    queries = list(make_queries(world, 12, 3))
    groups: list[list[Episode]] = [[] for _ in queries]
    for policy in (RowsPolicy("first"), RowsPolicy("cheapest"), ExpertPolicy()):
        for episode in play(
            policy,
            (TripTask(str(i), query, world) for i, query in enumerate(queries)),
            dialect_named("compact"),
        ):
            groups[int(episode.task.id)].append(episode)
    return groups


def judged_by(episode: Episode, rules: str) -> Episode:
    """The same episode under another set of rules."""
    task = episode.task
    problem = episode.verdict.schema_problem
    verdict = judge(task.request, episode.more["plan"], task.world, rules, problem)
    return Episode(None, None, verdict)


def test_lemma_1_holds_for_judged_plans(rollouts):
    """The judge's own verdicts, under every rule set: worth the most exactly where everything
    passes."""
    outcomes = set()
    for episode in itertools.chain(*rollouts):
        for rules in ("strict", "official", "star"):
            again = judged_by(episode, rules)
            for reward, worth in WORTH.items():
                total = reward(again).total
                assert (total == worth) == (
                    again.passed and again.verdict.readable
                ) and total <= worth
                outcomes.add(total == worth)
    assert outcomes == {True, False}


# ---- Lemma 2

# Z in eighths
ROLLOUT = st.tuples(st.integers(0, 32), st.integers(0, 1)).map(
    lambda parts: (parts[0] / 8 + parts[1], float(parts[1]))
)
GROUPS = st.lists(st.lists(ROLLOUT, min_size=2, max_size=8), min_size=1, max_size=6)


@given(GROUPS)
def test_lemma_2_the_dense_reward_varies_more_exactly_where_the_covariance_allows(groups):
    """Exact in fractions: per prompt and in the mean, Var[r1] ≥ Var[r3] if and only if 2·Cov[X, Z]
    ≥ −Var[Z]."""
    exact = [_exact(group) for group in groups]
    for dense, sparse, auxiliary, covariance in exact:
        assert dense == sparse + auxiliary + 2 * covariance
        assert (dense >= sparse) == (2 * covariance >= -auxiliary)
        if covariance >= 0:  # the paper's assumption (b)
            assert dense >= sparse
    found = variances(groups)
    for name, column in zip(
        ("dense_variance", "sparse_variance", None, "covariance"),
        zip(*exact, strict=True),
        strict=True,
    ):
        if name:
            assert found[name] == pytest.approx(float(sum(column) / len(column)), abs=1e-9)


def _exact(group: list[tuple[float, float]]) -> tuple[Fraction, ...]:
    """(Var r1, Var r3, Var Z, Cov) of one prompt, unbiased."""
    dense, sparse = [Fraction(d) for d, _ in group], [Fraction(s) for _, s in group]
    auxiliary = [d - s for d, s in zip(dense, sparse, strict=True)]
    n = len(group)
    covariance = (
        sum(x * z for x, z in zip(sparse, auxiliary, strict=True))
        - sum(sparse) * sum(auxiliary) / n
    ) / (n - 1)
    return variance(dense), variance(sparse), variance(auxiliary), covariance


def test_prompts_count_alike_and_single_rollouts_not_at_all():
    one, other = [(5.0, 1.0), (0.0, 0.0)], [(2.0, 0.0), (2.0, 0.0), (2.0, 0.0)]
    assert variances([one, other, [(5.0, 1.0)], []])["dense_variance"] == pytest.approx(12.5 / 2)
    assert variances([one, other])["covariance"] == pytest.approx((0.5 * 4) / 2)
    assert variances([[(1.0, 0.0)]]) == {} == variances([])


def test_lemma_2_holds_for_judged_rollouts(rollouts):
    """X = 1 only where Z = 4, its largest value, so within any group of judged plans Cov[X, Z] ≥ 0:
    assumption (b) is a fact here."""
    spread = []
    for group in rollouts:
        strict = [judged_by(episode, "strict") for episode in group]
        rewards = [[reward(episode).total for reward in (SUM, SUCCESS)] for episode in strict]
        found = variances([[(dense, sparse) for dense, sparse in rewards]])
        assert found["covariance"] >= 0 and found["dense_variance"] >= found["sparse_variance"]
        spread.append(found["dense_variance"] - found["sparse_variance"])
    assert max(spread) > 0

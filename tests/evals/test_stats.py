"""Intervals and their properties on random input; test_stats_golden.py has others' values."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tripwright.statistics.rates import (
    clustered_rate,
    mcnemar_exact,
    mean,
    rate,
    wilson,
)

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
finite = st.floats(-1e6, 1e6, allow_nan=False)
some_values = st.lists(finite, min_size=1, max_size=12)


@pytest.mark.parametrize("k, n", [(-1, 3), (4, 3), (1, -1)])
def test_wilson_refuses_impossible_counts(k, n):
    with pytest.raises(ValueError, match="0 <= k <= n"):
        wilson(k, n)


@settings(max_examples=30)
@given(some_values, st.integers(0, 10))
def test_bootstrap_is_seeded_and_stays_within_the_values(values, seed):
    found = mean(values, seed)
    assert found == mean(values, seed)
    slack = 1e-9 * max(1, max(map(abs, values)))
    assert min(values) - slack <= found["low"] <= found["high"] <= max(values) + slack


@pytest.mark.parametrize("values", [[1.0, math.nan], [math.inf]])
def test_bootstrap_refuses_nonsense(values):
    with pytest.raises(ValueError):
        mean(values, seed=0)


def test_the_ends_of_mcnemars_scale():
    assert mcnemar_exact(0, 0) == mcnemar_exact(7, 7) == 1.0
    assert mcnemar_exact(0, 5000) == 0.0  # smaller than any float, without an overflow on the way


def test_rate_and_mean_take_the_form_of_score_json():
    assert rate(5, 10) == {
        "value": 0.5,
        "low": pytest.approx(0.2366, abs=1e-4),
        "high": pytest.approx(0.7634, abs=1e-4),
        "k": 5,
        "n": 10,
    }
    assert rate(0, 0) == {"value": None, "low": 0.0, "high": 1.0, "k": 0, "n": 0}
    assert mean([1.0, 1.0], seed=0) == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 2}
    assert mean([], seed=0) == {"value": None, "low": None, "high": None, "n": 0}


def test_a_micro_rate_counts_queries_not_checks():
    whole_plans = [(13, 13)] * 20 + [(0, 13)] * 20  # 520 checks, but only 40 independent plans
    clustered, naive = clustered_rate(whole_plans, seed=0), rate(260, 520)
    assert (clustered["value"], clustered["k"], clustered["n"]) == (0.5, 260, 520)
    assert clustered["high"] - clustered["low"] > 3 * (naive["high"] - naive["low"])
    all_right = clustered_rate([(8, 8)] * 10, seed=0)
    assert (all_right["low"], all_right["high"]) == wilson(10, 10)
    assert clustered_rate([(0, 0), (0, 3)], seed=0) == {**rate(0, 1), "n": 3}
    assert clustered_rate([], seed=0)["value"] is None

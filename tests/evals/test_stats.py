"""Intervals and their properties on random input, estimates of several samples, and how often
bootstraps hold the truth; test_stats_golden.py has others' values."""

import math
import random
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import verdict_record
from tripwright.evals.scoreboard import score_records
from tripwright.statistics.rates import (
    clustered_rate,
    expected_best,
    expected_worst,
    mcnemar_exact,
    mean,
    rate,
    wilson,
)
from tripwright.statistics.resampling import bootstrap_p, over_seeds, percentiles, resampled_sums

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
    low, high = (pytest.approx(bound, abs=1e-4) for bound in (0.2366, 0.7634))
    assert rate(5, 10) == {"value": 0.5, "low": low, "high": high, "k": 5, "n": 10}
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


# ---- pass@k, pass^k, best and worst of k, against every choice of k samples


@pytest.mark.parametrize(("n", "passed"), [(1, 0), (1, 1), (4, 0), (4, 2), (4, 4), (7, 3)])
def test_they_are_means_over_every_choice_of_k(n, passed):
    samples = [1] * passed + [0] * (n - passed)
    for k in range(1, n + 1):
        chosen = list(combinations(samples, k))
        assert expected_best(samples, k) == Fraction(sum(map(any, chosen)), len(chosen))
        assert expected_worst(samples, k) == Fraction(sum(map(all, chosen)), len(chosen))
        assert expected_best(samples, k) == 1 - Fraction(math.comb(n - passed, k), math.comb(n, k))
        assert expected_worst(samples, k) == Fraction(math.comb(passed, k), math.comb(n, k))


def line(query: int, sample: int, final: bool) -> dict[str, Any]:
    """An errand with one rubric, which holds where it passes."""
    return {
        "id": f"q{query:06d}-s{sample:02d}", "domain": "deeptravel",
        "request": {"query": f"request {query}", "level": "easy"}, "world": "w",
        "transcript": {"stop_reason": "answer", "segments": [{"role": "assistant"}]},
        "verdict": verdict_record(final, {"trajectory": {"complete": final}}),
    }  # fmt: skip


def test_a_score_says_what_its_samples_say():
    passes = [(1, 1, 1, 1), (1, 1, 0, 0), (0, 0, 0, 0), (1, 0, 0, 0)]
    lines = [line(q, s, bool(p)) for q, row in enumerate(passes) for s, p in enumerate(row)]
    score = score_records(lines, "strict", {})
    samples, metrics = score["samples"], score["metrics"]
    assert samples["most"] == 4 and list(samples["pass@k"]) == ["1", "2", "3", "4"]
    any_of, all_of = ([samples[of][k]["value"] for k in "124"] for of in ("pass@k", "pass^k"))
    assert any_of == pytest.approx([7 / 16, (1 + 5 / 6 + 0 + 1 / 2) / 4, 3 / 4])
    assert all_of == pytest.approx([7 / 16, (1 + 1 / 6) / 4, 1 / 4])
    assert metrics["pass@4"] == samples["pass@k"]["4"] and metrics["pass^4"]["n"] == 4
    assert [metrics["flip_rate"][name] for name in ("value", "k", "n")] == [0.5, 2, 4]
    # one check, so its share is the pass itself
    assert samples["best_of_k"]["4"]["value"] == samples["pass@k"]["4"]["value"]
    for kind in ("pass@k", "pass^k", "best_of_k", "worst_of_k"):
        for found in samples[kind].values():
            assert 0 <= found["low"] <= found["value"] <= found["high"] <= 1


def test_a_query_with_too_few_samples_is_left_out_of_that_k():
    whole = [line(q, s, q % 2 == 0) for q in range(20) for s in range(4)]
    score = score_records(whole[:-1], "strict", {})  # of twenty queries one has three samples
    assert score["samples"]["most"] == 4
    assert (score["samples"]["pass^k"]["3"]["n"], score["samples"]["pass^k"]["4"]["n"]) == (20, 19)
    alone = score_records(whole[::4], "strict", {})
    assert "samples" not in alone and "flip_rate" not in alone["metrics"]


def test_what_all_queries_agree_on_keeps_an_interval():
    score = score_records([line(q, s, True) for q in range(10) for s in range(2)], "strict", {})
    pass_at_2 = score["samples"]["pass@k"]["2"]
    for found in (score["metrics"]["final"], score["metrics"]["pass^2"], pass_at_2):
        assert found["value"] == found["high"] == 1.0
        assert found["low"] == pytest.approx(0.7225, abs=1e-4)  # Wilson, 10 of 10


# ---- how often bootstraps hold the truth, in seeded simulations


def test_resampling_queries_covers_where_samples_cluster_and_counting_samples_does_not():
    """60 queries of 8 samples, each with its own chance of passing; the truth is their mean,
    0.6."""
    rng, held, naive_held, trials = random.Random(1), 0, 0, 150
    for trial in range(trials):
        chances = [rng.betavariate(0.6, 0.4) for _ in range(60)]
        counts = [sum(rng.random() < chance for _ in range(8)) for chance in chances]
        low, high = percentiles([row[0] / 480 for row in resampled_sums([counts], trial, 400)])
        held += low <= 0.6 <= high
        naive_low, naive_high = wilson(sum(counts), 480)
        naive_held += naive_low <= 0.6 <= naive_high
    assert held / trials >= 0.9 > 0.8 >= naive_held / trials


def test_two_levels_cover_where_seeds_differ_and_resampling_queries_alone_does_not():
    """5 seeds whose true rates scatter by 5 points around 0.6, all examined on the same 80
    queries."""
    rng, held, queries_only, trials = random.Random(2), 0, 0, 150
    for trial in range(trials):
        shifts = [rng.gauss(0, 0.05) for _ in range(5)]
        hardness = [rng.uniform(0.35, 0.85) for _ in range(80)]
        runs = [[int(rng.random() < chance + shift) for chance in hardness] for shift in shifts]
        rates = resampled_sums(runs, trial, 400) / 80
        low, high = percentiles(over_seeds(rates, 0))
        held += low <= 0.6 <= high
        low, high = percentiles(rates.mean(axis=1))
        queries_only += low <= 0.6 <= high
    assert held / trials >= 0.9 > queries_only / trials


def test_one_seed_is_the_run_itself_and_the_spread_of_two_is_made_up_for():
    assert over_seeds(np.array([[0.4], [0.5]]), 0).tolist() == [0.4, 0.5]
    drawn = over_seeds(np.array([[0.4, 0.6]] * 4000), 0)
    # the unbiased variance of the mean of two
    assert drawn.var() == pytest.approx(0.02 / 2, rel=0.05)


def test_all_columns_are_drawn_together_and_seeded():
    columns = [[1, 0, 1, 1, 0], [1] * 5, [10**12, 0, 0, 7, 1]]
    sums = resampled_sums(columns, seed=3, n=50)
    assert [list(row) for row in sums] == [
        list(row) for row in resampled_sums(columns, seed=3, n=50)
    ]
    rng = random.Random(3)
    for row in sums:
        places = rng.choices(range(5), k=5)
        assert list(row) == [sum(column[place] for place in places) for column in columns]
    for bad in ([], [[]], [[math.nan]]):
        with pytest.raises(ValueError, match="bootstrap"):
            resampled_sums(bad, 0)


def test_a_p_value_of_resampled_differences_is_never_nought():
    assert bootstrap_p([0.1] * 999) == pytest.approx(2 / 1000)
    assert bootstrap_p([-1.0, 1.0]) == bootstrap_p([0.0]) == 1.0

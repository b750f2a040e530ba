"""How often bootstraps hold the truth, in seeded simulations."""

import math
import random

import numpy as np
import pytest

from tripwright.statistics.rates import wilson
from tripwright.statistics.resampling import bootstrap_p, over_seeds, percentiles, resampled_sums


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

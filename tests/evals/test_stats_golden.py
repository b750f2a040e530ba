"""Our statistics against scipy, statsmodels and definitions written out:
tests/evals/golden/make_stats.py says how stats.json was made."""

import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from tripwright.evals.power import unpaired_queries
from tripwright.statistics.rates import (
    clustered_rate,
    holm,
    mcnemar_exact,
    paired_interval,
    sign_flip,
    wilson,
)

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden" / "stats.json").read_text())


@pytest.mark.parametrize("case", GOLDEN["mcnemar"])
def test_mcnemar_is_scipys_and_statsmodels(case):
    assert mcnemar_exact(case["b"], case["c"]) == pytest.approx(case["p"], rel=1e-9)
    # the same test
    assert sign_flip([1] * case["c"] + [-1] * case["b"] + [0] * 20) == pytest.approx(
        case["p"], rel=1e-9
    )


@pytest.mark.parametrize("case", GOLDEN["wilson"])
def test_wilson_is_statsmodels(case):
    assert wilson(case["k"], case["n"], case["confidence"]) == pytest.approx(
        (case["low"], case["high"]), abs=1e-9
    )


@pytest.mark.parametrize("case", GOLDEN["holm"])
def test_holm_is_statsmodels(case):
    assert holm(case["p"]) == pytest.approx(case["adjusted"], rel=1e-12)


@pytest.mark.parametrize("case", GOLDEN["sign_flip"])
def test_sign_flips_are_scipys_permutation_test(case):
    assert sign_flip(case["differences"]) == pytest.approx(case["p"], rel=1e-9)
    # the unit does not matter
    assert sign_flip([Fraction(d, 12) for d in case["differences"]]) == pytest.approx(
        case["p"], rel=1e-9
    )


@pytest.mark.parametrize("case", GOLDEN["bootstrap"])
def test_a_clustered_rate_has_scipys_percentile_interval(case):
    found = clustered_rate(list(zip(case["k"], case["n"], strict=True)), seed=0, n=20_000)
    # Two bootstraps' ends differ by chance: of 20,000 resamples by about 2.7 / √20,000 of a
    # standard error (0.03 here), so by 0.001.
    assert (found["low"], found["high"]) == pytest.approx((case["low"], case["high"]), abs=0.003)


@pytest.mark.parametrize("case", GOLDEN["unpaired"])
def test_unpaired_power_is_statsmodels(case):
    found = unpaired_queries(case["first"], case["second"], case["power"])
    assert found - 1 < case["n"] <= found


@pytest.mark.parametrize("case", GOLDEN["tango"])
def test_the_paired_interval_is_tangos(case):
    assert paired_interval(case["gained"], case["lost"], case["n"]) == pytest.approx(
        (case["low"], case["high"]), abs=1e-5
    )


def test_many_signs_are_drawn_where_they_cannot_be_counted():
    rng = random.Random(1)
    differences = [Fraction(rng.randint(-40_000, 50_000)) for _ in range(200)]
    drawn = sign_flip(differences)
    assert drawn == sign_flip(differences) and drawn == pytest.approx(
        sign_flip([round(d / 1000) for d in differences]), abs=0.02
    )
    # never 0
    assert sign_flip([Fraction(n, 7919) + 100 for n in range(300)]) == pytest.approx(1 / 10_000)


def test_a_paired_interval_is_symmetric_and_never_empty():
    for gained, lost, n in [(0, 0, 1), (5, 2, 9), (9, 0, 9), (40, 60, 500)]:
        low, high = paired_interval(gained, lost, n)
        assert -1 <= low <= (gained - lost) / n <= high <= 1 and low < high
        assert paired_interval(lost, gained, n) == pytest.approx((-high, -low), abs=1e-9)
    assert paired_interval(0, 0, 0) == (-1.0, 1.0)
    with pytest.raises(ValueError, match="gained"):
        paired_interval(3, 3, 5)

"""pass@k, pass^k, best and worst of k, against every choice of k samples counted out; and what a
score makes of several samples."""

import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import pytest

from tests.conftest import verdict_record
from tripwright.evals.scoreboard import score_records
from tripwright.statistics.rates import expected_best, expected_worst


@pytest.mark.parametrize(("n", "passed"), [(1, 0), (1, 1), (4, 0), (4, 2), (4, 4), (7, 3)])
def test_they_are_means_over_every_choice_of_k(n, passed):
    samples = [1] * passed + [0] * (n - passed)
    for k in range(1, n + 1):
        chosen = list(combinations(samples, k))
        assert expected_best(samples, k) == Fraction(sum(map(any, chosen)), len(chosen))
        assert expected_worst(samples, k) == Fraction(sum(map(all, chosen)), len(chosen))
        assert expected_best(samples, k) == 1 - Fraction(math.comb(n - passed, k), math.comb(n, k))
        assert expected_worst(samples, k) == Fraction(math.comb(passed, k), math.comb(n, k))


def test_the_best_and_the_worst_of_k_by_hand():
    shares = [Fraction(1, 2), Fraction(1, 4), Fraction(1)]
    assert expected_best(shares, 2) == (Fraction(1, 2) + 1 + 1) / 3
    assert expected_worst(shares, 2) == (Fraction(1, 4) + Fraction(1, 4) + Fraction(1, 2)) / 3


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
    score = score_records(
        [line(q, s, bool(p)) for q, samples in enumerate(passes) for s, p in enumerate(samples)],
        "strict",
        {},
    )
    samples, metrics = score["samples"], score["metrics"]
    assert samples["most"] == 4 and list(samples["pass@k"]) == ["1", "2", "3", "4"]
    assert [samples["pass@k"][k]["value"] for k in "124"] == pytest.approx(
        [7 / 16, (1 + 5 / 6 + 0 + 1 / 2) / 4, 3 / 4]
    )
    assert [samples["pass^k"][k]["value"] for k in "124"] == pytest.approx(
        [7 / 16, (1 + 1 / 6) / 4, 1 / 4]
    )
    assert metrics["pass@4"] == samples["pass@k"]["4"] and metrics["pass^4"]["n"] == 4
    assert [metrics["flip_rate"][name] for name in ("value", "k", "n")] == [0.5, 2, 4]
    # one check, so its share is the pass itself
    assert samples["best_of_k"]["4"]["value"] == samples["pass@k"]["4"]["value"]
    for figures in (samples[kind] for kind in ("pass@k", "pass^k", "best_of_k", "worst_of_k")):
        assert all(
            0 <= found["low"] <= found["value"] <= found["high"] <= 1 for found in figures.values()
        )


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

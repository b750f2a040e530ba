"""What several samples of one query say: would one of k pass, would all of k, and do they agree at
all?

Each estimator is unbiased for k samples drawn afresh, from all n ≥ k that there are; taking the
first k of them would waste the others. One number per query; intervals come from resampling queries
(`rates.mean`), because samples of a query are no evidence about others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb


def pass_at_k(n: int, passes: int, k: int) -> Fraction:
    """Chance that at least one of k samples passes, where `passes` of n did:  1 − C(n − passed, k)
    / C(n, k)  (Chen et al. 2021, eq. 1)."""
    _check(n, passes, k)
    return 1 - Fraction(comb(n - passes, k), comb(n, k))


def pass_hat_k(n: int, passes: int, k: int) -> Fraction:
    """Chance that all of k samples pass, pass^k:  C(passed, k) / C(n, k)  (Yao et al. 2024,
    τ-bench, section 4)."""
    _check(n, passes, k)
    return Fraction(comb(passes, k), comb(n, k))


def expected_best(values: Sequence[Fraction], k: int) -> Fraction:
    """Mean of the best of k samples, over all choices of k of them. Of zeros and ones it is pass@k.

    In ascending order, value i (from 1) is the best of C(i − 1, k − 1) of the C(n, k) choices.
    """
    _check(len(values), 0, k)
    weighted = (value * comb(place, k - 1) for place, value in enumerate(sorted(values)))
    return sum(weighted, Fraction(0)) / comb(len(values), k)


def expected_worst(values: Sequence[Fraction], k: int) -> Fraction:
    """Mean of the worst of k samples, over all choices of k of them. Of zeros and ones it is
    pass^k."""
    return -expected_best([-value for value in values], k)


def _check(n: int, passes: int, k: int) -> None:
    if not 0 <= passes <= n or not 1 <= k <= n:
        raise ValueError(
            f"k samples of n need 1 <= k <= n and 0 <= passed <= n, found k = {k}, n = {n}, passed"
            f" = {passes}"
        )

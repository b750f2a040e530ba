"""Rates and means with their intervals, and tests of two runs on the same queries: a rate without
its interval is an anecdote.

The unit is the *query*, not the check. Thirteen checks of one plan stand and fall together, so a
micro rate gets its interval by resampling queries (`clustered_rate`), and two agents on the same
queries are compared pair by pair (the `mean` of differences, `mcnemar_exact`); their separate
intervals may overlap although the difference is certain.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from statistics import NormalDist
from typing import TypedDict

from tripwright.statistics.resampling import (
    CONFIDENCE,
    RESAMPLES,
    Interval,
    percentiles,
    resampled_sums,
)

FLIPS = 9999  # random choices of signs where there are too many to count
SMALLEST_P = 1 / (1 + FLIPS)  # that these can give
MOST_ADDITIONS = 4_000_000  # of an exact count
BISECTIONS = 60


class Rate(TypedDict):
    """A share in score.json: k of n. `value` is None where n is 0: nothing was measured, which is
    not a rate of zero."""

    value: float | None
    low: float
    high: float
    k: int
    n: int


def wilson(k: int, n: int, confidence: float = CONFIDENCE) -> Interval:
    """Wilson's score interval of k successes in n independent trials. Unlike k/n ± z·se it stays in
    [0, 1] and is not empty at k = 0 or n.

    centre = (p + z²/2n) / (1 + z²/n),  half width = z/(1 + z²/n) · √(p(1−p)/n + z²/4n²).  With n =
    0 anything is possible: (0, 1).
    """
    if not 0 <= k <= n:
        raise ValueError(f"wilson needs 0 <= k <= n, found k = {k}, n = {n}")
    if n == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf(0.5 + confidence / 2)
    p, shrink = k / n, 1 + z * z / n
    centre = (p + z * z / (2 * n)) / shrink
    half = z / shrink * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    # The ends are exact at k = 0 and k = n; floating point would leave them at 1e-17 or 1 - 1e-16.
    return Interval(
        0.0 if k == 0 else max(0.0, centre - half), 1.0 if k == n else min(1.0, centre + half)
    )


def mcnemar_exact(b: int, c: int) -> float:
    """Two-sided exact McNemar p-value. b queries passed only before, c only after; queries where
    both agree carry no evidence.

    Under "no difference" b is binomial(b + c, ½):  p = min(1, 2 · Σ_{i ≤ min(b, c)} C(b+c, i) /
    2^(b+c)).
    """
    trials = b + c
    tail = sum(math.comb(trials, i) for i in range(min(b, c) + 1))
    return min(1.0, 2 * tail / (1 << trials))


def ratio_interval(queries: int, k: int, n: int, squares: tuple[float, float, float]) -> Interval:
    """Of Σk / Σn over queries that each hold k of n checks, from sums alone: `squares` are Σk², Σkn
    and Σn². The linearised ratio's variance between queries, on the logit scale; for figures of
    which there are too many to resample. One check per query, or no variance to see, is Wilson's
    case, with one trial per query."""
    if not n:
        return Interval(0.0, 1.0)
    share, (kk, kn, nn) = k / n, squares
    variance = (kk - 2 * share * kn + share**2 * nn) * queries / max(queries - 1, 1) / n**2
    if k in (0, n) or n == queries or variance < 1e-12:
        return wilson(round(share * queries), queries)
    z = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    centre = math.log(share / (1 - share))
    half = z * math.sqrt(variance) / (share * (1 - share))
    return Interval(1 / (1 + math.exp(half - centre)), 1 / (1 + math.exp(-half - centre)))


def rate(k: int, n: int) -> Rate:
    """k of n independent queries, with Wilson's interval, as score.json holds it."""
    low, high = wilson(k, n)
    return {"value": k / n if n else None, "low": low, "high": high, "k": k, "n": n}


def clustered_rate(counts: Sequence[tuple[int, int]], seed: int, n: int = RESAMPLES) -> Rate:
    """Σk / Σn over queries that each hold k of n checks: the micro rates of T4. The interval
    resamples whole queries.

    Where all queries agree a bootstrap has no spread; then the interval is Wilson's with one trial
    per query.
    """
    # a query without a check of this kind has no say
    queries = [(k, of) for k, of in counts if of]
    k_all, n_all = sum(k for k, _ in queries), sum(of for _, of in queries)
    if k_all in (0, n_all):
        low, high = wilson(len(queries) if k_all else 0, len(queries))
    else:
        parts, wholes = resampled_sums(list(zip(*queries, strict=True)), seed, n).T
        low, high = percentiles(parts / wholes)
    value = k_all / n_all if n_all else None
    return {"value": value, "low": low, "high": high, "k": k_all, "n": n_all}


def mean(values: Sequence[float], seed: int) -> dict[str, float | None]:
    """The mean of one number per query with its bootstrap interval, as score.json holds it."""
    if not values:
        return {"value": None, "low": None, "high": None, "n": 0}
    means = resampled_sums([values], seed)[:, 0] / len(values)
    low, high = percentiles(means) if min(values) < max(values) else (float(values[0]),) * 2
    return {"value": math.fsum(values) / len(values), "low": low, "high": high, "n": len(values)}


# ---- several samples of one query: would one of k pass, would all of k?
#
# Each estimator is unbiased for k samples drawn afresh, from all n ≥ k that there are; taking the
# first k of them would waste the others. One number per query; intervals come from resampling
# queries (`mean`), because samples of a query are no evidence about others. Of passes (zeros and
# ones) the best of k is pass@k,  1 − C(n − passed, k) / C(n, k)  (Chen et al. 2021, eq. 1), and the
# worst is pass^k,  C(passed, k) / C(n, k)  (Yao et al. 2024, τ-bench, section 4).


def expected_best(values: Sequence[Fraction | int], k: int) -> Fraction:
    """Mean of the best of k samples, over all choices of k of them.

    In ascending order, value i (from 1) is the best of C(i − 1, k − 1) of the C(n, k) choices.
    """
    choices = (math.comb(place, k - 1) for place in range(len(values)))
    weighted = (
        Fraction(value) * count for value, count in zip(sorted(values), choices, strict=True)
    )
    return sum(weighted, Fraction(0)) / math.comb(len(values), k)


def expected_worst(values: Sequence[Fraction | int], k: int) -> Fraction:
    """Mean of the worst of k samples, over all choices of k of them."""
    return -expected_best([-value for value in values], k)


# ---- tests of two runs on the same queries. All are two-sided.
#
# One test serves every figure: if the two runs were equally good, each query's difference could as
# well have had the other sign. Counting the choices of signs that give a sum at least as far from
# zero is the exact sign-flip (permutation) test; where all differences are +1 and −1 it is
# McNemar's exact test, so one sample and several samples of a query are tested alike. With many
# tests in a table, Holm's procedure keeps the chance of any false alarm below 5%.


def sign_flip(differences: Sequence[Fraction | int], seed: int = 0) -> float:
    """p-value of "the two runs are equally good", from one difference per query. Exact, or of FLIPS
    random choices where all are too many.

    With random choices p = (1 + as far or farther) / (1 + FLIPS), which is never 0 and never too
    small (Phipson and Smyth 2010).
    """
    whole = _whole([Fraction(d) for d in differences if d])
    sizes, observed, total = Counter(map(abs, whole)), abs(sum(whole)), sum(map(abs, whole))
    if not whole:
        return 1.0
    if total == len(whole):  # all of one size
        ups = sum(d > 0 for d in whole)
        return mcnemar_exact(ups, len(whole) - ups)
    if total * (len(whole) + 1) <= MOST_ADDITIONS:
        return _exact(sizes, observed)
    rng, as_far = Random(seed), 0
    for _ in range(FLIPS):
        flipped = sum(
            size * (2 * rng.getrandbits(count).bit_count() - count) for size, count in sizes.items()
        )
        as_far += abs(flipped) >= observed
    return (1 + as_far) / (1 + FLIPS)


def _whole(differences: list[Fraction]) -> list[int]:
    """The same differences in whole units, without a common divisor."""
    unit = math.lcm(*(d.denominator for d in differences))
    scaled = [int(d * unit) for d in differences]
    divisor = math.gcd(*scaled) or 1
    return [d // divisor for d in scaled]


def _exact(sizes: Counter[int], observed: int) -> float:
    """Chance that the sum is at least `observed` from zero, all choices of signs being as likely.

    `chances[j]` is that of positive differences which add up to j: the sum is then 2j − total. Each
    further difference is among them with chance ½.
    """
    import numpy as np  # a tenth of a second to import: only for those who test

    chances = np.ones(1)
    for size in sizes.elements():
        chances = (np.pad(chances, (0, size)) + np.pad(chances, (size, 0))) / 2
    return min(1.0, 2 * float(chances[: (len(chances) - 1 - observed) // 2 + 1].sum()))


def paired_interval(gained: int, lost: int, n: int) -> Interval:
    """Tango's score interval of (gained − lost) / n, the difference of two rates on the same n
    queries (Tango 1998, Stat. Med. 17:891).

    Its ends are the differences δ whose score statistic (gained − lost − nδ) / √(n(2q + δ(1 − δ)))
    is ±z, with q the likeliest share of lost queries under δ. Like Wilson's it is not empty where
    no query differs: then it is ±z² / (n + z²). With n = 0: (−1, 1).
    """
    if gained < 0 or lost < 0 or gained + lost > n:
        raise ValueError(
            f"a paired interval needs gained + lost <= n, found {gained}, {lost} and n = {n}"
        )
    if n == 0:
        return Interval(-1.0, 1.0)
    z, estimate = NormalDist().inv_cdf(0.5 + CONFIDENCE / 2), (gained - lost) / n
    low, high = (_score_end(gained, lost, n, estimate, end, z) for end in (-1.0, 1.0))
    return Interval(low, high)


def _score_end(gained: int, lost: int, n: int, estimate: float, end: float, z: float) -> float:
    """Where the statistic crosses z between what was found and ±1; it grows on the way."""
    inside, outside = estimate, end
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        if abs(_score(gained, lost, n, middle)) < z:
            inside = middle
        else:
            outside = middle
    return (inside + outside) / 2


def _score(gained: int, lost: int, n: int, delta: float) -> float:
    half_b = ((2 * n - gained + lost) * delta - gained - lost) / 2
    c = -lost * delta * (1 - delta)
    q = max(0.0, (math.sqrt(max(0.0, half_b * half_b - 2 * n * c)) - half_b) / (2 * n))
    variance = n * (2 * q + delta * (1 - delta))
    above = gained - lost - n * delta
    if variance <= 0:
        return math.copysign(math.inf, above) if above else 0.0
    return above / math.sqrt(variance)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values, in the order given: the i-th smallest of m times (m − i + 1), never
    smaller than one before it (Holm 1979)."""
    adjusted, largest = [1.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted

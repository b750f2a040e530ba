"""Tests of two runs on the same queries. All are two-sided.

One test serves every figure: if the two runs were equally good, each query's difference could as
well have had the other sign. Counting the choices of signs that give a sum at least as far from
zero is the exact sign-flip (permutation) test; where all differences are +1 and −1 it is McNemar's
exact test, so one sample and several samples of a query are tested alike. With many tests in a
table, Holm's procedure keeps the chance of any false alarm below 5%.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from statistics import NormalDist

from tripwright.statistics.rates import mcnemar_exact
from tripwright.statistics.resampling import CONFIDENCE, Interval

FLIPS = 9999  # random choices of signs where there are too many to count
SMALLEST_P = 1 / (1 + FLIPS)  # that these can give
MOST_ADDITIONS = 4_000_000  # of an exact count
BISECTIONS = 60


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

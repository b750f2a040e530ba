"""The bootstrap: intervals from queries drawn again and again, with replacement.

Every resample draws the queries once, and all figures of all runs are taken of the same draw. So
the difference of two figures is a difference within one draw, which is what makes a comparison
paired. Percentile intervals are seeded, hence reproducible; they know nothing beyond the sample, so
with fewer than some ten queries they are too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

RESAMPLES = 2000
CONFIDENCE = 0.95


class Interval(NamedTuple):
    low: float
    high: float


def resampled_sums(
    columns: Sequence[Sequence[float]], seed: int, n: int = RESAMPLES
) -> list[list[float]]:
    """For each of n seeded resamples of the queries, the sum of every column (one value for each
    query); exact where all values are whole."""
    import numpy as np  # a tenth of a second to import: only for those who resample

    size = len(columns[0]) if columns else 0
    if not size or n < 1:
        raise ValueError("a bootstrap needs at least one column, one query and one resample")
    if not all(math.isfinite(value) for column in columns for value in column):
        raise ValueError(
            "a bootstrap needs finite values; a NaN would silently become the interval"
        )
    if any(max(map(abs, column)) * size >= 1 << 63 for column in columns):
        raise ValueError("a bootstrap needs sums below 2^63")
    values = np.array(columns)
    # The Mersenne Twister that Python's Random(seed) is, whose stream numpy promises never to
    # change: the same draws on every machine.
    stream = np.random.RandomState([seed])
    return [
        (
            values @ np.bincount((stream.random_sample(size) * size).astype(int), minlength=size)
        ).tolist()
        for _ in range(n)
    ]


def percentiles(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    """The interval that holds the middle 95% of resampled figures."""
    ordered = sorted(values)
    return Interval(
        _quantile(ordered, (1 - confidence) / 2), _quantile(ordered, (1 + confidence) / 2)
    )


def _quantile(ordered: Sequence[float], q: float) -> float:
    """Linear interpolation between order statistics (the usual 'type 7')."""
    place = q * (len(ordered) - 1)
    below = math.floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def bootstrap_p(differences: Sequence[float]) -> float:
    """Two-sided p-value of "no difference" from resampled differences: twice the smaller share on
    one side of zero, never 0."""
    below, above = (sum(1 for d in differences if sign * d <= 0) for sign in (1, -1))
    return min(1.0, 2 * (1 + min(below, above)) / (1 + len(differences)))


def bootstrap_floor(resamples: int) -> float:
    """The smallest p-value that so many resamples can give."""
    return 2 / (1 + resamples)


def seed_draws(seeds: int, seed: int, n: int = RESAMPLES) -> list[list[int]]:
    """For each of n resamples, which of so many runs (differing by their seed) are drawn."""
    rng = Random(seed)
    return [rng.choices(range(seeds), k=seeds) for _ in range(n)]


def over_seeds(rates: Sequence[float], places: Sequence[int]) -> float:
    """One resample of the mean over seeds, from every seed's rate on the queries of that resample:
    the upper of two levels.

    All seeds were examined on the same queries, so a resample draws the queries once for all of
    them; drawing them anew for each seed would treat a hard query as so many independent ones.
    Drawing S of S seeds with replacement shows (S − 1)/S of the variance between them; the
    deviation is stretched by √(S / (S − 1)) to make up for it.
    """
    count, centre = len(rates), math.fsum(rates) / len(rates)
    if count == 1:
        return centre
    deviation = math.fsum(rates[place] for place in places) / count - centre
    return centre + math.sqrt(count / (count - 1)) * deviation

"""Bootstraps of many figures at once: every resample draws the queries once, and all figures of all
runs are taken of the same draw. So the difference of two figures is a difference within one draw,
which is what makes a comparison paired.

The subtle thing is speed without numpy: all columns of a query stand side by side in one long
integer (64 bits each), so the sums of a hundred columns are one sum.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence
from random import Random

from tripwright.statistics.rates import CONFIDENCE, RESAMPLES, Interval, quantile

FIELD_BYTES = 8


def resampled_sums(
    columns: Sequence[Sequence[int]], seed: int, n: int = RESAMPLES
) -> list[array[int]]:
    """For each of n seeded resamples of the queries, the sum of every column. Values are whole and
    not negative; sums stay below 2^64."""
    size = len(columns[0]) if columns else 0
    if not size:
        raise ValueError("a bootstrap needs at least one column and one query")
    if any(min(column) < 0 or max(column) * size >= 1 << (8 * FIELD_BYTES) for column in columns):
        raise ValueError(
            "a bootstrap of sums needs values that are not negative and sums below 2^64"
        )
    packed = [
        int.from_bytes(array("Q", values).tobytes(), sys.byteorder)
        for values in zip(*columns, strict=True)
    ]
    rng, sums = Random(seed), []
    for _ in range(n):
        row = array("Q")
        row.frombytes(
            sum(rng.choices(packed, k=size)).to_bytes(FIELD_BYTES * len(columns), sys.byteorder)
        )
        sums.append(row)
    return sums


def percentiles(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval:
    ordered = sorted(values)
    return Interval(
        quantile(ordered, (1 - confidence) / 2), quantile(ordered, (1 + confidence) / 2)
    )


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


def over_seeds(rates: Sequence[float], drawn: Sequence[int]) -> float:
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
    deviation = math.fsum(rates[place] for place in drawn) / count - centre
    return centre + math.sqrt(count / (count - 1)) * deviation

"""The bootstrap: intervals from queries drawn again and again, with replacement.

Every resample draws the queries once, and all figures of all runs are taken of the same draw. So
the difference of two figures is a difference within one draw, which is what makes a comparison
paired. Percentile intervals are seeded, hence reproducible; they know nothing beyond the sample, so
with fewer than some ten queries they are too narrow.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from numpy.typing import NDArray

RESAMPLES = 2000
CONFIDENCE = 0.95


class Interval(NamedTuple):
    low: float
    high: float


def resampled_sums(
    columns: Sequence[Sequence[float]], seed: int, n: int = RESAMPLES
) -> NDArray[Any]:
    """For each of n seeded resamples of the queries (a row), the sum of every column (one value for
    each query); exact where all values are whole."""
    import numpy as np  # a tenth of a second to import: only for those who resample

    values = np.array(columns)
    if not values.size or not np.isfinite(values.astype(float)).all():
        raise ValueError("a bootstrap needs queries, and a finite value of each")
    size = values.shape[1]
    # The Mersenne Twister that Python's Random(seed) is, whose stream numpy promises never to
    # change: the same draws on every machine.
    stream = np.random.RandomState([seed])
    draws = [(stream.random_sample(size) * size).astype(int) for _ in range(n)]
    return np.array([values @ np.bincount(drawn, minlength=size) for drawn in draws])


def percentiles(values: Sequence[float] | NDArray[Any]) -> Interval:
    """The interval that holds the middle 95% of resampled figures."""
    import numpy as np

    low, high = np.quantile(
        np.asarray(values, float), [(1 + sign * CONFIDENCE) / 2 for sign in (-1, 1)]
    )
    return Interval(float(low), float(high))


def bootstrap_p(differences: Collection[float]) -> float:
    """Two-sided p-value of "no difference" from resampled differences: twice the smaller share on
    one side of zero, never 0."""
    below, above = (sum(bool(sign * d <= 0) for d in differences) for sign in (1, -1))
    return min(1.0, 2 * (1 + min(below, above)) / (1 + len(differences)))


def over_seeds(rates: NDArray[Any], seed: int) -> NDArray[Any]:
    """Each resample of the mean over seeds, from every seed's rate on the queries of that resample
    (resample × seed): the upper of two levels.

    All seeds were examined on the same queries, so a resample draws the queries once for all of
    them; drawing them anew for each seed would treat a hard query as so many independent ones.
    Drawing S of S seeds with replacement shows (S − 1)/S of the variance between them; the
    deviation is stretched by √(S / (S − 1)) to make up for it.
    """
    import numpy as np

    resamples, seeds = rates.shape
    centre: NDArray[Any] = rates.mean(axis=1)
    if seeds == 1:
        return centre
    rng = Random(seed)
    draws = np.array([rng.choices(range(seeds), k=seeds) for _ in range(resamples)])
    deviation = np.take_along_axis(rates, draws, axis=1).mean(axis=1) - centre
    stretched: NDArray[Any] = centre + math.sqrt(seeds / (seeds - 1)) * deviation
    return stretched

"""How many queries it takes to see a difference between two runs, before they are played and after.
All tests are two-sided; rates are shares from 0 to 1.

On the same queries (paired) what matters is the *discordance*: the share of queries that one run
passes and the other does not. Two checkpoints of one training agree on most queries, so a
difference is seen with far fewer of them than two unrelated runs would need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any

from tripwright.errors import UserError

SHOWN_DISCORDANCES = (0.1, 0.2, 0.3)
POWER = 0.8
ALPHA = 0.05
MOST_EXACT = 4000
MOST_SEARCHED = 500  # queries up to which the difference that they show is sought by exact powers
RESOLUTION = 5e-4  # of that difference
ROUNDING = 1e-12
TAIL = 6.5  # standard deviations of the number of discordant queries that an exact power sums over


def connor(difference: float, discordance: float, power: float, alpha: float) -> float:
    """Queries that both runs play, one sample each, for McNemar's test to see a difference (Connor
    1987, Biometrics 43:207).

    n = (z_{α/2} √d + z_β √(d − δ²))² / δ²
    """
    spread = math.sqrt(max(0.0, discordance - difference**2))
    return ((_z(1 - alpha / 2) * math.sqrt(discordance) + _z(power) * spread) / difference) ** 2


def unpaired_queries(
    first: float, second: float, power: float = POWER, alpha: float = ALPHA
) -> int:
    """Queries of *each* run where the two play different ones (the two-proportion z-test, as R's
    power.prop.test).

    n = (z_{α/2} √(2p̄q̄) + z_β √(p₁q₁ + p₂q₂))² / (p₁ − p₂)²
    """
    middle = (first + second) / 2
    pooled = _z(1 - alpha / 2) * math.sqrt(2 * middle * (1 - middle))
    apart = _z(power) * math.sqrt(first * (1 - first) + second * (1 - second))
    return math.ceil(((pooled + apart) / (first - second)) ** 2)


def paired_power(
    queries: int, difference: float, discordance: float, alpha: float = ALPHA
) -> float:
    """Exact power of McNemar's exact test: the chance of p ≤ α, summed over how many queries may
    differ and how they may fall."""
    up = (discordance + abs(difference)) / (2 * discordance)
    mean, spread = queries * discordance, math.sqrt(queries * discordance * (1 - discordance))
    first = max(1, math.floor(mean - TAIL * spread))
    last = min(queries, math.ceil(mean + TAIL * spread))

    def rejects(differing: int) -> float:
        outer = range(_critical(differing, alpha) + 1)
        return math.fsum(_binomial(differing, i, p) for i in outer for p in (up, 1 - up))

    return math.fsum(
        _binomial(queries, k, discordance) * rejects(k) for k in range(first, last + 1)
    )


def paired_queries(
    difference: float, discordance: float, power: float = POWER, alpha: float = ALPHA
) -> tuple[int, float | None]:
    """(queries, their exact power). The formula's number is raised until the exact test, which is
    stricter, has the power as well; beyond MOST_EXACT queries the two hardly differ, and the exact
    power is not summed (None)."""
    queries = math.ceil(connor(difference, discordance, power, alpha))
    while queries <= MOST_EXACT:
        reached = paired_power(queries, difference, discordance, alpha)
        if reached >= power:
            return queries, reached
        queries += max(1, queries // 100)
    return queries, None


@lru_cache(maxsize=100_000)
def _critical(discordant: int, alpha: float) -> int:
    """The largest i with 2 · P(X ≤ i) ≤ α for X binomial(discordant, ½); −1 where there is none."""
    tail, largest = 0.0, -1
    for i in range(discordant // 2):
        tail += _binomial(discordant, i, 0.5)
        if 2 * tail > alpha:
            break
        largest = i
    return largest


def _binomial(n: int, k: int, p: float) -> float:
    if p <= 0 or p >= 1:
        return float(k == (0 if p <= 0 else n))
    ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(ways + k * math.log(p) + (n - k) * math.log1p(-p))


def _z(share: float) -> float:
    return NormalDist().inv_cdf(share)


@dataclass(frozen=True)
class Scatter:
    """How far two runs that were played lie apart query by query; all shares from 0 to 1.

    It answers for runs whose queries differ as much as these, but whose mean difference is the one
    that is asked about: that one's square, and not the square of the mean that these runs happen to
    show, is taken from `mean_square`.
    """

    queries: int
    discordance: float  # share of the queries that differ at all
    mean_square: float  # of a query's difference; with one sample each it is the discordance
    # mean size of a query's difference: the mean difference if all of them had one sign
    largest: float
    one_sample: bool  # of each query in both runs, so that the test is McNemar's

    @classmethod
    def of(cls, differences: Sequence[float], one_sample: bool) -> Scatter:
        """From one difference per query."""
        n = len(differences)
        squares, sizes = math.fsum(d * d for d in differences), math.fsum(map(abs, differences))
        return cls(n, sum(d != 0 for d in differences) / n, squares / n, sizes / n, one_sample)

    def needed(self, difference: float, power: float = POWER, alpha: float = ALPHA) -> int | None:
        """Queries that both play to see this difference; None where queries that differ so little
        cannot make it.

        With several samples it is Connor's formula as well, with the mean square for the
        discordance: that is the variance that the sign-flip test takes for its null hypothesis, as
        the discordance is McNemar's.
        """
        if difference > self.largest + ROUNDING:
            return None
        if self.one_sample:
            most = self.discordance
            return paired_queries(min(difference, most), most, power, alpha)[0]
        return math.ceil(connor(difference, self.mean_square, power, alpha))

    def detectable(self, power: float = POWER, alpha: float = ALPHA) -> float | None:
        """The smallest difference that these queries show with this power, to a twentieth of a
        point; None where they show none that there can be. With one sample each and up to
        MOST_SEARCHED queries by the exact test, else by the formula."""

        def is_shown(difference: float) -> bool:
            if self.one_sample and self.queries <= MOST_SEARCHED:
                return paired_power(self.queries, difference, self.discordance, alpha) >= power
            return connor(difference, self.mean_square, power, alpha) <= self.queries

        low, high = 0.0, self.largest
        if not high or not is_shown(high):
            return None
        while high - low > RESOLUTION:
            middle = (low + high) / 2
            low, high = (low, middle) if is_shown(middle) else (middle, high)
        return high


# ---- what `tripwright power` says


def power_from_numbers(
    difference: float,
    rate: float,
    discordance: float | None,
    power: float,
    alpha: float,
    queries: int | None,
) -> dict[str, Any]:
    better = rate + difference
    if better > 1:
        raise UserError(
            f"--rate {rate:g} and --points {100 * difference:g} make a pass rate of {better:.0%}."
            " Accepted: at most 100%."
        )
    independent = rate * (1 - better) + better * (1 - rate)
    most = min(rate + better, 2 - rate - better)  # no query passed by both, or none by neither
    if discordance is not None and not difference <= discordance + ROUNDING <= most + 2 * ROUNDING:
        raise UserError(
            f"--discordance {discordance:g} cannot be at pass rates of {rate:.1%} and {better:.1%}:"
            f" accepted from {difference:g} to {most:g}."
        )
    shown = [difference, *(d for d in SHOWN_DISCORDANCES if difference < d < most), independent]
    words = {
        difference: "the least there can be",
        independent: "two runs that have nothing in common",
    }
    paired = []
    for each in sorted(
        {max(difference, d) for d in (shown if discordance is None else [discordance])}
    ):
        n, reached = (
            paired_queries(difference, each, power, alpha)
            if queries is None
            else (queries, paired_power(queries, difference, each, alpha))
        )
        told = {"discordance": each, "queries": n, "power": reached, "words": words.get(each, "")}
        paired.append(told)
    return {
        "points": 100 * difference,
        "rate": rate,
        "power": power,
        "alpha": alpha,
        "paired": paired,
        "unpaired": unpaired_queries(rate, better, power, alpha) if queries is None else None,
    }


def power_from_runs(
    compared: Mapping[str, Any], difference: float, power: float, alpha: float
) -> dict[str, Any]:
    """`compared`: the record of a comparison of two runs."""
    pair = next(iter(compared["power"].values()), None)
    if pair is None:
        raise UserError(
            "The two runs pass the same queries: how far they scatter cannot be learned from them."
            " Give --rate and --discordance."
        )
    scatter = Scatter(**pair["scatter"])
    least_difference = scatter.detectable(power, alpha)
    return {
        "points": 100 * difference,
        "power": power,
        "alpha": alpha,
        "runs": [run["name"] for run in compared["runs"]],
        "queries_played": compared["queries"],
        **pair["scatter"],
        "detectable_points": None if least_difference is None else 100 * least_difference,
        "queries": scatter.needed(difference, power, alpha),
    }

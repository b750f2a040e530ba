"""How many queries it takes to see a difference between two runs. Tests are two-sided,
at 5%; rates are shares from 0 to 1.

On the same queries (paired) what matters is the *discordance*: the share of queries that one run
passes and the other does not. Two checkpoints of one training agree on most queries, so a
difference is seen with far fewer of them than two unrelated runs would need.
"""

from __future__ import annotations

import math
from statistics import NormalDist

_z = NormalDist().inv_cdf
SURE = _z(0.975)  # two-sided, 5%


def paired_queries(difference: float, discordance: float, power: float = 0.8) -> int:
    """Queries that both play, for McNemar's exact test.

    n = (z_{α/2} √d + z_β √(d − δ²))² / δ² + 1/δ

    is Connor's (1987, Biometrics 43:207), and 1/δ because the exact test is stricter than the
    normal one: so many queries have the power that was asked for, from 0.7 on, or some points
    less. With several samples of a query, d is the mean square of the queries' differences.
    """
    spread = math.sqrt(max(0.0, discordance - difference**2))
    seen = SURE * math.sqrt(discordance) + _z(power) * spread
    return math.ceil((seen / difference) ** 2 + 1 / difference)


def unpaired_queries(first: float, second: float, power: float = 0.8) -> int:
    """Queries of *each* run where the two play different ones (the two-proportion z-test, as R's
    power.prop.test).

    n = (z_{α/2} √(2p̄q̄) + z_β √(p₁q₁ + p₂q₂))² / (p₁ − p₂)²
    """
    middle = (first + second) / 2
    pooled = SURE * math.sqrt(2 * middle * (1 - middle))
    apart = _z(power) * math.sqrt(first * (1 - first) + second * (1 - second))
    return math.ceil(((pooled + apart) / (first - second)) ** 2)


def detectable(queries: int, discordance: float, largest: float) -> float | None:
    """The smallest difference that so many paired queries show, to a twentieth of a point; None
    where they do not even show `largest`, the largest that there can be."""
    low, high = 0.0, largest
    if paired_queries(high, discordance) > queries:
        return None
    while high - low > 5e-4:
        middle = (low + high) / 2
        seen = paired_queries(middle, discordance) <= queries
        low, high = (low, middle) if seen else (middle, high)
    return high

"""Writes stats.json: what scipy and statsmodels make of the cases below. Run in an environment of
its own:

    python -m venv .venv-stats
    .venv-stats/bin/pip install scipy==1.17.1 statsmodels==0.15.0
    .venv-stats/bin/python tests/evals/golden/make_stats.py

Nothing of tripwright is imported. No package has Tango's interval: it is computed here from its
definition, and the likelihood is maximised by a search.
"""

import json
import math
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import statsmodels
from scipy import optimize, stats
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint, samplesize_proportions_2indep_onetail

Z = stats.norm.ppf(0.975)
SEED = 20261122


def mcnemar_cases() -> list[dict[str, Any]]:
    cases = [(0, 0), (1, 0), (3, 9), (9, 3), (12, 12), (2, 30), (100, 141), (0, 40)]
    found = []
    for b, c in cases:
        table = [[50, b], [c, 70]]
        p = mcnemar(table, exact=True).pvalue
        binomial = stats.binomtest(b, b + c).pvalue if b + c else 1.0
        assert math.isclose(p, binomial) or b + c == 0, (b, c, p, binomial)
        found.append({"b": b, "c": c, "p": float(binomial)})
    return found


def wilson_cases() -> list[dict[str, Any]]:
    found = []
    for k, n, confidence in [
        (0, 10, 0.95),
        (1, 10, 0.95),
        (45, 100, 0.95),
        (500, 500, 0.95),
        (7, 71, 0.9),
        (1, 45, 0.99),
    ]:
        low, high = proportion_confint(k, n, 1 - confidence, method="wilson")
        found.append(
            {"k": k, "n": n, "confidence": confidence, "low": float(low), "high": float(high)}
        )
    return found


def holm_cases() -> list[dict[str, Any]]:
    rng = np.random.default_rng(SEED)
    lists = [
        [0.01],
        [0.01, 0.02, 0.03],
        [0.5, 0.001, 0.04, 0.04, 0.9],
        list(rng.uniform(0, 0.2, 13)),
    ]
    return [
        {
            "p": [float(p) for p in ps],
            "adjusted": [float(p) for p in multipletests(ps, method="holm")[1]],
        }
        for ps in lists
    ]


def sign_flip_cases() -> list[dict[str, Any]]:
    """scipy's permutation test of paired samples, over all choices of signs; its two-sided p
    doubles the smaller tail."""
    rng = np.random.default_rng(SEED)
    found = []
    for size, most in [(4, 1), (8, 3), (12, 4), (14, 8)]:
        differences = rng.integers(-most, most + 1, size)
        result = stats.permutation_test(
            (differences,), np.sum, permutation_type="samples", n_resamples=np.inf
        )
        found.append({"differences": differences.tolist(), "p": float(result.pvalue)})
    return found


def bootstrap_cases() -> list[dict[str, Any]]:
    """Percentile intervals of Σk / Σn over resampled queries, from many more resamples than
    tripwright draws."""
    rng = np.random.default_rng(SEED)
    found = []
    for queries, samples in [(40, 4), (150, 8)]:
        rates = rng.beta(1.2, 1.0, queries)
        k, n = rng.binomial(samples, rates), np.full(queries, samples)
        result = stats.bootstrap(
            (k, n), lambda k, n, axis: k.sum(axis) / n.sum(axis), paired=True, vectorized=True, method="percentile",
            n_resamples=200_000, batch=1000, rng=np.random.default_rng(SEED),
        )  # fmt: skip
        low, high = result.confidence_interval
        found.append({"k": k.tolist(), "n": n.tolist(), "low": float(low), "high": float(high)})
    return found


def unpaired_cases() -> list[dict[str, Any]]:
    found = []
    for first, second, power in [(0.45, 0.5, 0.8), (0.5, 0.75, 0.9)]:
        n = samplesize_proportions_2indep_onetail(
            second - first, first, power, alpha=0.05, alternative="two-sided"
        )
        found.append({"first": first, "second": second, "power": power, "n": float(n)})
    return found


def tango_cases() -> list[dict[str, Any]]:
    """Score intervals of (gained − lost) / n; the likeliest share of lost queries under each
    difference is searched for."""
    found = []
    for gained, lost, n in [
        (0, 0, 25),
        (9, 3, 50),
        (3, 9, 50),
        (12, 0, 40),
        (30, 20, 400),
        (1, 0, 8),
    ]:
        low = optimize.brentq(partial(_beyond, gained, lost, n, Z), -1 + 1e-9, (gained - lost) / n)
        high = optimize.brentq(partial(_beyond, gained, lost, n, -Z), (gained - lost) / n, 1 - 1e-9)
        found.append(
            {"gained": gained, "lost": lost, "n": n, "low": float(low), "high": float(high)}
        )
    return found


def _beyond(gained: int, lost: int, n: int, z: float, delta: float) -> float:
    return _score(gained, lost, n, delta) - z


def _score(gained: int, lost: int, n: int, delta: float) -> float:
    def unlikeliness(q: float) -> float:
        cells = [(gained, q + delta), (lost, q), (n - gained - lost, 1 - 2 * q - delta)]
        return -sum(count * math.log(max(share, 1e-300)) for count, share in cells if count)

    least, most = max(0.0, -delta), (1 - delta) / 2
    q = optimize.minimize_scalar(
        unlikeliness, bounds=(least, most), method="bounded", options={"xatol": 1e-14}
    ).x
    return (gained - lost - n * delta) / math.sqrt(n * (2 * q + delta - delta**2))


if __name__ == "__main__":
    golden = {
        "versions": {
            "scipy": scipy.__version__,
            "statsmodels": statsmodels.__version__,
            "numpy": np.__version__,
        },
        "mcnemar": mcnemar_cases(),
        "wilson": wilson_cases(),
        "holm": holm_cases(),
        "sign_flip": sign_flip_cases(),
        "bootstrap": bootstrap_cases(),
        "unpaired": unpaired_cases(),
        "tango": tango_cases(),
    }
    path = Path(__file__).with_name("stats.json")
    path.write_text(json.dumps(golden, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {path}")

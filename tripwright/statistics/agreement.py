"""How far people, or a judge and a reference, agree beyond what chance gives.

Cohen's kappa of two raters is (p_o − p_e) / (1 − p_e): observed agreement, less what two raters
with these habits would reach by luck. A judge that passes everything agrees with a file of nine
passes in ten in 90% and has a kappa of 0. Krippendorff's alpha (nominal) takes any number of labels
an item and is corrected for small samples: 1 − D_o / D_e. A figure is None where there is nothing
to compare, or where nobody ever chose a second label: then chance explains everything.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypedDict

from tripwright.statistics.rates import Rate, clustered_rate, rate
from tripwright.statistics.resampling import RESAMPLES, percentiles, resampled_sums

Pair = tuple[Hashable, Hashable]  # what the judge says, what the reference says
Item = Mapping[str, Hashable]  # rater → label; a label that is missing is not there
WORDS = {True: "pass", False: "fail", None: "not asked"}


class Agreement(TypedDict):
    """`confusion` counts [reference][judge], both in the order of `labels`. `kappa` is None where
    both say one and the same thing always: then chance explains everything, and nothing was
    measured. The same holds for resamples; `resamples_undefined` is their share."""

    items: int  # transcripts
    n: int  # pairs
    labels: list[str]
    confusion: list[list[int]]
    accuracy: Rate
    kappa: float | None
    low: float | None
    high: float | None
    resamples_undefined: float


def cohens_kappa(pairs: Iterable[Pair] | Mapping[Pair, int]) -> float | None:
    """Unweighted, for any number of labels, of pairs or of how often there is each; None without
    pairs, or where both raters have one label, the same."""
    cells = Counter(pairs)
    by_judge, by_reference = (
        defaultdict[Hashable, float](float),
        defaultdict[Hashable, float](float),
    )
    for (judge, truth), count in cells.items():
        by_judge[judge] += count
        by_reference[truth] += count
    n = sum(cells.values())
    observed = sum(count for (judge, truth), count in cells.items() if judge == truth) * n
    by_chance = sum(by_judge[label] * by_reference[label] for label in by_judge)
    # Whole numbers throughout: (p_o - p_e) / (1 - p_e), each times n².
    return (observed - by_chance) / (n * n - by_chance) if n * n > by_chance else None


def percent_agreement(items: Iterable[Item]) -> float | None:
    """Of each item with two labels or more the share of its pairs that agree; the mean over those
    items."""
    shares = [_agreeing_pairs(labels) for item in items if len(labels := list(item.values())) > 1]
    return sum(shares) / len(shares) if shares else None


def krippendorff_alpha(items: Iterable[Item]) -> float | None:
    """Items with fewer than two labels say nothing about agreement and are left out."""
    rows = [labels for item in items if len(labels := list(item.values())) > 1]
    totals = Counter(label for row in rows for label in row)
    n = sum(totals.values())
    if len(totals) < 2:
        return None
    # n·D_o counts the ordered pairs of an item that differ, each over m − 1; n·D_e those of all
    # labels together, over n − 1.
    observed = sum(len(row) * (1 - _agreeing_pairs(row)) for row in rows)
    by_chance = (n * n - sum(count * count for count in totals.values())) / (n - 1)
    return 1 - observed / by_chance


def _agreeing_pairs(labels: Sequence[Hashable]) -> float:
    m = len(labels)
    return sum(count * (count - 1) for count in Counter(labels).values()) / (m * (m - 1))


def agreement(
    items: Sequence[Sequence[Pair]],
    labels: Sequence[bool | None] = (True, False),
    seed: int = 0,
    n: int = RESAMPLES,
) -> Agreement:
    """`items` holds the pairs of each transcript: one at trajectory level, one per turn at turn
    level, none where a side is silent.

    Raises ValueError for a label that is not in `labels`.
    """
    nonempty = [item for item in items if item]
    pairs = [pair for item in nonempty for pair in item]
    places: dict[Hashable, int] = {label: place for place, label in enumerate(labels)}
    if strange := [label for pair in pairs for label in pair if label not in places]:
        raise ValueError(f"{strange[0]!r} is none of the labels {list(labels)}")
    confusion = [[0] * len(labels) for _ in labels]
    for judge, truth in pairs:
        confusion[places[truth]][places[judge]] += 1
    low, high, undefined = _interval(nonempty, seed, n)
    right = [(sum(judge == truth for judge, truth in item), len(item)) for item in nonempty]
    # then items are independent trials, and Wilson's interval is theirs
    alone = all(of == 1 for _, of in right)
    return {
        "items": len(nonempty),
        "n": len(pairs),
        "labels": [WORDS[label] for label in labels],
        "confusion": confusion,
        "accuracy": rate(sum(k for k, _ in right), len(right))
        if alone
        else clustered_rate(right, seed, n),
        "kappa": cohens_kappa(pairs),
        "low": low,
        "high": high,
        "resamples_undefined": undefined,
    }


def _interval(
    items: Sequence[Sequence[Pair]], seed: int, n: int
) -> tuple[float | None, float | None, float]:
    """Percentile bootstrap over items, because the turns of one transcript stand and fall together:
    (low, high, share of resamples without a kappa)."""
    if len(items) < 2:
        return None, None, 0.0
    pairs = list({pair for item in items for pair in item})
    # Equal items side by side, in the order in which each kind first comes.
    kinds = Counter(tuple(item.count(pair) for pair in pairs) for item in items)
    sums = resampled_sums(list(zip(*kinds.elements(), strict=True)), seed, n)
    resampled = (cohens_kappa(dict(zip(pairs, cells, strict=True))) for cells in sums.tolist())
    kappas = [kappa for kappa in resampled if kappa is not None]
    if not kappas:
        return None, None, 1.0
    return *percentiles(kappas), 1 - len(kappas) / n

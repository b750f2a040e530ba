"""How far raters agree, for labels of any kind. Pure functions over items, each a mapping of rater
→ label; a label that is missing is not there. None where a figure does not exist: nothing to
compare, or nobody ever chose a second label (then chance explains everything). Cohen's kappa of two
raters is `calibration.cohens_kappa`; beside it, for several:

Fleiss' kappa (1971): a fixed number of raters an item, one habit for all.  κ = (P̄ − Σ_c p_c²) / (1
− Σ_c p_c²) Krippendorff's alpha (nominal): any number of labels an item, corrected for small
samples.  α = 1 − D_o / D_e
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations

Item = Mapping[str, Hashable]  # rater → label


def percent_agreement(items: Iterable[Item]) -> float | None:
    """Of each item with two labels or more the share of its pairs that agree; the mean over those
    items."""
    shares = [_agreeing_pairs(labels) for item in items if len(labels := list(item.values())) > 1]
    return sum(shares) / len(shares) if shares else None


def fleiss_kappa(items: Iterable[Item]) -> float | None:
    """Raises ValueError where the items do not have equally many labels."""
    rows = [list(item.values()) for item in items]
    if not rows or len(rows[0]) < 2:
        return None
    if any(len(row) != len(rows[0]) for row in rows):
        raise ValueError("Fleiss' kappa needs equally many labels of each item")
    totals = Counter(label for row in rows for label in row)
    every = sum(totals.values())
    observed = sum(map(_agreeing_pairs, rows)) / len(rows)
    by_chance = sum((count / every) ** 2 for count in totals.values())
    return None if by_chance >= 1 else (observed - by_chance) / (1 - by_chance)


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


def pairs_of(items: Iterable[Item], first: str, second: str) -> list[tuple[Hashable, Hashable]]:
    """The labels of two raters, of the items that both have labelled."""
    return [(item[first], item[second]) for item in items if first in item and second in item]


def rater_pairs(items: Iterable[Item]) -> list[tuple[str, str]]:
    """All pairs of raters, in the order of their names."""
    return list(combinations(sorted({rater for item in items for rater in item}), 2))


def majority(item: Iterable[bool]) -> bool | None:
    """TRUE or FALSE as more than half of the labels say; None on a tie or without labels."""
    votes = Counter(item)
    return None if votes[True] == votes[False] else votes[True] > votes[False]


def _agreeing_pairs(labels: Sequence[Hashable]) -> float:
    m = len(labels)
    return sum(count * (count - 1) for count in Counter(labels).values()) / (m * (m - 1))

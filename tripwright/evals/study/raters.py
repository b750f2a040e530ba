"""The labels of several raters, item by item: whose can be compared, and what most of them say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from itertools import combinations

from tripwright.statistics.agreement import Item


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

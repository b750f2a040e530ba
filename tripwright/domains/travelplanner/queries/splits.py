"""When two requests are the same one, and how a file of requests is divided into splits that share
none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tripwright.domains.travelplanner.query import Query, iter_queries
from tripwright.errors import UserError

Key = tuple[str, str, tuple[str, ...], int, str | None, tuple[str, ...], str | None, str | None]


def request_key(query: Query) -> Key:
    """Two requests are equal if origin, destination, every date, number of people and all four
    wishes are (cuisines in any order).

    Budget, text and level do not count: another price for the same trip is no new trip.
    """
    wishes = query.local_constraint
    return (
        query.org,
        query.dest,
        tuple(query.date),
        query.party_size,
        wishes.house_rule,
        tuple(sorted(wishes.cuisine or ())),
        wishes.room_type,
        wishes.transportation,
    )


def excluded_keys(paths: Iterable[Path]) -> frozenset[Key]:
    """The keys of every request in these JSONL files. Raises UserError for a file that is not
    there, is empty or lacks fields."""
    excluded: set[Key] = set()
    for path in paths:
        keys = {request_key(query) for _, query in iter_queries(path)}
        if not keys:
            raise UserError(
                f"No queries in '{path}'. --not-in expects JSONL files, one query record per line."
            )
        excluded |= keys
    return frozenset(excluded)


def read_splits(text: str) -> dict[str, float]:
    """Name → share, from 'train:0.8,validation:0.1,test:0.1'. Shares are relative to their sum."""
    splits: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition(":")
        name = name.strip()
        try:
            value = float(share)
        except ValueError:
            value = 0.0
        if (
            not name.replace("_", "").replace("-", "").isalnum()
            or name in splits
            or not 0 < value < float("inf")
        ):
            raise UserError(
                f"--splits '{text}' is not a list such as train:0.8,validation:0.1,test:0.1, of"
                " different names and shares above 0."
            )
        splits[name] = value
    return splits


def split_sizes(count: int, shares: dict[str, float]) -> dict[str, int]:
    """How many of `count` requests each split gets: whole numbers nearest to the shares (largest
    remainders first)."""
    total = sum(shares.values())
    exact = {name: count * share / total for name, share in shares.items()}
    sizes = {name: int(value) for name, value in exact.items()}
    remainder = count - sum(sizes.values())
    for name in sorted(exact, key=lambda name: sizes[name] - exact[name])[:remainder]:
        sizes[name] += 1
    return sizes

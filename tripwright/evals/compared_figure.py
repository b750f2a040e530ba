"""One figure of every run on the same queries, query by query, and how two runs differ in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tripwright.evals.figures import PerQuery

Pair = tuple[Fraction | int, Fraction | int]  # part and whole


@dataclass(frozen=True)
class ComparedFigure:
    """One figure of every run on the same queries. `plain` of each group: is it one yes or no of
    each query and run?"""

    kind: str
    queries: tuple[str, ...]
    # of each group, of each of its runs: query → mean part and whole of a sample
    runs: tuple[tuple[dict[str, Pair], ...], ...]
    rates: tuple[tuple[float, ...], ...]  # Σ part / Σ whole of each
    plain: tuple[bool, ...]

    def value(self, group: int) -> float:
        return sum(self.rates[group]) / len(self.rates[group])

    def differences(self, group: int, base: int) -> list[Fraction | int]:
        """Query by query; of several seeds, their mean. Where both were asked as much it is in
        checks, which add up to the difference."""
        after, before = (_mean(self.runs[place], self.queries) for place in (group, base))
        if all(after[q][1] == before[q][1] for q in self.queries):
            return [after[q][0] - before[q][0] for q in self.queries]
        return [
            Fraction(after[q][0]) / after[q][1] - Fraction(before[q][0]) / before[q][1]
            for q in self.queries
        ]


def compared_figure(
    per_query: list[list[PerQuery]], samples: list[list[dict[str, int]]], queries: tuple[str, ...]
) -> ComparedFigure:
    """Parts and wholes summed over samples become those of a mean sample; what has one value of a
    query has it already, as a flip rate."""
    kind = per_query[0][0].kind
    plain = tuple(
        kind == "share" and all(figure.of[q][1] == 1 for figure in group for q in queries)
        for group in per_query
    )

    def pairs(figure: PerQuery, counts: dict[str, int]) -> dict[str, Pair]:
        by = counts if kind == "share" and not all(plain) else dict.fromkeys(queries, 1)
        return {q: (_over(figure.of[q][0], by[q]), _over(figure.of[q][1], by[q])) for q in queries}

    runs = tuple(
        tuple(map(pairs, group, counts)) for group, counts in zip(per_query, samples, strict=True)
    )
    return ComparedFigure(
        kind, queries, runs, tuple(tuple(map(_rate, group)) for group in runs), plain
    )


def _mean(runs: Sequence[Mapping[str, Pair]], queries: Sequence[str]) -> Mapping[str, Pair]:
    if len(runs) == 1:
        return runs[0]
    return {
        q: (
            Fraction(sum(run[q][0] for run in runs), len(runs)),
            Fraction(sum(run[q][1] for run in runs), len(runs)),
        )
        for q in queries
    }


def _over(value: Fraction | int, samples: int) -> Fraction | int:
    return value if samples == 1 else Fraction(value) / samples


def _rate(pairs: Mapping[str, Pair]) -> float:
    part, whole = (sum(pair[place] for pair in pairs.values()) for place in (0, 1))
    return float(Fraction(part) / whole)

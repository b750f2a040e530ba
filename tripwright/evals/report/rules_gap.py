"""Row B1's meter from a run folder alone: evaluations that differ in nothing but the rules, episode
by episode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean
from typing import NamedTuple

from tripwright.evals.report.markup import esc, percent, signed
from tripwright.evals.report.work import Behaviour, Work
from tripwright.statistics.paired import paired_interval
from tripwright.statistics.rates import paired_bootstrap
from tripwright.statistics.resampling import Interval

SAME = ("policy", "decoding", "dialect", "queries", "world", "samples", "emptied_tools")
SEED = 0
Pair = tuple[float, float]  # what passes under the official rules, and under the strict ones


class Gap(NamedTuple):
    """Passes under the official rules less passes under the strict ones, of `n` episodes that both
    judged. Rates are means over queries of the mean over their samples; paired 95% interval over
    queries."""

    official: str  # names of the two evaluations
    strict: str
    official_rate: float
    strict_rate: float
    low: float
    high: float
    n: int

    @property
    def value(self) -> float:
        return self.official_rate - self.strict_rate


def gaps(behaviours: Mapping[str, Behaviour]) -> list[Gap]:
    """Of each pair of evaluations under official and strict rules whose run cards agree in all
    else."""
    pairs = (
        {first.rules: first, second.rules: second}
        for first, second in combinations(behaviours.values(), 2)
    )
    candidates = (
        _gap(pair["official"], pair["strict"])
        for pair in pairs
        if set(pair) == {"official", "strict"} and _alike(*pair.values())
    )
    return [gap for gap in candidates if gap]


def _alike(first: Behaviour, second: Behaviour) -> bool:
    return all(first.card.get(key) == second.card.get(key) for key in SAME)


def _gap(official: Behaviour, strict: Behaviour) -> Gap | None:
    first, second = ({work.id: work for work in each.scored} for each in (official, strict))
    both = first.keys() & second.keys()
    if not both:
        return None
    queries = _by_query([(first[id], second[id]) for id in sorted(both)])
    rates = fmean(passed for passed, _ in queries), fmean(passed for _, passed in queries)
    return Gap(official.name, strict.name, *rates, *_interval(queries), len(both))


def _by_query(pairs: Sequence[tuple[Work, Work]]) -> list[Pair]:
    samples: dict[str, list[tuple[Work, Work]]] = {}
    for pair in pairs:
        samples.setdefault(pair[0].query, []).append(pair)
    return [
        (fmean(a.passed for a, _ in each), fmean(b.passed for _, b in each))
        for each in samples.values()
    ]


def _interval(queries: Sequence[Pair]) -> Interval:
    """Tango's where each query is one yes or no, and where all queries agree: a bootstrap has no
    spread there."""
    differences, n = [official - strict for official, strict in queries], len(queries)
    if all(rate in (0.0, 1.0) for pair in queries for rate in pair):
        return paired_interval(sum(d > 0 for d in differences), sum(d < 0 for d in differences), n)
    if min(differences) == max(differences):
        change = round(differences[0] * n)
        return paired_interval(max(change, 0), max(-change, 0), n)
    _, low, high = paired_bootstrap(
        [strict for _, strict in queries], [official for official, _ in queries], SEED
    )
    return Interval(low, high)


def gap_table(behaviours: Mapping[str, Behaviour], titles: Mapping[str, str]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{esc(titles[gap.official])} and {esc(titles[gap.strict])}</th><td'
        f' class="num">{percent(gap.official_rate)}</td><td'
        f' class="num">{percent(gap.strict_rate)}</td><td class="num">{signed(100 * gap.value, 1)}'
        f" pp<small>{signed(100 * gap.low, 1)} to {signed(100 * gap.high, 1)}</small></td><td"
        f' class="num">{gap.n:,}</td></tr>'
        for gap in gaps(behaviours)
    )
    head = "".join(
        f'<th class="num">{words}</th>'
        for words in ("Official", "Strict", "Official − strict", "Episodes")
    )
    return (
        "<div"
        f' class="scroll"><table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table></div>'  # noqa: E501
        if rows
        else ""
    )

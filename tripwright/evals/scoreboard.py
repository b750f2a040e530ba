"""The figures of a run, for its score.json and for the comparison of several: computed from the
lines of transcripts.jsonl alone, whatever worlds and policies they come from.

The query is the unit. A figure keeps its part and its whole for each query, summed over the query's
samples; a rate is Σ part / Σ whole, and its interval comes from resampling queries, all figures of
a run in the same draws. Figures do not depend on the order of the lines, because an interrupted run
finishes in another order. A line may be the second try of an episode that was unscored, so the
later line of an id wins. Unscored episodes (our side failed) are out of every rate and come back in
`worst_case` once they are more than 1%.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any, Literal

from tripwright.evals.outcome import Outcome, facts_of
from tripwright.statistics.rates import (
    expected_best,
    expected_worst,
    pass_at_k,
    pass_hat_k,
    rate,
    wilson,
)
from tripwright.statistics.resampling import percentiles, resampled_sums
from tripwright.verdict import VERIFIED

MOST_UNSCORED = 0.01  # beyond it, a score warns and has the worst case
SEED = 0
SCALE = 10**6  # of a mean's values in a bootstrap, whose columns are whole numbers
LEVELS = ("easy", "medium", "hard")
FEW_WITHOUT = 0.1  # k goes up to the number of samples that all but so many of the queries have

ByQuery = Mapping[str, Sequence[Outcome]]  # query → its samples


@dataclass(frozen=True)
class PerQuery:
    """Query → (part, whole). A share counts passes among checks. A chance (pass@k) and a mean
    (turns) have one value of a query, and a whole of 1 or what the query weighs; a chance lies
    between 0 and 1. A query that the figure is not about is not in it."""

    kind: Literal["share", "chance", "mean"]
    of: Mapping[str, tuple[Fraction | int, Fraction | int]]

    @property
    def value(self) -> float | None:
        whole = sum(n for _, n in self.of.values())
        return float(sum((k for k, _ in self.of.values()), Fraction(0)) / whole) if whole else None

    @property
    def is_plain_rate(self) -> bool:
        """One yes or no for each query."""
        return self.kind == "share" and all(n == 1 for _, n in self.of.values())


Section = dict[str, PerQuery]


def by_query(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    samples: dict[str, list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        samples[outcome.query].append(outcome)
    return dict(samples)


def share(queries: ByQuery, counts_of: Callable[[Outcome], tuple[int, int]]) -> PerQuery:
    """`counted` says of one sample how many of how many checks passed."""
    shares = {}
    for query, samples in queries.items():
        counts = [counts_of(outcome) for outcome in samples]
        if whole := sum(n for _, n in counts):
            shares[query] = (sum(k for k, _ in counts), whole)
    return PerQuery("share", shares)


def rate_of(queries: ByQuery, passes: Callable[[Outcome], bool]) -> PerQuery:
    return share(queries, lambda outcome: (int(passes(outcome)), 1))


def mean_of(queries: ByQuery, value: Callable[[Outcome], float | None]) -> PerQuery:
    """A query's value is the mean over those of its samples that have one."""
    averages = {}
    for query, samples in queries.items():
        values = [Fraction(v) for outcome in samples if (v := value(outcome)) is not None]
        if values:
            averages[query] = (sum(values, Fraction(0)) / len(values), 1)
    return PerQuery("mean", averages)


def metrics(queries: ByQuery, names: Iterable[str]) -> Section:
    """What passed, was delivered and could be read; and of each of these groups of facts, the share
    that passed and how often all did."""
    section = {
        "final": _final(queries),
        "delivery": rate_of(queries, lambda o: o.delivered),
        "schema": rate_of(queries, lambda o: o.schema_valid),
    }
    for name in names:
        section[f"{name}_micro"] = share(queries, partial(_share, name))
        section[f"{name}_macro"] = rate_of(queries, partial(_all_passed, name))
    return section


def _share(name: str, outcome: Outcome) -> tuple[int, int]:
    return outcome.group(name).share


def _all_passed(name: str, outcome: Outcome) -> bool:
    return outcome.group(name).all_passed


def means(queries: ByQuery) -> Section:
    outcomes = [outcome for samples in queries.values() for outcome in samples]
    return {
        "turns_mean": mean_of(queries, lambda o: o.turns),
        "completion_tokens_mean": mean_of(queries, lambda o: o.completion_tokens),
        **{
            name: _measure(queries, name)
            for name in dict.fromkeys(name for outcome in outcomes for name in outcome.measures)
        },
    }


def _measure(queries: ByQuery, name: str) -> PerQuery:
    """The mean over all checks; of a query, those of its mean sample."""
    of, shares = dict[str, tuple[Fraction | int, Fraction | int]](), True
    for query, samples in queries.items():
        pairs = [outcome.measures[name] for outcome in samples if name in outcome.measures]
        shares = shares and all(0 <= value <= 1 for value, _ in pairs)
        if whole := sum((Fraction(weight) for _, weight in pairs), Fraction(0)):
            part = sum((Fraction(value) * Fraction(w) for value, w in pairs), Fraction(0))
            of[query] = (part / len(pairs), whole / len(pairs))
    return PerQuery("chance" if shares else "mean", of)


def most_samples(queries: ByQuery) -> int:
    """The k up to which samples are looked at: what nine in ten queries have. A query with fewer is
    left out of that k's figure."""
    counts = sorted(len(samples) for samples in queries.values())
    return counts[int(FEW_WITHOUT * len(counts))] if counts else 0


def chances(queries: ByQuery, k: int) -> Section:
    """pass@k and pass^k, of the queries that have so many samples."""
    counts = {
        query: (len(samples), sum(o.final for o in samples))
        for query, samples in queries.items()
        if len(samples) >= k
    }
    return {
        name: PerQuery(
            "chance", {query: (of_query(n, final, k), 1) for query, (n, final) in counts.items()}
        )
        for name, of_query in (("pass@k", pass_at_k), ("pass^k", pass_hat_k))
    }


def sample_figures(queries: ByQuery, most: int) -> dict[str, Section]:
    """For every k up to `most`: pass@k, pass^k, and the best and the worst of k by the share of all
    checks that hold."""
    kinds: dict[str, Section] = {"pass@k": {}, "pass^k": {}, "best_of_k": {}, "worst_of_k": {}}
    checks = {query: sorted(map(_checks, samples)) for query, samples in queries.items()}
    for k in range(1, most + 1):
        for name, figure in chances(queries, k).items():
            kinds[name][str(k)] = figure
        enough = [query for query, samples in queries.items() if len(samples) >= k]
        for name, of_values in (("best_of_k", expected_best), ("worst_of_k", expected_worst)):
            values = {q: (of_values(checks[q], k), 1) for q in enough}
            kinds[name][str(k)] = PerQuery("chance", values)
    return kinds


def flips(queries: ByQuery) -> PerQuery:
    """Share of the queries with several samples whose samples disagree: some pass and some do
    not."""
    several = {query: samples for query, samples in queries.items() if len(samples) > 1}
    return PerQuery(
        "share",
        {
            query: (int(len({o.final for o in samples}) > 1), 1)
            for query, samples in several.items()
        },
    )


def _checks(outcome: Outcome) -> Fraction:
    passes, checks = len(outcome.passed), len(outcome.asked)
    return Fraction(passes, checks) if checks else Fraction(int(outcome.final))


def constraints(queries: ByQuery, facts: Mapping[str, Iterable[str]]) -> Section:
    """Share passing each fact of these groups among the episodes that are held to it; a group's sum
    up to its micro rate."""
    return {
        name: share(queries, partial(_one, group, name))
        for group, names in facts.items()
        for name in names
    }


def _one(group: str, name: str, outcome: Outcome) -> tuple[int, int]:
    checks = outcome.group(group)
    return int(name in checks.passed), int(name in checks.asked)


def slices(queries: ByQuery, sections: Iterable[str]) -> dict[str, Section]:
    """The final pass rate by what requests are divided by, as by their level of difficulty."""
    first = {query: samples[0] for query, samples in queries.items()}
    return {
        section: _slice(
            queries, {query: outcome.slices.get(section) for query, outcome in first.items()}
        )
        for section in sections
    }


def _slice(queries: ByQuery, values: Mapping[str, Any]) -> Section:
    parts = sorted({value for value in values.values() if value is not None}, key=slice_order)
    return {
        str(value): _final({query: queries[query] for query, of in values.items() if of == value})
        for value in parts
    }


def slice_order(value: object) -> tuple[Any, ...]:
    """Easy before medium and hard, 3 before 10, "3 cities" before "10 cities"."""
    if value in LEVELS:
        return ((-1, LEVELS.index(value), ""),)
    return tuple(
        (0, int(word), "") if word.isdecimal() else (1, 0, word) for word in str(value).split()
    )


def _final(queries: ByQuery) -> PerQuery:
    return rate_of(queries, lambda o: o.final)


def with_intervals(section: Mapping[str, PerQuery], seed: int = SEED) -> dict[str, dict[str, Any]]:
    """Every figure as score.json holds it. Plain rates get Wilson's interval, all others one from
    resampled queries; where all queries agree, which leaves a bootstrap without spread, a share
    gets Wilson's with one trial per query."""
    resampling = {name: figure for name, figure in section.items() if not figure.is_plain_rate}
    resampled = _resampled(resampling, seed)
    return {name: _record(figure, resampled.get(name, [])) for name, figure in section.items()}


def _record(figure: PerQuery, rates: Sequence[float]) -> dict[str, Any]:
    if figure.is_plain_rate:
        return dict(rate(sum(int(k) for k, _ in figure.of.values()), len(figure.of)))
    if not figure.of:
        return {"value": None, "low": None, "high": None, "n": 0}
    value = figure.value
    if figure.kind != "mean" and value in (0.0, 1.0):
        low, high = wilson(len(figure.of) if value else 0, len(figure.of))
    else:
        low, high = percentiles(rates)
    estimate = {"value": value, "low": low, "high": high}
    if figure.kind != "share":
        return {**estimate, "n": len(figure.of)}
    return {
        **estimate,
        "k": sum(int(k) for k, _ in figure.of.values()),
        "n": sum(n for _, n in figure.of.values()),
    }


def _resampled(section: Mapping[str, PerQuery], seed: int) -> dict[str, list[float]]:
    """Each figure in every resample of the queries; a resample without a query that it is about has
    no value."""
    queries = sorted({query for figure in section.values() for query in figure.of})
    if not queries:
        return {}
    columns = Columns(queries)
    places = {
        name: columns.add(figure.of, 1 if figure.kind == "share" else SCALE)
        for name, figure in section.items()
    }
    sums = resampled_sums(columns.values, seed)
    return {
        name: [row[part] / row[whole] for row in sums if row[whole]]
        for name, (part, whole) in places.items()
    }


class Columns:
    """Columns of a bootstrap over these queries; equal ones are drawn once."""

    def __init__(self, queries: Sequence[str]):
        self._queries, self._places = queries, dict[tuple[int, ...], int]()

    @property
    def values(self) -> list[tuple[int, ...]]:
        return list(self._places)

    def add(
        self, of: Mapping[str, tuple[Fraction | int, Fraction | int]], scale: int
    ) -> tuple[int, int]:
        """Where the parts and the wholes stand."""
        pairs = [of.get(query, (0, 0)) for query in self._queries]
        return self._place(tuple(round(k * scale) for k, _ in pairs)), self._place(
            tuple(round(n * scale) for _, n in pairs)
        )

    def _place(self, column: tuple[int, ...]) -> int:
        return self._places.setdefault(column, len(self._places))


# ---- the score of a run


def judged_by(rules: str) -> str:
    """In words: "strict rules", "verified by rules"; "rules" where there is one way to judge and it
    has no name."""
    return rules if rules.startswith((VERIFIED, "rules")) else f"{rules} rules"


def score_records(
    records: Iterable[Mapping[str, Any]], rules: str, card: Mapping[str, Any]
) -> dict[str, Any]:
    """The score of the lines of one or several transcripts.jsonl. `records` is read once and may be
    a stream."""
    latest = {outcome.id: outcome for outcome in map(Outcome.of, records)}
    outcomes = [latest[key] for key in sorted(latest)]
    scored = [outcome for outcome in outcomes if outcome.scored]
    unscored = len(outcomes) - len(scored)
    queries = by_query(scored)
    facts, most = facts_of(outcomes), most_samples(queries)
    divided = slices(
        queries, dict.fromkeys(section for outcome in outcomes for section in outcome.slices)
    )
    score: dict[str, Any] = {
        "n": len(scored),
        "unscored": unscored,
        "rules": rules,
        "metrics": with_intervals({**_rates(queries, facts, most), **means(queries)}),
        "constraints": with_intervals(constraints(queries, facts)),
        **{
            name: {each: {"final": figure} for each, figure in with_intervals(section).items()}
            for name, section in divided.items()
        },
        "stop_reasons": dict(Counter(outcome.stop_reason for outcome in outcomes).most_common()),
    }
    if most > 1:
        score["samples"] = _samples(queries, most)
    if unscored > MOST_UNSCORED * len(outcomes):
        score["warning"] = unscored_warning(outcomes)
        score["worst_case"] = with_intervals(_rates(by_query(outcomes), facts, most))
    return {**score, "run_card": dict(card)}


def _rates(queries: ByQuery, groups: Iterable[str], most: int) -> Section:
    """The metrics and, with several samples of a query, whether one of them passes, whether all do,
    and whether they agree."""
    section = metrics(queries, groups)
    if most > 1:
        section |= {
            name.replace("k", str(most)): figure for name, figure in chances(queries, most).items()
        }
        section["flip_rate"] = flips(queries)
    return section


def _samples(queries: ByQuery, most: int) -> dict[str, Any]:
    figures = sample_figures(queries, most)
    return {"most": most, **{kind: with_intervals(section) for kind, section in figures.items()}}


def unscored_warning(outcomes: Sequence[Outcome]) -> str:
    """What a score says where more than MOST_UNSCORED of its episodes are unscored."""
    faults = Counter(outcome.fault or "unknown" for outcome in outcomes if not outcome.scored)
    return (
        f"{faults.total()} of {len(outcomes)} episodes are unscored because of faults on our side;"
        " the rates leave them out, and worst_case counts them as failed. The most frequent fault:"
        f" {faults.most_common(1)[0][0].rstrip('.')}."
    )

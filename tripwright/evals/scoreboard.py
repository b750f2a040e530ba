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
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from tripwright.domains.wording import LEVELS
from tripwright.evals.outcome import Checks, Outcome, facts_of
from tripwright.statistics.rates import expected_best, expected_worst, rate, wilson
from tripwright.statistics.resampling import percentiles, resampled_sums
from tripwright.verdict import MOST_UNSCORED, VERIFIED

if TYPE_CHECKING:
    from numpy.typing import NDArray

SEED = 0
SCALE = 10**6  # of parts and wholes in a bootstrap, whose columns are whole numbers
FEW_WITHOUT = 0.1  # k goes up to the number of samples that all but so many of the queries have

Key = TypeVar("Key", bound=Hashable)
ByQuery = Mapping[str, Sequence[Outcome]]  # query → its samples
Pairs = Mapping[str, tuple[Fraction | int, Fraction | int]]  # query → (part, whole)


@dataclass(frozen=True)
class PerQuery:
    """A share counts passes among checks. A chance (pass@k) and a mean (turns) have one value of a
    query, and a whole of 1 or what the query weighs; a chance lies between 0 and 1. A query that
    the figure is not about is not in it. `samples` of a query are what its part and whole are
    summed over, where they are."""

    kind: Literal["share", "chance", "mean"]
    of: Pairs
    samples: Mapping[str, int] = field(default_factory=dict)

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
    """`counts_of` says of one sample how many of how many checks passed."""
    sums, counts = {}, {}
    for query, samples in queries.items():
        passed, checks = zip(*map(counts_of, samples), strict=True)
        if any(checks):
            sums[query], counts[query] = (sum(passed), sum(checks)), len(samples)
    return PerQuery("share", sums, counts)


def rate_of(queries: ByQuery, passes: Callable[[Outcome], bool]) -> PerQuery:
    return share(queries, lambda outcome: (int(passes(outcome)), 1))


def mean_of(
    queries: ByQuery,
    measure: Callable[[Outcome], tuple[float | None, float]],
    kind: Literal["chance", "mean"] = "mean",
) -> PerQuery:
    """A weighted mean: a query's part and whole are those of its mean sample, of the samples that
    have a value. `measure` says value and weight of one sample."""
    of = {}
    for query, samples in queries.items():
        measured = [each for each in map(measure, samples) if each[0] is not None]
        if whole := sum((Fraction(weight) for _, weight in measured), Fraction(0)):
            part = sum((Fraction(v or 0) * Fraction(weight) for v, weight in measured), Fraction(0))
            of[query] = (part / len(measured), whole / len(measured))
    return PerQuery(kind, of)


def metrics(queries: ByQuery, groups: Iterable[str]) -> Section:
    """What passed, also by further rules, was delivered and could be read; and of each of these
    groups of facts, the share that passed and how often all did."""

    def checks(group: str, of: Callable[[Checks], tuple[int, int]]) -> PerQuery:
        return share(queries, lambda outcome: of(outcome.group(group)))

    outcomes = (outcome for samples in queries.values() for outcome in samples)
    further = dict.fromkeys(rules for outcome in outcomes for rules in outcome.also_passes)
    section = {
        "final": _final(queries),
        **{rules: rate_of(queries, partial(_also_passes, rules)) for rules in further},
        "delivery": rate_of(queries, lambda o: o.delivered),
        "schema": rate_of(queries, lambda o: o.schema_valid),
    }
    for group in groups:
        section[f"{group}_micro"] = checks(group, lambda checks: checks.share)
        section[f"{group}_macro"] = checks(group, lambda checks: (int(checks.all_passed), 1))
    return section


def _also_passes(rules: str, outcome: Outcome) -> bool:
    return outcome.also_passes.get(rules, False)


def means(queries: ByQuery) -> Section:
    """Turns, tokens, and what another harness measured: chances where no value of them is below 0
    or above 1."""
    outcomes = [outcome for samples in queries.values() for outcome in samples]
    section = {
        "turns_mean": mean_of(queries, lambda o: (o.turns, 1)),
        "completion_tokens_mean": mean_of(queries, lambda o: (o.completion_tokens, 1)),
    }
    for name in dict.fromkeys(name for outcome in outcomes for name in outcome.measures):
        values = [outcome.measures[name][0] for outcome in outcomes if name in outcome.measures]
        kind: Literal["chance", "mean"] = "chance" if all(0 <= v <= 1 for v in values) else "mean"
        section[name] = mean_of(queries, lambda o: o.measures.get(name, (None, 0)), kind)  # noqa: B023
    return section


def most_samples(queries: ByQuery) -> int:
    """The k up to which samples are looked at: what nine in ten queries have. A query with fewer is
    left out of that k's figure."""
    counts = sorted(len(samples) for samples in queries.values())
    return counts[int(FEW_WITHOUT * len(counts))] if counts else 0


def sample_figures(queries: ByQuery, most: int) -> dict[str, Section]:
    """For every k up to `most`, of the queries that have so many samples: pass@k, pass^k, and the
    best and the worst of k by the share of all checks that hold."""
    finals = {q: [int(outcome.final) for outcome in samples] for q, samples in queries.items()}
    checks = {q: [_checks(outcome) for outcome in samples] for q, samples in queries.items()}
    kinds: dict[str, tuple[Any, Callable[[Sequence[Fraction | int], int], Fraction]]] = {
        "pass@k": (finals, expected_best),
        "pass^k": (finals, expected_worst),
        "best_of_k": (checks, expected_best),
        "worst_of_k": (checks, expected_worst),
    }
    return {
        name: {
            str(k): PerQuery(
                "chance", {q: (of(each, k), 1) for q, each in values.items() if len(each) >= k}
            )
            for k in range(1, most + 1)
        }
        for name, (values, of) in kinds.items()
    }


def flips(queries: ByQuery) -> PerQuery:
    """Share of the queries with several samples whose samples disagree: some pass and some do
    not."""
    several = {query: samples for query, samples in queries.items() if len(samples) > 1}
    finals = {query: {outcome.final for outcome in samples} for query, samples in several.items()}
    return PerQuery("share", {query: (int(len(of) > 1), 1) for query, of in finals.items()})


def _checks(outcome: Outcome) -> Fraction:
    passes, checks = len(outcome.passed), len(outcome.asked)
    return Fraction(passes, checks) if checks else Fraction(int(outcome.final))


def constraints(queries: ByQuery, facts: Mapping[str, Iterable[str]]) -> Section:
    """Share passing each fact of these groups among the episodes that are held to it; a group's sum
    up to its micro rate."""

    def one(group: str, name: str, outcome: Outcome) -> tuple[int, int]:
        checks = outcome.group(group)
        return int(name in checks.passed), int(name in checks.asked)

    named = ((group, name) for group, names in facts.items() for name in names)
    return {name: share(queries, partial(one, group, name)) for group, name in named}


def slices(queries: ByQuery, sections: Iterable[str]) -> dict[str, Section]:
    """The final pass rate by what requests are divided by, as by their level of difficulty."""

    def section(name: str) -> Section:
        values = {query: samples[0].slices.get(name) for query, samples in queries.items()}
        return {
            str(part): _final({query: queries[query] for query, of in values.items() if of == part})
            for part in sorted({*values.values()} - {None}, key=slice_order)
        }

    return {name: section(name) for name in dict.fromkeys(sections)}


def slice_order(value: object) -> tuple[Any, ...]:
    """Easy before medium and hard, 3 before 10, "3 cities" before "10 cities"."""
    if value in LEVELS:
        return ((-1, LEVELS.index(value), ""),)
    return tuple(
        (0, int(word), "") if word.isdecimal() else (1, 0, word) for word in str(value).split()
    )


def _final(queries: ByQuery) -> PerQuery:
    return rate_of(queries, lambda o: o.final)


def with_intervals(section: Mapping[str, PerQuery]) -> dict[str, dict[str, Any]]:
    """Every figure as score.json holds it. Plain rates get Wilson's interval, all others one from
    resampled queries; where all queries agree, which leaves a bootstrap without spread, a share
    gets Wilson's with one trial per query."""
    others = {name: figure.of for name, figure in section.items() if not figure.is_plain_rate}
    queries = sorted({query for pairs in others.values() for query in pairs})
    sums = resampled(others, queries) if queries else {}
    return {name: _record(figure, sums.get(name)) for name, figure in section.items()}


def _record(figure: PerQuery, sums: NDArray[Any] | None) -> dict[str, Any]:
    queries = len(figure.of)
    if figure.is_plain_rate:
        return dict(rate(sum(int(k) for k, _ in figure.of.values()), queries))
    if sums is None or not queries:
        return {"value": None, "low": None, "high": None, "n": 0}
    part = sum((Fraction(k) for k, _ in figure.of.values()), Fraction(0))
    whole = sum(n for _, n in figure.of.values())
    value = float(part / whole)
    if figure.kind != "mean" and value in (0.0, 1.0):
        low, high = wilson(queries if value else 0, queries)
    else:
        parts, wholes = sums[:, sums[1] > 0]
        low, high = percentiles(parts / wholes)
    record = {"value": value, "low": low, "high": high}
    if figure.kind != "share":
        return {**record, "n": queries}
    return {**record, "k": int(part), "n": whole}


def resampled(figures: Mapping[Key, Pairs], queries: Sequence[str]) -> dict[Key, NDArray[Any]]:
    """Part and whole (a row each) of every figure in every resample of these queries. The whole is
    0 in a resample without a query that the figure is about."""
    columns = [
        [round(pairs.get(query, (0, 0))[place] * SCALE) for query in queries]
        for pairs in figures.values()
        for place in (0, 1)
    ]
    sums = resampled_sums(columns, SEED).T
    return {key: sums[2 * place : 2 * place + 2] for place, key in enumerate(figures)}


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
    divided = slices(queries, (section for outcome in outcomes for section in outcome.slices))
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
        samples = sample_figures(queries, most)
        by_kind = {kind: with_intervals(section) for kind, section in samples.items()}
        score["samples"] = {"most": most, **by_kind}
    if unscored > MOST_UNSCORED * len(outcomes):
        faults = Counter(outcome.fault or "unknown" for outcome in outcomes if not outcome.scored)
        score["warning"] = (
            f"{unscored} of {len(outcomes)} episodes are unscored because of limits or faults on"
            " our side; the rates leave them out, and worst_case counts them as failed. The most"
            f" frequent cause: {faults.most_common(1)[0][0].rstrip('.')}."
        )
        score["worst_case"] = with_intervals(_rates(by_query(outcomes), facts, most))
    return {**score, "run_card": dict(card)}


def _rates(queries: ByQuery, groups: Iterable[str], most: int) -> Section:
    """The metrics and, with several samples of a query, whether one of them passes, whether all do,
    and whether they agree."""
    section = metrics(queries, groups)
    if most > 1:
        samples = sample_figures(queries, most)
        section |= {f"pass{sign}{most}": samples[f"pass{sign}k"][str(most)] for sign in "@^"}
        section["flip_rate"] = flips(queries)
    return section

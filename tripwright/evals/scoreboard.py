"""The figures of a run, for its score.json: computed from the lines of transcripts.jsonl alone,
whatever worlds and policies they come from.

The subtle things: a line may be the second try of an episode that was unscored, so the later line
of an id wins; unscored episodes (our side failed) are out of every rate and come back in
`worst_case` once they are more than 1%; figures do not depend on the order of the lines, because an
interrupted run finishes in another order; several samples of one query count as one query in every
interval.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tripwright.evals.figures import (
    ByQuery,
    Section,
    by_query,
    chances,
    constraints,
    flips,
    means,
    metrics,
    most_samples,
    sample_figures,
    slices,
    with_intervals,
)
from tripwright.evals.outcome import Outcome, facts_of
from tripwright.verdict import VERIFIED

__all__ = ["MOST_UNSCORED", "Outcome", "judged_by", "score_records"]

MOST_UNSCORED = 0.01


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

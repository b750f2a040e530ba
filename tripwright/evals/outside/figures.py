"""transcripts.jsonl of a benchmark's run → the parts of its score.json that every benchmark has.

As in every score: the later line of an id wins, unscored episodes are out of every rate and come
back in `worst_case` once they are more than 1%, samples of one question count as one question in
every interval, and the order of the lines does not matter.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tripwright.evals import figures, outcome
from tripwright.evals.figures import PerQuery, slice_order, with_intervals
from tripwright.evals.scoreboard import MOST_UNSCORED, unscored_warning


@dataclass(frozen=True)
class QuestionOutcome:
    """One line: what every score reads of it (`base`), and what a benchmark's own score does.
    `details` are the grader's, empty where the episode is unscored."""

    base: outcome.Outcome
    question: str
    error: str | None
    request: Mapping[str, Any]
    details: Mapping[str, Any]

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> QuestionOutcome:
        verdict, request = record["verdict"], record["request"]
        details = record.get("outside") or {}
        return cls(
            outcome.Outcome.of(record),
            str(request["question"]),
            verdict["error"] if verdict else None,
            request,
            details,
        )

    @property
    def id(self) -> str:
        return self.base.id

    @property
    def level(self) -> str | None:
        level = self.base.slices["levels"]
        return None if level is None else str(level)

    @property
    def scored(self) -> bool:
        return self.base.scored

    @property
    def final(self) -> bool:
        return self.base.final


def outcomes_of(records: Iterable[Mapping[str, Any]]) -> list[QuestionOutcome]:
    """One per episode, in the order of their ids. `records` is read once and may be a stream."""
    latest = {str(record["id"]): QuestionOutcome.of(record) for record in records}
    return [latest[key] for key in sorted(latest)]


def by_question(outcomes: Iterable[QuestionOutcome]) -> dict[str, list[QuestionOutcome]]:
    groups: dict[str, list[QuestionOutcome]] = defaultdict(list)
    for each in outcomes:
        groups[each.question].append(each)
    return dict(groups)


def share_of(
    outcomes: Iterable[QuestionOutcome], counted: Callable[[QuestionOutcome], tuple[int, int]]
) -> PerQuery:
    """`counted` says of one sample how many of how many checks passed; a question without a check
    has no say."""
    found: dict[str, tuple[Fraction | int, int]] = {}
    for question, samples in by_question(outcomes).items():
        counts = [counted(each) for each in samples]
        if whole := sum(n for _, n in counts):
            found[question] = (sum(k for k, _ in counts), whole)
    return PerQuery("share", found)


def rate_of(
    outcomes: Iterable[QuestionOutcome], holds: Callable[[QuestionOutcome], bool]
) -> dict[str, Any]:
    """Wilson's interval for one sample per question; with several, whole questions are
    resampled."""
    return _figure(share_of(outcomes, lambda each: (int(holds(each)), 1)))


def mean_of(
    outcomes: Iterable[QuestionOutcome], value: Callable[[QuestionOutcome], float | None]
) -> dict[str, Any]:
    """The mean over questions of the mean over their samples; samples without a value have no
    say."""
    found: dict[str, tuple[Fraction | int, int]] = {}
    for question, samples in by_question(outcomes).items():
        known = [Fraction(of) for each in samples if (of := value(each)) is not None]
        if known:
            found[question] = (sum(known, Fraction(0)) / len(known), 1)
    return _figure(PerQuery("mean", found))


def samples_of(outcomes: Iterable[QuestionOutcome]) -> dict[str, Any]:
    """pass@k, pass^k and the share of questions whose samples disagree, for the k that nine in ten
    questions have; {} for k = 1."""
    groups = {
        question: [each.base for each in samples]
        for question, samples in by_question(outcomes).items()
    }
    most = figures.most_samples(groups)
    if most < 2:
        return {}
    chances = {
        name.replace("k", str(most)): figure
        for name, figure in figures.chances(groups, most).items()
    }
    return {**with_intervals(chances), "flip_rate": _figure(figures.flips(groups))}


def _figure(figure: PerQuery) -> dict[str, Any]:
    return with_intervals({"": figure})[""]


def score_of(
    outcomes: Sequence[QuestionOutcome],
    rules: str,
    card: Mapping[str, Any],
    rates: Callable[[Sequence[QuestionOutcome]], dict[str, Any]],
    more: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """score.json with `rates` of the scored outcomes as its metrics, and of all of them as its
    worst case where that is needed. `more` is the benchmark's own."""
    scored = [each for each in outcomes if each.scored]
    unscored = len(outcomes) - len(scored)
    levels = sorted({each.level for each in scored if each.level is not None}, key=slice_order)
    means = {"completion_tokens_mean": mean_of(scored, lambda each: each.base.completion_tokens)}
    score: dict[str, Any] = {
        "n": len(scored),
        "unscored": unscored,
        "rules": rules,
        "metrics": {**rates(scored), **samples_of(scored), **means},
        "levels": {
            level: {"final": rate_of([o for o in scored if o.level == level], lambda o: o.final)}
            for level in levels
        },
        "stop_reasons": dict(Counter(each.base.stop_reason for each in outcomes).most_common()),
        **(more or {}),
    }
    if unscored > MOST_UNSCORED * len(outcomes):
        score["warning"] = unscored_warning([each.base for each in outcomes])
        score["worst_case"] = rates(outcomes)
    return {**score, "run_card": dict(card)}

"""The score of a run over the seven sets: exact match, sub-exact match and F1 of each set, and
their average over sets (row S10).

The average is Search-R1's and STAR's: every set counts the same, however many questions it has. Its
interval combines the sets' own by the method of variance estimates recovery (MOVER; Zou and Donner
2008): with p the mean of the p_i over S sets, low = p − √Σ(p_i − low_i)² / S and high alike, which
keeps the sense of Wilson's intervals where a set is near 0 or 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tripwright.evals.outside.figures import (
    QuestionOutcome,
    mean_of,
    outcomes_of,
    rate_of,
    score_of,
)
from tripwright.evals.outside.qa.questions import SETS

MEASURES = ("exact_match", "sub_exact_match", "f1")


def score_questions(
    records: Iterable[Mapping[str, Any]], rules: str, card: Mapping[str, Any]
) -> dict[str, Any]:
    """Over all questions as "metrics" (so large sets weigh more), by set and over sets as
    "questions". `records` is read once."""
    outcomes = outcomes_of(records)
    scored = [outcome for outcome in outcomes if outcome.scored]
    there = {outcome.level for outcome in scored}
    sets = {
        name: measures([o for o in scored if o.level == name]) for name in SETS if name in there
    }
    average = {
        measure: average_of([found[measure] for found in sets.values()]) for measure in MEASURES
    }
    questions = {"sets": sets, "average": {**average, "sets": len(sets), "of": len(SETS)}}
    return score_of(
        outcomes,
        rules,
        card,
        lambda some: {"final": rate_of(some, lambda o: o.final), **measures(some)},
        {"questions": questions},
    )


def measures(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """An episode without a grade (unscored, in a worst case) has matched nothing."""
    return {
        "exact_match": rate_of(outcomes, lambda o: bool(o.details.get("exact_match"))),
        "sub_exact_match": rate_of(outcomes, lambda o: bool(o.details.get("sub_exact_match"))),
        "f1": mean_of(outcomes, lambda o: o.details.get("f1", 0.0)),
        "answered": rate_of(outcomes, lambda o: bool(o.details.get("answered"))),
        "searches_mean": mean_of(outcomes, lambda o: o.details.get("searches")),
    }


def average_of(found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Of one measure over the sets, each counting the same. All None without a set."""
    if not found:
        return {"value": None, "low": None, "high": None}
    value = math.fsum(each["value"] for each in found) / len(found)
    below = math.sqrt(math.fsum((each["value"] - each["low"]) ** 2 for each in found)) / len(found)
    above = math.sqrt(math.fsum((each["high"] - each["value"]) ** 2 for each in found)) / len(found)
    return {"value": value, "low": value - below, "high": value + above}

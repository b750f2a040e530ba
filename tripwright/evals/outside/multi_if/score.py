"""Meta's figures of Multi-IF, with an interval each: four rates a turn, their mean, over all
languages and in each.

Prompt rates: the share of turns of which every instruction was followed. Instruction rates: the
share of instructions, all turns with that number taken together. Both strict and loose. A turn's
score is the mean of its four rates. Intervals come from resampling conversations, all turns and
rates of one together. (Meta resamples 10,000 times and, for instructions, a mean of shares by turn,
which is another figure than the rate it prints.)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from tripwright.evals.figures import SEED
from tripwright.evals.outside.figures import (
    QuestionOutcome,
    by_question,
    outcomes_of,
    rate_of,
    score_of,
)
from tripwright.evals.outside.multi_if.conversations import MOST_TURNS
from tripwright.evals.outside.multi_if.following import UNKNOWN
from tripwright.statistics.rates import wilson
from tripwright.statistics.resampling import percentiles, resampled_sums

# Counts of one turn: prompts, followed strictly, followed loosely; instructions, followed strictly,
# followed loosely.
_COUNTS = 6
_PLACES = {
    "prompt_strict": (1, 0),
    "instruction_strict": (4, 3),
    "prompt_loose": (2, 0),
    "instruction_loose": (5, 3),
}

Counts = Sequence[float]  # of three turns, one after the other


def score(
    records: Iterable[Mapping[str, Any]], rules: str, card: Mapping[str, Any]
) -> dict[str, Any]:
    """score.json. `unknown_instructions` and `checker_errors` count what no checker judged, by
    turns: it counts as not followed."""
    outcomes = outcomes_of(records)
    scored = [each for each in outcomes if each.scored]
    languages = sorted({str(each.level) for each in scored})
    unjudged = [
        error
        for each in scored
        for turn in each.details["turns"]
        if turn
        for error in turn["errors"].items()
    ]
    own = {
        "languages": {
            language: _means_alone(_figures([o for o in scored if o.level == language]))
            for language in languages
        },
        "unknown_instructions": dict(
            Counter(name for name, why in unjudged if why == UNKNOWN).most_common()
        ),
        "checker_errors": dict(
            Counter(f"{name}: {why}" for name, why in unjudged if why != UNKNOWN).most_common()
        ),
    }
    return score_of(outcomes, rules, card, _metrics, own)


def _metrics(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    return {**_figures(outcomes), "final": rate_of(outcomes, lambda each: each.final)}


def _means_alone(figures: Mapping[str, Any]) -> dict[str, Any]:
    """The turns' scores and their mean."""
    return {
        name: figure for name, figure in figures.items() if not name.endswith(("_strict", "_loose"))
    }


def _figures(outcomes: Sequence[QuestionOutcome]) -> dict[str, Any]:
    """turn_1_prompt_strict and so on, turn_1, and `mean` over the turns' scores. A turn that nobody
    has is left out."""
    rows = [
        [sum(each) for each in zip(*map(_row, samples), strict=True)]
        for samples in by_question(outcomes).values()
    ]
    if not rows:
        return {}
    whole = [sum(each) for each in zip(*rows, strict=True)]
    turns = [
        turn for turn in range(MOST_TURNS) if whole[turn * _COUNTS] and whole[turn * _COUNTS + 3]
    ]
    drawn = resampled_sums(list(zip(*rows, strict=True)), SEED)
    # not all conversations have every turn
    drawn = [counts for counts in drawn if all(counts[turn * _COUNTS + 3] for turn in turns)]
    figures: dict[str, Any] = {}
    for turn in turns:
        rates = {
            f"turn_{turn + 1}_{name}": _rate(whole, drawn, turn, name, len(rows))
            for name in _PLACES
        }
        figures |= {
            **rates,
            f"turn_{turn + 1}": _mean(
                whole, drawn, [turn], list(rates.values()), whole[turn * _COUNTS]
            ),
        }
    if turns:
        figures["mean"] = _mean(
            whole, drawn, turns, [figures[f"turn_{turn + 1}"] for turn in turns], len(outcomes)
        )
    return figures


def _row(outcome: QuestionOutcome) -> list[int]:
    """The counts of one conversation; of one that is unscored, with nothing followed."""
    asked, graded = outcome.request["instructions"], outcome.details.get("turns")
    row = []
    for turn in range(MOST_TURNS):
        names = asked[turn] if turn < len(asked) else None
        if names is None:
            row += [0] * _COUNTS
            continue
        strict, loose = (
            graded[turn][reading] if graded else [False] * len(names)
            for reading in ("strict", "loose")
        )
        # transcripts of before do not say
        reached = graded is not None and graded[turn].get("reached", True)
        row += [
            1,
            int(reached and all(strict)),
            int(reached and all(loose)),
            len(names),
            sum(strict),
            sum(loose),
        ]
    return row


def _value(counts: Counts, turn: int, name: str) -> float:
    part, of = _PLACES[name]
    return counts[turn * _COUNTS + part] / counts[turn * _COUNTS + of]


def _score(counts: Counts, turns: Sequence[int]) -> float:
    return fmean(_value(counts, turn, name) for turn in turns for name in _PLACES)


def _rate(
    whole: Counts, drawn: Sequence[Counts], turn: int, name: str, conversations: int
) -> dict[str, Any]:
    """Where all agree a bootstrap has no spread; then the interval is Wilson's with one trial per
    conversation."""
    k, n = (whole[turn * _COUNTS + place] for place in _PLACES[name])
    if k in (0, n):
        low, high = wilson(conversations if k else 0, conversations)
    else:
        low, high = percentiles([_value(counts, turn, name) for counts in drawn])
    return {"value": k / n, "low": low, "high": high, "k": k, "n": n}


def _mean(
    whole: Counts,
    drawn: Sequence[Counts],
    turns: Sequence[int],
    parts: Sequence[Mapping[str, Any]],
    n: int,
) -> dict[str, Any]:
    """Where all resamples agree, the interval is the mean of those of its parts."""
    low, high = percentiles([_score(counts, turns) for counts in drawn])
    if low == high:
        low, high = fmean(part["low"] for part in parts), fmean(part["high"] for part in parts)
    return {"value": _score(whole, turns), "low": low, "high": high, "n": n}

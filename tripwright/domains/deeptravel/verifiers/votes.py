"""Combines several votes of a judge into one verdict (rows D3, D4).

The scale of conclusions is ordered, so the verdict is the middle vote, counted from the best: the
best conclusion that more than half of the votes reach. It has two properties that the most frequent
vote lacks. A verdict passes exactly if more than half of the votes pass, wherever on the scale the
line of passing is drawn; and one worse vote never makes a verdict better. Where more than half
agree, it is what they say. An even split falls to the worse side (law 3).

Worked example, best to worst a b c:  a a c → a;  a c → c;  a a b c → b;  a a b c c → b, though only
one said so: 3 of 5 reach it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Value = TypeVar("Value")

MET: tuple[bool | None, ...] = (True, None, False)  # of a rubric: met, not asked, not met


def middle(votes: Sequence[Value], best_to_worst: Sequence[Value]) -> Value:
    """The verdict of one vote or more. Raises ValueError where there is none, or one that is not on
    the scale."""
    if not votes:
        raise ValueError("no votes to decide by")
    places = list(best_to_worst)
    return places[sorted(places.index(vote) for vote in votes)[len(votes) // 2]]


def worst(values: Sequence[Value], best_to_worst: Sequence[Value]) -> Value:
    places = list(best_to_worst)
    return places[max(places.index(each) for each in values)]


def agreement(votes: Sequence[Value], verdict: Value) -> float:
    """The share of votes that say what the verdict says."""
    return sum(vote == verdict for vote in votes) / len(votes)


def rubric_verdicts(votes: Sequence[dict[str, bool | None]]) -> dict[str, bool | None]:
    """Rubric by rubric; a vote that gives no rubrics (A.2.2's plain line) has no say."""
    ballots = [vote for vote in votes if vote]
    keys = dict.fromkeys(key for vote in ballots for key in vote)
    return {key: middle([vote[key] for vote in ballots if key in vote], MET) for key in keys}

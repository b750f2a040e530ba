"""Credit by evidence: each constraint's advantage goes to the words that it is about, not to the
whole episode (row B1 put to use).

A strict fact says which day and which field of the plan break it. So within a group every
constraint c is compared on its own,

    A_c = (passed_c − mean) / std        over the members that it was evaluated for; 0 for the
    others

and a token gets the sum of A_c over the constraints that concern it: in the answer, those of its
field (and day, where one is named); in an earlier turn, a name that the plan uses in some field
counts as that field. A member that breaks c is charged where the evidence points, one that passes c
is credited where c looks. Tokens of no field (calls, structure) get the sum over all constraints,
as an episode would. The answer must be JSON; of any other, every token gets that sum. Sums of many
constraints are larger than one advantage: a recipe that changes `credit` should look at its
learning rate, too.
"""

from __future__ import annotations

from collections.abc import Sequence

from tripwright.agent.chat import ChatFormat
from tripwright.domains import domain_named
from tripwright.domains.domain import Credit
from tripwright.episode import Episode
from tripwright.training.rollouts import RolloutGroup
from tripwright.verdict import FORMAT, SCHEMA, Fact

DELIVERED = "delivered"  # beside the constraints: whether there is a plan at all


def advantages_by_evidence(group: RolloutGroup, chat: ChatFormat) -> list[list[float] | None]:
    """For each member one number per token id, 0 where the agent did not speak; None for the
    unscored."""
    credit = domain_named(group.task.domain).credit
    assert credit is not None  # recipes are checked for it
    by_constraint = [_passed(e) for e in group.episodes]
    asked = [part for e in group.episodes for part in e.asked.items()]
    constraints = (name for part, names in asked if part != FORMAT for name in names)
    names = dict.fromkeys([DELIVERED, *constraints])
    scaled = {name: _normalised([passed.get(name) for passed in by_constraint]) for name in names}
    own = ({name: x[i] for name, x in scaled.items() if x[i]} for i in range(len(group.episodes)))
    return [
        _spread(episode, mine, chat, credit) if episode.verdict is not None else None
        for episode, mine in zip(group.episodes, own, strict=True)
    ]


def _passed(episode: Episode) -> dict[str, bool]:
    """Of every constraint that was evaluated; of none where our side failed."""
    if episode.verdict is None:
        return {}
    facts = episode.verdict.facts if episode.verdict.readable else {}
    known = {name: f.passed for name, f in facts.items() if f.passed is not None}
    known.pop(SCHEMA, None)
    return {DELIVERED: facts.keys() > {SCHEMA}} | known


def _normalised(passed: Sequence[bool | None]) -> list[float]:
    outcomes = [float(p) for p in passed if p is not None]
    if not outcomes or min(outcomes) == max(outcomes):
        return [0.0] * len(passed)
    mean = sum(outcomes) / len(outcomes)
    std = (sum((k - mean) ** 2 for k in outcomes) / (len(outcomes) - 1)) ** 0.5
    return [0.0 if p is None else (p - mean) / std for p in passed]


def _spread(
    episode: Episode, advantages: dict[str, float], chat: ChatFormat, credit: Credit
) -> list[float]:
    """The member's constraint advantages on its tokens."""
    facts = episode.verdict.facts if episode.verdict is not None else {}
    whole, spread_T = sum(advantages.values()), list[float]()
    concerns: dict[tuple[str, int | None], float] = {}
    for segment, places in zip(
        episode.transcript.segments, credit.places(episode.transcript), strict=True
    ):
        if segment.role != "assistant":
            spread_T += [0.0] * len(segment.token_ids)
            continue
        pieces, at = [chat.decode([token]) for token in segment.token_ids], 0
        # characters cut between tokens: no telling which is where
        if not "".join(pieces).startswith(segment.text):
            places = []
        for piece in pieces:
            end = at + len(piece)
            place = next((p for p in places if at < p.end and end > p.start), None)
            if place is None:
                spread_T.append(whole)
            else:
                key = place.field, place.day
                if key not in concerns:
                    concerns[key] = sum(
                        a
                        for name, a in advantages.items()
                        if _concerns(name, facts.get(name), *key, credit)
                    )
                spread_T.append(concerns[key])
            at = end
    return spread_T


def _concerns(name: str, fact: Fact | None, field: str, day: int | None, credit: Credit) -> bool:
    """Whether a constraint is about a field of a day: where it is broken, by its evidence; else by
    where it looks."""
    pointed = (
        [(e.field, e.day) for e in fact.evidence if e.field]
        if fact is not None and fact.passed is False
        else []
    )
    if not pointed:
        return field in credit.looks_at.get(name, credit.fields)
    return any(
        field == credit.answer_fields.get(f, f) and (day is None or d is None or day == d)
        for f, d in pointed
    )

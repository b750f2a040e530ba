"""Credit by evidence: each constraint's advantage goes to the words that it is about, not to the whole episode (row B1 put to use).

A strict fact says which day and which field of the plan break it. So within a group every constraint c is compared on its own,

    A_c = (passed_c − mean) / std        over the members that it was evaluated for; 0 for the others

and a token gets the sum of A_c over the constraints that concern it: in the answer, those of its field (and day, where one is named); in an
earlier turn, a name that the plan uses in some field counts as that field. A member that breaks c is charged where the evidence points,
one that passes c is credited where c looks. Tokens of no field (calls, structure) get the sum over all constraints, as an episode would.
The answer must be JSON; of any other, every token gets that sum. Sums of many constraints are larger than one advantage: a recipe that
changes `credit` should look at its learning rate, too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tripwright.agent.chat import ChatFormat
from tripwright.domains.travelplanner.rules.facts import COMMONSENSE_NAMES, HARD_NAMES, Fact, Verdict
from tripwright.episode import Episode
from tripwright.rl.rollouts import Group
from tripwright.transcript import Transcript

MEALS = ("breakfast", "lunch", "dinner")
FIELDS = ("city", "transportation", "attraction", "accommodation", *MEALS)
DELIVERED = "delivered"  # beside the constraints: whether there is a plan at all
LOOKS_AT = {
    "is_reasonable_visiting_city": ("city",),
    "is_valid_restaurants": MEALS,
    "is_valid_attractions": ("attraction",),
    "is_valid_accommodation": ("accommodation",),
    "is_valid_transportation": ("transportation",),
    "valid_cuisine": MEALS,
    "valid_room_rule": ("accommodation",),
    "valid_room_type": ("accommodation",),
    "valid_transportation": ("transportation",),
    "valid_cost": ("transportation", "accommodation", *MEALS),
}  # the others look at everything
_KEY = re.compile(rf'"(days|{"|".join(FIELDS)})"\s*:\s*')


class Place(NamedTuple):
    """A stretch of the agent's own characters that is about one field; `day` None: of the whole trip."""

    start: int
    end: int
    field: str
    day: int | None


def advantages_by_evidence(group: Group, chat: ChatFormat) -> list[list[float] | None]:
    """For each member one number per token id, 0 where the agent did not speak; None for the unscored."""
    by_constraint = [_passed(e) for e in group.episodes]
    names = (DELIVERED, *COMMONSENSE_NAMES, *HARD_NAMES)
    scaled = {name: _normalised([passed.get(name) if passed is not None else None for passed in by_constraint]) for name in names}
    made: list[list[float] | None] = []
    for i, episode in enumerate(group.episodes):
        mine = {name: values[i] for name, values in scaled.items() if values[i]}
        made.append(_spread(episode, mine, chat) if episode.verdict is not None else None)
    return made


def _passed(episode: Episode) -> dict[str, bool] | None:
    """Of every constraint that was evaluated. None: our side failed."""
    if episode.verdict is None:
        return None
    facts = _facts(episode.verdict) if episode.schema_valid else {}
    return {DELIVERED: bool(facts)} | {name: fact.passed for name, fact in facts.items() if fact.passed is not None}


def _facts(verdict: Verdict) -> dict[str, Fact]:
    return {**(verdict.commonsense or {}), **(verdict.hard or {})}


def _normalised(passed: Sequence[bool | None]) -> list[float]:
    known = [float(p) for p in passed if p is not None]
    if not known or min(known) == max(known):
        return [0.0] * len(passed)
    mean = sum(known) / len(known)
    std = (sum((k - mean) ** 2 for k in known) / (len(known) - 1)) ** 0.5
    return [0.0 if p is None else (p - mean) / std for p in passed]


def _spread(episode: Episode, advantages: dict[str, float], chat: ChatFormat) -> list[float]:
    """The member's constraint advantages on its tokens."""
    verdict = episode.verdict
    assert verdict is not None
    facts, whole, made = _facts(verdict), sum(advantages.values()), list[float]()
    concerns: dict[tuple[str, int | None], float] = {}
    for segment, places in zip(episode.transcript.segments, places_of(episode.transcript), strict=True):
        if segment.role != "assistant":
            made += [0.0] * len(segment.token_ids)
            continue
        pieces, at = [chat.decode([token]) for token in segment.token_ids], 0
        if not "".join(pieces).startswith(segment.text):  # characters cut between tokens: no telling which is where
            places = []
        for piece in pieces:
            end = at + len(piece)
            place = next((p for p in places if at < p.end and end > p.start), None)
            if place is None:
                made.append(whole)
            else:
                key = place.field, place.day
                if key not in concerns:
                    concerns[key] = sum(a for name, a in advantages.items() if _concerns(name, facts.get(name), *key))
                made.append(concerns[key])
            at = end
    return made


def _concerns(name: str, fact: Fact | None, field: str, day: int | None) -> bool:
    """Whether a constraint is about a field of a day: where it is broken, by its evidence; else by where it looks."""
    pointed = [(_plan_key(e.field), e.day) for e in fact.evidence if e.field] if fact is not None and fact.passed is False else []
    if not pointed:
        return field in LOOKS_AT.get(name, FIELDS)
    return any(field == f and (day is None or d is None or day == d) for f, d in pointed)


def _plan_key(field: str | None) -> str | None:
    return "city" if field == "current_city" else field


# ---- where the agent speaks of a field


def places_of(transcript: Transcript) -> list[list[Place]]:
    """Of each segment, in order. Empty lists where the answer is no JSON plan."""
    answer = transcript.answer
    try:
        days = json.loads(answer) if answer else None
    except ValueError:
        days = None
    if answer is None or not isinstance(days, list):
        return [[] for _ in transcript.segments]
    names = dict(_names(days))
    found: list[list[Place]] = []
    for segment in transcript.segments:
        if segment.role != "assistant":
            found.append([])
        elif (start := segment.text.find(answer)) >= 0:
            found.append([Place(p.start + start, p.end + start, p.field, p.day) for p in _of_answer(answer)])
        else:
            found.append([Place(m.start(), m.end(), f, None) for n, f in names.items() for m in re.finditer(re.escape(n), segment.text)])
    return found


def _of_answer(answer: str) -> Iterator[Place]:
    """From the value of one key to the next key. Days are counted as they come."""
    day, open_at, field = 0, 0, ""
    for key in _KEY.finditer(answer):
        if field:
            yield Place(open_at, key.start(), field, day)
        field = "" if key[1] == "days" else key[1]
        day += key[1] == "days"
        open_at = key.end()
    if field:
        yield Place(open_at, len(answer), field, day)


def _names(days: list[object]) -> Iterator[tuple[str, str]]:
    """(name, field) of what the plan names, the fields of the first mention."""
    for field in ("attraction", "accommodation", *MEALS):
        for day in days:
            value = day.get(field) if isinstance(day, dict) else None
            for name in value if isinstance(value, list) else [value]:
                if isinstance(name, str) and len(name) > 1:
                    yield name, field

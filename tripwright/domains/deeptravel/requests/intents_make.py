"""Makes files of travellers' requests: so many, with or without wishes, by level of difficulty,
none twice, each proved and put into words (DeepTravel, Appendix A.3; rows D8, D12).

Request n is drawn with dice of the seed and n alone. Combinations of intents are gone through in a
shuffled order, so that a file covers them evenly; a request whose level is full, or that repeats an
earlier one, is drawn anew.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from tripwright.domains.deeptravel.request import Level, TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import Combination
from tripwright.domains.deeptravel.requests.intents_draw import (
    ProvenRequest,
    RejectedDraft,
    RequestScope,
    draw,
)
from tripwright.domains.deeptravel.requests.intents_proof import Proof, TripSurvey
from tripwright.domains.deeptravel.requests.reading import read_request
from tripwright.domains.deeptravel.requests.wording import unwordable, word_request
from tripwright.errors import UserError

Constraints = Literal["with", "without", "mixed"]
LEVELS: tuple[Level, ...] = get_args(Level)
# Row D12: 500 each of easy, medium and hard requests.
PAPER_LEVELS: Mapping[Constraints, tuple[int, int, int]] = {
    "with": (156, 45, 299),
    "without": (222, 78, 200),
    "mixed": (378, 123, 499),
}
EASY_POINTS, MEDIUM_POINTS = 2.5, 3.5  # up to which a request with wishes is easy, medium
# with one combination, before the next: what is rarely met would else be rarely asked
DRAWS_OF_ONE = 8
MOST_DRAWS = 2000  # for one request, before a world is given up as too small


@dataclass
class RequestTally:
    """How it goes, for a status line and the summary."""

    levels: Counter[Level] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    combinations: list[Combination] = field(default_factory=list)

    @property
    def made(self) -> int:
        return self.levels.total()


def level_of(request: TravelRequest, proof: Proof) -> Level:
    """How hard it looks before anybody has tried: with wishes by their number and by how much
    choice they leave (a point for a wish, a point for each halving of a part's choice); without
    wishes by how many parts the answer needs."""
    if not request.constrained:
        return {"one_way": LEVELS[0], "one_way_stay": LEVELS[1], "round_trip": LEVELS[2]}[
            intents.shape_of(request)
        ]
    points = len(intents.wishes_of(request)) + proof.scarcity_bits
    return (
        LEVELS[0] if points <= EASY_POINTS else LEVELS[1] if points <= MEDIUM_POINTS else LEVELS[2]
    )


def quotas(count: int, weights: Sequence[int]) -> dict[Level, int]:
    """Of `count` requests, how many of each level: whole numbers, the largest remainders first."""
    exact = [count * weight / sum(weights) for weight in weights]
    shares = dict(zip(LEVELS, map(int, exact), strict=True))
    by_remainder = sorted(range(3), key=lambda place: (int(exact[place]) - exact[place], place))
    for place in by_remainder[: count - sum(shares.values())]:
        shares[LEVELS[place]] += 1
    return shares


def make_requests(
    survey: TripSurvey,
    places: RequestScope,
    count: int,
    *,
    constraints: Constraints = "with",
    weights: Sequence[int] | None = None,
    seed: int = 0,
    excluded: frozenset[tuple[object, ...]] = frozenset(),
    possible: Callable[[Combination], bool] = lambda combination: True,
    report: Callable[[RequestTally], None] | None = None,
) -> tuple[list[ProvenRequest], RequestTally]:
    """`weights` are of easy, medium and hard; those of row D12 unless given. `possible` says which
    combinations the tools can answer at all. Equal arguments, and answers, give equal requests.

    Raises UserError where the world, or the cities and days, do not give so many.
    """
    quota = quotas(count, weights or PAPER_LEVELS[constraints])
    order = _Order(constraints, seed, possible)
    requests: list[ProvenRequest] = []
    tally, keys, texts = RequestTally(), set(excluded), set[str]()
    for number in range(count):
        for attempt in range(MOST_DRAWS):
            rng = random.Random(f"{seed}/{number}/{attempt}")
            if attempt % DRAWS_OF_ONE == 0:
                combination = order.take(quota)
            try:
                draft = draw(rng, places, survey, combination)
                proven = _finished(rng, draft, f"{constraints}-{seed}-{number}", quota, keys, texts)
            except RejectedDraft as reason:
                tally.rejected[str(reason)] += 1
                if report:
                    report(tally)
                continue
            level = level_of(*draft)
            quota[level] -= 1
            keys.add(intents.request_key(proven.request))
            texts.add(proven.request.query)
            requests.append(proven)
            tally.levels[level] += 1
            tally.combinations.append(combination)
            break
        else:
            raise UserError(
                f"The tools' answers give {number} such requests, asked were {count}; still"
                " missing: "
                + ", ".join(f"{n} {level}" for level, n in quota.items() if n)
                + ". Ask for fewer, for other --levels, or name a larger world (of live services:"
                " more cities or days)."
            )
        if report:
            report(tally)
    return requests, tally


def _finished(
    rng: random.Random,
    draft: ProvenRequest,
    name: str,
    quota: Mapping[Level, int],
    keys: set[tuple[object, ...]],
    texts: set[str],
) -> ProvenRequest:
    """With level, words and id. The words are read back: what cannot be is drawn anew."""
    level = level_of(draft.request, draft.proof)
    if not quota[level]:
        raise RejectedDraft(f"enough {level} ones")
    if intents.request_key(draft.request) in keys:
        raise RejectedDraft("repeats an earlier one")
    if unwordable(draft.request):
        raise RejectedDraft("cannot be worded")
    text = word_request(rng, draft.request)
    if text in texts:
        raise RejectedDraft("repeats an earlier one")
    if read_request(text).model_copy(update={"query": ""}) != draft.request:
        raise RejectedDraft("is read otherwise than meant")
    return ProvenRequest(
        draft.request.model_copy(update={"id": name, "level": level, "query": text}), draft.proof
    )


class _Order:
    """Combinations without end, each as often as any other, in an order of the seed; those first
    that may give a level still wanted."""

    def __init__(
        self, constraints: Constraints, seed: int, possible: Callable[[Combination], bool]
    ):
        every = (
            c
            for c in intents.enumerate_combinations()
            if constraints == "mixed" or bool(c.wishes) == (constraints == "with")
        )
        combinations = [combination for combination in every if possible(combination)]
        self._rng = random.Random(f"{seed}/order")
        plain = [each for each in combinations if not each.wishes]
        wishing = [each for each in combinations if each.wishes]
        self._kinds = [_Cycle(kind, self._rng) for kind in (plain, wishing) if kind]

    def take(self, quota: Mapping[Level, int]) -> Combination:
        """In a mixed file one in two has wishes, by the dice, as the two halves of row D12 are of
        one size."""
        kinds = [
            kind
            for kind in self._kinds
            if any(_may_give(combination, quota) for combination in kind.combinations)
        ]
        if not kinds:
            levels = " or ".join(level for level, number in quota.items() if number)
            raise UserError(
                f"What these tools answer makes no {levels} requests. Leave that level out with"
                " --levels, or name more tools."
            )
        return self._rng.choice(kinds).next(lambda combination: _may_give(combination, quota))


class _Cycle:
    def __init__(self, combinations: list[Combination], rng: random.Random):
        self.combinations, self._rng = combinations, rng
        self._queue: list[Combination] = []

    def next(self, fitting: Callable[[Combination], bool]) -> Combination:
        """The first that is wanted; those before it keep their turn. One of all that there are must
        be."""
        place = next(
            (place for place, combination in enumerate(self._queue) if fitting(combination)), None
        )
        if place is not None:
            return self._queue.pop(place)
        fresh = list(self.combinations)
        self._rng.shuffle(fresh)
        self._queue += fresh
        return self.next(fitting)


def _may_give(combination: Combination, quota: Mapping[Level, int]) -> bool:
    """More wishes than an easy request has points make none; fewer than it takes may still be hard,
    by what they leave."""
    if not combination.wishes:
        return (
            quota[
                {"one_way": LEVELS[0], "one_way_stay": LEVELS[1], "round_trip": LEVELS[2]}[
                    combination.shape
                ]
            ]
            > 0
        )
    wishes = len(combination.wishes)
    return (
        (quota["easy"] > 0 and wishes <= EASY_POINTS)
        or (quota["medium"] > 0 and wishes <= MEDIUM_POINTS)
        or quota["hard"] > 0
    )

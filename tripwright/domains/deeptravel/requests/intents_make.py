"""Makes files of travellers' requests: so many, with or without wishes, by level of difficulty,
none twice, each proved and put into words (DeepTravel, Appendix A.3; rows D8, D12).

Request n is drawn with dice of the seed and n alone. Combinations of intents are gone through in a
shuffled order, so that a file covers them evenly; a request whose level is full, or that repeats an
earlier one, is drawn anew.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from tripwright.domains.deeptravel.request import Level, TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.choosing import left_to
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
EASY_POINTS, MEDIUM_POINTS = 4, 6  # up to which a request with wishes is easy, medium
MOST_LEFT = 0.1  # of the requests with wishes: as many as one habit may meet (`choosing.py`)
# with one combination, before the next: what is rarely met would else be rarely asked
DRAWS_OF_ONE = 8
MOST_DRAWS = 2000  # for one request, before a world is given up as too small
CHOOSY_DRAWS = 1000  # after so many a request may be met by a habit


@dataclass
class RequestTally:
    """How it goes, for a status line and the summary. `left` counts the requests with wishes that
    each habit meets."""

    levels: Counter[Level] = field(default_factory=Counter)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    combinations: list[Combination] = field(default_factory=list)

    @property
    def made(self) -> int:
        return self.levels.total()

    def would_leave(self, habits: Collection[tuple[str, str]], most: int) -> bool:
        """Whether one of these habits meets as many already."""
        return any(self.left[habit] >= most for habit in habits)

    def add(
        self, level: Level, combination: Combination, habits: Collection[tuple[str, str]]
    ) -> None:
        self.levels[level] += 1
        self.combinations.append(combination)
        self.left.update(habits)


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
    plain_share: float = 0.5,
    seed: int = 0,
    excluded: frozenset[tuple[object, ...]] = frozenset(),
    possible: Callable[[Combination], bool] = lambda combination: True,
    report: Callable[[RequestTally], None] | None = None,
) -> tuple[list[ProvenRequest], RequestTally]:
    """`weights` are of easy, medium and hard; those of row D12 unless given. `plain_share`: of
    "mixed" requests, those without wishes; one half, as row D12's test sets. `possible` says which
    combinations the tools can answer at all. Equal arguments, and answers, give equal requests.

    Of the requests with wishes a habit meets MOST_LEFT at the most. Where a world has too few rows
    for that, it is given up request by request; `RequestTally.left` says how many each meets.

    Raises UserError where the world, or the cities and days, do not give so many.
    """
    quota = quotas(count, weights or PAPER_LEVELS[constraints])
    order = _Order(constraints, seed, possible, plain_share)
    most_left = max(1, int(MOST_LEFT * count))
    requests: list[ProvenRequest] = []
    tally, keys, texts = RequestTally(), set(excluded), set[str]()
    for number in range(count):
        cycle = order.cycle(quota)
        for attempt in range(MOST_DRAWS):
            rng = random.Random(f"{seed}/{number}/{attempt}")
            if attempt % DRAWS_OF_ONE == 0:
                combination = cycle.next(quota)
            try:
                draft = draw(rng, places, survey, combination)
                if not quota[level := level_of(*draft)]:
                    raise RejectedDraft(f"enough {level} ones")
                habits = left_to(draft.request, survey) if draft.request.constrained else ()
                if attempt < CHOOSY_DRAWS and tally.would_leave(habits, most_left):
                    raise RejectedDraft("is met by a habit")
                proven = _finished(rng, draft, f"{constraints}-{seed}-{number}", level, keys, texts)
            except RejectedDraft as reason:
                tally.rejected[str(reason)] += 1
                if report:
                    report(tally)
                continue
            quota[level] -= 1
            keys.add(intents.request_key(proven.request))
            texts.add(proven.request.query)
            requests.append(proven)
            tally.add(level, combination, habits)
            break
        else:
            raise _too_few(number, count, quota)
        if report:
            report(tally)
    return requests, tally


def _too_few(made: int, count: int, quota: Mapping[Level, int]) -> UserError:
    missing = ", ".join(f"{number} {level}" for level, number in quota.items() if number)
    return UserError(
        f"The tools' answers give {made} such requests, asked were {count}; still missing:"
        f" {missing}. Ask for fewer, for other --levels, or name a larger world (of live services:"
        " more cities or days)."
    )


def _finished(
    rng: random.Random,
    draft: ProvenRequest,
    name: str,
    level: Level,
    keys: set[tuple[object, ...]],
    texts: set[str],
) -> ProvenRequest:
    """With level, words and id. The words are read back: what cannot be is drawn anew."""
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
        self,
        constraints: Constraints,
        seed: int,
        possible: Callable[[Combination], bool],
        plain_share: float,
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
        shares = ((plain, plain_share), (wishing, 1 - plain_share))
        self._kinds = [(_Cycle(kind, self._rng), share) for kind, share in shares if kind]

    def cycle(self, quota: Mapping[Level, int]) -> _Cycle:
        """Of the next request's kind. In a mixed file the dice say whether it has wishes."""
        kinds = [
            (kind, share)
            for kind, share in self._kinds
            if any(_may_give(combination, quota) for combination in kind.combinations)
        ]
        if not kinds:
            levels = " or ".join(level for level, number in quota.items() if number)
            raise UserError(
                f"What these tools answer makes no {levels} requests. Leave that level out with"
                " --levels, or name more tools."
            )
        cycles, shares = [kind for kind, _ in kinds], [share for _, share in kinds]
        return self._rng.choices(cycles, shares)[0] if sum(shares) else cycles[0]


class _Cycle:
    def __init__(self, combinations: list[Combination], rng: random.Random):
        self.combinations, self._rng = combinations, rng
        self._queue: list[Combination] = []

    def next(self, quota: Mapping[Level, int]) -> Combination:
        """The first that may give a level still wanted; those before it keep their turn. One of all
        that there are must."""
        place = next(
            (place for place, each in enumerate(self._queue) if _may_give(each, quota)), None
        )
        if place is not None:
            return self._queue.pop(place)
        fresh = list(self.combinations)
        self._rng.shuffle(fresh)
        self._queue += fresh
        return self.next(quota)


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

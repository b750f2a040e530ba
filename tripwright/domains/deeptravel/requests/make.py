"""Makes files of travellers' requests: so many, with or without wishes, by level of difficulty,
none twice, each proved and put into words, from a closed world or from live services (DeepTravel,
Appendix A.3; rows D8, D12, B3).

Request n is drawn with dice of the seed and n alone. Combinations of intents are gone through in a
shuffled order, so that a file covers them evenly; a request whose level is full, or that repeats an
earlier one, is drawn anew. Rows are drawn first, from what the tools answer; the wishes are then
said around them, with some slack. The proof is made afterwards from the request alone, so nothing
rests on how it was drawn.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Date
from typing import Any, Literal, NamedTuple, get_args

from tripwright.domains.deeptravel.baselines import left_to, minutes_of
from tripwright.domains.deeptravel.request import Level, Transport, TravelRequest, Wish
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import (
    AnswerRow,
    Combination,
    NotAnswered,
    Offer,
    Proof,
    Shape,
    TripSurvey,
    days_after,
    prove,
)
from tripwright.domains.deeptravel.requests.words import UnreadableRequest, word_request
from tripwright.domains.deeptravel.tools.answers import HotelOffer
from tripwright.domains.deeptravel.worlds.worlds import SIGHT
from tripwright.errors import UserError
from tripwright.world.geography import clock
from tripwright.world.store import World

Constraints = Literal["with", "without", "mixed"]
LEVELS: tuple[Level, ...] = get_args(Level)
PLAIN_LEVELS: Mapping[Shape, Level] = {  # of requests without wishes
    "one_way": "easy",
    "one_way_stay": "medium",
    "round_trip": "hard",
}
# Row D12: 500 each of easy, medium and hard requests.
PAPER_LEVELS: Mapping[Constraints, tuple[int, int, int]] = {
    "with": (156, 45, 299),
    "without": (222, 78, 200),
    "mixed": (378, 123, 499),
}
EASY_POINTS, MEDIUM_POINTS = 4, 6  # up to which a request with wishes is easy, medium
MOST_LEFT = 0.1  # of the requests with wishes: as many as one habit may meet (`left_to`)
# with one combination, before the next: what is rarely met would else be rarely asked
DRAWS_OF_ONE = 8
MOST_DRAWS = 2000  # for one request, before a world is given up as too small
CHOOSY_DRAWS = 1000  # after so many a request may be met by a habit


@dataclass
class RequestTally:
    """How it goes, for a status line and the summary. `intents` counts how often each is stated,
    `left` the requests with wishes that each habit meets."""

    levels: Counter[Level] = field(default_factory=Counter)
    left: Counter[tuple[str, str]] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    intents: Counter[str] = field(default_factory=Counter)

    def add(self, level: Level, stated: Combination, habits: Iterable[tuple[str, str]]) -> None:
        self.levels[level] += 1
        self.intents.update((stated.shape, *stated.wishes))
        self.left.update(habits)


def level_of(request: TravelRequest, proof: Proof) -> Level:
    """How hard it looks before anybody has tried: with wishes by their number and by how much
    choice they leave (a point for a wish, a point for each halving of a part's choice); without
    wishes by how many parts the answer needs."""
    if not request.constrained:
        return PLAIN_LEVELS[intents.shape_of(request)]
    points = len(request.wishes) + proof.scarcity_bits
    return "easy" if points <= EASY_POINTS else "medium" if points <= MEDIUM_POINTS else "hard"


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
    report: Callable[[RequestTally], None] = lambda tally: None,
) -> tuple[list[ProvenRequest], RequestTally]:
    """`weights` are of easy, medium and hard; those of row D12 unless given. `plain_share`: of
    "mixed" requests, those without wishes; one half, as row D12's test sets. Equal arguments, and
    answers, give equal requests.

    Of the requests with wishes a habit meets MOST_LEFT at the most. Where a world has too few rows
    for that, it is given up request by request; `RequestTally.left` says how many each meets.

    Raises UserError where the world, or the cities and days, do not give so many.
    """
    quota = quotas(count, weights or PAPER_LEVELS[constraints])
    order = _Order(constraints, seed, survey.tools, plain_share, quota)
    most_left = max(count > 1, int(MOST_LEFT * count))  # none where one is drawn
    requests: list[ProvenRequest] = []
    tally, known = RequestTally(), set[object](excluded)  # trips and texts
    for number in range(count):
        if (kind := order.kind()) is None:
            raise _too_few(number, count, quota)
        for attempt in range(MOST_DRAWS):
            rng = random.Random(f"{seed}/{number}/{attempt}")
            if attempt % DRAWS_OF_ONE == 0:
                combination = order.next(kind)
            try:
                request, proof = _Draft(rng, places, survey, combination).proven()
                if not quota[level := level_of(request, proof)]:
                    raise RejectedDraft(f"enough {level} ones")
                habits = left_to(request, survey) if request.constrained else ()
                met_often = any(tally.left[habit] >= most_left for habit in habits)
                if attempt < CHOOSY_DRAWS and met_often:
                    raise RejectedDraft("is met by a habit")
                key = intents.request_key(request)
                if key in known or (text := word_request(rng, request)) in known:
                    raise RejectedDraft("repeats an earlier one")
            except UnreadableRequest:  # words that would be read otherwise than they are meant
                tally.rejected["cannot be worded"] += 1
            except (RejectedDraft, NotAnswered) as reason:
                tally.rejected[str(reason)] += 1
            else:
                break
            report(tally)
        else:
            raise _too_few(number, count, quota)
        named = {"id": f"{constraints}-{seed}-{number}", "level": level, "query": text}
        requests.append(ProvenRequest(request.model_copy(update=named), proof))
        known.update((key, text))
        quota[level] -= 1
        tally.add(level, combination, habits)
        report(tally)
    return requests, tally


def _too_few(made: int, count: int, quota: Mapping[Level, int]) -> UserError:
    missing = ", ".join(f"{number} {level}" for level, number in quota.items() if number)
    return UserError(
        f"The tools' answers give {made} such requests, asked were {count}; still missing:"
        f" {missing}. Ask for fewer, for other --levels, or name a larger world (of live services:"
        " more tools, cities or days)."
    )


class _Order:
    """Combinations without end, each as often as any other, in an order of the seed; those first
    that may give a level still wanted. They are of two kinds, without wishes and with."""

    def __init__(
        self,
        constraints: Constraints,
        seed: int,
        tools: frozenset[str],
        plain_share: float,
        quota: Mapping[Level, int],
    ):
        every = possible_with(tools)
        wanted = {"with": (True,), "without": (False,), "mixed": (False, True)}[constraints]
        self._kinds = {
            kind: [each for each in every if bool(each.wishes) == kind] for kind in wanted
        }
        self._queues: dict[bool, list[Combination]] = {kind: [] for kind in wanted}
        self._shares = {False: plain_share, True: 1 - plain_share}
        self._rng, self._quota = random.Random(f"{seed}/order"), quota

    def kind(self) -> bool | None:
        """Whether the next request has wishes: in a mixed file the dice say so. None where no
        combination gives a level still wanted."""
        kinds = [kind for kind, all_of in self._kinds.items() if any(map(self._wanted, all_of))]
        if not kinds:
            return None
        shares = [self._shares[kind] for kind in kinds]
        return self._rng.choices(kinds, shares)[0] if sum(shares) else kinds[0]

    def next(self, kind: bool) -> Combination:
        """The first that may give a level still wanted; those before it keep their turn. One of all
        that there are must."""
        queue = self._queues[kind]
        for combination in filter(self._wanted, queue):
            queue.remove(combination)
            return combination
        fresh = list(self._kinds[kind])
        self._rng.shuffle(fresh)
        queue += fresh
        return self.next(kind)

    def _wanted(self, combination: Combination) -> bool:
        """More wishes than an easy request has points make none; fewer than it takes may still be
        hard, by what they leave."""
        quota, wishes = self._quota, len(combination.wishes)
        if not wishes:
            return quota[PLAIN_LEVELS[combination.shape]] > 0
        return (
            (quota["easy"] > 0 and wishes <= EASY_POINTS)
            or (quota["medium"] > 0 and wishes <= MEDIUM_POINTS)
            or quota["hard"] > 0
        )


# ---- one draw

NIGHTS = (1, 1, 2, 2, 2, 3, 3, 4)
PARTIES = (1, 1, 1, 1, 2, 2, 2, 3, 4, 5, 6)
SLACK_MINUTES = (0, 0, 0, 30, 60)
SLACK_OF_BUDGET = (1.01, 1.15)  # over the price of what was drawn
EARLIEST_WISH = 5 * 60  # nobody says that they cannot leave before three in the morning
LAST_HALF_HOUR = 23 * 60 + 30


class ProvenRequest(NamedTuple):
    request: TravelRequest
    proof: Proof


class RejectedDraft(Exception):
    """This draw came to nothing; the reason is for counting."""


class RequestScope(NamedTuple):
    """What requests may be about: the cities and the days that tools know. Both sorted or in a
    fixed order."""

    cities: Sequence[str]
    days: Sequence[str]

    @classmethod
    def of(cls, world: World) -> RequestScope:
        return cls(tuple(world.cities), world.dates)


class _Draft:
    """A request with exactly these intents, without words: rows are drawn, and the wishes are said
    around them. Raises RejectedDraft where the dice fell badly."""

    def __init__(
        self,
        rng: random.Random,
        places: RequestScope,
        survey: TripSurvey,
        combination: Combination,
    ):
        self.rng, self.survey, self.shape = rng, survey, combination.shape
        self.wishes = set(combination.wishes)
        self.request = self._skeleton(places)
        self.fields: dict[str, Any] = {}  # the wishes

    def proven(self) -> ProvenRequest:
        request, fields = self.request, self.fields
        searches = [self.survey.ways(request)]
        if request.return_date:
            searches.append(self.survey.ways(request, back=True))
        if "transport" in self.wishes:
            searches = self._by_one_means(searches)
        ways = [self._any(searches[0], "no way there").record]
        self._say_times(ways[0], *intents.OF_WAY_THERE)
        if request.return_date:
            ways.append(self._any(searches[1], "no way back").record)
            self._say_times(ways[1], *intents.OF_WAY_BACK)
        stay = None if self.shape == "one_way" else self._stay()
        if "visit" in self.wishes:
            fields["visit"] = self._visits()
        if "total_budget" in self.wishes:
            total = intents.total_of(request, ways, stay)
            if total is None or not total.amount:
                raise RejectedDraft("a price is not known")
            fields["total_budget"] = self._above(total.amount, 10)
            fields["currency"] = total.currency
        request = TravelRequest(**{**request.record(), **fields})
        proof = prove(request, self.survey)
        if not isinstance(proof, Proof):
            raise RejectedDraft(f"no proof: {proof}")
        return ProvenRequest(request, proof)

    def _skeleton(self, places: RequestScope) -> TravelRequest:
        origin, destination = self.rng.sample(list(places.cities), 2)
        nights = 0 if self.shape == "one_way" else self.rng.choice(NIGHTS)
        days = [day for day in places.days if days_after(day, nights) <= places.days[-1]]
        if not days:
            raise RejectedDraft("too few days")
        depart = self.rng.choice(days)
        back = days_after(depart, nights) if self.shape == "round_trip" else None
        says_nights = self.shape == "one_way_stay" or (back and self.rng.random() < 0.4)
        asked = {
            "origin": origin,
            "destination": destination,
            "depart_date": depart,
            "return_date": back,
            "nights": nights if says_nights else None,
            "party_size": self.rng.choice(PARTIES),
        }
        return TravelRequest.model_validate(asked)

    def _by_one_means(self, searches: list[list[AnswerRow]]) -> list[list[AnswerRow]]:
        """What goes by a means of transport that all ways have, which becomes a wish."""
        able: dict[str, list[list[AnswerRow]]] = {}
        for means in get_args(Transport):
            ways = [
                [row for row in rows if intents.means_of(row.record) == means] for rows in searches
            ]
            if all(ways):
                able[means] = ways
        if not able:
            raise RejectedDraft("no one means of transport both ways")
        self.fields["transport"] = self.rng.choice(list(able))
        return able[self.fields["transport"]]

    def _say_times(self, way: Offer, after: Wish, by: Wish) -> None:
        if after in self.wishes:
            latest = minutes_of(way.departs_at) - self.rng.choice(SLACK_MINUTES)
            if latest < EARLIEST_WISH:
                raise RejectedDraft("it leaves too early for a wish")
            self.fields[after] = clock(latest // 30 * 30)
        if by in self.wishes:
            least = minutes_of(way.arrives_at) + self.rng.choice(SLACK_MINUTES)
            earliest = -(-least // 30) * 30
            if earliest > LAST_HALF_HOUR:
                raise RejectedDraft("it arrives too late for a wish")
            self.fields[by] = clock(earliest)

    def _stay(self) -> HotelOffer:
        request, survey = self.request, self.survey
        stays = survey.stays(request)
        if not stays:
            raise RejectedDraft("no stay")
        stays = [row for row in stays if intents.holds(row.record, request)]
        if "hotel_near" in self.wishes:
            city = request.destination
            place = self._any(survey.places(SIGHT, city), "no place to be near").record.name
            self.fields["hotel_near"] = place
            ways = [(row, survey.shortest(row.record.name, place, city)) for row in stays]
            stays = [row for row, way in ways if way and way.record.distance_km <= intents.NEAR_KM]
        stay: HotelOffer = self._any(stays, "no stay that fits").record
        if "nightly_budget" in self.wishes:
            if stay.price is None:
                raise RejectedDraft("a price is not known")
            a_night = stay.price.amount / intents.nights_of(request)
            self.fields["nightly_budget"] = self._above(a_night, 5)
            self.fields["currency"] = stay.price.currency
        if "hotel" in self.wishes:
            self.fields["hotel"] = self._chain(stay.name, [row.record.name for row in stays])
        return stay

    def _chain(self, name: str, names: Sequence[str]) -> str:
        """The first words that the hotel shares with another one, which is what a chain looks like;
        else its own name."""
        words = name.split()
        others = [other.split() for other in names if other != name]
        for count in range(len(words) - 1, 0, -1):
            start = " ".join(words[:count])
            if start[0].isupper() and any(other[:count] == words[:count] for other in others):
                return start if self.rng.random() < 0.7 else name
        return name

    def _visits(self) -> tuple[str, ...]:
        """One or two; beside a hotel that is to be near somewhere one, so that eight turns are
        enough to look everything up."""
        near, rows = (
            self.fields.get("hotel_near"),
            self.survey.places(SIGHT, self.request.destination),
        )
        names = sorted({row.record.name for row in rows} - {near})
        if not names:
            raise RejectedDraft("no place to visit")
        count = 1 if near else self.rng.choice((1, 1, 2))
        return tuple(self.rng.sample(names, min(len(names), count)))

    def _any(self, rows: list[AnswerRow], problem: str) -> AnswerRow:
        if not rows:
            raise RejectedDraft(problem)
        return self.rng.choice(rows)

    def _above(self, price: float, step: int) -> float:
        """A round amount of money over a price."""
        return float(math.ceil(price * self.rng.uniform(*SLACK_OF_BUDGET) / step) * step)


# ---- live services

WAYS = ("flight_search", "train_search")
STAYS, PLACES, ROUTES = "hotel_search", "poi_search", "route_planning"
MOST_DAYS = 366  # of one range


def possible_with(tools: frozenset[str]) -> list[Combination]:
    """The combinations of intents that these tools can answer. Raises UserError where they know no
    way at all."""
    if not tools.intersection(WAYS):
        raise UserError(
            f"Requests need {' or '.join(WAYS)}, found {', '.join(sorted(tools)) or 'no tool'}."
        )
    unknown = set() if {PLACES, ROUTES} <= tools else {"hotel_near", "visit"}
    return [
        each
        for each in intents.enumerate_combinations()
        if (STAYS in tools or each.shape == "one_way") and unknown.isdisjoint(each.wishes)
    ]


def named_places(cities: str, days: str) -> RequestScope:
    """ "London, Paris" and "2026-06-26..2026-06-30, 2026-07-04". Raises UserError."""
    names = dict.fromkeys(" ".join(name.split()) for name in cities.split(",") if name.strip())
    if len(names) < 2:
        raise UserError(
            f"Requests go from one city to another: found {', '.join(names) or 'none'} in --cities,"
            " expected at least two."
        )
    dates = sorted({day for part in days.split(",") for day in _days(part)})
    return RequestScope(tuple(names), tuple(dates))


def _days(part: str) -> list[str]:
    begin, dots, end = (text.strip() for text in part.partition(".."))
    try:
        first, last = map(Date.fromisoformat, (begin, end if dots else begin))
        count = (last - first).days + 1
    except ValueError:
        count = 0
    if not 0 < count <= MOST_DAYS:
        raise UserError(
            f"--days: '{part.strip()}' is no day like 2026-06-26 and no range like"
            f" 2026-06-26..2026-06-30 of at most {MOST_DAYS} days."
        )
    return [days_after(str(first), number) for number in range(count)]

"""The atomic intents of a traveller's request, when a recommendation meets them, and the proof from
tool answers that a request can be met (DeepTravel, Appendix A.3.1; rows D8, B3).

Every request says where from, where to, on which day and for how many. Its shape says what an
answer needs besides: a way back, nights, both or neither. Wishes are the ten intents that make the
difference between the two halves of row D12.

The proof looks at what the tools say and at nothing else, as an agent would. Of all that meets the
wishes it takes the cheapest; a request whose total budget does not reach for that has no proof.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date as Date
from functools import partial
from itertools import combinations
from typing import Any, Literal, NamedTuple, get_args

from tripwright.domains.deeptravel.request import Transport, TravelRequest, Wish
from tripwright.domains.deeptravel.sandbox.provider import AnswerSource
from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    HotelOffer,
    Money,
    PointOfInterest,
    Record,
    RouteLeg,
    TrainOffer,
    values_of,
)
from tripwright.domains.deeptravel.tools.live_tools import answer_of
from tripwright.errors import UserError
from tripwright.llm.http import ProviderFault
from tripwright.tools.answer import ToolError

Offer = FlightOffer | TrainOffer
Shape = Literal["one_way", "one_way_stay", "round_trip"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
WISHES: tuple[Wish, ...] = get_args(Wish)
# of a way: the earliest departure, the latest arrival
OF_WAY_THERE: tuple[Wish, Wish] = ("depart_after", "arrive_by")
OF_WAY_BACK: tuple[Wish, Wish] = ("return_after", "return_by")
OF_STAY: tuple[Wish, ...] = ("nightly_budget", "hotel", "hotel_near")
MOST_WISHES = 4  # of one request
NEAR_KM = 3.0  # by the shortest way that the route planner knows
MOST_FAULTS = 5  # in a row, each after the sandbox's own attempts: then a service counts as down


class Combination(NamedTuple):
    """Which intents a request states besides origin, destination, day and party."""

    shape: Shape
    wishes: tuple[Wish, ...]


def enumerate_combinations() -> list[Combination]:
    """Every shape with every set of up to MOST_WISHES wishes that make sense with it; a hotel by
    name needs no place to be near."""
    return [
        Combination(shape, wishes)
        for shape in SHAPES
        for count in range(MOST_WISHES + 1)
        for wishes in combinations(WISHES, count)
        if _sensible(shape, frozenset(wishes))
    ]


def _sensible(shape: Shape, wishes: frozenset[Wish]) -> bool:
    if shape != "round_trip" and wishes.intersection(OF_WAY_BACK):
        return False
    if shape == "one_way" and wishes.intersection(OF_STAY):
        return False
    return not wishes.issuperset(("hotel", "hotel_near"))


def shape_of(request: TravelRequest) -> Shape:
    if request.return_date is not None:
        return "round_trip"
    return "one_way_stay" if nights_of(request) else "one_way"


def nights_of(request: TravelRequest) -> int:
    """How many nights are to be spent there: 0 where the request asks for no stay."""
    if request.nights is not None:
        return request.nights
    if request.return_date is None:
        return 0
    return (Date.fromisoformat(request.return_date) - Date.fromisoformat(request.depart_date)).days


def checkout_of(request: TravelRequest) -> str:
    return days_after(request.depart_date, nights_of(request))


def days_after(day: str, count: int) -> str:
    """Raises ValueError where that is no day any more."""
    return Date.fromordinal(Date.fromisoformat(day).toordinal() + count).isoformat()


def way_asked(request: TravelRequest, back: bool) -> dict[str, Any]:
    """The arguments of a search for the way there, or back."""
    begin, end = (request.origin, request.destination)[:: -1 if back else 1]
    day = request.return_date if back else request.depart_date
    return {"depart_city_name": begin, "arrival_city_name": end, "depart_date": day}


def stay_asked(request: TravelRequest) -> dict[str, Any]:
    days = {"checkin_date": request.depart_date, "checkout_date": checkout_of(request)}
    return {"city_name": request.destination, **days}


def limits_of(request: TravelRequest, back: bool) -> tuple[str | None, str | None]:
    """The earliest departure and the latest arrival that are wished for."""
    if back:
        return request.return_after, request.return_by
    return request.depart_after, request.arrive_by


def unmet_way(request: TravelRequest, offer: Offer, back: bool = False) -> list[Wish]:
    """Which of its wishes this journey there, or back, does not meet. Times are held against the
    day of departure: who has to be there by three in the afternoon is not there in time on the next
    day."""
    after, by = OF_WAY_BACK if back else OF_WAY_THERE
    earliest, latest = limits_of(request, back)
    day = request.return_date if back else request.depart_date
    unmet: list[Wish] = []
    if request.transport not in (None, means_of(offer)):
        unmet.append("transport")
    if earliest and offer.departs_at < f"{day}T{earliest}":
        unmet.append(after)
    if latest and offer.arrives_at > f"{day}T{latest}":
        unmet.append(by)
    return unmet


def unmet_stay(
    request: TravelRequest, offer: HotelOffer, km_away: float | None = None
) -> list[Wish]:
    """`km_away`: from the place it is to be near, None where nobody has looked it up. A price that
    is not known, or in another currency than the budget's, meets no budget."""
    unmet: list[Wish] = []
    nights = max(1, nights_of(request))
    if request.nightly_budget is not None and (
        offer.price is None
        or offer.price.currency != request.currency
        or offer.price.amount / nights > request.nightly_budget
    ):
        unmet.append("nightly_budget")
    if request.hotel and not is_called(offer.name, request.hotel):
        unmet.append("hotel")
    if request.hotel_near and (km_away is None or km_away > NEAR_KM):
        unmet.append("hotel_near")
    return unmet


def rooms_of(request: TravelRequest, offer: HotelOffer | None = None) -> int:
    """Two to a room; of an entire home, where the offer says that it is one, there is one."""
    is_home = offer is not None and offer.room.casefold().startswith("entire ")
    return 1 if is_home else -(-request.party_size // 2)


def holds(offer: HotelOffer, request: TravelRequest, rooms: int | None = None) -> bool:
    """Whether the party fits into its rooms, as far as the hotel says for how many one is."""
    rooms = rooms or rooms_of(request)
    return offer.guests is None or offer.guests * rooms >= request.party_size


def is_called(name: str, words: str) -> bool:
    """Whether a hotel has the name asked for, or is of that chain: its words stand in the hotel's
    name one after the other."""
    return f" {' '.join(words.casefold().split())} " in f" {' '.join(name.casefold().split())} "


def total_of(
    request: TravelRequest,
    ways: Iterable[Offer],
    stay: HotelOffer | None,
    rooms: int | None = None,
) -> Money | None:
    """Ways for the whole party and the rooms it needs, for the whole stay; None where a price is
    not known, or where prices are in several currencies, which nobody here can add up."""
    fares = [way.price for way in ways]
    free = Money(0.0, fares[0].currency if fares and fares[0] is not None else "")
    room = stay.price if stay is not None else free
    prices = [price for price in (*fares, room) if price is not None]
    if len(prices) <= len(fares) or len({price.currency for price in prices}) > 1:
        return None
    *ways_prices, stay_price = prices
    amount = (
        request.party_size * sum(price.amount for price in ways_prices)
        + (rooms or rooms_of(request)) * stay_price.amount
    )
    return Money(round(amount, 2), stay_price.currency)


def is_within(request: TravelRequest, total: Money | None) -> bool:
    """Whether a trip that costs so much keeps to the total budget."""
    return request.total_budget is None or (
        total is not None
        and total.currency == request.currency
        and total.amount <= request.total_budget
    )


def days_later(offer: Offer) -> int:
    """By the calendar, from the departure to the arrival."""
    departs, arrives = (Date.fromisoformat(at[:10]) for at in (offer.departs_at, offer.arrives_at))
    return (arrives - departs).days


def is_odd(offer: Offer) -> bool:
    """Whoever arrives on another day misses a night that was planned for; a clock that has gone
    back on the way cannot be told from that where only clocks are shown."""
    return offer.arrives_at[:10] != offer.departs_at[:10] or offer.arrives_at <= offer.departs_at


def follows(outbound: Offer, back: Offer) -> bool:
    return outbound.arrives_at <= back.departs_at


def request_key(request: TravelRequest) -> tuple[object, ...]:
    """Two requests are the same if they ask for the same trip with the same wishes, whatever the
    words and amounts of money."""
    values = request.model_dump(exclude={"id", "query", "level", "total_budget", "nightly_budget"})
    return (*values.values(), request.total_budget is None, request.nightly_budget is None)


# ---- proof


@dataclass(frozen=True)
class Witness:
    """One row that the proof rests on: which call, which of its rows (from 1), and what it says."""

    part: str  # outbound, return, stay, near, visit
    tool: str
    arguments: dict[str, Any]
    row: int
    said: dict[str, Any]


@dataclass(frozen=True)
class Proof:
    """`cheapest` is the total of the rows, ways and rooms for the party; `choices` of each part:
    how many rows meet its wishes, of how many there are."""

    witnesses: tuple[Witness, ...]
    cheapest: float | None
    choices: dict[str, tuple[int, int]] = field(default_factory=dict)

    @property
    def scarcity_bits(self) -> float:
        """How much the wishes leave out: 1 for each halving of a part's choice."""
        return sum(math.log2(rows / meet) for meet, rows in self.choices.values())


@dataclass(frozen=True)
class AnswerRow:
    """A record, and where it was answered."""

    tool: str
    arguments: dict[str, Any]
    number: int
    record: Any

    def witness(self, part: str) -> Witness:
        said = {name: value for name, value in values_of(self.record).items() if value != ""}
        return Witness(part, self.tool, self.arguments, self.number, said)


class NotAnswered(Exception):
    """A service did not answer now."""


class TripSurvey:
    """What the tools of a source say about a trip. Answers are remembered: drawing and proving ask
    the same. `transfers` 1: trains with a change, too. `by_name`: a hotel that is asked for is
    searched by its name. `homes`: which of them a proof for three or more may rest on: none, those
    that hold the party, or each as many times as it needs rooms.

    A tool that nobody answers, a refusal and a search that is not recorded find nothing. What is
    found is data, as an agent will be shown it: no name can close a tag."""

    def __init__(
        self,
        source: AnswerSource,
        transfers: int = 0,
        by_name: bool = False,
        homes: Literal["none", "large", "many"] = "none",
    ):
        self._source, self._transfers = source, transfers
        self._by_name, self._homes = by_name, homes
        self.tools = source.tools
        self._known: dict[tuple[object, ...], list[AnswerRow]] = {}
        self._faults = 0  # in a row
        self.asked = 0  # calls that were answered by the tools, not from memory

    def rows(self, tool: str, **arguments: Any) -> list[AnswerRow]:
        """Raises NotAnswered, and UserError after MOST_FAULTS of these in a row."""
        key = (tool, *arguments.items())
        if key not in self._known:
            if len(self._known) > 20_000:
                self._known.clear()
            records = self._records(tool, arguments)
            self.asked += 1
            self._known[key] = [
                AnswerRow(tool, arguments, number, record)
                for number, record in enumerate(records, start=1)
            ]
        return self._known[key]

    def _records(self, tool: str, arguments: Mapping[str, Any]) -> tuple[Record, ...]:
        if tool not in self.tools:
            return ()
        try:
            records = answer_of(self._source, tool, arguments, tool).records
        except ToolError:
            records = ()
        except ProviderFault as fault:
            self._faults += 1
            if self._faults >= MOST_FAULTS:
                raise UserError(
                    f"{tool} was not answered {MOST_FAULTS} times in a row, the last time because:"
                    f" {fault} With --store, the same command goes on from what was answered."
                ) from None
            raise NotAnswered(f"{tool} was not answered") from None
        self._faults = 0
        return records

    def every_way(self, request: TravelRequest, back: bool = False) -> list[AnswerRow]:
        """Flights, then trains."""
        asked = way_asked(request, back)
        return self.rows("flight_search", **asked, depart_poi="", arrival_poi="") + self.rows(
            "train_search", **asked, is_transfer=self._transfers
        )

    def ways(self, request: TravelRequest, back: bool = False) -> list[AnswerRow]:
        """Journeys on the day asked for that arrive on it."""
        return [
            row
            for row in self.every_way(request, back)
            if row.arguments["depart_date"] == row.record.departs_at[:10] and not is_odd(row.record)
        ]

    def stays(self, request: TravelRequest) -> list[AnswerRow]:
        name = (request.hotel or "") if self._by_name else ""
        return self.rows("hotel_search", **stay_asked(request), hotel_name=name)

    def takes(self, request: TravelRequest, hotel: HotelOffer) -> bool:
        """Whether the party fits in. Who needs several rooms does not find them in an entire home;
        a large one is a proof only where that is asked for, since an agent who does not see that it
        is one pays for several rooms."""
        rooms = rooms_of(request, hotel)
        if self._homes == "none" and rooms < rooms_of(request):
            return False
        return holds(hotel, request, None if self._homes == "many" else rooms)

    def places(self, query: str, city: str) -> list[AnswerRow]:
        rows = self.rows("poi_search", query=query, city_name=city)
        return [row for row in rows if isinstance(row.record, PointOfInterest)]

    def shortest(self, origin: str, destination: str, city: str) -> AnswerRow | None:
        """The shortest way between two places of a city."""
        rows = self.rows(
            "route_planning", origin_name=origin, destination_name=destination, city_name=city
        )
        ways = [row for row in rows if isinstance(row.record, RouteLeg)]
        return min(ways, key=lambda row: (row.record.distance_km, row.number), default=None)

    def near(self, request: TravelRequest, hotel: HotelOffer) -> AnswerRow | None:
        """The way from a hotel to the place that it is to be near."""
        place = request.hotel_near
        return self.shortest(hotel.name, place, request.destination) if place else None

    def unmet_stay(self, request: TravelRequest, hotel: HotelOffer) -> list[Wish]:
        way = self.near(request, hotel)
        return unmet_stay(request, hotel, way.record.distance_km if way else None)


class _Unmet(Exception):
    """What stands in the way of a proof: a wish, or a part."""


def prove(request: TravelRequest, survey: TripSurvey) -> Proof | str:
    """The proof, or what stands in the way: a wish that nothing meets, or a part for which there is
    nothing at all."""
    choices: dict[str, tuple[int, int]] = {}
    try:
        unmet = partial(unmet_way, request)
        outbound = _cheapest(survey.ways(request), unmet, "outbound", choices)
        rows, rides, stay = [("outbound", outbound)], [outbound.record], None
        if request.return_date is not None:
            ways = survey.ways(request, back=True)
            back = [row for row in ways if follows(outbound.record, row.record)]
            ride = _cheapest(back, partial(unmet, back=True), "return", choices)
            rows.append(("return", ride))
            rides.append(ride.record)
        if nights_of(request):
            rooms = [row for row in survey.stays(request) if survey.takes(request, row.record)]
            room = _cheapest(rooms, partial(survey.unmet_stay, request), "stay", choices)
            stay = room.record
            rows.append(("stay", room))
            if way := survey.near(request, stay):
                rows.append(("near", way))
        start = stay.name if stay else arrival_of(outbound.record)
        for place in request.visit:
            way = survey.shortest(start, place, request.destination)
            if way is None:
                return "visit"
            rows.append(("visit", way))
    except _Unmet as why:
        return str(why)
    total = total_of(request, rides, stay)
    if not is_within(request, total):
        return "total_budget"
    witnesses = tuple(row.witness(part) for part, row in rows)
    return Proof(witnesses, total.amount if total is not None else None, choices)


def _cheapest(
    rows: list[AnswerRow],
    unmet: Callable[[Any], list[Wish]],
    part: str,
    choices: dict[str, tuple[int, int]],
) -> AnswerRow:
    """Of those that meet their wishes. Raises _Unmet with what most rows lack."""
    missed = [(row, unmet(row.record)) for row in rows]
    meeting = [row for row, wishes in missed if not wishes]
    if not meeting:
        wishes = Counter(wish for _, wishes in missed for wish in wishes)
        raise _Unmet(wishes.most_common(1)[0][0] if wishes else f"no {part}")
    choices[part] = (len(meeting), len(rows))
    return min(meeting, key=lambda row: (price_of(row.record), row.tool, row.number))


def price_of(offer: Any) -> float:
    """For sorting: what costs nobody knows how much comes last."""
    return math.inf if offer.price is None else float(offer.price.amount)


def means_of(offer: Offer) -> Transport:
    return "flight" if isinstance(offer, FlightOffer) else "train"


def arrival_of(offer: Offer) -> str:
    return offer.arrive_airport if isinstance(offer, FlightOffer) else offer.arrive_station

"""The atomic intents of a traveller's request, enumerated, and when a recommendation meets them
(DeepTravel, Appendix A.3.1; row D8).

Every request says where from, where to, on which day and for how many. Its shape says what an
answer needs besides: a way back, nights, both or neither. Wishes are the ten intents that make the
difference between the two halves of row D12.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date as Date
from itertools import combinations
from typing import Literal, NamedTuple, get_args

from tripwright.domains.deeptravel.request import TravelRequest, Wish
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, Money, TrainOffer

Offer = FlightOffer | TrainOffer
Shape = Literal["one_way", "one_way_stay", "round_trip"]
SHAPES: tuple[Shape, ...] = ("one_way", "one_way_stay", "round_trip")
WISHES: tuple[Wish, ...] = get_args(Wish)
_OF_RETURN: frozenset[Wish] = frozenset(("return_after", "return_by"))
_OF_STAY: frozenset[Wish] = frozenset(("nightly_budget", "hotel", "hotel_near"))
MOST_WISHES = 4  # of one request
NEAR_KM = 3.0  # by the shortest way that the route planner knows


class Combination(NamedTuple):
    """Which intents a request states besides origin, destination, day and party."""

    shape: Shape
    wishes: tuple[Wish, ...]


def enumerate_combinations(most_wishes: int = MOST_WISHES) -> list[Combination]:
    """Every shape with every set of up to so many wishes that make sense with it; a hotel by name
    needs no place to be near."""
    return [
        Combination(shape, wishes)
        for shape in SHAPES
        for count in range(most_wishes + 1)
        for wishes in combinations(WISHES, count)
        if _sensible(shape, frozenset(wishes))
    ]


def _sensible(shape: Shape, wishes: frozenset[Wish]) -> bool:
    if shape != "round_trip" and wishes & _OF_RETURN:
        return False
    if shape == "one_way" and wishes & _OF_STAY:
        return False
    return not wishes.issuperset(("hotel", "hotel_near"))


def shape_of(request: TravelRequest) -> Shape:
    if request.return_date is not None:
        return "round_trip"
    return "one_way_stay" if nights_of(request) else "one_way"


def wishes_of(request: TravelRequest) -> tuple[Wish, ...]:
    return tuple(wish for wish in WISHES if getattr(request, wish))


def combination_of(request: TravelRequest) -> Combination:
    return Combination(shape_of(request), wishes_of(request))


def nights_of(request: TravelRequest) -> int:
    """How many nights are to be spent there: 0 where the request asks for no stay."""
    if request.nights is not None:
        return request.nights
    if request.return_date is None:
        return 0
    return (Date.fromisoformat(request.return_date) - Date.fromisoformat(request.depart_date)).days


def checkout_of(request: TravelRequest) -> str:
    return Date.fromordinal(
        Date.fromisoformat(request.depart_date).toordinal() + nights_of(request)
    ).isoformat()


def unmet_outbound(request: TravelRequest, offer: Offer) -> list[Wish]:
    """Which of its wishes this journey there does not meet. Times are held against the day of
    departure: who has to be there by three in the afternoon is not there in time on the next
    day."""
    day = request.depart_date
    unmet: list[Wish] = ["transport"] if not _right_transport(request, offer) else []
    if request.depart_after and offer.departs_at < f"{day}T{request.depart_after}":
        unmet.append("depart_after")
    if request.arrive_by and offer.arrives_at > f"{day}T{request.arrive_by}":
        unmet.append("arrive_by")
    return unmet


def unmet_return(request: TravelRequest, offer: Offer) -> list[Wish]:
    day = request.return_date
    unmet: list[Wish] = ["transport"] if not _right_transport(request, offer) else []
    if request.return_after and offer.departs_at < f"{day}T{request.return_after}":
        unmet.append("return_after")
    if request.return_by and offer.arrives_at > f"{day}T{request.return_by}":
        unmet.append("return_by")
    return unmet


def unmet_stay(
    request: TravelRequest, offer: HotelOffer, km_away: float | None = None
) -> list[Wish]:
    """`km_away`: from the place it is to be near, None where nobody has looked it up. A price that
    is not known meets no budget."""
    unmet: list[Wish] = []
    nights = max(1, nights_of(request))
    if request.nightly_budget is not None and (
        offer.price is None or offer.price.amount / nights > request.nightly_budget
    ):
        unmet.append("nightly_budget")
    if request.hotel and not is_called(offer.name, request.hotel):
        unmet.append("hotel")
    if request.hotel_near and (km_away is None or km_away > NEAR_KM):
        unmet.append("hotel_near")
    return unmet


def rooms_of(request: TravelRequest) -> int:
    """Two to a room."""
    return -(-request.party_size // 2)


def holds(offer: HotelOffer, request: TravelRequest) -> bool:
    """Whether the party fits into its rooms, as far as the hotel says for how many one is."""
    return offer.guests is None or offer.guests * rooms_of(request) >= request.party_size


def is_called(name: str, words: str) -> bool:
    """Whether a hotel has the name asked for, or is of that chain: its words stand in the hotel's
    name one after the other."""
    return f" {' '.join(words.casefold().split())} " in f" {' '.join(name.casefold().split())} "


def total_price(
    request: TravelRequest, ways: Iterable[Offer], stay: HotelOffer | None
) -> float | None:
    """As `total_of`, without the currency."""
    total = total_of(request, ways, stay)
    return total.amount if total is not None else None


def total_of(
    request: TravelRequest, ways: Iterable[Offer], stay: HotelOffer | None
) -> Money | None:
    """Ways for the whole party and the rooms it needs, for the whole stay; None where a price is
    not known, or where prices are in several currencies, which nobody here can add up."""
    fares = [way.price for way in ways]
    room = (
        stay.price
        if stay is not None
        else Money(0.0, fares[0].currency if fares and fares[0] is not None else "")
    )
    prices = [price for price in (*fares, room) if price is not None]
    if len(prices) <= len(fares) or len({price.currency for price in prices}) > 1:
        return None
    *ways_prices, stay_price = prices
    amount = (
        request.party_size * sum(price.amount for price in ways_prices)
        + rooms_of(request) * stay_price.amount
    )
    return Money(round(amount, 2), stay_price.currency)


def days_later(offer: Offer) -> int:
    """By the calendar, from the departure to the arrival."""
    departs, arrives = (Date.fromisoformat(at[:10]) for at in (offer.departs_at, offer.arrives_at))
    return (arrives - departs).days


def follows(outbound: Offer, back: Offer) -> bool:
    return outbound.arrives_at <= back.departs_at


def _right_transport(request: TravelRequest, offer: Offer) -> bool:
    return request.transport is None or request.transport == (
        "flight" if isinstance(offer, FlightOffer) else "train"
    )


def request_key(request: TravelRequest) -> tuple[object, ...]:
    """Two requests are the same if they ask for the same trip with the same wishes, whatever the
    words and amounts of money."""
    values = request.model_dump(exclude={"id", "query", "level", "total_budget", "nightly_budget"})
    return (*values.values(), request.total_budget is None, request.nightly_budget is None)


def spread(combinations: Sequence[Combination]) -> dict[str, int]:
    """How often each intent is stated, for reports."""
    counts: dict[str, int] = {}
    for combination in combinations:
        for name in (combination.shape, *combination.wishes):
            counts[name] = counts.get(name, 0) + 1
    return counts

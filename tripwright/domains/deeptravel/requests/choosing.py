"""Who would meet a request without reading it: habits, such as taking the cheapest row of every
answer, and the question whether a request is left to one (DeepTravel, Appendix A.3.1; row D8).

A request teaches and measures choosing only where habits fail. They are looked at on the rows
themselves, so that thousands of drafts can be tried in seconds; `baselines.py` plays habits as
episodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import Offer
from tripwright.domains.deeptravel.requests.intents_proof import TripSurvey
from tripwright.domains.deeptravel.tools.answers import HotelOffer

Value = Callable[[Any], float]  # of a row: the one with the least is taken, of equal ones the first


def price(offer: Any) -> float:
    return math.inf if offer.price is None else float(offer.price.amount)


def _clock(moment: str) -> float:
    return 60.0 * int(moment[11:13]) + int(moment[14:16])


OF_WAYS: Mapping[str, Value] = {
    "first": lambda offer: 0.0,
    "cheapest": price,
    "dearest": lambda offer: -price(offer),
    "fastest": lambda offer: offer.minutes,
    "earliest": lambda offer: _clock(offer.departs_at),
    "latest": lambda offer: -_clock(offer.departs_at),
}
OF_STAYS: Mapping[str, Value] = {
    "first": lambda hotel: 0.0,
    "cheapest": price,
    "dearest": lambda hotel: -price(hotel),
    "best rated": lambda hotel: -(hotel.rating or 0.0),
}
# the cheapest of those that keep to the times: half a mind
IN_TIME = "cheapest in time"


class _Ways(NamedTuple):
    """A journey there and, where one is asked for, back; None where they do not meet the
    request."""

    there: Offer
    back: Offer | None


def left_to(request: TravelRequest, survey: TripSurvey) -> frozenset[tuple[str, str]]:
    """The habits, one for ways and one for stays, whose rows would meet the request."""
    journeys = {
        name: ways for name in (*OF_WAYS, IN_TIME) if (ways := _ways(name, request, survey))
    }
    if not journeys:
        return frozenset()
    if not intents.nights_of(request):
        return frozenset(
            (name, stay)
            for name, ways in journeys.items()
            for stay in OF_STAYS
            if _affordable(request, ways, None)
        )
    hotels = [row.record for row in survey.stays(request)]
    stays = {name: min(hotels, key=value) for name, value in OF_STAYS.items()} if hotels else {}
    return frozenset(
        (way, stay)
        for (stay, hotel), (way, ways) in product(stays.items(), journeys.items())
        if _bed(request, survey, hotel)
        and intents.days_later(ways.there) == 0  # later there is no bed for the first night
        and _affordable(request, ways, hotel)
    )


def _ways(name: str, request: TravelRequest, survey: TripSurvey) -> _Ways | None:
    there = _taken(
        name,
        [row.record for row in survey.every_way(*_ends(request), request.depart_date)],
        lambda offer: intents.unmet_outbound(request, offer),
    )
    if there is None or request.return_date is None:
        return None if there is None else _Ways(there, None)
    back = _taken(
        name,
        [row.record for row in survey.every_way(*_ends(request)[::-1], request.return_date)],
        lambda offer: intents.unmet_return(request, offer),
    )
    return _Ways(there, back) if back is not None and intents.follows(there, back) else None


def _ends(request: TravelRequest) -> tuple[str, str]:
    return request.origin, request.destination


def _taken(
    name: str, offers: Sequence[Offer], unmet: Callable[[Offer], Sequence[str]]
) -> Offer | None:
    """What the habit takes, if that is what was asked for."""
    if name == IN_TIME:
        offers = [offer for offer in offers if not set(unmet(offer)) - {"transport"}]
    offer = min(offers, key=OF_WAYS.get(name, price), default=None)
    return None if offer is None or unmet(offer) else offer


def _bed(request: TravelRequest, survey: TripSurvey, hotel: HotelOffer) -> bool:
    km = None
    if request.hotel_near and not intents.unmet_stay(request, hotel, 0.0):
        way = survey.shortest(hotel.name, request.hotel_near, request.destination)
        km = way.record.distance_km if way else None
    return intents.holds(hotel, request) and not intents.unmet_stay(request, hotel, km)


def _affordable(request: TravelRequest, ways: _Ways, hotel: HotelOffer | None) -> bool:
    if request.total_budget is None:
        return True
    total = intents.total_of(request, [way for way in ways if way is not None], hotel)
    return total is not None and total.amount <= request.total_budget

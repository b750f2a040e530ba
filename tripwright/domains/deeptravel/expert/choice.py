"""What the expert recommends: of the rows it was shown, those that meet the wishes, the cheapest
first; else the closest."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from tripwright.domains.deeptravel.expert.observations import SeenRow
from tripwright.domains.deeptravel.request import TravelRequest, Wish
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, TrainOffer


@dataclass(frozen=True)
class Choice:
    """`rows`: at most two, the better one first. `unmet`: the wishes that the first one does not
    meet, because nothing does. `cheapest`: whether nothing that was found for the part, and meets
    the times that were wished for, costs less than the first."""

    rows: tuple[SeenRow, ...] = ()
    unmet: tuple[Wish, ...] = ()
    cheapest: bool = False
    odd: bool = False  # the first is what one would rather not take, and there is nothing else

    @property
    def first(self) -> SeenRow | None:
        return self.rows[0] if self.rows else None

    @property
    def meets(self) -> bool:
        return bool(self.rows) and not self.unmet and not self.odd


def choose(
    rows: Iterable[SeenRow], unmet: Callable[[Any], Sequence[Wish]], odd: Callable[[SeenRow], bool]
) -> Choice:
    """`odd` rows come after all others: they arrive on another day than the trip is planned for, or
    are too small for the party."""
    verdicts = [(row, tuple(unmet(row.record))) for row in rows]
    ranked = sorted(verdicts, key=lambda entry: (len(entry[1]), odd(entry[0]), *_rank(entry[0])))
    if not ranked:
        return Choice()
    first, missed = ranked[0]
    others = [
        row
        for row, also in ranked[1:]
        if also == missed and _is_another(row, first) and odd(row) == odd(first)
    ]
    rivals = [row for row, also in verdicts if isinstance(row.record, HotelOffer) or not also]
    cheapest = math.isfinite(_price(first)) and all(_price(first) <= _price(row) for row in rivals)
    return Choice((first, *others[:1]), missed, cheapest, odd(first))


def choose_way(
    request: TravelRequest, rows: Iterable[SeenRow], back: bool, after: Any = None
) -> Choice:
    """`after` is the journey there, which the way back cannot begin before the end of."""
    offers = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
    if after is not None:
        offers = [row for row in offers if intents.follows(after, row.record)]
    unmet = intents.unmet_return if back else intents.unmet_outbound
    return choose(offers, lambda record: unmet(request, record), lambda row: is_odd(row.record))


def choose_stay(
    request: TravelRequest, rows: Iterable[SeenRow], km_away: Callable[[HotelOffer], float | None]
) -> Choice:
    """Rooms that are too small for the party only where nothing else was found. Where a hotel is to
    be near a place, one of those from which the way was looked up; if none of these is near, the
    nearest."""
    offers = hotels = [row for row in rows if isinstance(row.record, HotelOffer)]
    far = {row: km for row in hotels if (km := km_away(row.record)) is not None}
    if far and request.hotel_near:
        near = [row for row, km in far.items() if km <= intents.NEAR_KM]
        hotels = near or [min(far, key=lambda row: far[row])]
    fitting = {row for row in hotels if intents.holds(row.record, request)} or set(hotels)
    choice = choose(
        hotels,
        lambda record: intents.unmet_stay(request, record, km_away(record)),
        lambda row: row not in fitting,
    )
    price = _price(choice.rows[0]) if choice.rows else 0.0
    return replace(choice, cheapest=choice.cheapest and all(price <= _price(row) for row in offers))


def within_budget(
    request: TravelRequest, ways: Sequence[Choice], stay: Choice
) -> tuple[list[Choice], Choice]:
    """Without those second choices that, taken together, would go beyond the total budget."""
    rest = request.total_budget
    total = total_of(request, ways, stay)
    if rest is None or total is None:
        return list(ways), stay
    rest -= total
    choices = []
    for choice, times in chain(
        ((way, request.party_size) for way in ways), ((stay, intents.rooms_of(request)),)
    ):
        if len(choice.rows) > 1:
            more = times * (_price(choice.rows[1]) - _price(choice.rows[0]))
            if more > max(rest, 0):
                choice = replace(choice, rows=choice.rows[:1])
            else:
                rest -= max(more, 0)
        choices.append(choice)
    return choices[:-1], choices[-1]


def total_of(request: TravelRequest, ways: Iterable[Choice], stay: Choice) -> float | None:
    """Of the first choices; None where a part has none or a price is not known."""
    firsts = [way.first for way in ways]
    if any(first is None for first in firsts):
        return None
    rides = [first.record for first in firsts if first]
    total = intents.total_of(request, rides, stay.first.record if stay.first else None)
    return total.amount if total is not None else None


def _rank(row: SeenRow) -> tuple[float, float, str]:
    """The cheapest first; of equal prices the shorter journey, the better rated hotel."""
    record = row.record
    also = -(record.rating or 0) if isinstance(record, HotelOffer) else record.minutes
    return _price(row), also, getattr(record, "departs_at", "")


def _price(row: SeenRow) -> float:
    return math.inf if row.record.price is None else row.record.price.amount


def is_odd(offer: FlightOffer | TrainOffer) -> bool:
    """Who arrives on another day misses a night that was planned for; a clock that has gone back on
    the way is confusing."""
    return offer.arrives_at[:10] != offer.departs_at[:10] or offer.arrives_at <= offer.departs_at


def _is_another(row: SeenRow, first: SeenRow) -> bool:
    """Whether it helps where the first is sold out."""
    name = "name" if isinstance(row.record, HotelOffer) else "number"
    return bool(getattr(row.record, name) != getattr(first.record, name))

"""What the expert knows and what it recommends: of the rows it was shown, those that meet the
wishes, the cheapest first; else the closest.

What a compact row leaves out is completed from the call itself: the day, the cities, the names that
were asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import date as Date
from datetime import timedelta
from functools import partial
from typing import Any

from tripwright.domains.deeptravel.request import TravelRequest, Wish
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import (
    OF_THE_CALL,
    RECORDS,
    FlightOffer,
    HotelOffer,
    Money,
    PointOfInterest,
    Record,
    RouteLeg,
    TrainOffer,
)
from tripwright.transcript import ToolCall
from tripwright.world.geography import Position, great_circle_km


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
        if also == missed and row.name != first.name and odd(row) == odd(first)
    ]
    rivals = [row for row, also in verdicts if isinstance(row.record, HotelOffer) or not also]
    cheapest = math.isfinite(first.cost) and all(first.cost <= row.cost for row in rivals)
    return Choice((first, *others[:1]), missed, cheapest, odd(first))


def choose_way(
    request: TravelRequest, rows: Iterable[SeenRow], back: bool, after: Any = None
) -> Choice:
    """`after` is the journey there, which the way back cannot begin before the end of."""
    offers = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
    if after is not None:
        offers = [row for row in offers if intents.follows(after, row.record)]
    unmet = partial(intents.unmet_way, request, back=back)
    return choose(offers, unmet, lambda row: intents.is_odd(row.record))


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
    fitting = {row for row in hotels if sleeps(row.record, request)} or set(hotels)
    choice = choose(
        hotels,
        lambda record: intents.unmet_stay(request, record, km_away(record)),
        lambda row: row not in fitting,
    )
    cheapest = choice.cheapest and all(choice.rows[0].cost <= row.cost for row in offers)
    return replace(choice, cheapest=cheapest)


def sleeps(offer: HotelOffer, request: TravelRequest) -> bool:
    """Whether it holds the party, for all that is seen of its rooms."""
    return intents.holds(offer, request, intents.rooms_of(request, offer))


def _rank(row: SeenRow) -> tuple[float, float, str]:
    """The cheapest first; of equal prices the shorter journey, the better rated hotel."""
    record = row.record
    also = -(record.rating or 0) if isinstance(record, HotelOffer) else record.minutes
    return row.cost, also, getattr(record, "departs_at", "")


@dataclass(frozen=True)
class SeenRow:
    """Calls and rows count from 1."""

    call: int
    row: int
    record: Any

    @property
    def name(self) -> str:
        """Of an offer."""
        return str(self.record.name if isinstance(self.record, HotelOffer) else self.record.number)

    @property
    def cost(self) -> float:
        """Of an offer; infinite where nobody says it."""
        return intents.price_of(self.record)


def read_answer(call: ToolCall, number: int, currency: str) -> tuple[SeenRow, ...]:
    """The rows that a call showed. `number` counts calls from 1. `currency` is that of amounts
    which are shown without one. What has no time that can be read is no row."""
    if call.rows is None:
        return ()
    rows = []
    for row, values in enumerate(call.rows.records(), start=call.rows.first):
        known = {name: value for name, value in values.items() if value is not None and value != ""}
        record = _record(known, call, currency)
        if record is not None:
            rows.append(SeenRow(number, row, record))
    return tuple(rows)


def _record(values: dict[str, Any], call: ToolCall, currency: str) -> Record | None:
    # ways to an airport stand among its flights
    kind: type[Any] | None = RouteLeg if "mode" in values else RECORDS.get(call.name)
    if kind is None:
        return None
    said = call.arguments
    stated = {name: said[argument] for name, argument in OF_THE_CALL.items() if argument in said}
    stated |= values
    if "price" in values:
        stated["price"] = Money(float(values["price"]), values.get("currency", currency))
    attributes = {}
    for column in fields(kind):
        if column.name in stated:
            attributes[column.name] = stated[column.name]
        elif column.default is MISSING:
            attributes[column.name] = 0 if column.type in ("int", "float") else ""
    if "departs_at" in attributes and not _with_day(attributes, said.get("depart_date")):
        return None
    record: Record = kind(**attributes)
    return record


def _with_day(values: dict[str, Any], day: Any) -> bool:
    """Makes moments of clock times."""
    departs, arrives = values["departs_at"], values["arrives_at"]
    clocks = all(re.fullmatch(r"\d{2}:\d{2}", clock) for clock in (departs, arrives))
    if clocks and isinstance(day, str):
        # an arrival that is earlier by the clock is on the next day, as the compact face has it
        end = Date.fromisoformat(day) + timedelta(days=arrives < departs)
        values |= {"departs_at": f"{day}T{departs}", "arrives_at": f"{end}T{arrives}"}
    moments = (values["departs_at"], values["arrives_at"])
    return all(re.match(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}", moment) for moment in moments)


WAY_PER_STRAIGHT = 1.3  # streets are longer than the crow's way


def by_promise(
    request: TravelRequest, rows: Sequence[SeenRow], place: PointOfInterest | None
) -> list[SeenRow]:
    """Hotels that meet the other wishes. Where positions are known: those within reach, the
    cheapest first, then the others by distance."""
    hotels = [row for row in rows if isinstance(row.record, HotelOffer)]
    fitting = [row for row in hotels if sleeps(row.record, request)] or hotels
    meeting = [row for row in fitting if not intents.unmet_stay(request, row.record, 0.0)]

    def rank(row: SeenRow) -> tuple[float, float]:
        km = _straight_km(row.record, place)
        is_near = km is None or km * WAY_PER_STRAIGHT <= intents.NEAR_KM
        return (0.0 if is_near else km or 0.0), row.cost

    return sorted(meeting or fitting, key=rank)


def shortest(rows: Iterable[SeenRow]) -> SeenRow | None:
    """The shortest way; of equally long ones the fastest."""
    ways = [row for row in rows if isinstance(row.record, RouteLeg)]
    return min(ways, key=lambda row: (row.record.distance_km, row.record.minutes), default=None)


def _straight_km(hotel: HotelOffer, place: PointOfInterest | None) -> float | None:
    if place is None or None in (hotel.latitude, hotel.longitude, place.latitude, place.longitude):
        return None
    here = Position(hotel.latitude or 0.0, hotel.longitude or 0.0)
    return great_circle_km(here, Position(place.latitude or 0.0, place.longitude or 0.0))


@dataclass
class Findings:
    """`near`: the way from a hotel to the place it is to be near. `visits`: the way to a place.
    `places`: where a place lies. `total`: what the first choices cost the party, None where that is
    not known."""

    request: TravelRequest
    there: Choice = Choice()
    back: Choice = Choice()
    stay: Choice = Choice()
    near: dict[str, SeenRow] = field(default_factory=dict)
    visits: dict[str, SeenRow] = field(default_factory=dict)
    places: dict[str, SeenRow] = field(default_factory=dict)
    total: Money | None = None

    @property
    def over_budget(self) -> bool:
        """So far as the total is known; nothing is converted."""
        return self.total is not None and not intents.is_within(self.request, self.total)

    def km_away(self, hotel: HotelOffer) -> float | None:
        """From the place it is to be near; None where nobody has looked."""
        way = self.near.get(hotel.name)
        return way.record.distance_km if way else None

    def add_up(self) -> None:
        """Finds the total, and drops those second choices that, taken together, would go beyond the
        budget for it."""
        request = self.request
        rides = [self.there.first, *([self.back.first] if request.return_date else [])]
        stay = self.stay.first
        known = [ride.record for ride in rides if ride is not None]
        rooms = self._times(stay) if stay else None
        total = intents.total_of(request, known, stay.record if stay else None, rooms)
        if total is None or len(known) < len(rides):
            return
        if stay is not None or not intents.nights_of(request):
            self.total = total
        if request.total_budget is None:
            return
        rest = request.total_budget - total.amount
        for part in ("there", "back", "stay"):
            choice: Choice = getattr(self, part)
            if len(choice.rows) > 1:
                first, second = (self._times(row) * row.cost for row in choice.rows)
                more = second - first
                if more > max(rest, 0):
                    setattr(self, part, replace(choice, rows=choice.rows[:1]))
                else:
                    rest -= max(more, 0)

    def _times(self, row: SeenRow) -> int:
        """How many rooms, or fares, the party pays."""
        is_stay = isinstance(row.record, HotelOffer)
        return intents.rooms_of(self.request, row.record) if is_stay else self.request.party_size

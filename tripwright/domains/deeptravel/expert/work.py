"""The expert's work, shown: how a row is chosen, row by row, as far as the first thing that decides
(docs/log.md, 2026-11-22: a model that has to choose in one forward pass learns to choose badly; one
that copies what decides, beside what is asked for, compares neighbours).

    5 people, 3 rooms; 0 2022-03-08, 1 2022-03-09, 2 2022-03-10 back; flight; from 14:30.
    From 14:30, by 20:00: A 05:21 14:30 early; B 14:50 14:30 21:40 20:00 late; C 15:10 14:30
    17:02 20:00 90 ok; D 16:00 14:30 18:05 20:00 120 90 dear. Take C F 124 2022-03-08 15:10 17:02
    90 1 3.
    2 a room, up to 105 a night: 105 210: A 96 210 1 small; B 210 210 2 ok. Take B Riverside Inn
    210 2022-03-08 2022-03-10 3 2 2.
    5.2 km, up to 3: far.

What is asked for comes first, with the days counted on. Then each row by its letter, with what
decides and what it is held against side by side: when it leaves or arrives, its price and the best
so far, for how many a room is. A row that costs no less than the one found is dear. What is taken
is said in the order in which the answer says it, with its call and its row, so that the answer is
copied from there. A short walk looks at the row that it takes, and at no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date as Date
from datetime import timedelta
from typing import Any

from tripwright.agent.dialect import ShownWork
from tripwright.domains.deeptravel.cards import amount
from tripwright.domains.deeptravel.expert.choice import Choice, is_odd
from tripwright.domains.deeptravel.expert.observations import SeenRow
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, TrainOffer
from tripwright.tools.face import letters

OK, DEAR = "ok", "dear"
# of a row: what decides, and what becomes of it
Look = Callable[[Any], tuple[list[str], str]]


def asked_line(request: TravelRequest) -> str:
    """What was understood of the request: the party and its rooms, the days, the wishes."""
    first, nights = Date.fromisoformat(request.depart_date), intents.nights_of(request)
    days = ", ".join(f"{n} {first + timedelta(days=n)}" for n in range(nights + 1))
    wishes = [
        request.transport,
        request.depart_after and f"from {request.depart_after}",
        request.arrive_by and f"by {request.arrive_by}",
        request.return_after and f"back from {request.return_after}",
        request.return_by and f"back by {request.return_by}",
        request.total_budget and f"total {amount(request.total_budget)}",
        request.nightly_budget and f"night {amount(request.nightly_budget)}",
        request.hotel,
        request.hotel_near and f"near {request.hotel_near}",
        *(f"see {place}" for place in request.visit),
    ]
    party = f"{request.party_size} people, {intents.rooms_of(request)} rooms"
    way = "back" if request.return_date else "one way"
    return "; ".join([party, f"{days} {way}", *(wish for wish in wishes if wish)]) + "."


def way_walk(
    request: TravelRequest,
    rows: Sequence[SeenRow],
    choice: Choice,
    back: bool,
    after: Any,
    shown: ShownWork,
) -> str:
    """Along the rows of one search; `choice` is of all searches so far, `after` the journey there
    that the way back cannot begin before the end of."""
    offers = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
    earliest, latest = (
        (request.return_after, request.return_by)
        if back
        else (request.depart_after, request.arrive_by)
    )
    asked = [
        *([f"from {earliest}"] if earliest else ()),
        *([f"by {latest}"] if latest else ()),
    ]

    def look(offer: FlightOffer | TrainOffer) -> tuple[list[str], str]:
        departs, arrives = offer.departs_at[11:16], offer.arrives_at[11:16]
        if after is not None and not intents.follows(after, offer):
            return [departs], "too soon"
        said = [departs, earliest] if earliest else []
        if earliest and departs < earliest:
            return said, "early"
        if is_odd(offer):
            return [*said, arrives], "another day"
        if latest:
            said += [arrives, latest]
            if arrives > latest:
                return said, "late"
        return [*said, _price(offer)], OK

    return _walk(", ".join(asked) or "any time", offers, look, choice, _ride_taken, shown)


def stay_walk(
    request: TravelRequest, rows: Sequence[SeenRow], choice: Choice, shown: ShownWork
) -> str:
    hotels = [row for row in rows if isinstance(row.record, HotelOffer)]
    limit, nights = request.nightly_budget, max(1, intents.nights_of(request))
    rooms = intents.rooms_of(request)
    most = amount(round(limit * nights, 2)) if limit is not None else ""
    asked = [f"{-(-request.party_size // rooms)} a room"]
    if limit is not None:
        sums = " ".join(amount(round(limit * n, 2)) for n in range(1, nights + 1))
        asked.append(f"up to {sums}")

    def look(hotel: HotelOffer) -> tuple[list[str], str]:
        said = [_price(hotel), *([most] if most else ())]
        if limit is not None and (hotel.price is None or hotel.price.amount / nights > limit):
            return said, "over"
        if hotel.guests is None:
            return said, OK
        said.append(str(hotel.guests))
        return said, OK if intents.holds(hotel, request) else "small"

    def taken(row: SeenRow) -> str:
        hotel: HotelOffer = row.record
        days = f"{hotel.checkin_date} {hotel.checkout_date}"
        return f"{hotel.name} {_price(hotel)} {days} {rooms} {row.call} {row.row}"

    return _walk(", ".join(asked), hotels, look, choice, taken, shown)


def near_step(way: SeenRow) -> str:
    km = way.record.distance_km
    near = "near" if km <= intents.NEAR_KM else "far"
    return f"{amount(km)} km, up to {amount(intents.NEAR_KM)}: {near} {way.call} {way.row}."


def way_step(way: SeenRow) -> str:
    return f"{way.record.mode} {amount(way.record.minutes)} {way.call} {way.row}."


def _ride_taken(row: SeenRow) -> str:
    ride = row.record
    clocks = f"{ride.departs_at[:10]} {ride.departs_at[11:16]} {ride.arrives_at[11:16]}"
    return f"{ride.number} {clocks} {_price(ride)} {row.call} {row.row}"


def _walk(
    asked: str,
    rows: Sequence[SeenRow],
    look: Look,
    choice: Choice,
    taken: Callable[[SeenRow], str],
    shown: ShownWork,
) -> str:
    """In the order of the rows; the choice is the last that was ok, where one fits."""
    first, best = choice.first, float("inf")
    steps: list[tuple[SeenRow, str]] = []
    if first is not None and first not in rows:
        best = first.record.price.amount if first.record.price else best  # found before
    for row in rows:
        said, becomes = look(row.record)
        price = row.record.price.amount if row.record.price else float("inf")
        if becomes == OK and best < float("inf"):
            said.append(amount(best))
        if becomes == OK and row is not first and price >= best:
            becomes = DEAR
        if becomes == OK:
            best = price
        steps.append((row, f"{letters(row.row)} {' '.join(said)} {becomes}"))
    if shown == "short":
        steps = [(row, words) for row, words in steps if row is first]
    walk = "; ".join(words for _, words in steps) or "no row"
    if first is None or not choice.meets:
        ending = "None fits."
    elif first in rows:
        ending = f"Take {letters(first.row)} {taken(first)}."
    else:
        ending = f"Keep {taken(first)}."
    return f"{asked[:1].upper()}{asked[1:]}: {walk}. {ending}"


def _price(offer: Any) -> str:
    return "unknown" if offer.price is None else amount(offer.price.amount)

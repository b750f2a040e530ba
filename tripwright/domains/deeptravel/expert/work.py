"""The expert's work, shown: how a row is chosen, row by row, as far as the first thing that decides
(docs/log.md, 2026-11-22: a model that has to choose in one forward pass learns to choose badly; one
that copies what decides, beside what is asked for, compares neighbours).

    From 07:00, by 15:00: 1 05:21 early; 2 15:40 late; 3 90 ok; 4 120 dear; 5 85 ok. Take 5 R 124.
    2 a room, up to 315: 1 96 1 small; 2 310 2 ok. Take 2 Riverside Inn.
    5.2 km, up to 3: far.

What is asked for comes first. Then each row by its number, with what decides: when it leaves or
arrives, its price, for how many a room is, all as the tool has shown it. A row that costs no less
than the one found is dear. A short walk looks at the row that it takes, and at no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tripwright.agent.dialect import ShownWork
from tripwright.domains.deeptravel.answer.page import amount
from tripwright.domains.deeptravel.expert.choice import Choice, is_odd
from tripwright.domains.deeptravel.expert.observations import SeenRow
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, TrainOffer

OK, DEAR = "ok", "dear"
Look = Callable[[Any], tuple[str, str]]  # of a row: what decides, and what becomes of it


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

    def look(offer: FlightOffer | TrainOffer) -> tuple[str, str]:
        departs, arrives = offer.departs_at[11:16], offer.arrives_at[11:16]
        if after is not None and not intents.follows(after, offer):
            return departs, "too soon"
        if earliest and departs < earliest:
            return departs, "early"
        if is_odd(offer):
            return arrives, "another day"
        if latest and arrives > latest:
            return arrives, "late"
        return _price(offer), OK

    return _walk(", ".join(asked) or "any time", offers, look, choice, shown)


def stay_walk(
    request: TravelRequest, rows: Sequence[SeenRow], choice: Choice, shown: ShownWork
) -> str:
    hotels = [row for row in rows if isinstance(row.record, HotelOffer)]
    limit, nights = request.nightly_budget, max(1, intents.nights_of(request))
    needed = -(-request.party_size // intents.rooms_of(request))
    asked = [f"{needed} a room"]
    if limit is not None:
        asked.append(f"up to {amount(round(limit * nights, 2))}")

    def look(hotel: HotelOffer) -> tuple[str, str]:
        price = _price(hotel)
        if limit is not None and (hotel.price is None or hotel.price.amount / nights > limit):
            return price, "over"
        if hotel.guests is None:
            return price, OK
        return f"{price} {hotel.guests}", OK if intents.holds(hotel, request) else "small"

    return _walk(", ".join(asked), hotels, look, choice, shown)


def near_step(km: float) -> str:
    near = "near" if km <= intents.NEAR_KM else "far"
    return f"{amount(km)} km, up to {amount(intents.NEAR_KM)}: {near}."


def _walk(asked: str, rows: Sequence[SeenRow], look: Look, choice: Choice, shown: ShownWork) -> str:
    """In the order of the rows; the choice is the last that was ok, where one fits."""
    first, best = choice.first, float("inf")
    steps: list[tuple[SeenRow, str]] = []
    if first is not None and first not in rows:
        best = first.record.price.amount if first.record.price else best  # found before
    for row in rows:
        said, becomes = look(row.record)
        price = row.record.price.amount if row.record.price else float("inf")
        if becomes == OK and row is not first and price >= best:
            said, becomes = _price(row.record), DEAR
        if becomes == OK:
            best = price
        steps.append((row, f"{row.row} {said} {becomes}"))
    if shown == "short":
        steps = [(row, words) for row, words in steps if row is first]
    walk = "; ".join(words for _, words in steps) or "no row"
    if first is None or not choice.meets:
        taken = "None fits."
    elif first in rows:
        taken = f"Take {first.row} {first.name}."
    else:
        taken = f"Keep {first.name}."
    return f"{asked[:1].upper()}{asked[1:]}: {walk}. {taken}"


def _price(offer: Any) -> str:
    return "unknown" if offer.price is None else amount(offer.price.amount)

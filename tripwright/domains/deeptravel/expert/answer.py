"""The errand expert's answer in the format of row D11: what was found, why, what it rests on, what
could not be met, what may go wrong."""

from __future__ import annotations

from collections.abc import Iterator

from tripwright.domains.deeptravel.answer.advice import (
    Advice,
    AdvicePart,
    Card,
    HotelStay,
    Journey,
    LocalLeg,
    PlaceVisit,
)
from tripwright.domains.deeptravel.answer.advice_writing import amount, write_markdown
from tripwright.domains.deeptravel.expert import words
from tripwright.domains.deeptravel.expert.choice import Choice
from tripwright.domains.deeptravel.expert.findings import Findings
from tripwright.domains.deeptravel.expert.seen import SeenRow
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import Wish
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, TrainOffer


def write_answer(found: Findings, brief: bool) -> str:
    return write_markdown(advice_of(found, brief), compact=brief)


def advice_of(found: Findings, brief: bool) -> Advice:
    """`brief`: one recommendation in each part, and the alternatives among the risks, in a line."""
    parts = list(_parts(found, brief))
    return Advice(
        f"{words.trip(found.request)}.",
        tuple(parts),
        tuple(_brief_risks(found) if brief else _risks(found)),
    )


def _parts(found: Findings, brief: bool) -> Iterator[AdvicePart]:
    request, most = found.request, 1 if brief else 2
    note = _way_note(found.there, request, found.searched.get("there", []), words.OF_WAY_THERE)
    yield AdvicePart(
        "outbound",
        request.depart_date,
        None,
        tuple(_ways(found.there, request, most, words.OF_WAY_THERE)),
        note,
    )
    if intents.nights_of(request):
        until = intents.checkout_of(request)
        yield AdvicePart(
            "stay", request.depart_date, until, tuple(_stays(found, most)), _stay_note(found)
        )
    if found.back is not None and request.return_date:
        note = _way_note(
            found.back, request, found.searched.get("back", []), words.OF_WAY_BACK, back=True
        )
        yield AdvicePart(
            "return",
            request.return_date,
            None,
            tuple(_ways(found.back, request, most, words.OF_WAY_BACK)),
            note,
        )
    if request.visit:
        missing = [place for place in request.visit if place not in found.visits]
        note = f"The way to {' and '.join(missing)} is not known." if missing else ""
        yield AdvicePart("visits", items=tuple(_visits(found)), note=note)


def _ways(
    choice: Choice, request: TravelRequest, most: int, kinds: tuple[Wish, ...]
) -> Iterator[Journey]:
    for place, row in enumerate(choice.rows[:most]):
        offer = row.record
        flies = isinstance(offer, FlightOffer)
        yield Journey(
            offer.number,
            "flight" if flies else "train",
            offer.departs_at,
            offer.arrives_at,
            offer.minutes or None,
            offer.price.amount if offer.price else None,
            offer.price.currency if offer.price else "",
            offer.depart_city,
            offer.depart_airport if flies else offer.depart_station,
            offer.arrive_city,
            offer.arrive_airport if flies else offer.arrive_station,
            _why(choice, place, words.wished(request, kinds)),
            (row.card,),
        )


def _stays(found: Findings, most: int) -> Iterator[HotelStay]:
    for place, row in enumerate(found.stay.rows[:most]):
        offer: HotelOffer = row.record
        cards: tuple[Card, ...] = (row.card,)
        why = _why(
            found.stay,
            place,
            words.wished(
                found.request, tuple(kind for kind in words.OF_STAY if kind != "hotel_near")
            ),
        )
        if (way := found.near.get(offer.name)) is not None:
            cards += (way.card,)
            why += f"; {amount(way.record.distance_km)} km from {found.request.hotel_near}"
        price, paid_in = (offer.price.amount, offer.price.currency) if offer.price else (None, "")
        yield HotelStay(offer.name, offer.address, offer.room, price, paid_in, why, cards)


def _visits(found: Findings) -> Iterator[PlaceVisit]:
    for name in found.request.visit:
        at, way = found.places.get(name), found.visits.get(name)
        if way is None and at is None:
            continue
        leg = (
            LocalLeg(way.record.mode, way.record.minutes, way.record.origin, way.record.distance_km)
            if way
            else None
        )
        cards = tuple(row.card for row in (at, way) if row is not None)
        yield PlaceVisit(
            name,
            at.record.address if at else "",
            leg,
            "one of the places that were asked for",
            cards,
        )


def _why(choice: Choice, place: int, wished: str) -> str:
    """The first is the cheapest of those that do what is wished, or the closest to it."""
    if choice.unmet:
        return "the closest to what was asked that was found" if place == 0 else "the next closest"
    if place:
        return f"{wished}; next in price" if wished else "next in price"
    if choice.rows[0].record.price is None:
        return wished or "fits the trip; ask for its price"
    if not choice.cheapest:
        return wished or "fits the trip and the party"
    return f"{wished}, and is the cheapest that does" if wished else "the cheapest that was found"


def _way_note(
    choice: Choice,
    request: TravelRequest,
    modes: list[str],
    kinds: tuple[Wish, ...],
    back: bool = False,
) -> str:
    """What could not be met, honestly."""
    ends = (request.destination, request.origin) if back else (request.origin, request.destination)
    if not choice.rows:
        return f"No {words.either(modes)} from {ends[0]} to {ends[1]} was found for this day."
    if choice.unmet:
        unmet = [kind for kind in choice.unmet if kind in kinds or kind == "transport"]
        return (
            f"No {words.either(modes)} was found that {words.wishes(request, unmet)}; the closest"
            " is shown."
        )
    return ""


def _stay_note(found: Findings) -> str:
    if not found.stay.rows:
        return f"No hotel in {found.request.destination} was found for these nights."
    if "hotel_near" in found.stay.unmet and not found.near:
        return f"How near a hotel is to {found.request.hotel_near} is not known."
    if found.stay.unmet:
        return (
            f"No hotel was found that {words.wishes(found.request, found.stay.unmet)}; the closest"
            " is shown."
        )
    return ""


def _risks(found: Findings) -> Iterator[str]:
    yield from _total(found)
    for choice in filter(None, (found.there, found.stay, found.back)):
        if len(choice.rows) > 1:
            first, second = (_name(row) for row in choice.rows)
            yield f"If {first} is sold out, {second} is the alternative."
        elif choice.rows:
            yield f"For {_name(choice.rows[0])} no alternative was found that fits; book it early."
    if any(
        row.record.price is None
        for choice in filter(None, (found.there, found.stay, found.back))
        for row in choice.rows
    ):
        yield "Some prices are not stated by the source; ask for them before booking."
    yield "Prices may change until they are booked."


def _total(found: Findings) -> Iterator[str]:
    request, budget = found.request, found.request.total_budget
    if found.total is None:
        if budget is not None:
            yield (
                "A price is missing, so the total cannot be held against the budget of"
                f" {amount(budget)} {request.currency}."
            )
        return
    said = f"The first recommendations come to {amount(found.total)} {request.currency} in all"
    if budget is None:
        return
    if found.total <= budget:
        yield f"{said}, within the budget of {amount(budget)} {request.currency}."
    else:
        yield (
            f"{said}, which is over the budget of {amount(budget)} {request.currency}: nothing"
            " cheaper was found."
        )


def _brief_risks(found: Findings) -> Iterator[str]:
    """One line: the first alternative there is, with its card; or that the total is too much."""
    if (
        found.total is not None
        and found.request.total_budget is not None
        and found.total > found.request.total_budget
    ):
        yield "The total is over the budget."
    for choice in filter(None, (found.there, found.back, found.stay)):
        if len(choice.rows) > 1:
            yield f"If {_name(choice.rows[0])} is sold out: {_said(choice.rows[1])}"
            return
    yield "Book early."


def _said(row: SeenRow) -> str:
    record = row.record
    times = (
        f" {record.departs_at[11:16]}-{record.arrives_at[11:16]}"
        if isinstance(record, FlightOffer | TrainOffer)
        else ""
    )
    price = f" {amount(record.price.amount)} {record.price.currency}" if record.price else ""
    return f"{_name(row)}{times}{price} [call {row.card.call}, row {row.card.row}]"


def _name(row: SeenRow) -> str:
    return str(row.record.name if isinstance(row.record, HotelOffer) else row.record.number)

"""Writes the expert's answer: what was found, why, what it rests on, what could not be met, what
may go wrong (row D11)."""

from __future__ import annotations

from collections.abc import Iterator

from tripwright.domains.deeptravel.answer.advice import (
    Advice,
    AdvicePart,
    Card,
    HotelStay,
    LocalLeg,
    PlaceVisit,
    RideAdvice,
)
from tripwright.domains.deeptravel.answer.advice_writing import amount, write_markdown
from tripwright.domains.deeptravel.expert import words
from tripwright.domains.deeptravel.expert.choice import Choice
from tripwright.domains.deeptravel.expert.findings import Findings
from tripwright.domains.deeptravel.expert.observations import SeenRow
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import Wish
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, TrainOffer


def write_answer(findings: Findings, brief: bool) -> str:
    return write_markdown(advice_of(findings, brief), compact=brief)


def advice_of(findings: Findings, brief: bool) -> Advice:
    """`brief`: one recommendation in each part, and the alternatives among the risks, in a line."""
    parts = list(_parts(findings, brief))
    return Advice(
        f"{words.trip(findings.request)}.",
        tuple(parts),
        tuple(_brief_risks(findings) if brief else _risks(findings)),
    )


def _parts(findings: Findings, brief: bool) -> Iterator[AdvicePart]:
    request, most = findings.request, 1 if brief else 2
    note = _way_note(
        findings.there, request, findings.searched.get("there", []), words.OF_WAY_THERE
    )
    yield AdvicePart(
        "outbound",
        request.depart_date,
        None,
        tuple(_ways(findings.there, request, most, words.OF_WAY_THERE)),
        note,
    )
    if intents.nights_of(request):
        until = intents.checkout_of(request)
        yield AdvicePart(
            "stay", request.depart_date, until, tuple(_stays(findings, most)), _stay_note(findings)
        )
    if findings.back is not None and request.return_date:
        note = _way_note(
            findings.back, request, findings.searched.get("back", []), words.OF_WAY_BACK, back=True
        )
        yield AdvicePart(
            "return",
            request.return_date,
            None,
            tuple(_ways(findings.back, request, most, words.OF_WAY_BACK)),
            note,
        )
    if request.visit:
        lacking = [place for place in request.visit if place not in findings.visits]
        note = f"The way to {' and '.join(lacking)} is not known." if lacking else ""
        yield AdvicePart("visits", items=tuple(_visits(findings)), note=note)


def _ways(
    choice: Choice, request: TravelRequest, most: int, kinds: tuple[Wish, ...]
) -> Iterator[RideAdvice]:
    for place, row in enumerate(choice.rows[:most]):
        offer = row.record
        flies = isinstance(offer, FlightOffer)
        yield RideAdvice(
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


def _stays(findings: Findings, most: int) -> Iterator[HotelStay]:
    for place, row in enumerate(findings.stay.rows[:most]):
        offer: HotelOffer = row.record
        cards: tuple[Card, ...] = (row.card,)
        why = _why(
            findings.stay,
            place,
            words.wished(
                findings.request, tuple(kind for kind in words.OF_STAY if kind != "hotel_near")
            ),
        )
        if (way := findings.near.get(offer.name)) is not None:
            cards += (way.card,)
            why += f"; {amount(way.record.distance_km)} km from {findings.request.hotel_near}"
        price, paid_in = (offer.price.amount, offer.price.currency) if offer.price else (None, "")
        yield HotelStay(offer.name, offer.address, offer.room, price, paid_in, why, cards)


def _visits(findings: Findings) -> Iterator[PlaceVisit]:
    for name in findings.request.visit:
        at, way = findings.places.get(name), findings.visits.get(name)
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


def _why(choice: Choice, place: int, wishes: str) -> str:
    """The first is the cheapest of those that do what is wished, or the closest to it."""
    if choice.unmet:
        return "the closest to what was asked that was found" if place == 0 else "the next closest"
    if place:
        return f"{wishes}; next in price" if wishes else "next in price"
    if choice.rows[0].record.price is None:
        return wishes or "fits the trip; ask for its price"
    if not choice.cheapest:
        return wishes or "fits the trip and the party"
    return f"{wishes}, and is the cheapest that does" if wishes else "the cheapest that was found"


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


def _stay_note(findings: Findings) -> str:
    if not findings.stay.rows:
        return f"No hotel in {findings.request.destination} was found for these nights."
    if "hotel_near" in findings.stay.unmet and not findings.near:
        return f"How near a hotel is to {findings.request.hotel_near} is not known."
    if findings.stay.unmet:
        return (
            f"No hotel was found that {words.wishes(findings.request, findings.stay.unmet)};"
            " the closest is shown."
        )
    return ""


def _risks(findings: Findings) -> Iterator[str]:
    yield from _total(findings)
    for choice in filter(None, (findings.there, findings.stay, findings.back)):
        if len(choice.rows) > 1:
            first, second = (_name(row) for row in choice.rows)
            yield f"If {first} is sold out, {second} is the alternative."
        elif choice.rows:
            yield f"For {_name(choice.rows[0])} no alternative was found that fits; book it early."
    if any(
        row.record.price is None
        for choice in filter(None, (findings.there, findings.stay, findings.back))
        for row in choice.rows
    ):
        yield "Some prices are not stated by the source; ask for them before booking."
    yield "Prices may change until they are booked."


def _total(findings: Findings) -> Iterator[str]:
    request, budget = findings.request, findings.request.total_budget
    if findings.total is None:
        if budget is not None:
            yield (
                "A price is missing, so the total cannot be held against the budget of"
                f" {amount(budget)} {request.currency}."
            )
        return
    sentence = (
        f"The first recommendations come to {amount(findings.total)} {request.currency} in all"
    )
    if budget is None:
        return
    if findings.total <= budget:
        yield f"{sentence}, within the budget of {amount(budget)} {request.currency}."
    else:
        yield (
            f"{sentence}, which is over the budget of {amount(budget)} {request.currency}: nothing"
            " cheaper was found."
        )


def _brief_risks(findings: Findings) -> Iterator[str]:
    """One line: the first alternative there is, with its card; or that the total is too much."""
    if (
        findings.total is not None
        and findings.request.total_budget is not None
        and findings.total > findings.request.total_budget
    ):
        yield "The total is over the budget."
    for choice in filter(None, (findings.there, findings.back, findings.stay)):
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

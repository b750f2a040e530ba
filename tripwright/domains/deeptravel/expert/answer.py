"""Writes the expert's answer: what was found, why, what it rests on, what could not be met, what
may be taken instead (row D11)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tripwright.domains.deeptravel.cards import CARDS, MOST_RECOMMENDATIONS, Cards, write_page
from tripwright.domains.deeptravel.expert.choice import Choice
from tripwright.domains.deeptravel.expert.findings import Findings
from tripwright.domains.deeptravel.expert.observations import SeenRow
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer

Fields = dict[str, Any]


def write_answer(findings: Findings, plan_format: str, brief: bool) -> str:
    cards = cards_of(findings, brief)
    return cards.to_json() if plan_format == CARDS else write_page(cards)


def cards_of(findings: Findings, brief: bool) -> Cards:
    """`brief`: what a compact face shows, one recommendation in each part, and no alternatives."""
    request = findings.request
    most = 1 if brief else MOST_RECOMMENDATIONS
    parts: dict[str, list[Fields]] = {
        "outbound": [_ride(findings, row, "there", brief) for row in findings.there.rows[:most]],
        "stay": [_stay(findings, row, brief) for row in findings.stay.rows[:most]],
        "return": [
            _ride(findings, row, "back", brief)
            for row in (findings.back.rows[:most] if findings.back else ())
        ],
        "visits": [
            _visit(place, findings, brief) for place in request.visit if place in findings.visits
        ],
    }
    alone = {"party": request.party_size, **parts}
    total = {} if brief or findings.total is None else {"total": _money(findings.total, request)}
    return Cards.model_validate({**alone, **total, "risks": list(_risks(findings))})


def _ride(findings: Findings, row: SeenRow, way: str, brief: bool) -> Fields:
    offer = row.record
    flies = isinstance(offer, FlightOffer)
    days = intents.days_later(offer)
    fields = {
        "kind": "flight" if flies else "train",
        "number": offer.number,
        "date": offer.departs_at[:10],
        "departs": offer.departs_at[11:16],
        "arrives": offer.arrives_at[11:16],
        **({"days_later": days} if days else {}),
        **_reference(row),
    }
    if not brief:
        fields |= {
            "depart_city": offer.depart_city,
            "arrive_city": offer.arrive_city,
            "depart_place": (offer.depart_airport if flies else offer.depart_station) or None,
            "arrive_place": (offer.arrive_airport if flies else offer.arrive_station) or None,
            "minutes": offer.minutes or None,
        }
        fields["reasons"] = list(_why_ride(findings, row, way))
    return fields | _priced(row, "person", brief)


def _stay(findings: Findings, row: SeenRow, brief: bool) -> Fields:
    offer: HotelOffer = row.record
    fields = {
        "kind": "hotel",
        "name": offer.name,
        "checkin": offer.checkin_date,
        "checkout": offer.checkout_date,
        "rooms": intents.rooms_of(findings.request),
        **_reference(row),
    }
    if not brief:
        fields |= {
            "address": offer.address or None,
            "room": offer.room or None,
            "guests": offer.guests,
            "rating": offer.rating,
        }
    # near is said in both: that a hotel is, stands in another row than the hotel's
    reasons = list(_why_stay(findings, row, brief))
    return fields | ({"reasons": reasons} if reasons else {}) | _priced(row, "room", brief)


def _visit(place: str, findings: Findings, brief: bool) -> Fields:
    at, way = findings.places.get(place), findings.visits[place]
    fields: Fields = {
        "kind": "place",
        "name": place,
        "way": {"mode": way.record.mode, "minutes": way.record.minutes, **_reference(way)},
    }
    if brief:
        return fields
    fields["way"] |= {"distance_km": way.record.distance_km, "origin": way.record.origin}
    found = {"found": _reference(at), "address": at.record.address or None} if at else {}
    return fields | found


def _reference(row: SeenRow) -> Fields:
    return {"call": row.call, "row": row.row}


def _priced(row: SeenRow, per: str, brief: bool) -> Fields:
    price = row.record.price
    if price is None:
        return {}
    currency = {} if brief else {"currency": price.currency}
    return {"price": {"amount": price.amount, **currency, "per": per}}


def _money(total: float, request: TravelRequest) -> Fields:
    return {"amount": total, "currency": request.currency}


def _why_ride(findings: Findings, row: SeenRow, way: str) -> Iterator[Fields]:
    request, offer, back = findings.request, row.record, way == "back"
    choice = findings.back if back else findings.there
    after, by = (
        (request.return_after, request.return_by)
        if back
        else (request.depart_after, request.arrive_by)
    )
    missed = (intents.unmet_return if back else intents.unmet_outbound)(request, offer)
    if by and not {"arrive_by", "return_by"} & set(missed):
        yield {"term": "arrives_by", "time": offer.arrives_at[11:16], "limit": by}
    if after and not {"depart_after", "return_after"} & set(missed):
        yield {"term": "departs_after", "time": offer.departs_at[11:16], "limit": after}
    yield from _cheapest(choice or Choice(), row)


def _why_stay(findings: Findings, row: SeenRow, brief: bool) -> Iterator[Fields]:
    request, offer = findings.request, row.record
    way = findings.near.get(offer.name)
    if way is not None and request.hotel_near:
        far = {"place": request.hotel_near, "distance_km": way.record.distance_km}
        yield {"term": "near", **far, **_reference(way)}
    if brief:
        return
    if request.hotel and intents.is_called(offer.name, request.hotel):
        yield {"term": "as_named", "name": request.hotel}
    if request.nightly_budget is not None and offer.price is not None:
        night = round(offer.price.amount / max(1, intents.nights_of(request)), 2)
        if night <= request.nightly_budget:
            limit = request.nightly_budget
            yield {"term": "within_nightly_budget", "amount": night, "limit": limit}
    yield from _cheapest(findings.stay, row)


def _cheapest(choice: Choice, row: SeenRow) -> Iterator[Fields]:
    if choice.cheapest and choice.meets and row is choice.first:
        yield {"term": "cheapest_that_fits", "call": row.call}


def _risks(findings: Findings) -> Iterator[Fields]:
    request = findings.request
    named = (
        ("outbound", findings.there),
        ("return", findings.back),
        ("stay", findings.stay if intents.nights_of(request) else None),
    )
    for part, choice in named:
        if choice is not None and not choice.rows:
            yield {"term": "not_found", "part": part}
    unmet = [wish for _, choice in named if choice is not None for wish in choice.unmet]
    if findings.over_budget:
        unmet.append("total_budget")
    if any(place not in findings.visits for place in request.visit):
        unmet.append("visit")
    yield from ({"term": "not_met", "wish": wish} for wish in dict.fromkeys(unmet))

"""The page that people read, as Markdown: outbound, stay, return and visits, each recommendation
with its reasons and its evidence card (row D11). All of it is written from the fields of the
cards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tripwright.domains.deeptravel.answer.cards import (
    Alternative,
    AsNamed,
    Best,
    Cards,
    Fare,
    InTime,
    Near,
    NotCards,
    NotMet,
    RideCard,
    RoomPrice,
    StayCard,
    VisitCard,
    WithinNightly,
    read_cards,
)
from tripwright.errors import counted

UNITS = {
    "person": "per person",
    "party": "for the party",
    "room": "for one room and all nights",
    "room_and_night": "per room and night",
}
TERMS = {
    "cheapest": "the cheapest",
    "cheapest_that_fits": "the cheapest that fits what was asked",
    "fastest": "the fastest",
    "best_rated": "the best rated",
    "first_departure": "the first to leave",
    "last_departure": "the last to leave",
    "first_arrival": "the first to arrive",
}
WISHES = {
    "transport": "means of transport",
    "depart_after": "earliest departure",
    "arrive_by": "latest arrival",
    "return_after": "earliest return",
    "return_by": "latest arrival at home",
    "total_budget": "total budget",
    "nightly_budget": "budget a night",
    "hotel": "hotel by name",
    "hotel_near": "hotel near a place",
    "visit": "places to visit",
}


def page_of(answer: str) -> str:
    """The page of an answer in cards; any other text as it is."""
    try:
        return write_page(read_cards(answer))
    except NotCards:
        return answer


def write_page(cards: Cards) -> str:
    """Blanks inside names become single spaces: a name has no lines."""
    blocks = [
        *_part(
            "Outbound", "(" + cards.outbound[0].date + ")" if cards.outbound else "", cards.outbound
        ),
        *_part("Stay", _days(cards.stay), cards.stay),
        *_part("Return", "(" + cards.back[0].date + ")" if cards.back else "", cards.back),
        *_part("Visits", "", cards.visits),
    ]
    if cards.total is not None:
        money = f"{amount(cards.total.amount)} {cards.total.currency or ''}".strip()
        party = counted(cards.party, "traveller")
        blocks.append(f"**Total** of the first recommendations, for {party}: {money}")
    if cards.risks:
        lines = "\n".join(f"- {_line(risk_words(risk))}" for risk in cards.risks)
        blocks.append(f"### Risks and alternatives\n{lines}")
    return "\n\n".join(blocks)


def _days(stays: list[StayCard]) -> str:
    return f"({stays[0].checkin} to {stays[0].checkout})" if stays else ""


def _part(title: str, days: str, cards: list[Any]) -> Iterator[str]:
    if cards:
        heading = title if title == "Visits" else f"{title} recommendations"
        yield "\n".join([f"### {heading} {days}".strip(), *(_section(card) for card in cards)])


def _section(card: RideCard | StayCard | VisitCard) -> str:
    match card:
        case RideCard():
            name, facts = f"{card.number} {card.kind}", list(_ride(card))
        case StayCard():
            name, facts = card.name, list(_stay(card))
        case VisitCard():
            name, facts = card.name, list(_visit(card))
    lines = [f"- **{label}**: {_line(text)}" for label, text in facts if text]
    return "\n".join([f"#### {_line(name)}", *lines])


def _ride(card: RideCard) -> Iterator[tuple[str, str]]:
    later = f" ({card.days_later:+d} day)" if card.days_later else ""
    took = f" ({duration(card.minutes)})" if card.minutes is not None else ""
    begin, end = card.depart_place or card.depart_city, card.arrive_place or card.arrive_city
    yield (
        "Recommendation",
        f"{card.date}, departs {begin or ''} {card.departs}, arrives {end or ''}"
        f" {card.arrives}{later}{took}",
    )
    yield "Price", _price(card.price)
    yield "Why", "; ".join(map(reason_words, card.reasons))
    yield "Evidence", evidence(card.call, card.row)


def _stay(card: StayCard) -> Iterator[tuple[str, str]]:
    yield "Recommendation", "; ".join(filter(None, (card.address, card.room)))
    yield "Rooms", counted(card.rooms, "room")
    yield "Price", _price(card.price)
    yield "Why", "; ".join(map(reason_words, card.reasons))
    cards = [(card.call, card.row)]
    cards += [(each.call, each.row) for each in card.reasons if isinstance(each, Near)]
    yield "Evidence", ", ".join(evidence(*each) for each in cards)


def _visit(card: VisitCard) -> Iterator[tuple[str, str]]:
    way = card.way
    far = f", {amount(way.distance_km)} km" if way.distance_km is not None else ""
    begin = f" from {way.origin}" if way.origin else ""
    yield "Recommendation", card.address or ""
    yield "Way there", f"{amount(way.minutes)} min {way.mode}{far}{begin}"
    cards = [] if card.found is None else [(card.found.call, card.found.row)]
    yield "Evidence", ", ".join(evidence(*each) for each in (*cards, (way.call, way.row)))


def _price(price: Fare | RoomPrice | None) -> str:
    if price is None:
        return "not stated"
    return f"{amount(price.amount)} {price.currency or ''} {UNITS[price.per]}"


def reason_words(reason: Any) -> str:
    """Why a row is recommended."""
    match reason:
        case Best(term=term, call=call):
            return f"{TERMS[term]} of call {call}"
        case InTime(term="arrives_by", time=time, limit=limit):
            return f"arrives {time}, by {limit}"
        case InTime(time=time, limit=limit):
            return f"departs {time}, not before {limit}"
        case WithinNightly(amount=price, limit=limit):
            return f"{amount(price)} a night, at most {amount(limit)}"
        case AsNamed(name=name):
            return f"{name}, as asked for"
        case Near(place=place, distance_km=km):
            return f"{amount(km)} km from {place}"
    raise ValueError(f"no words for {reason}")


def risk_words(risk: Any) -> str:
    """What may go wrong, or is not as it was asked for."""
    match risk:
        case Alternative(part=part, name=name, call=call, row=row):
            return f"If the first for the {part} is sold out: {name} {evidence(call, row)}"
        case NotMet(wish=wish):
            return f"Not met: {WISHES[wish]}"
    if risk.term == "not_found":
        return f"Nothing was found for the {risk.part}"
    return f"Nothing leaves later for the {risk.part}"


def evidence(call: int, row: int) -> str:
    return f"[call {call}, row {row}]"


def _line(text: str) -> str:
    return " ".join(text.split())


def amount(value: float) -> str:
    """Without ".0" and without the noise of binary fractions."""
    return f"{value:.12g}"


def duration(minutes: float) -> str:
    """4 h 8 min, 45 min, 2 h."""
    hours, rest = divmod(round(minutes), 60)
    return " ".join([f"{hours} h"] * (hours > 0) + [f"{rest} min"] * (rest > 0 or hours == 0))

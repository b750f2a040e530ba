"""Writes an answer as markdown, in full or compact (row D11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date as Date
from datetime import timedelta

from tripwright.domains.deeptravel.answer.advice import (
    Advice,
    AdvicePart,
    Card,
    HotelStay,
    LocalLeg,
    PartKind,
    PlaceVisit,
    Recommendation,
    RideAdvice,
)

HEADINGS: dict[PartKind, str] = {
    "outbound": "Outbound recommendations",
    "stay": "Stay recommendations",
    "return": "Return recommendations",
    "visits": "Visits",
}
COMPACT_HEADINGS: dict[PartKind, str] = {
    "outbound": "Outbound",
    "stay": "Stay",
    "return": "Return",
    "visits": "Visits",
}
RISKS, COMPACT_RISKS = "Risks and alternatives", "Risks"
UNPRICED = "not stated"


def write_markdown(advice: Advice, compact: bool = False) -> str:
    """The text of an answer. Blanks inside its texts become single spaces. The compact form drops
    what `condensed` drops."""
    blocks = [] if compact or not advice.opening else [[one_line(advice.opening)]]
    blocks += [_part(part, compact) for part in advice.parts]
    if advice.risks:
        blocks.append(
            [
                f"### {COMPACT_RISKS if compact else RISKS}",
                *(f"- {one_line(risk)}" for risk in advice.risks),
            ]
        )
    return ("\n" if compact else "\n\n").join("\n".join(block) for block in blocks)


def _part(part: AdvicePart, compact: bool) -> list[str]:
    heading = (COMPACT_HEADINGS if compact else HEADINGS)[part.kind]
    days = (
        f" ({part.first_day}{f' to {part.last_day}' if part.last_day else ''})"
        if part.first_day
        else ""
    )
    lines = [f"### {heading}{days}"]
    if part.note:
        lines.append(one_line(part.note))
    for item in part.items:
        lines += [_line(item, part)] if compact else _section(item, part)
    return lines


def _section(item: Recommendation, part: AdvicePart) -> Iterator[str]:
    match item:
        case RideAdvice():
            route = (
                f" ({item.depart_city} → {item.arrive_city})"
                if item.depart_city or item.arrive_city
                else ""
            )
            yield f"#### {one_line(item.number)} {item.mode}{one_line(route, ' ')}"
            took = f" ({duration(item.minutes)})" if item.minutes is not None else ""
            departure = f"departs {_at(item.depart_place, item.departs_at, part)}"
            yield (
                f"- **Recommendation**: {departure}, arrives"
                f" {_at(item.arrive_place, item.arrives_at, part)}{took}"
            )
            yield f"- **Price**: {_price(item, ' per person')}"
        case HotelStay():
            yield f"#### {one_line(item.name)}"
            if place := "; ".join(
                filter(None, (one_line(item.address), one_line(item.room, "room: ")))
            ):
                yield f"- **Recommendation**: {place}"
            yield f"- **Price**: {_price(item, f' for one room{_nights(part)}')}"
        case PlaceVisit():
            yield f"#### {one_line(item.name)}"
            if item.address:
                yield f"- **Recommendation**: {one_line(item.address)}"
            if item.leg:
                yield f"- **Way there**: {_leg(item.leg)}"
    if item.why:
        yield f"- **Why**: {one_line(item.why)}"
    if item.evidence:
        yield f"- **Evidence**: {_cards(item.evidence)}"


def _line(item: Recommendation, part: AdvicePart) -> str:
    match item:
        case RideAdvice():
            usual_day = Date.fromisoformat(arrival_day(item.departs_at, item.arrives_at[11:16]))
            later = (Date.fromisoformat(item.arrives_at[:10]) - usual_day).days
            clocks = f"{_clock(item.departs_at, part)}-{item.arrives_at[11:16]}" + (
                f" ({later:+d} day)" if later else ""
            )
            text = f"{item.mode} {one_line(item.number)} {clocks}{_priced(item)}"
        case HotelStay():
            text = f"{one_line(item.name)}{_priced(item)}"
        case PlaceVisit():
            text = one_line(item.name) + (
                f", {amount(item.leg.minutes)} min {one_line(item.leg.mode)}" if item.leg else ""
            )
    return f"- {text}" + (f" {_cards(item.evidence)}" if item.evidence else "")


def arrival_day(departs_at: str, arrives: str) -> str:
    """The day of an arrival of which only the clock is known: the next one where that is earlier
    than the departure's, as the compact face of the tools has it."""
    later = arrives < departs_at[11:16]
    return (Date.fromisoformat(departs_at[:10]) + timedelta(days=later)).isoformat()


def one_line(text: str, before: str = "") -> str:
    """The text with single spaces, and `before` in front of it unless it is empty."""
    words = " ".join(text.split())
    return before + words if words else ""


def amount(value: float) -> str:
    """Without ".0" and without the noise of binary fractions."""
    return f"{value:.12g}"


def duration(minutes: int) -> str:
    """4 h 8 min, 45 min, 2 h."""
    hours, rest = divmod(minutes, 60)
    return " ".join([f"{hours} h"] * (hours > 0) + [f"{rest} min"] * (rest > 0 or hours == 0))


def _at(place: str, moment: str, part: AdvicePart) -> str:
    """The day is said where it is not the day of the part."""
    return one_line(f"{place} {_clock(moment, part)}")


def _clock(moment: str, part: AdvicePart) -> str:
    return moment[11:16] + ("" if moment[:10] == part.first_day else f" on {moment[:10]}")


def _nights(part: AdvicePart) -> str:
    nights = (
        (Date.fromisoformat(part.last_day) - Date.fromisoformat(part.first_day)).days
        if part.last_day
        else 0
    )
    return f", {nights} night{'s' * (nights != 1)}" if nights > 0 else ""


def _price(item: RideAdvice | HotelStay, per: str) -> str:
    return UNPRICED if item.price is None else f"{amount(item.price)} {item.currency}{per}"


def _priced(item: RideAdvice | HotelStay) -> str:
    return "" if item.price is None else f" {amount(item.price)} {item.currency}"


def _leg(leg: LocalLeg) -> str:
    far = f", {amount(leg.distance_km)} km" if leg.distance_km is not None else ""
    return (
        f"{amount(leg.minutes)} min"
        f" {one_line(leg.mode)}{far}{one_line(f'from {leg.origin}', ' ') if leg.origin else ''}"
    )


def _cards(cards: Iterable[Card]) -> str:
    return ", ".join(f"[call {card.call}, row {card.row}]" for card in cards)

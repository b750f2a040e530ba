"""What the request asks of one row, from its fields alone: direction, day, times, price. Used by
both levels of the rule form."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims_form import plain
from tripwright.domains.deeptravel.verifiers.claims_parts import Part
from tripwright.domains.deeptravel.verifiers.evidence import EvidenceRow


def same_place(one: str, other: str) -> bool:
    return plain(one).strip().casefold() == plain(other).strip().casefold()


def moment(row: EvidenceRow, label: str) -> datetime | None:
    """Local time, None where it is not said or no time."""
    try:
        return datetime.fromisoformat(row.text(label)).replace(tzinfo=None)
    except ValueError:
        return None


def day(text: str) -> date | None:
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def nights_of(row: EvidenceRow) -> int | None:
    begin, end = day(row.text("checkin_date")), day(row.text("checkout_date"))
    return (end - begin).days if begin is not None and end is not None and end > begin else None


def nights_asked(request: TravelRequest) -> int:
    """Row D8's intents: `nights`, else from there to back, else none."""
    if request.nights is not None:
        return request.nights
    begin, end = day(request.depart_date), day(request.return_date or "")
    return max((end - begin).days, 0) if begin is not None and end is not None else 0


def last_night_ends(request: TravelRequest) -> str:
    """The day of the check-out, where the traveller arrives on the day of departure."""
    begin = day(request.depart_date)
    if request.return_date is not None and request.nights is None:
        return request.return_date
    return (begin + timedelta(days=nights_asked(request))).isoformat() if begin is not None else ""


def wrong_way(row: EvidenceRow, part: Part, request: TravelRequest) -> Iterator[str]:
    """What is wrong with the cities, the day or the means of a ride that is recommended for
    `part`."""
    yield from (what for _, what in wrong_journey([row], part, request))


def wrong_journey(
    legs: Sequence[EvidenceRow], part: Part, request: TravelRequest
) -> Iterator[tuple[EvidenceRow, str]]:
    """The same of a ride or of the legs of a journey: where it begins and ends, the day it begins,
    every leg's means."""
    ends = (
        (request.origin, request.destination)
        if part == "outbound"
        else (request.destination, request.origin)
    )
    for row, label, city in ((legs[0], "depart_city", ends[0]), (legs[-1], "arrive_city", ends[1])):
        if not same_place(row.text(label), city):
            yield (
                row,
                f"{label.partition('_')[0]}s {row.text(label) or 'nowhere said'}, asked was {city}",
            )
    asked = request.depart_date if part == "outbound" else request.return_date
    departs = legs[0].text("departs_at")[:10]
    if asked is not None and departs != asked:
        yield legs[0], f"goes on {departs or 'no day said'}, asked was {asked}"
    for row in legs:
        if request.transport is not None and request.transport != (
            "flight" if row.is_flight else "train"
        ):
            yield row, f"is no {request.transport}"


def is_chain(rides: Sequence[EvidenceRow]) -> bool:
    """Two rides with a change between them are one journey, not two recommendations."""
    return (
        len(rides) == 2
        and rides[0].text("arrive_city") != ""
        and same_place(rides[0].text("arrive_city"), rides[1].text("depart_city"))
    )


def late(row: EvidenceRow, part: Part, request: TravelRequest) -> Iterator[str]:
    """Which of the request's times a ride does not keep. The times are of the day asked for."""
    after, by = (
        (request.depart_after, request.arrive_by)
        if part == "outbound"
        else (request.return_after, request.return_by)
    )
    asked = request.depart_date if part == "outbound" else (request.return_date or "")
    departs, arrives = row.text("departs_at")[:16], row.text("arrives_at")[:16]
    if after is not None and not departs >= f"{asked}T{after}":
        yield f"departs {departs}, asked was not before {after}"
    if by is not None and not (arrives and arrives <= f"{asked}T{by}"):
        yield f"arrives {arrives}, asked was by {by}"


def fits_ride(row: EvidenceRow, part: Part, request: TravelRequest) -> bool:
    return not any(wrong_way(row, part, request)) and not any(late(row, part, request))


_GUESTS = re.compile(
    r"\b(?:up to|for|sleeps|max\.?|maximum(?:"
    r" of)?|occupancy:?)\s+(\d{1,2}|one|two|three|four)\b(?!\s*-?(?:nights?|days?|hours?|%))"
    r"|\b(\d{1,2}|one|two|three|four)[ -](?:guests?|persons?|people|adults?)\b",
    re.IGNORECASE,
)
_SIZES = {"single": 1, "double": 2, "twin": 2, "triple": 3, "quadruple": 4}
_SIZE = re.compile(rf"\b({'|'.join(_SIZES)})\b(?![ -](?:beds?|glaz))", re.IGNORECASE)
_COUNTS = {"one": 1, "two": 2, "three": 3, "four": 4}


def guests_in(room: str) -> int | None:
    """How many a room is for, by what the row calls it; None where that does not say ("deluxe
    room", "2 single beds")."""
    if found := _GUESTS.search(room):
        count = (found[1] or found[2]).lower()
        return _COUNTS.get(count) or int(count)
    sizes = [_SIZES[word.lower()] for word in _SIZE.findall(room)]
    return min(sizes) if sizes else None


def rooms_for(party_size: int) -> int:
    """Two to a room, where nothing else is said."""
    return -(-party_size // 2)

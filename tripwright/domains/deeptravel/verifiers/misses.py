"""What a row lacks of what the request asks of its part of the trip. Rubrics, "that fits", "not
met" and alternatives are all read from this one list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tripwright.domains.deeptravel.answer.cards import PartName
from tripwright.domains.deeptravel.verifiers.evidence import EvidenceRow
from tripwright.domains.deeptravel.verifiers.itinerary import (
    Itinerary,
    contains,
    nightly,
    rooms_for,
    same,
)

NEAR_KM = 3.0  # by the road; what "near" asks of a hotel


class Miss(NamedTuple):
    """`wish` is the request's field; empty for what every trip needs. `field` is the card's."""

    rubric: str
    wish: str
    field: str
    what: str


def misses(trip: Itinerary, row: EvidenceRow, part: PartName) -> Iterator[Miss]:
    return _of_stay(trip, row) if part == "stay" else _of_ride(trip, row, part)


def _of_ride(trip: Itinerary, row: EvidenceRow, part: PartName) -> Iterator[Miss]:
    """Times are of the day asked for: who must be there by 15:00 is late on the next day."""
    request, main = trip.request, "main_requirement"
    begin, end = (request.origin, request.destination)
    day, after, by = request.depart_date, request.depart_after, request.arrive_by
    wishes = ("depart_after", "arrive_by")
    if part == "return":
        begin, end, wishes = end, begin, ("return_after", "return_by")
        day, after, by = request.return_date or "", request.return_after, request.return_by
    for label, city in (("depart_city", begin), ("arrive_city", end)):
        if not same(row.text(label), city):
            shown = row.text(label) or "no city"
            yield Miss(main, "", label, f"{row.name} has {shown}, asked was {city}")
    departs, arrives = row.text("departs_at")[:16], row.text("arrives_at")[:16]
    if departs[:10] != day or not day:
        asked = day or "no such way"
        yield Miss(main, "", "date", f"{row.name} goes on {departs[:10]}, asked was {asked}")
    if request.transport not in (None, row.kind):
        what = f"{row.name} is a {row.kind}, asked was a {request.transport}"
        yield Miss(main, "transport", "kind", what)
    if after is not None and not departs >= f"{day}T{after}":
        what = f"{row.name} departs {departs}, asked was not before {after}"
        yield Miss("other_constraints", wishes[0], "departs", what)
    if by is not None and not (arrives and arrives <= f"{day}T{by}"):
        what = f"{row.name} arrives {arrives or 'nobody knows when'}, asked was by {by}"
        yield Miss("other_constraints", wishes[1], "arrives", what)


def _of_stay(trip: Itinerary, row: EvidenceRow) -> Iterator[Miss]:
    """What was not shown is not met; for how many a room is counts where the row says it."""
    request = trip.request
    if not same(row.text("city"), request.destination):
        what = f"{row.name} is in {row.text('city') or 'no city'}"
        yield Miss("main_requirement", "", "name", what)
    guests, rooms = row.number("guests"), rooms_for(request.party_size)
    if guests is not None and guests * rooms < request.party_size:
        what = f"a room of {row.name} is for {guests:g}, {request.party_size} in {rooms} were asked"
        yield Miss("main_requirement", "", "guests", what)
    if (limit := request.nightly_budget) is not None:
        price = nightly(row)
        if price is None or trip.cost(row) is None or price > limit:
            what = f"{row.name} costs {price} a night, the budget is {limit:g} {request.currency}"
            yield Miss("other_constraints", "nightly_budget", "price", what)
    if request.hotel is not None and not contains(row.name, request.hotel):
        what = f"{row.name} is not {request.hotel}"
        yield Miss("specific_requirements", "hotel", "name", what)
    if (place := request.hotel_near) is not None:
        km = trip.km_between(row.name, place)
        if km is None or km > NEAR_KM:
            way = "no way that was shown" if km is None else f"a way of {km:g} km"
            what = f"{way} from {row.name} to {place}, near is {NEAR_KM:g} km"
            yield Miss("specific_requirements", "hotel_near", "reasons", what)


def fits(trip: Itinerary, row: EvidenceRow, part: PartName) -> bool:
    """Whether it may be recommended beside the answer's hotels."""
    has_bed = part != "outbound" or has_hotel(trip, row)
    return has_bed and not any(misses(trip, row, part))


def has_hotel(trip: Itinerary, ride: EvidenceRow) -> bool:
    """Whether a hotel begins on the day that the ride there arrives; true where there is none."""
    checkins = {pick.row.text("checkin_date") for pick in trip.picks("stay")}
    return not checkins or arrival_day(trip, ride) in checkins


def arrival_day(trip: Itinerary, ride: EvidenceRow) -> str:
    """Over a line of dates one may arrive on the day before; the trip begins when it was asked."""
    return max(ride.text("arrives_at")[:10], trip.request.depart_date)

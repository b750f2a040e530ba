"""Row D4, the rule form: does every field of a card say what its row says (A.2.3)?

One table for each kind of row: the field and what the row says of it. A field that its row says
nothing of is as wrong as one that says otherwise. (Number and name are held against the row where
references are followed, in `itinerary.py`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from tripwright.domains.deeptravel.answer.cards import (
    Alternative,
    AsNamed,
    Best,
    InTime,
    Near,
    NotMet,
    OfPart,
    PartName,
    WithinNightly,
)
from tripwright.domains.deeptravel.verifiers.evidence import EvidenceRow
from tripwright.domains.deeptravel.verifiers.findings import VerifierProblem
from tripwright.domains.deeptravel.verifiers.itinerary import (
    BOOKED,
    Itinerary,
    Pick,
    asked_parts,
    contains,
    ends,
    moment,
    nightly,
    nights_of,
    plain,
    problem,
    same,
)
from tripwright.domains.deeptravel.verifiers.misses import fits, misses

CENT = 0.005
Problems = Iterator[VerifierProblem]
Says = Callable[[EvidenceRow], Any]  # None where the row does not say


def _text(*labels: str) -> Says:
    """The first of these that the row says."""
    return lambda row: next((row.text(label) for label in labels if row.text(label)), None)


def _number(label: str) -> Says:
    return lambda row: row.number(label)


def _clock(label: str) -> Says:
    return lambda row: at.strftime("%H:%M") if (at := moment(row, label)) else None


def _days_later(row: EvidenceRow) -> int | None:
    departs, arrives = moment(row, "departs_at"), moment(row, "arrives_at")
    return (arrives.date() - departs.date()).days if departs and arrives else None


_RIDE: dict[str, Says] = {
    "date": lambda row: row.text("departs_at")[:10] or None,
    "departs": _clock("departs_at"),
    "arrives": _clock("arrives_at"),
    "days_later": _days_later,
    "depart_city": _text("depart_city"),
    "depart_place": _text("depart_airport", "depart_station"),
    "arrive_city": _text("arrive_city"),
    "arrive_place": _text("arrive_airport", "arrive_station"),
    "minutes": _number("minutes"),
}
FIELDS: dict[str, dict[str, Says]] = {
    "flight": _RIDE,
    "train": _RIDE,
    "hotel": {
        "checkin": _text("checkin_date"),
        "checkout": _text("checkout_date"),
        "room": _text("room"),
        "guests": _number("guests"),
        "address": _text("address"),
        "rating": _number("rating"),
    },
    "route": {
        "mode": _text("mode"),
        "minutes": _number("minutes"),
        "distance_km": _number("distance_km"),
        "origin": _text("origin"),
    },
    "place": {},
}


def field_problems(trip: Itinerary) -> Problems:
    """All of the answer's, each with the call whose turn it belongs to."""
    for part in BOOKED:
        for pick in trip.picks(part):
            yield from (*_against_row(pick), *_price(pick, trip), *_reasons(pick, trip, part))
    for pick in trip.picks("visits"):
        yield from (*_against_row(pick), *_visit(pick, trip))
    yield from _risks(trip)


def missing_prices(trip: Itinerary) -> Problems:
    """A traveller books by the price, so a card says it where its row does."""
    for pick in (pick for part in BOOKED for pick in trip.picks(part)):
        price, row = pick.card.price, pick.row
        if price is None and row.number("price") is not None:
            yield pick.problem("missing_price", "price", f"its row says {row.number('price'):g}")
        elif price is not None and price.currency is None and row.text("currency"):
            shown = row.text("currency")
            yield pick.problem("missing_currency", "price.currency", f"its row says {shown}")


def _against_row(pick: Pick) -> Problems:
    for field, says in FIELDS[pick.row.kind].items():
        value, true = getattr(pick.card, field), says(pick.row)
        if value is not None and value != true:
            yield _otherwise(pick, field, field, value, true)


def _otherwise(pick: Pick, field: str, name: str, value: Any, true: Any) -> VerifierProblem:
    where = f"call {pick.row.call}, row {pick.row.row}"
    says = f"{where} says {true!r}" if true is not None else f"{where} says nothing of it"
    kind = f"{'wrong' if true is not None else 'ungrounded'}_{name}"
    return pick.problem(kind, field, f"the answer says {value!r}, {says}", value)


def _price(pick: Pick, trip: Itinerary) -> Problems:
    """A row has the fare of one person, or the price of one room for all nights."""
    price, row = pick.card.price, pick.row
    if price is None:
        return
    true = row.number("price")
    if true is not None:
        times = pick.card.rooms if row.kind == "hotel" else trip.request.party_size
        true *= {"party": times, "room_and_night": 1 / max(nights_of(row), 1)}.get(price.per, 1)
    if true is None or abs(price.amount - true) > CENT:
        value = f"{price.amount:.12g} per {price.per}"
        says = None if true is None else f"{true:.12g} per {price.per}"
        yield _otherwise(pick, "price.amount", "price", value, says)
    currency = row.text("currency") or None
    if price.currency is not None and price.currency != currency:
        yield _otherwise(pick, "price.currency", "currency", price.currency, currency)


# term of a reason → the value that is best, whether that is the least of them, and the kinds of row
# that have it
_RIDES = ("flight", "train")
BEST: dict[str, tuple[Says, bool, tuple[str, ...]]] = {
    "cheapest": (_number("price"), True, (*_RIDES, "hotel")),
    "cheapest_that_fits": (_number("price"), True, (*_RIDES, "hotel")),
    "fastest": (_number("minutes"), True, _RIDES),
    "best_rated": (_number("rating"), False, ("hotel",)),
    "first_departure": (_text("departs_at"), True, _RIDES),
    "last_departure": (_text("departs_at"), False, _RIDES),
    "first_arrival": (_text("arrives_at"), True, _RIDES),
}


def _reasons(pick: Pick, trip: Itinerary, part: PartName) -> Problems:
    for place, reason in enumerate(pick.card.reasons):
        match reason:
            case Best():
                what = _not_best(reason, pick.row, trip, part)
            case InTime():
                what = _not_in_time(reason, pick.row, trip, part)
            case WithinNightly(amount=amount, limit=limit):
                price = nightly(pick.row)
                holds = price is not None and abs(price - amount) <= CENT and price <= limit
                asked = trip.request.nightly_budget
                costs = "no known price" if price is None else f"{price:.12g}"
                what = f"the answer says {amount:.12g} a night within {limit:.12g}, it is {costs}"
                what = None if holds else what
                if limit != asked:
                    what = f"the answer says a limit of {limit:g}, asked was {asked or 'none'}"
            case AsNamed(name=name):
                wish = trip.request.hotel
                what = None if contains(pick.row.name, name) else f"{pick.row.name} is not {name}"
                if wish is None or not same(name, wish):
                    what = f"the answer says {name!r}, asked was {wish or 'no hotel by name'}"
            case Near():
                what = _not_near(reason, pick.row, trip)
            case _:
                what = "nobody checks this term"
        if what is not None:
            yield pick.problem(f"wrong_{reason.term}", f"reasons.{place}", what, reason.term)


def _not_best(reason: Best, row: EvidenceRow, trip: Itinerary, part: PartName) -> str | None:
    value, least, kinds = BEST[reason.term]
    if row.kind not in kinds:
        return f"{reason.term} has no meaning for a {row.kind}"
    rivals = [each for each in trip.rows.values() if each.call == reason.call]
    rivals = [each for each in rivals if each.kind == row.kind]
    if reason.term == "cheapest_that_fits":
        if trip.refused:
            return None  # whether a ride fits hangs on the hotel
        rivals = [each for each in rivals if fits(trip, each, part)]
    values = [said for each in rivals if (said := value(each)) is not None]
    if value(row) is None:
        return f"the row of {row.name} shows nothing of that"
    if row not in rivals:
        return f"{row.name} is not among the rows of call {reason.call} that it is said of"
    best = min(values) if least else max(values)
    return None if value(row) == best else f"{row.name} has {value(row)}, the best is {best}"


def _not_in_time(reason: InTime, row: EvidenceRow, trip: Itinerary, part: PartName) -> str | None:
    arrives = reason.term == "arrives_by"
    there, back = ("arrive_by", "return_by") if arrives else ("depart_after", "return_after")
    wish = back if part == "return" else there
    asked = getattr(trip.request, wish)
    true = _clock("arrives_at" if arrives else "departs_at")(row)
    if reason.limit != asked or reason.time != true:
        return f"its row says {true}, the request {asked or 'no such time'}"
    return next((miss.what for miss in misses(trip, row, part) if miss.wish == wish), None)


def _not_near(reason: Near, hotel: EvidenceRow, trip: Itinerary) -> str | None:
    way = trip.rows.get((reason.call, reason.row))
    if way is None or way.kind != "route":
        return f"call {reason.call}, row {reason.row} is no way that was shown"
    if ends(way) != {plain(hotel.name), plain(reason.place)}:
        return f"that way is from {way.text('origin')} to {way.text('destination')}"
    km = way.number("distance_km")
    return None if km == reason.distance_km else f"the way has {km} km"


def _visit(pick: Pick, trip: Itinerary) -> Problems:
    """Its name is the end of its way; an address stands where it was found."""
    base, _, which = pick.path.rpartition(".")
    visit = trip.cards.visits[int(base.rpartition(".")[2])]
    true = pick.row.name if which == "found" else pick.row.text("destination")
    here = Pick(base, visit, pick.row)
    if not same(visit.name, true):
        yield _otherwise(here, "name", "name", visit.name, true)
    if visit.address is not None and (which == "found" or visit.found is None):
        address = pick.row.text("address") or None
        if visit.address != address:
            yield _otherwise(here, "address", "address", visit.address, address)


def _risks(trip: Itinerary) -> Problems:
    unmet = {
        miss.wish
        for part in BOOKED
        for pick in trip.picks(part)
        for miss in misses(trip, pick.row, part)
    }
    unmet |= {"visit"} if len(trip.cards.visits) < len(trip.request.visit) else set()
    budget = trip.request.total_budget
    if budget is not None and (trip.total is None or trip.total > budget):
        unmet.add("total_budget")
    for place, risk in enumerate(trip.cards.risks):
        path = f"risks.{place}"
        if isinstance(risk, Alternative):
            yield from _alternative(path, risk, trip)
            continue
        if isinstance(risk, NotMet):
            known = trip.refused or risk.wish in unmet
            what = None if known else f"{risk.wish} is met or was not asked for"
        else:
            what = _no_such_risk(risk, trip)
        if what is not None:
            yield problem(f"wrong_{risk.term}", path, what, risk.term)


def _no_such_risk(risk: OfPart, trip: Itinerary) -> str | None:
    first = trip.first(risk.part)
    if risk.part not in asked_parts(trip.request):
        return f"{risk.part} was not asked for"
    if trip.refused:
        return None
    if risk.term == "not_found":
        return f"{risk.part} has a recommendation" if first is not None else None
    if first is None or risk.part == "stay":
        return f"{risk.part} has no ride"
    later = [row.name for row in trip.rows.values() if _later(row, first)]
    return f"later goes {', '.join(later)}" if later else None


def _later(row: EvidenceRow, first: EvidenceRow) -> bool:
    """On the same day and way, by whatever means and in whichever call it was shown."""
    ends = ("depart_city", "arrive_city")
    is_rival = row.kind in ("flight", "train") and all(
        same(row.text(end), first.text(end)) for end in ends
    )
    departs, first_departs = row.text("departs_at"), first.text("departs_at")
    return is_rival and departs[:10] == first_departs[:10] and departs > first_departs


def _alternative(path: str, risk: Alternative, trip: Itinerary) -> Problems:
    """Another row that serves the same part of the trip; it need not meet the wishes."""
    row, first = trip.rows.get((risk.call, risk.row)), trip.first(risk.part)
    kinds = ("hotel",) if risk.part == "stay" else ("flight", "train")
    if row is None or row.kind not in kinds:
        said = f"call {risk.call}, row {risk.row}"
        yield problem("wrong_reference", path, f"{said} is no such row that was shown", said)
    elif risk.name != row.name:
        yield problem("wrong_name", f"{path}.name", f"its row is {row.name}", risk.name, row)
    elif not trip.refused and (first is None or first.name == row.name):
        what = f"{risk.part} has {'no' if first is None else 'this very'} recommendation"
        yield problem("wrong_alternative", path, what, risk.name, row)
    else:
        for miss in misses(trip, row, risk.part):
            if miss.rubric == "main_requirement":
                yield problem("wrong_alternative", path, miss.what, risk.name, row)

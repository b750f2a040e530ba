"""The rule form of both verifiers: deterministic, without a model, unmoved by instructions in the
answer or in tool data. It judges answers in cards and reads no other.

Row D3: can the recommended trip be made, and is it the one that was asked for? Six rubrics, six
conclusions (A.2.2); `CHECKS` lists what each rubric looks at. Every recommendation must keep to the
request, not only the first. Of an alternative under the risks the same is asked but for wishes.

Row D4: does every field of a card say what its row says (A.2.3)? `FIELDS` has, for each kind of
row, the field and what the row says of it. A field that its row says nothing of is as wrong as one
that says otherwise. (Number and name are held against the row where references are followed.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from operator import attrgetter
from typing import Any, NamedTuple

from tripwright.domains.deeptravel.cards import (
    Alternative,
    AsNamed,
    Best,
    InTime,
    Near,
    NotCards,
    NotMet,
    OfPart,
    WithinNightly,
    read_cards,
)
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.tools.answers import OF_THE_CALL
from tripwright.domains.deeptravel.verifiers.evidence import (
    BOOKED,
    KINDS,
    NEAR_KM,
    RIDES,
    CallEvidence,
    EvidenceRow,
    Itinerary,
    Miss,
    Pick,
    arrival_day,
    asked_parts,
    checkout_asked,
    contains,
    ends,
    evidence,
    fits,
    has_hotel,
    misses,
    moment,
    nightly,
    nights_of,
    plain,
    problem,
    rooms_for,
    same,
)
from tripwright.domains.deeptravel.verifiers.findings import (
    RUBRICS,
    Conclusion,
    TrajectoryFinding,
    TurnFinding,
    VerifierProblem,
)
from tripwright.transcript import ToolCall, Transcript

Problems = Iterator[VerifierProblem]


class _Judged(NamedTuple):
    trip: Itinerary | str  # or why the answer is outside the contract
    problems: tuple[VerifierProblem, ...]  # of its fields


class RuleVerifier:
    """Rows D3 and D4 by rules. Never raises NoVerdict: there is nothing on our side that could
    fail."""

    name = "rules"

    def __init__(self) -> None:
        # what the next turn asks for again
        self._last: tuple[Transcript, tuple[Any, ...], _Judged] | None = None

    def trajectory(self, request: TravelRequest, transcript: Transcript) -> TrajectoryFinding:
        trip = self._judged(request, transcript).trip
        if isinstance(trip, str):
            problem = VerifierProblem("format", f"The answer is outside the contract: {trip}")
            return TrajectoryFinding(
                "dissatisfied_incomplete", {"complete": False}, (problem,), problem.message
            )
        return trajectory_of(trip)

    def turn(self, request: TravelRequest, transcript: Transcript, call: int) -> TurnFinding:
        trip, problems = self._judged(request, transcript)
        if isinstance(trip, str):
            return TurnFinding(call, "inconsistent_with_response", (), trip)
        asked = tuple(call_problems(trip.answered[call - 1], trip))
        # what rests on no row that was shown belongs to every turn
        said = tuple(each for each in problems if each.call in (call, None))
        reason = " ".join(each.message for each in (asked or said)[:5]) or "Nothing is wrong."
        if asked:
            return TurnFinding(call, "tool_call_logic_error", asked, reason)
        return TurnFinding(
            call, "inconsistent_with_response" if said else "satisfied", said, reason
        )

    def _judged(self, request: TravelRequest, transcript: Transcript) -> _Judged:
        asked = (request, transcript.answer, len(transcript.segments))
        last = self._last  # of whichever thread
        if last is not None and last[0] is transcript and last[1] == asked:
            return last[2]
        try:
            trip = Itinerary(request, read_cards(transcript.answer or ""), evidence(transcript))
            judged = _Judged(trip, tuple(field_problems(trip)))
        except NotCards as problem:
            judged = _Judged(str(problem), ())
        self._last = (transcript, asked, judged)
        return judged


def call_problems(answered: CallEvidence, trip: Itinerary) -> Iterator[VerifierProblem]:
    """Whether a call that the answer rests on asked for what the traveller asked for. An
    exploration may ask for anything."""
    if answered.number not in trip.used:
        return
    request, said, name = trip.request, answered.call.arguments, answered.call.name
    right: dict[str, set[str]] = {}
    if name in ("flight_search", "train_search"):
        back = same(str(said.get("depart_city_name", "")), request.destination)
        begin, end = (request.origin, request.destination)[:: -1 if back else 1]
        right = {
            "depart_city_name": {begin},
            "arrival_city_name": {end},
            "depart_date": {(request.return_date or "") if back else request.depart_date},
        }
    elif name == "hotel_search":
        arrivals = {pick.row.text("arrives_at")[:10] for pick in trip.picks("outbound")}
        right = {
            "city_name": {request.destination},
            "checkin_date": arrivals | {request.depart_date},
            "checkout_date": {checkout_asked(request)},
        }
    elif name in ("poi_search", "route_planning"):
        right = {"city_name": {request.destination}}
    for argument, values in right.items():
        if not any(same(str(said.get(argument, "")), value) for value in values):
            expected = " or ".join(sorted(values))
            message = f"call {answered.number}, {name}, asked for {said.get(argument)!r}"
            yield VerifierProblem(
                "wrong_parameters",
                f"{argument}: {message}, the request needs {expected}.",
                str(said.get(argument)),
                answered.number,
                field=argument,
            )


# ---- fields

CENT = 0.005
Says = Callable[[EvidenceRow], Any]  # None where the row does not say


def _text(*labels: str) -> Says:
    """The first of these that the row says."""
    return lambda row: next((row.text(label) for label in labels if row.text(label)), None)


def _number(label: str) -> Says:
    return lambda row: row.number(label)


def _moment(label: str) -> Says:
    return lambda row: moment(row, label)


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
    for pick in trip.picks(*BOOKED):
        yield from (*_against_row(pick), *_price(pick, trip), *_reasons(pick, trip))
    for pick in trip.picks("visits"):
        yield from (*_against_row(pick), *_visit(pick, trip))
    yield from _risks(trip)


def missing_prices(trip: Itinerary) -> Problems:
    """A traveller books by the price, so a card says it where its row does."""
    for pick in trip.picks(*BOOKED):
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
    "first_departure": (_moment("departs_at"), True, _RIDES),
    "last_departure": (_moment("departs_at"), False, _RIDES),
    "first_arrival": (_moment("arrives_at"), True, _RIDES),
}


def _reasons(pick: Pick, trip: Itinerary) -> Problems:
    for place, reason in enumerate(pick.card.reasons):
        match reason:
            case Best():
                what = _not_best(reason, pick, trip)
            case InTime():
                what = _not_in_time(reason, pick, trip)
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


def _not_best(reason: Best, pick: Pick, trip: Itinerary) -> str | None:
    row = pick.row
    value, least, kinds = BEST[reason.term]
    if row.kind not in kinds:
        return f"{reason.term} has no meaning for a {row.kind}"
    rivals = [each for each in trip.rows.values() if each.call == reason.call]
    rivals = [each for each in rivals if each.kind == row.kind]
    said = trip.answered[reason.call - 1].call.arguments if row in rivals else {}
    if name := plain(str(said.get("hotel_name") or "")):
        # what the traveller named is no narrower than what was asked for
        asked = contains(trip.request.hotel or "", name)
        several = len({plain(each.name) for each in rivals}) > 1
        if not asked or (not several and reason.term != "cheapest_that_fits"):
            return f"call {reason.call} looked for {name} alone"
    if reason.term == "cheapest_that_fits":
        if trip.refused:
            return None  # whether a ride fits hangs on the hotel
        rivals = [each for each in rivals if fits(trip, each, pick.part)]
    if reason.term.startswith("cheapest") and len({each.text("currency") for each in rivals}) > 1:
        return "the rows have prices of several currencies"
    values = [said for each in rivals if (said := value(each)) is not None]
    if value(row) is None:
        return f"the row of {row.name} shows nothing of that"
    if row not in rivals:
        return f"{row.name} is not among the rows of call {reason.call} that it is said of"
    best = min(values) if least else max(values)
    return None if value(row) == best else f"{row.name} has {value(row)}, the best is {best}"


def _not_in_time(reason: InTime, pick: Pick, trip: Itinerary) -> str | None:
    row = pick.row
    arrives = reason.term == "arrives_by"
    there, back = ("arrive_by", "return_by") if arrives else ("depart_after", "return_after")
    wish = back if pick.part == "return" else there
    asked = getattr(trip.request, wish)
    true = _clock("arrives_at" if arrives else "departs_at")(row)
    if reason.limit != asked or reason.time != true:
        return f"its row says {true}, the request {asked or 'no such time'}"
    return next((miss.what for miss in misses(trip, row, pick.part) if miss.wish == wish), None)


def _not_near(reason: Near, hotel: EvidenceRow, trip: Itinerary) -> str | None:
    way = trip.rows.get((reason.call, reason.row))
    if way is None or way.kind != "route":
        return f"call {reason.call}, row {reason.row} is no way that was shown"
    if ends(way) != {plain(hotel.name), plain(reason.place)}:
        return f"that way is from {way.text('origin')} to {way.text('destination')}"
    km = way.number("distance_km")
    if km is None or km != reason.distance_km:
        return f"the way has {km} km"
    return f"it is {km:g} km, near is {NEAR_KM:g} km" if km > NEAR_KM else None


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
    unmet = {miss.wish for _, miss in _all_misses(trip)}
    unmet |= {"visit"} if len(trip.cards.visits) < len(trip.request.visit) else set()
    if trip.request.total_budget is not None:
        costs = [trip.cost(pick) for part in BOOKED for pick in trip.picks(part)[:1]]
        sums = [cost for cost in costs if cost is not None]
        if len(sums) < len(costs) or round(sum(sums), 2) > trip.request.total_budget:
            unmet.add("total_budget")
    for place, risk in enumerate(trip.cards.risks):
        path = f"risks.{place}"
        if isinstance(risk, Alternative):
            continue  # judged as the recommendations are
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
    shown = {answered.call.name for answered in trip.answered if _shows_all(answered.call, first)}
    means = [trip.request.transport] if trip.request.transport else _RIDES
    unknown = [name for name, kind in KINDS.items() if kind in means and name not in shown]
    if unknown and not later:
        return f"no {' and no '.join(unknown)} has shown all of that day, trains with a change too"
    return f"later goes {', '.join(later)}" if later else None


_CITIES = ("depart_city", "arrive_city")


def _later(row: EvidenceRow, first: EvidenceRow) -> bool:
    """On the same day and way, by whatever means and in whichever call it was shown."""
    is_rival = row.kind in _RIDES and all(same(row.text(end), first.text(end)) for end in _CITIES)
    departs, first_departs = row.text("departs_at"), first.text("departs_at")
    return is_rival and departs[:10] == first_departs[:10] and departs > first_departs


def _shows_all(call: ToolCall, first: EvidenceRow) -> bool:
    """Whether it asked for every ride of that day and way, and its answer was shown whole."""
    said, rows = call.arguments, call.rows
    return (
        all(same(str(said.get(OF_THE_CALL[end])), first.text(end)) for end in _CITIES)
        and said.get("depart_date") == first.text("departs_at")[:10]
        and (call.name != "train_search" or said.get("is_transfer") in (1, "1"))
        and not call.error
        and rows is not None
        and rows.total == len(rows.values)
    )


# ---- the trajectory

LEAST_MINUTES_THERE = 60  # between arriving and leaving again


def trajectory_of(trip: Itinerary) -> TrajectoryFinding:
    wrong = {
        rubric: [found for check in CHECKS.get(rubric, ()) for found in check(trip)]
        for rubric in RUBRICS
    }
    for pick, miss in _all_misses(trip):
        kind = miss.wish or "not_what_was_asked"
        wrong[miss.rubric].append(pick.problem(kind, miss.field, miss.what, pick.row.name))
    rubrics: dict[str, bool | None] = {rubric: not found for rubric, found in wrong.items()}
    for rubric, wishes in OF_WISHES.items():
        if not any(getattr(trip.request, wish) for wish in wishes) and rubrics[rubric]:
            rubrics[rubric] = None
    for rubric in OF_THE_WHOLE if trip.refused else ():
        if rubrics[rubric]:
            rubrics[rubric] = False  # fails closed
    rubrics["backup_plan"] = any(len(trip.picks(part, spare=True)) > 1 for part in BOOKED)
    problems = tuple(found for rubric in RUBRICS for found in wrong[rubric])
    reason = " ".join(found.message for found in problems[:5]) or "Nothing is wrong."
    return TrajectoryFinding(_conclusion(rubrics), rubrics, problems, reason)


def _conclusion(rubrics: dict[str, bool | None]) -> Conclusion:
    """The worst that applies; A.2.2 names them from best to worst."""
    if rubrics["complete"] is False:
        return "dissatisfied_incomplete"
    if rubrics["main_requirement"] is False:
        return "dissatisfied_main_requirement"
    if rubrics["logic"] is False:
        return "dissatisfied_logic"
    if rubrics["other_constraints"] is False or rubrics["specific_requirements"] is False:
        return "basically_satisfied"
    return "very_satisfied" if rubrics["backup_plan"] else "very_satisfied_without_backup"


def _all_misses(trip: Itinerary) -> Iterator[tuple[Pick, Miss]]:
    """An alternative may break a wish."""
    for pick in trip.picks(*BOOKED, spare=True):
        for miss in misses(trip, pick.row, pick.part):
            if not pick.is_spare or miss.rubric == "main_requirement":
                yield pick, miss


# ---- complete


def parts_missing(trip: Itinerary) -> Problems:
    for part in asked_parts(trip.request):
        is_refused = any(each.field.startswith(f"{part}.") for each in trip.refused)
        if not trip.picks(part) and not is_refused:
            yield problem(f"missing_{part}", part, "nothing is recommended that was looked up")


# ---- main requirement


def party(trip: Itinerary) -> Problems:
    size = trip.request.party_size
    if trip.cards.party != size:
        yield problem("wrong_party", "party", f"{size} travel", trip.cards.party)


def rooms(trip: Itinerary) -> Problems:
    size = trip.request.party_size
    for pick in trip.picks("stay"):
        if pick.card.rooms not in (needed := rooms_for(size, pick.row)):
            what = f"{size} people need {' or '.join(map(str, needed))} of {pick.row.name}"
            yield pick.problem("wrong_rooms", "rooms", what, pick.card.rooms)


def not_asked(trip: Itinerary) -> Problems:
    if trip.cards.stay and "stay" not in asked_parts(trip.request):
        yield problem("not_what_was_asked", "stay", "no night was asked for")


# ---- logic


def ride_times(trip: Itinerary) -> Problems:
    """A clock that goes back on the way may only do so over a line of dates."""
    for pick in trip.picks(*RIDES, spare=True):
        departs, arrives = moment(pick.row, "departs_at"), moment(pick.row, "arrives_at")
        if departs is None or arrives is None:
            yield pick.problem("time_unknown", "departs", "when it goes is not known")
        elif arrives <= departs and (
            pick.row.kind == "train" or (departs - arrives).total_seconds() > 24 * 3600
        ):
            what = f"{pick.row.name} arrives before it departs"
            yield pick.problem("arrives_before_it_departs", "arrives", what)


def time_there(trip: Itinerary) -> Problems:
    """Of two alternatives nobody says that they go together."""
    ways = product(trip.picks("outbound", spare=True), trip.picks("return", spare=True))
    for there, back in ways:
        if there.is_spare and back.is_spare:
            continue
        arrives, departs = moment(there.row, "arrives_at"), moment(back.row, "departs_at")
        if arrives and departs and (departs - arrives).total_seconds() < 60 * LEAST_MINUTES_THERE:
            what = f"leaves at {departs}, {there.row.name} arrives at {arrives}"
            yield back.problem("impossible_connection", "departs", what, back.row.name)


def nights(trip: Itinerary) -> Problems:
    """From the day of arrival to the day asked for, which is not after the way back."""
    request, rides = trip.request, trip.picks("outbound")
    begins = {arrival_day(trip, pick.row) for pick in rides} or {request.depart_date}
    checkins = sorted({pick.row.text("checkin_date") for pick in trip.picks("stay")})
    leaves = [pick.row.text("departs_at")[:10] for pick in trip.picks("return")]
    for pick in trip.picks("stay", spare=True):
        begin, end = pick.row.text("checkin_date"), pick.row.text("checkout_date")
        if begin not in begins and not trip.refused:
            what = f"from {begin}, the arrival is on {', '.join(sorted(begins))}"
            yield pick.problem("check_in_on_another_day", "checkin", what, begin)
        if end != checkout_asked(request):
            what = f"until {end}, asked was until {checkout_asked(request)}"
            yield pick.problem("check_out_on_another_day", "checkout", what, end)
        elif any(day < end for day in leaves):
            what = f"until {end}, the way back is on {min(leaves)}"
            yield pick.problem("check_out_after_the_return", "checkout", what, end)
    rides = trip.picks("outbound", spare=True)
    for pick in rides if begins.issuperset(checkins) and not trip.refused else ():
        if not has_hotel(trip, pick.row):
            day = arrival_day(trip, pick.row)
            what = f"{pick.row.name} arrives on {day}, the stay is from {', '.join(checkins)}"
            yield pick.problem("check_in_on_another_day", "arrives", what, pick.row.name)


def total(trip: Itinerary) -> Problems:
    said = trip.cards.total
    if said is None or trip.refused:
        return
    if trip.total is None or abs(said.amount - trip.total) > CENT:
        what = f"the first recommendations come to {trip.total} for the party"
        yield problem("wrong_total", "total.amount", what, said.amount)
    shown = {row.text("currency") for part in BOOKED if (row := trip.first(part)) is not None}
    if shown != {said.currency or ""}:
        what = f"the rows say {', '.join(sorted(shown)) or 'none'}"
        yield problem("wrong_currency", "total.currency", what, said.currency)


def repeated(trip: Itinerary) -> Problems:
    """The same row twice is neither a second recommendation nor an alternative."""
    for part in BOOKED if not trip.refused else ():
        picks = trip.picks(part, spare=True)
        for pick in picks[1:]:
            if same(pick.row.name, picks[0].row.name):
                what = f"{pick.row.name} is recommended already"
                yield pick.problem("recommended_twice", "row", what, pick.row.name)


def ways_begin(trip: Itinerary) -> Problems:
    """A way to a place begins at the hotel, where there is one."""
    hotels = [pick.row.name for pick in trip.picks("stay")] if not trip.refused else []
    for pick in trip.picks("visits"):
        origin = pick.row.text("origin")
        if pick.row.kind == "route" and hotels and not any(same(origin, each) for each in hotels):
            what = f"the way begins at {origin}, the stay is at {' or '.join(hotels)}"
            yield pick.problem("way_from_elsewhere", "origin", what, origin)


# ---- constraints


def budget(trip: Itinerary) -> Problems:
    """The first choices together, and every other choice beside the cheapest of the rest. Over is
    over: the 15% of row D10 are for people."""
    limit = trip.request.total_budget
    if limit is None or trip.refused:
        return
    groups: list[list[tuple[float, Pick]]] = []
    for picks in filter(None, map(trip.picks, BOOKED)):
        groups.append([])
        for pick in picks:
            if (cost := trip.cost(pick)) is None:
                what = f"its price in {trip.request.currency} is not known"
                yield pick.problem("total_budget", "price", what, pick.row.name)
                return
            groups[-1].append((cost, pick))
    for group in groups:
        others = [other for other in groups if other is not group]
        for place, (cost, pick) in enumerate(group):
            rest = sum(
                other[0][0] if not place else min(each for each, _ in other) for other in others
            )
            if round(cost + rest, 2) > limit:
                what = (
                    f"with it the trip costs {cost + rest:g} at the least, the budget is {limit:g}"
                )
                yield pick.problem("total_budget", "price", what, pick.row.name)


def near(trip: Itinerary) -> Problems:
    """That a hotel is near what was asked for is said with the row that shows it."""
    place = trip.request.hotel_near or ""
    for pick in trip.picks("stay") if place else ():
        if not any(each.term == "near" and same(each.place, place) for each in pick.card.reasons):
            what = f"the term near with the way to {place} is missing"
            yield pick.problem("hotel_near", "reasons", what, pick.row.name)


def visits(trip: Itinerary) -> Problems:
    """Each place that was asked for, in the city of destination, with the way to it; no other, and
    none twice."""
    missing = {plain(place): place for place in trip.request.visit}
    for pick in trip.picks("visits"):
        place, city = pick.row.text("destination"), pick.row.text("city")
        if pick.row.kind != "route":
            continue
        if missing.pop(plain(place), None) is None:
            what = f"{place} was not asked for, or stands there already"
            yield problem("not_what_was_asked", pick.path, what, place, pick.row)
        elif not same(city, trip.request.destination):
            yield pick.problem("other_place", "origin", f"{place} is in {city or 'no city'}", place)
    for place in missing.values():
        yield problem("visit", "visits", f"{place} is missing, with the way to it", place)


CHECKS: dict[str, tuple[Callable[[Itinerary], Iterable[VerifierProblem]], ...]] = {
    "complete": (attrgetter("refused"), parts_missing, missing_prices),
    "main_requirement": (party, rooms, not_asked),
    "logic": (ride_times, time_there, nights, total, repeated, ways_begin),
    "other_constraints": (budget,),
    "specific_requirements": (near, visits),
}
# what they look at together is not known while a reference does not hold
OF_THE_WHOLE = ("logic", "other_constraints")
OF_WISHES = {  # rubrics of wishes → the request's fields; without them nothing was asked
    "other_constraints": (
        *("depart_after", "arrive_by", "return_after", "return_by"),
        *("total_budget", "nightly_budget"),
    ),
    "specific_requirements": ("hotel", "hotel_near", "visit"),
}

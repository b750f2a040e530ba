"""Row D3, the rule form: can the recommended trip be made, and is it the one that was asked for?
Six rubrics, six conclusions (A.2.2).

`CHECKS` lists what each rubric looks at. Every recommendation must keep to the request, not only
the first; an alternative under the risks need not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product

from tripwright.domains.deeptravel.verifiers.fields import CENT, missing_prices
from tripwright.domains.deeptravel.verifiers.findings import (
    RUBRICS,
    Conclusion,
    TrajectoryFinding,
    VerifierProblem,
)
from tripwright.domains.deeptravel.verifiers.itinerary import (
    BOOKED,
    RIDES,
    Itinerary,
    Pick,
    asked_parts,
    checkout_asked,
    moment,
    problem,
    rooms_for,
    same,
)
from tripwright.domains.deeptravel.verifiers.misses import arrival_day, has_hotel, misses

LEAST_MINUTES_THERE = 60  # between arriving and leaving again
Problems = Iterator[VerifierProblem]


def trajectory_of(trip: Itinerary) -> TrajectoryFinding:
    wrong = {
        rubric: [found for check in CHECKS.get(rubric, ()) for found in check(trip)]
        + (_missed(trip, rubric))
        for rubric in RUBRICS
    }
    rubrics: dict[str, bool | None] = {rubric: not found for rubric, found in wrong.items()}
    for rubric, wishes in OF_WISHES.items():
        if not any(getattr(trip.request, wish) for wish in wishes) and rubrics[rubric]:
            rubrics[rubric] = None
    for rubric in OF_THE_WHOLE if trip.refused else ():
        if rubrics[rubric]:
            rubrics[rubric] = False  # fails closed
    rubrics["backup_plan"] = _has_backup(trip)
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


def _missed(trip: Itinerary, rubric: str) -> list[VerifierProblem]:
    """What recommended rows lack of what was asked, as far as this rubric is about it."""
    return [
        pick.problem(miss.wish or "not_what_was_asked", miss.field, miss.what, pick.row.name)
        for part in BOOKED
        for pick in trip.picks(part)
        for miss in misses(trip, pick.row, part)
        if miss.rubric == rubric
    ]


# ---- complete


def references(trip: Itinerary) -> Problems:
    yield from trip.refused


def parts_missing(trip: Itinerary) -> Problems:
    for part in asked_parts(trip.request):
        is_refused = any(each.field.startswith(f"{part}.") for each in trip.refused)
        if not trip.picks(part) and not is_refused:
            what = "a recommendation with a row that was shown is missing"
            yield problem(f"missing_{part}", part, what)


# ---- main requirement


def party(trip: Itinerary) -> Problems:
    size = trip.request.party_size
    if trip.cards.party != size:
        yield problem("wrong_party", "party", f"{size} travel", trip.cards.party)


def rooms(trip: Itinerary) -> Problems:
    needed = rooms_for(trip.request.party_size)
    for pick in trip.picks("stay"):
        if pick.card.rooms != needed:
            what = f"{trip.request.party_size} people need {needed}, two to a room"
            yield pick.problem("wrong_rooms", "rooms", what, pick.card.rooms)


def not_asked(trip: Itinerary) -> Problems:
    if trip.cards.stay and "stay" not in asked_parts(trip.request):
        yield problem("not_what_was_asked", "stay", "no night was asked for")


# ---- logic


def ride_times(trip: Itinerary) -> Problems:
    """A clock that goes back on the way may only do so over a line of dates."""
    for pick in (pick for part in RIDES for pick in trip.picks(part)):
        departs, arrives = moment(pick.row, "departs_at"), moment(pick.row, "arrives_at")
        if departs is None or arrives is None:
            yield pick.problem("time_unknown", "departs", "when it goes is not known")
        elif arrives <= departs and (
            pick.row.kind == "train" or (departs - arrives).total_seconds() > 24 * 3600
        ):
            what = f"{pick.row.name} arrives before it departs"
            yield pick.problem("arrives_before_it_departs", "arrives", what)


def time_there(trip: Itinerary) -> Problems:
    for there, back in product(trip.picks("outbound"), trip.picks("return")):
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
    for pick in trip.picks("stay"):
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
    """The same row twice is no second recommendation."""
    for part in BOOKED:
        picks = trip.picks(part)
        for pick in picks[1:]:
            if pick.row.name == picks[0].row.name:
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
            if (cost := trip.cost(pick.row)) is None:
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
    """Each place that was asked for, in the city of destination, with the way to it."""
    ways = [pick for pick in trip.picks("visits") if pick.row.kind == "route"]
    for place in trip.request.visit:
        here = [pick for pick in ways if same(pick.row.text("destination"), place)]
        if not here:
            yield problem("visit", "visits", f"{place} is missing, with the way to it", place)
        elif not any(same(pick.row.text("city"), trip.request.destination) for pick in here):
            what = f"{place} is in {here[0].row.text('city') or 'no city'}"
            yield here[0].problem("other_place", "origin", what, place)


CHECKS: dict[str, tuple[Callable[[Itinerary], Problems], ...]] = {
    "complete": (references, parts_missing, missing_prices),
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


def _has_backup(trip: Itinerary) -> bool:
    """A second recommendation of some part, or an alternative under the risks."""
    return any(len(trip.picks(part)) > 1 for part in BOOKED) or any(
        risk.term == "alternative" for risk in trip.cards.risks
    )

# long: a rule verifier of prose, kept whole until a judge that reads replaces it
"""Row D3, the rule form: can the recommended trip be made, and is it the one that was asked for?
Six rubrics, six conclusions (A.2.2).

What is recommended is what the answer names; what that is, the rows say. A name without a row
recommends nothing. Every recommendation of a part must keep to the request, not only the first;
what stands under the risks is an alternative and need not.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import product

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims import Reading, Statement
from tripwright.domains.deeptravel.verifiers.claims_mentions import Entity, key_of
from tripwright.domains.deeptravel.verifiers.claims_parts import Part
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, EvidenceRow
from tripwright.domains.deeptravel.verifiers.findings import (
    RUBRICS,
    Conclusion,
    TrajectoryFinding,
    VerifierProblem,
)
from tripwright.domains.deeptravel.verifiers.fits import (
    guests_in,
    is_chain,
    last_night_ends,
    late,
    moment,
    nights_asked,
    nights_of,
    rooms_for,
    same_place,
    wrong_journey,
)
from tripwright.domains.deeptravel.verifiers.support import ClaimBasis, day_is_asked
from tripwright.domains.deeptravel.verifiers.told import untold
from tripwright.domains.deeptravel.verifiers.tolerance import minutes_fit, number_fits

MOST_IN_A_PART = 2  # row D11
MOST_SPARES = 4  # two directions, two each
LEAST_MINUTES_THERE = 60  # between arriving and leaving again on one day
LEAST_MINUTES_TO_CHANGE = 30
MOST_MINUTES_TO_CHANGE = 12 * 60  # a longer wait is a stay that nobody asked for
NEAR_KM = 3.0  # by the road; what "near" asks of a hotel
Chosen = dict[Entity, EvidenceRow]


def feasibility(
    reading: Reading, chosen: Chosen, answered: list[CallEvidence], request: TravelRequest
) -> TrajectoryFinding:
    """`chosen` is the row of everything that the answer speaks of (grounding.py)."""
    parts = _parts(reading, chosen)
    wrong: dict[str, list[VerifierProblem]] = {rubric: [] for rubric in RUBRICS}
    wrong["complete"] += [
        *_missing(parts, request),
        *untold(reading, chosen, ClaimBasis.of(request, answered)),
        *_taken_back(reading),
    ]
    wrong["main_requirement"] += [
        *_not_asked_for(parts, reading, chosen, request),
        *_under_another_day(reading, chosen),
    ]
    wrong["logic"] += [*_form(reading), *_impossible(parts, request), *_stays_wrong(parts, request)]
    wrong["other_constraints"] += _unkept(parts, request)
    wrong["specific_requirements"] += _wishes(parts, reading, answered, request)
    rubrics: dict[str, bool | None] = {rubric: not found for rubric, found in wrong.items()}
    limits = (
        request.depart_after,
        request.arrive_by,
        request.return_after,
        request.return_by,
        request.total_budget,
        request.nightly_budget,
    )
    if all(limit is None for limit in limits):
        rubrics["other_constraints"] = None
    if request.hotel is None and request.hotel_near is None and not request.visit:
        rubrics["specific_requirements"] = None
    rubrics["backup_plan"] = _has_backup(parts, reading)
    problems = tuple(problem for rubric in RUBRICS for problem in wrong[rubric])
    conclusion = _conclusion(rubrics)
    reason = " ".join(problem.message for problem in problems[:5]) or "Nothing is wrong."
    return TrajectoryFinding(conclusion, rubrics, problems, reason)


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


def _parts(reading: Reading, chosen: Chosen) -> dict[Part, list[EvidenceRow]]:
    return {
        part: [chosen[each] for each in entities if each in chosen]
        for part, entities in reading.recommended.items()
    }


def _problem(kind: str, message: str, row: EvidenceRow | None = None) -> VerifierProblem:
    return VerifierProblem(
        kind, message, row.name if row else "", row.call if row else None, row.row if row else None
    )


def _missing(
    parts: dict[Part, list[EvidenceRow]], request: TravelRequest
) -> Iterator[VerifierProblem]:
    nights = nights_asked(request)
    asked: tuple[tuple[Part, bool, str], ...] = (
        ("outbound", True, f"a way from {request.origin} to {request.destination}"),
        ("stay", nights > 0, f"a place to stay for {nights} nights"),
        ("return", request.return_date is not None, f"a way back to {request.origin}"),
    )
    for part, wanted, what in asked:
        if wanted and not parts.get(part):
            yield _problem(
                f"missing_{part}", f"The answer recommends no {what[2:]} that a tool answer has."
            )


def _taken_back(reading: Reading) -> Iterator[VerifierProblem]:
    for words in reading.taken_back:
        yield VerifierProblem(
            "taken_back", "The answer takes back what it recommends.", words.strip()
        )


def _not_asked_for(
    parts: dict[Part, list[EvidenceRow]], reading: Reading, chosen: Chosen, request: TravelRequest
) -> Iterator[VerifierProblem]:
    for part in ("outbound", "return"):
        rides = parts.get(part, [])
        for journey in [rides] if is_chain(rides) else [[row] for row in rides]:
            for row, what in wrong_journey(journey, part, request):
                yield _problem(
                    "not_what_was_asked",
                    f"{row.name} is recommended for the {part} but {what}.",
                    row,
                )
    if parts.get("return") and request.return_date is None:
        yield _problem("not_what_was_asked", "A return was not asked for.", parts["return"][0])
    for row in parts.get("stay", []):
        if not same_place(row.text("city"), request.destination):
            yield _problem(
                "not_what_was_asked",
                f"{row.name} is in {row.text('city') or 'no city said'}, not in"
                f" {request.destination}.",
                row,
            )
        guests = guests_in(row.text("room"))
        if guests is not None and guests * rooms_for(request.party_size) < request.party_size:
            yield _problem(
                "room_too_small",
                f"{row.name} has rooms for {guests}, two to a room were needed.",
                row,
            )
    for statement in reading.statements:
        if statement.claim.kind == "people" and statement.claim.values[0] not in (
            1,
            request.party_size,
        ):
            yield _problem(
                "wrong_party", f"'{statement.claim.said}' where {request.party_size} travel."
            )
        elif statement.claim.kind == "date" and not _day_fits(statement, parts, chosen, request):
            yield _problem(
                "wrong_date", f"'{statement.claim.said}' is no day of the trip that was asked for."
            )


def _under_another_day(reading: Reading, chosen: Chosen) -> Iterator[VerifierProblem]:
    """A ride under the title of a day goes or arrives on that day."""
    for entity, days in dict.fromkeys(reading.dated):
        row = chosen.get(entity)
        true = (
            [row.text(label)[:10] for label in ("departs_at", "arrives_at") if row.text(label)]
            if row is not None
            else []
        )
        if true and not any(
            _is(said, each) for claim in days for said in claim.values for each in true
        ):
            yield _problem(
                "wrong_date",
                f"{entity.name} stands under '{days[0].said}' and goes on {true[0]}.",
                row,
            )


def _day_fits(
    statement: Statement,
    parts: dict[Part, list[EvidenceRow]],
    chosen: Chosen,
    request: TravelRequest,
) -> bool:
    """Days that stand with a ride of a part must be that part's; others must be of the trip."""
    ways: dict[Part, str | None] = {"outbound": request.depart_date, "return": request.return_date}
    days = {request.depart_date, request.return_date or "", last_night_ends(request)}
    for part, asked in ways.items():
        if asked and (
            statement.part == part
            or (
                statement.subject is not None
                and chosen.get(statement.subject) in parts.get(part, [])
            )
        ):
            days = {asked, *(row.text("arrives_at")[:10] for row in parts.get(part, []))}
            break
    else:
        days |= {row.text("arrives_at")[:10] for part in ways for row in parts.get(part, [])}
    return (
        any(_is(said, each) for said in statement.claim.values for each in days if each)
        or day_is_asked(statement.claim, request)
        and not statement.part
    )


def _is(said: object, true: str) -> bool:
    return all(
        int(one) == 0 or one == two
        for one, two in zip(str(said).split("-"), true.split("-"), strict=False)
    )


def _form(reading: Reading) -> Iterator[VerifierProblem]:
    for kind, what in reading.form:
        yield _problem(kind, f"The answer is not readable as it stands: {what}.")
    for part in ("outbound", "stay", "return"):
        entities = reading.recommended.get(part, [])
        if len(entities) > MOST_IN_A_PART:
            yield _problem(
                "too_many",
                f"{len(entities)} recommendations in the part {part}: {MOST_IN_A_PART} at most.",
            )
    recommended = {entity.name for entities in reading.recommended.values() for entity in entities}
    others = [
        each
        for each in dict.fromkeys([*reading.spares, *reading.compared])
        if each.name not in recommended
    ]
    if len(others) > MOST_SPARES:
        yield _problem(
            "too_many",
            f"{len(others)} alternatives beside the recommendations: {MOST_SPARES} at most.",
        )


def _impossible(
    parts: dict[Part, list[EvidenceRow]], request: TravelRequest
) -> Iterator[VerifierProblem]:
    for rides in (parts.get("outbound", []), parts.get("return", [])):
        for row in rides:
            departs, arrives = moment(row, "departs_at"), moment(row, "arrives_at")
            if departs is None or arrives is None:
                yield _problem("time_unknown", f"{row.name}: when it goes is not known.", row)
            elif arrives <= departs and (arrives - departs) < timedelta(
                hours=-24 if row.is_flight else 0
            ):
                yield _problem(
                    "arrives_before_it_departs", f"{row.name} arrives before it departs.", row
                )
        if (
            is_chain(rides)
            and _minutes(rides[0], "arrives_at", rides[1], "departs_at") < LEAST_MINUTES_TO_CHANGE
        ):
            yield _problem(
                "impossible_connection",
                f"{rides[1].name} cannot be reached from {rides[0].name}.",
                rides[1],
            )
        elif (
            is_chain(rides)
            and _minutes(rides[0], "arrives_at", rides[1], "departs_at") > MOST_MINUTES_TO_CHANGE
        ):
            hours = MOST_MINUTES_TO_CHANGE // 60
            yield _problem(
                "long_wait",
                f"{rides[1].name} leaves more than {hours} hours after {rides[0].name} arrives.",
                rides[1],
            )
    there = parts.get("outbound", [])
    for first, back in product(
        there[-1:] if is_chain(there) else there,
        (
            parts.get("return", [])[:1]
            if is_chain(parts.get("return", []))
            else parts.get("return", [])
        ),
    ):
        if _minutes(first, "arrives_at", back, "departs_at") < LEAST_MINUTES_THERE:
            yield _problem(
                "impossible_connection",
                f"{back.name} leaves at {back.text('departs_at')}, {first.name} arrives at"
                f" {first.text('arrives_at')}.",
                back,
            )


def _minutes(one: EvidenceRow, end: str, other: EvidenceRow, begin: str) -> float:
    first, second = moment(one, end), moment(other, begin)
    return (
        (second - first).total_seconds() / 60
        if first is not None and second is not None
        else float("-inf")
    )


def _stays_wrong(
    parts: dict[Part, list[EvidenceRow]], request: TravelRequest
) -> Iterator[VerifierProblem]:
    there = parts.get("outbound", [])
    arrivals = {row.text("arrives_at")[:10] for row in (there[-1:] if is_chain(there) else there)}
    for row in parts.get("stay", []):
        begin, end = row.text("checkin_date"), row.text("checkout_date")
        if arrivals and begin not in arrivals | {request.depart_date}:
            yield _problem(
                "check_in_on_another_day",
                f"{row.name} from {begin}, but the arrival is on {', '.join(sorted(arrivals))}.",
                row,
            )
        elif arrivals and begin not in arrivals and min(arrivals) > begin:
            yield _problem(
                "check_in_on_another_day",
                f"{row.name} from {begin}, the night before the arrival.",
                row,
            )
        if end != last_night_ends(request):
            yield _problem(
                "check_out_on_another_day",
                f"{row.name} until {end}, asked was until {last_night_ends(request)}.",
                row,
            )
        for back in parts.get("return", []):
            if back.text("departs_at")[:10] < end:
                yield _problem(
                    "check_out_after_the_return",
                    f"{back.name} leaves on {back.text('departs_at')[:10]}, before the check-out on"
                    f" {end}.",
                    back,
                )


def _unkept(
    parts: dict[Part, list[EvidenceRow]], request: TravelRequest
) -> Iterator[VerifierProblem]:
    for part in ("outbound", "return"):
        rides = parts.get(part, [])
        for row in rides:
            whats = list(late(row, part, request))
            if is_chain(rides):
                whats = [
                    what
                    for what in whats
                    if what.startswith("departs" if row is rides[0] else "arrives")
                ]
            for what in whats:
                yield _problem("time_not_kept", f"{row.name} {what}.", row)
    if request.nightly_budget is not None:
        for row in parts.get("stay", []):
            price, nights = row.number("price"), nights_of(row)
            unknown = (
                price is None or not nights or row.text("currency") not in ("", request.currency)
            )
            if unknown or (price or 0.0) / (nights or 1) > request.nightly_budget:
                limit = f"{request.nightly_budget:g} {request.currency}"
                yield _problem(
                    "over_budget",
                    f"{row.name} is over {limit} a night, or its price in {request.currency} is not"
                    " known.",
                    row,
                )
    if request.total_budget is not None:
        yield from _over_budget(parts, request, request.total_budget)


def _over_budget(
    parts: dict[Part, list[EvidenceRow]], request: TravelRequest, budget: float
) -> Iterator[VerifierProblem]:
    """The first choices together, and every other choice beside the cheapest of the rest. Over is
    over: row D10's 15% are for people."""
    costs: list[list[tuple[float, EvidenceRow]]] = []
    for part in ("outbound", "return", "stay"):
        rows, times = (
            parts.get(part, []),
            rooms_for(request.party_size) if part == "stay" else request.party_size,
        )
        unknown = next(
            (
                row
                for row in rows
                if row.number("price") is None or row.text("currency") not in ("", request.currency)
            ),
            None,
        )
        if unknown is not None:
            yield _problem(
                "over_budget",
                f"What {unknown.name} costs in {request.currency} is not known, so the budget"
                " cannot be kept.",
                unknown,
            )
            return
        priced = [(times * (row.number("price") or 0.0), row) for row in rows]
        costs.append([(sum(cost for cost, _ in priced), rows[0])] if is_chain(rows) else priced)
    costs = [group for group in costs if group]
    first = sum(group[0][0] for group in costs)
    if first > budget:
        yield _problem(
            "over_budget",
            f"The first choices cost {first:g} {request.currency}, the budget is {budget:g}.",
        )
        return
    for group in costs:
        rest = sum(min(cost for cost, _ in other) for other in costs if other is not group)
        for cost, row in group:
            if cost + rest > budget:
                yield _problem(
                    "over_budget",
                    f"With {row.name} the trip costs {cost + rest:g} at the least, the budget is"
                    f" {budget:g}.",
                    row,
                )


def _wishes(
    parts: dict[Part, list[EvidenceRow]],
    reading: Reading,
    answered: list[CallEvidence],
    request: TravelRequest,
) -> Iterator[VerifierProblem]:
    routes = [
        row
        for call in answered
        for row in call.rows
        if row.kind == "route"
        and same_place(
            row.text("city") or str(row.arguments.get("city_name", "")), request.destination
        )
    ]
    if request.hotel is not None:
        for row in parts.get("stay", []):
            if (
                f" {' '.join(request.hotel.casefold().split())} "
                not in f" {' '.join(row.name.casefold().split())} "
            ):
                yield _problem("other_hotel", f"{row.name} is not {request.hotel}.", row)
    if request.hotel_near is not None:
        for row in parts.get("stay", []):
            ends = {key_of(row.name), key_of(request.hotel_near)}
            far = [
                way.number("distance_km")
                for way in routes
                if ends == {key_of(way.text("origin")), key_of(way.text("destination"))}
            ]
            if not any(km is not None and km <= NEAR_KM for km in far):
                yield _problem(
                    "not_shown_near",
                    f"No route shows that {row.name} is within {NEAR_KM:g} km of"
                    f" {request.hotel_near}.",
                    row,
                )
    visited = {key_of(row.name): row for row in parts.get("visits", [])}
    way_told = set(_ways_told(reading, routes))
    for place in request.visit:
        found = next(
            (row for key, row in visited.items() if key_of(place) in key or key in key_of(place)),
            None,
        )
        if found is None:
            yield _problem("missing_visit", f"{place} is not among what the answer visits.")
        elif key_of(found.name) not in way_told:
            yield _problem("missing_way", f"The answer does not say how to get to {place}.", found)
        elif not same_place(found.text("city"), request.destination):
            yield _problem(
                "other_place", f"{found.name} is in {found.text('city') or 'no city said'}.", found
            )
    yield from _visit_hours(parts, reading, request)


def _ways_told(reading: Reading, routes: list[EvidenceRow]) -> Iterator[str]:
    """Keys of the names whose way is told: with minutes or km that a route to or from there has.
    Advice tells no way."""
    for each in reading.statements:
        if each.claim.kind not in ("minutes", "km"):
            continue
        label, fits = (
            ("minutes", minutes_fit)
            if each.claim.kind == "minutes"
            else ("distance_km", number_fits)
        )
        names = [near.entity for near in each.others if near.entity is not None]
        for entity in [*names, each.subject] if each.subject is not None else names:
            key = key_of(entity.name)
            ways = [
                way.number(label)
                for way in routes
                if key in (key_of(way.text("origin")), key_of(way.text("destination")))
            ]
            if any(true is not None and fits(each.claim, true) for true in ways):
                yield key


def _visit_hours(
    parts: dict[Part, list[EvidenceRow]], reading: Reading, request: TravelRequest
) -> Iterator[VerifierProblem]:
    """On a trip of one day, nothing is visited before the arrival or after the departure."""
    if nights_asked(request) or request.return_date is None:
        return
    arrives = [row.text("arrives_at")[11:16] for row in parts.get("outbound", [])]
    leaves = [row.text("departs_at")[11:16] for row in parts.get("return", [])]
    for statement in reading.statements:
        if (
            statement.claim.kind == "time"
            and statement.subject is not None
            and statement.subject.kind == "place"
            and arrives
            and leaves
        ):
            hours = [
                f"{int(value) // 60:02d}:{int(value) % 60:02d}"
                for value in statement.claim.values
                if isinstance(value, float)
            ]
            if not any(min(arrives) <= hour <= max(leaves) for hour in hours):
                yield _problem(
                    "impossible_visit",
                    f"{statement.subject.name} at {statement.claim.said}: the travellers are not"
                    " there then.",
                )


def _has_backup(parts: dict[Part, list[EvidenceRow]], reading: Reading) -> bool:
    """A second recommendation of some part, or an alternative under the risks."""
    return (
        any(
            len(rows) > 1 and not is_chain(rows) for part, rows in parts.items() if part != "visits"
        )
        or reading.has_risks
    )

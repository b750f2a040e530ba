# long: a rule verifier of prose, kept whole until a judge that reads replaces it
"""Row D4, the rule form: every name, number, time and price of the answer against the row it is
about, and every call against the request.

The row is one row: all that is said of a name must be true of the same row of it. What is about no
row must be the request's own, or sums.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date
from itertools import product

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims import Reading, Statement
from tripwright.domains.deeptravel.verifiers.claims_mentions import Entity, key_of
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, EvidenceRow
from tripwright.domains.deeptravel.verifiers.findings import VerifierProblem
from tripwright.domains.deeptravel.verifiers.fits import nights_asked, rooms_for, same_place
from tripwright.domains.deeptravel.verifiers.support import (
    ClaimBasis,
    asked_times,
    day_is_asked,
    holds,
    is_margin,
    row_days,
    same_day,
    supported,
)
from tripwright.domains.deeptravel.verifiers.tolerance import clock_fits, minutes_fit, number_fits

_ADVICE = re.compile(
    r"\b(?:allow|plan|at least|in advance|ahead|early|earlier|buffer|spare|beforehand|before"
    r" departure|arrive at the)\b",
    re.IGNORECASE,
)
_WAY = re.compile(
    r"\b(?:walk\w*|on foot|driv\w*|taxi|cab|bus|metro|tram|cycl\w*|stroll|ride|get|way|from)\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\b(?:totals?|budget|altogether|overall|whole trip|entire trip|all in|in all|sums?|trip"
    r" costs?|adds? up|come[s]? to|combined"
    r"|round trip|both ways)\b",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"\b(?:budget|limit|under|within|inside|below|at most|maximum|max|up to|cap)\b", re.IGNORECASE
)
_WHOLE_TRIP = re.compile(
    r"\b(?:whole trip|entire trip|all in|in all|sums?|trip (?:costs?|totals?)|adds?"
    r" up|combined|round trip|both ways|grand total)\b",
    re.IGNORECASE,
)
_REST = re.compile(
    r"\b(?:leav(?:es|ing)|left|remain\w*|to spare|unspent|under (?:the |your )?budget)\b",
    re.IGNORECASE,
)
_SAVES = re.compile(r"\b(saves?|saving)\b[^,;]{0,30}$", re.IGNORECASE)
_DIFFERENCE = re.compile(
    r"\s*(?:per (?:person|head) )?(more|extra|dearer|less|cheaper)\b", re.IGNORECASE
)
_ASKED_TIME = re.compile(
    r"\b(?:before|by|after|until|from|later|latest|earlier|deadline|need|want|asked|your|must|limit|required?)\b",
    re.IGNORECASE,
)

_END = re.compile(
    r"\b(?:(?P<departs>depart\w*|leav\w*)(?: from)?|(?:arriv\w*|reach\w*)(?: at| in)?) $",
    re.IGNORECASE,
)
OF_THE_TRIP = ("people", "rooms", "days")  # claims about no row, whatever they stand with


@dataclass
class AnswerGrounding:
    """`chosen` is, for everything the answer speaks of, the row that its words fit best."""

    chosen: dict[Entity, EvidenceRow] = field(default_factory=dict)
    problems: list[VerifierProblem] = field(default_factory=list)
    used: set[int] = field(default_factory=set)  # calls that the answer rests on


def ground(
    reading: Reading, answered: list[CallEvidence], request: TravelRequest
) -> AnswerGrounding:
    found = AnswerGrounding()
    rows = [row for call in answered for row in call.rows]
    base = ClaimBasis.of(request, answered)
    about: dict[Entity, list[Statement]] = defaultdict(list)
    for statement in reading.statements:
        if statement.subject is not None:
            about[statement.subject].append(statement)
    spoken_of = dict.fromkeys([*_spoken_of(reading), *about])
    for entity in spoken_of:
        _one_row(entity, about.get(entity, []), reading, base, found)
    found.problems.clear()  # a sum beside the first name is of rows that were chosen only after it
    for entity in spoken_of:
        _one_row(entity, about.get(entity, []), reading, base, found)
    for statement in reading.statements:
        if statement.claim.kind == "card":
            found.problems += _card(statement, rows, found)
        elif (statement.subject is None or statement.claim.kind in OF_THE_TRIP) and not _unattached(
            statement, reading, base, found.chosen
        ):
            found.problems.append(_unsupported(statement, None))
    found.problems += _names(reading, found.chosen)
    found.used |= {row.call for row in found.chosen.values()} | _routes_used(reading, base)
    return found


def _spoken_of(reading: Reading) -> Iterator[Entity]:
    for entities in reading.recommended.values():
        yield from entities
    yield from reading.spares
    yield from reading.compared


def _one_row(
    entity: Entity,
    said: list[Statement],
    reading: Reading,
    base: ClaimBasis,
    found: AnswerGrounding,
) -> None:
    """Of all rows of this name the one that its cards name or, without cards, that most of its
    words fit; what does not fit it is wrong."""
    cards = {
        str(value) for each in said if each.claim.kind == "card" for value in each.claim.values
    }
    candidates = [row for row in entity.rows if f"{row.call}:{row.row}" in cards] or list(
        entity.rows
    )
    said = [each for each in said if each.claim.kind not in ("card", *OF_THE_TRIP)]
    wrong = [
        [
            each
            for each in said
            if not supported(each, row, base) and not otherwise(each, reading, base, found.chosen)
        ]
        for row in candidates
    ]
    best = min(
        range(len(candidates)),
        key=lambda n: (
            len(wrong[n]),
            not _as_asked(candidates[n], base.request),
            -candidates[n].call,
        ),
    )
    found.chosen[entity] = candidates[best]
    found.problems += [_unsupported(each, candidates[best]) for each in wrong[best]]


def _as_asked(row: EvidenceRow, request: TravelRequest) -> bool:
    return row.kind != "ride" or row.text("departs_at")[:10] in (
        request.depart_date,
        request.return_date,
    )


def otherwise(
    statement: Statement, reading: Reading, base: ClaimBasis, chosen: dict[Entity, EvidenceRow]
) -> bool:
    """A number of the request, a sum or advice that stands beside a name without being about it."""
    kind, request = statement.claim.kind, base.request
    if kind == "price":
        return (
            _is_budget(statement, request)
            or (_is_told_as_sum(statement) and _is_sum(statement, reading, request, chosen))
            or _is_rest(statement, reading, request, chosen)
            or _is_difference(statement, chosen)
            or _is_joined(statement, request, chosen)
        )
    if kind == "minutes":
        return statement.part == "risks" and _is_advice(statement)
    return kind == "nights" and statement.claim.values[0] == nights_asked(request)


def _is_advice(statement: Statement) -> bool:
    """ "Allow 30 minutes"; but the minutes of a way between two names are no advice, they need a
    route."""
    ends = {
        each.entity
        for each in statement.others
        if each.entity is not None and each.entity.kind in ("hotel", "place")
    }
    return _ADVICE.search(statement.sentence) is not None and not (
        len(ends) > 1 and _WAY.search(statement.sentence)
    )


def _unsupported(statement: Statement, row: EvidenceRow | None) -> VerifierProblem:
    kind = {
        "time": "wrong_time",
        "price": "wrong_price",
        "minutes": "wrong_duration",
        "date": "wrong_date",
        "weekday": "wrong_date",
        "km": "wrong_distance",
    }.get(statement.claim.kind, f"wrong_{statement.claim.kind}")
    if row is None:
        about = "and no tool answer, no part of the request and no sum says so"
        return VerifierProblem(
            f"ungrounded_{statement.claim.kind}",
            f"The answer says '{statement.claim.said}', {about}.",
            statement.sentence,
        )
    name = row.name or f"{row.text('origin')} to {row.text('destination')}"
    return VerifierProblem(
        kind,
        f"The answer says '{statement.claim.said}' of {name}; call {row.call}, row {row.row} says"
        " otherwise.",
        statement.sentence,
        row.call,
        row.row,
    )


def _card(
    statement: Statement, rows: list[EvidenceRow], found: AnswerGrounding
) -> Iterator[VerifierProblem]:
    near = [each.entity for each in statement.others if each.entity is not None]
    near += (
        [statement.subject]
        if statement.subject is not None and statement.subject not in near
        else []
    )
    for value in statement.claim.values:
        call, _, number = str(value).partition(":")
        row = next(
            (each for each in rows if each.call == int(call) and each.row == int(number)), None
        )
        if row is None:
            yield VerifierProblem(
                "card_points_nowhere",
                f"There is no row {number} in the answer of call {call}.",
                statement.sentence,
            )
        elif not any(_is_about(row, entity) for entity in near):
            said = statement.subject.name if statement.subject is not None else "nothing"
            yield VerifierProblem(
                "card_of_another_row",
                f"Call {call}, row {number} is {row.name or 'a route'}; the card stands with"
                f" {said}.",
                statement.sentence,
                row.call,
                row.row,
            )
        else:
            found.used.add(row.call)


def _is_about(row: EvidenceRow, entity: Entity) -> bool:
    if row.kind == "route":
        return key_of(entity.name) in (key_of(row.text("origin")), key_of(row.text("destination")))
    if row.kind == "ride":
        return row in entity.rows  # of a number that runs both ways, of this direction
    return (row.kind != "page" and key_of(row.name) == key_of(entity.name)) or (
        row.kind == "page" and entity.name.lower() in row.prose
    )


def _unattached(
    statement: Statement, reading: Reading, base: ClaimBasis, chosen: dict[Entity, EvidenceRow]
) -> bool:
    """What is said of no row: the request's own numbers, sums, routes between two named ends,
    advice."""
    claim, request = statement.claim, base.request
    value = claim.values[0]
    if claim.kind == "price":
        return (
            _is_budget(statement, request)
            or _is_sum(statement, reading, request, chosen)
            or _is_rest(statement, reading, request, chosen)
        )
    if claim.kind == "time":
        return (
            any(clock_fits(claim, limit) for limit in asked_times(request))
            and _ASKED_TIME.search(statement.sentence) is not None
        )
    if claim.kind == "date":
        return day_is_asked(claim, request) or any(
            same_day(str(value), each)
            for row in chosen.values()
            for each in row_days(row, statement)
        )
    if claim.kind == "weekday":
        return any(
            _weekday(each) == value for each in (request.depart_date, request.return_date) if each
        )
    if claim.kind in ("people", "rooms"):
        if claim.kind == "rooms":
            return isinstance(value, float) and 1 <= value <= request.party_size
        return value == request.party_size or (
            value == 1 and re.search(r"\b(?:for|per)\s*$", statement.before) is not None
        )
    if claim.kind == "nights":
        return value == nights_asked(request)
    if claim.kind == "days":
        return value in (nights_asked(request), nights_asked(request) + 1)
    if claim.kind == "minutes":
        return (
            _is_advice(statement)
            or _on_a_route(statement, base, "minutes")
            or any(is_margin(statement, row, request) for row in chosen.values())
        )
    if claim.kind == "km":
        return _on_a_route(statement, base, "distance_km")
    # words without a number, about nothing in particular
    return claim.kind in ("best", "amenity", "stops", "next_day")


def _weekday(text: str) -> float:
    return float(date.fromisoformat(text).weekday())


def _on_a_route(statement: Statement, base: ClaimBasis, label: str) -> bool:
    named = {key_of(each.text) for each in statement.others}
    fits = minutes_fit if label == "minutes" else number_fits
    ways = [
        way
        for way in base.routes
        if {key_of(way.text("origin")), key_of(way.text("destination"))} <= named
    ]
    return any(
        true is not None and fits(statement.claim, true)
        for true in (way.number(label) for way in ways)
    )


def _is_budget(statement: Statement, request: TravelRequest) -> bool:
    asked = [each for each in (request.total_budget, request.nightly_budget) if each is not None]
    return _LIMIT.search(statement.sentence) is not None and any(
        number_fits(statement.claim, each) for each in asked
    )


def _is_sum(
    statement: Statement,
    reading: Reading,
    request: TravelRequest,
    chosen: dict[Entity, EvidenceRow],
) -> bool:
    """Of one recommendation of each of two parts or more: for all travellers, or the ways for
    one."""
    if statement.claim.currency and any(
        row.text("currency") not in ("", statement.claim.currency) for row in chosen.values()
    ):
        return False
    return any(number_fits(statement.claim, total) for total in sums(reading, request, chosen))


def _is_told_as_sum(statement: Statement) -> bool:
    """Beside a name that its own sentence has, "in total" is of that alone, and only words for the
    whole trip tell of a sum."""
    own = any(each.entity == statement.subject for each in statement.others)
    return (_WHOLE_TRIP if own else _TOTAL).search(statement.sentence) is not None


def _is_rest(
    statement: Statement,
    reading: Reading,
    request: TravelRequest,
    chosen: dict[Entity, EvidenceRow],
) -> bool:
    """What a sum leaves of the budget."""
    budget = request.total_budget
    if budget is None or _REST.search(statement.before + statement.after) is None:
        return False
    return any(
        number_fits(statement.claim, budget - total)
        for total in sums(reading, request, chosen)
        if total <= budget
    )


def _is_difference(statement: Statement, chosen: dict[Entity, EvidenceRow]) -> bool:
    """ "$54 more", "saves you $54": what the subject costs above or below another of its kind on
    the same day."""
    mine = chosen.get(statement.subject) if statement.subject is not None else None
    word = _DIFFERENCE.match(statement.after) or _SAVES.search(statement.before)
    price = mine.number("price") if mine is not None else None
    if mine is None or word is None or price is None:
        return False
    sign = 1 if word[1].lower() in ("more", "extra", "dearer") else -1
    others = [
        other
        for row in chosen.values()
        if row.call == mine.call and (other := row.number("price")) is not None
    ]
    return any(
        sign * (price - other) > 0 and number_fits(statement.claim, sign * (price - other))
        for other in others
    )


def _is_joined(
    statement: Statement, request: TravelRequest, chosen: dict[Entity, EvidenceRow]
) -> bool:
    """ "G7149 + Hotel Mirador + IC 172, $522": all that a plus joins, once for each traveller or
    room."""
    items = [
        each
        for each in statement.others
        if each.entity is not None and each.entity.kind in ("ride", "hotel")
    ]
    gaps = [statement.sentence[: statement.place].count(sign) for sign in ("+", "&")]
    rows = [
        chosen[each.entity] for each in items if each.entity is not None and each.entity in chosen
    ]
    if len(rows) < 2 or max(gaps) < len(items) - 1:
        return False
    prices = [row.number("price") for row in rows]
    if None in prices or any(
        row.text("currency") not in ("", statement.claim.currency) for row in rows
    ):
        return False
    ways = sum(row.number("price") or 0.0 for row in rows if row.kind == "ride")
    stay = sum(row.number("price") or 0.0 for row in rows if row.kind == "hotel")
    return any(
        number_fits(statement.claim, request.party_size * ways + rooms * stay)
        for rooms in {1, rooms_for(request.party_size)}
    )


def sums(
    reading: Reading, request: TravelRequest, chosen: dict[Entity, EvidenceRow]
) -> Iterator[float]:
    """What a trip may come to: every choice of one recommendation a part, two parts at least, rooms
    for two or one for all."""
    parts: list[list[EvidenceRow | None]] = []
    for part in ("outbound", "return", "stay"):
        rows = [
            chosen[entity] for entity in reading.recommended.get(part, [])[:2] if entity in chosen
        ]
        parts.append([*(row for row in rows if row.number("price") is not None), None])
    for there, back, stay in product(*parts):
        ways = [row for row in (there, back) if row is not None]
        if len(ways) + (stay is not None) < min(2, sum(len(part) > 1 for part in parts)) or not (
            ways or stay
        ):
            continue
        fares = sum(row.number("price") or 0.0 for row in ways)
        for rooms in {1, rooms_for(request.party_size)}:
            yield request.party_size * fares + rooms * (
                stay.number("price") or 0.0 if stay is not None else 0.0
            )
        if stay is None:
            yield fares


def _names(reading: Reading, chosen: dict[Entity, EvidenceRow]) -> Iterator[VerifierProblem]:
    for name in dict.fromkeys(reading.strange):
        yield VerifierProblem(
            "invented_name", f"No tool answer and no word of the request has '{name}'.", name
        )
    for title in reading.untitled:
        yield VerifierProblem(
            "invented_item", f"The title '{title}' names nothing of the tool answers.", title
        )
    for said in reading.attributes:
        near = [each.entity for each in said.others if each.entity is not None]
        near += [said.subject] if said.subject is not None and said.subject not in near else []
        if (
            near
            and not any(holds(entity, said.text) for entity in near)
            and key_of(said.text) not in reading.free
        ):
            row = chosen.get(near[0], near[0].rows[0])
            yield VerifierProblem(
                "wrong_attribute",
                f"'{said.text}' is not of {near[0].name}.",
                said.sentence,
                row.call,
                row.row,
            )
        elif (
            near
            and (end := _END.search(said.sentence.partition(said.text)[0]))
            and near[0].kind == "ride"
        ):
            row, side = (
                chosen.get(near[0], near[0].rows[0]),
                "depart" if end["departs"] else "arrive",
            )
            if not any(
                same_place(said.text, row.text(f"{side}_{what}"))
                for what in ("city", "airport", "station")
            ) and holds(near[0], said.text):
                yield VerifierProblem(
                    "wrong_attribute",
                    f"{near[0].name} does not {side} there: '{said.text}'.",
                    said.sentence,
                    row.call,
                    row.row,
                )
    for entity, start, stop, words in reading.directions:
        ride = chosen.get(entity)
        if ride is None:
            continue
        begins, ends = (
            [ride.text(f"{side}_{what}") for what in ("city", "airport", "station")]
            for side in ("depart", "arrive")
        )
        if not (
            any(same_place(start, each) for each in begins)
            and any(same_place(stop, each) for each in ends)
        ):
            yield VerifierProblem(
                "wrong_attribute", f"{entity.name} does not go {words}.", words, ride.call, ride.row
            )


def _routes_used(reading: Reading, base: ClaimBasis) -> set[int]:
    """Calls of routes whose both ends the answer names."""
    named = {key_of(entity.name) for entity in _spoken_of(reading)} | {
        key_of(each.text) for each in reading.attributes
    }
    return {
        way.call
        for way in base.routes
        if {key_of(way.text("origin")), key_of(way.text("destination"))} <= named
    }

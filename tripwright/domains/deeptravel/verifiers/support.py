# long: a rule verifier of prose, kept whole until a judge that reads replaces it
"""Does one row say what the answer says of it? One function per kind of claim; each is exact up to
`tolerance.py`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.claims import Statement
from tripwright.domains.deeptravel.verifiers.claims_mentions import Entity, key_of, street_of
from tripwright.domains.deeptravel.verifiers.claims_numbers import Claim
from tripwright.domains.deeptravel.verifiers.evidence import CallEvidence, EvidenceRow
from tripwright.domains.deeptravel.verifiers.fits import (
    day,
    fits_ride,
    moment,
    nights_of,
    rooms_for,
)
from tripwright.domains.deeptravel.verifiers.tolerance import clock_fits, minutes_fit, number_fits

_DEPARTS = re.compile(
    r"\b(?:depart\w*|dep|leav\w*|left|set(?:s|ting)? (?:off|out)|take(?:s)?[ -]?off|off"
    r" at|start\w*|board\w*|begin\w*|go(?:es"
    r"|ing)? at|from(?=\W*$|.{0,40}:))\b",
    re.IGNORECASE,
)
_ARRIVES = re.compile(
    r"\b(?:arriv\w*|arr|land\w*|reach\w*|get(?:s|ting)? (?:you )?(?:in|to|into)|pull\w* in\w*|in"
    r" at|home (?:by|at)|(?:are"
    r"|be) (?:in|at|back)|is in|until|till|to(?=\W*$|.{0,40}:)|end\w*)\b|→",
    re.IGNORECASE,
)
_DEPARTS_AFTER = re.compile(
    r"^\W{0,3}(?:depart\w*|leav\w*|train|flight|service|take-?off|start)\b", re.IGNORECASE
)
_ARRIVES_AFTER = re.compile(
    r"^\W{0,3}(?:arriv\w*|land\w*|reach\w*|back (?:at|in|home)|home|get (?:in|to))\b", re.IGNORECASE
)
# "the 3.35 pm flight"
_OF_A_RIDE = re.compile(r"^\W{0,3}(?:train|flight|service)\b", re.IGNORECASE)
# characters; what is longer before a colon is half a sentence, and names no field
_LONGEST_LABEL = 40
_LIMIT_BEFORE = re.compile(
    r"\b(?:before|by|no later than|not later than|until|ahead of|prior to|latest|deadline|limit)\b",
    re.IGNORECASE,
)
_LIMIT_AFTER = re.compile(r"\b(?:after|from|not before|no earlier than|earliest)\b", re.IGNORECASE)
_EACH = re.compile(
    r"\b(?:per|a|each|every)["
    r" -](?:person|travell?er|head|adult|passenger|guest)\b|\beach\b|\bpp\b|\bp\.p\b|/\s?(?:person"
    r"|travell?er|pax|head)|\bapiece\b",
    re.IGNORECASE,
)
_ALL = re.compile(
    r"\b(?:totals?|altogether|in all|together|overall|for (?:both|all|everyone|everybody|the"
    r" (?:group|party|family|two|three"
    r"|four|pair))|combined)\b",
    re.IGNORECASE,
)
_NIGHT = re.compile(r"\b(?:per|a|each|every)[ -]night\b|\bnightly\b|/\s?night", re.IGNORECASE)
_MARGIN = re.compile(
    r"\b(?:before|early|earlier|spare|buffer|margin|ahead|left|to go)\b", re.IGNORECASE
)


@dataclass(frozen=True)
class ClaimBasis:
    """What a claim may rest on besides its row."""

    request: TravelRequest
    answered: list[CallEvidence]
    routes: tuple[EvidenceRow, ...]

    @classmethod
    def of(cls, request: TravelRequest, answered: list[CallEvidence]) -> ClaimBasis:
        return cls(
            request,
            answered,
            tuple(row for call in answered for row in call.rows if row.kind == "route"),
        )


def supported(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    check = _CHECKS.get(statement.claim.kind)
    if row.kind in ("other", "page"):
        return _as_it_stands(statement.claim, row)
    return check(statement, row, ground) if check is not None else True


def _minute(row: EvidenceRow, label: str) -> float | None:
    when = moment(row, label)
    return None if when is None else when.hour * 60.0 + when.minute


def _time(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    if row.kind != "ride":
        # A visit's hour is the plan's own; whether it can be kept is the trajectory level's
        # question. "12.50" may be no hour at all.
        return re.fullmatch(r"\d{1,2}\.\d\d", statement.claim.said) is None
    end = end_said(statement)
    true = _minute(row, end)
    if true is None:
        return False
    if clock_fits(statement.claim, true):
        return True
    words = statement.before + " " + statement.label
    for limits, relation in ((_LIMIT_BEFORE, -1), (_LIMIT_AFTER, 1)):
        if limits.search(words):
            for limit in asked_times(ground.request):
                if clock_fits(statement.claim, limit) and (true - limit) * relation >= 0:
                    return True
    return False


def end_said(statement: Statement) -> str:
    """Which end of the ride a time is about. A time alone is the departure, the second of two the
    arrival."""
    order = statement.order - 1
    if named := _named_end(statement.before):
        return named
    if order == 0 and _OF_A_RIDE.match(statement.after):
        return "departs_at"
    if named := _named_end(
        statement.label + ":" if 0 < len(statement.label) <= _LONGEST_LABEL else ""
    ):
        return named
    if _ARRIVES_AFTER.search(statement.after):
        return "arrives_at"
    if _DEPARTS_AFTER.search(statement.after) and order == 0:
        return "departs_at"
    lead = (
        statement.lead
        if len(statement.lead) <= _LONGEST_LABEL
        else statement.lead.rpartition(": ")[2]
    )
    if named := _named_end(lead):
        return named
    if re.search(r"\bor\W*(?:at\s*)?$", statement.lead):  # "06:54 or 07:10": the same end once more
        order -= 1
    return "arrives_at" if order % 2 else "departs_at"


def _named_end(words: str) -> str | None:
    """The end that the last telling word before a time names."""
    ends = ((_DEPARTS, "departs_at"), (_ARRIVES, "arrives_at"))
    places = [
        (found.start(), label) for pattern, label in ends for found in pattern.finditer(words)
    ]
    return max(places)[1] if places else None


def asked_times(request: TravelRequest) -> list[float]:
    said = (request.depart_after, request.arrive_by, request.return_after, request.return_by)
    return [int(time[:2]) * 60.0 + int(time[3:]) for time in said if time is not None]


def _price(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    price, claim = row.number("price"), statement.claim
    if price is None or (
        claim.currency and row.text("currency") and not _same_currency(claim, row.text("currency"))
    ):
        return False
    return any(number_fits(claim, true) for true in _prices(statement, row, price, ground.request))


def _same_currency(claim: Claim, currency: str) -> bool:
    return claim.currency == currency or (
        claim.said.startswith("$") and currency in ("USD", "CAD", "AUD", "NZD", "SGD", "HKD")
    )


def _prices(
    statement: Statement, row: EvidenceRow, price: float, request: TravelRequest
) -> list[float]:
    """What the price comes to for whom the words say: one person, all, a night, the stay."""
    party = request.party_size
    words = next(
        (each for each in (statement.after, statement.before, statement.label) if _qualified(each)),
        "",
    )
    tail = statement.sentence[
        statement.sentence.find(statement.claim.said) + len(statement.claim.said) :
    ]
    for_all = (
        re.match(
            r"\W*(?:in total )?for (?:the |all |the"
            rf" )?(?:{party}\b|{_WORD.get(party, '-')}\b)(?!\s*-?nights?)",
            tail,
            re.IGNORECASE,
        )
        is not None
    )
    if row.kind == "hotel":
        nights = nights_of(row)
        rooms = sorted({1, rooms_for(party)})
        if _NIGHT.search(words):
            return [price / nights] if nights else []
        return [
            price * room for room in (rooms if for_all or "room" in statement.sentence else [1])
        ]
    if _EACH.search(words) and not for_all:
        return [price]
    head = statement.sentence[: statement.place]
    # "143 USD x 2 = 286 USD", "Fare x 2: 286 USD"
    product = re.search(r"[x×*]\s?(\d{1,2})\s*[=:-]\s*$", head)
    if product is not None:
        return [price * int(product[1])]
    return [price * party] if for_all or _ALL.search(words) else [price]


_WORD = {1: "one", 2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def _qualified(words: str) -> bool:
    return any(pattern.search(words) is not None for pattern in (_EACH, _ALL, _NIGHT))


def _minutes(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    if row.kind != "ride":
        return any(
            true is not None and minutes_fit(statement.claim, true)
            for true in _of_routes(statement, row, ground.routes, "minutes")
        )
    true = row.number("minutes")
    return (true is not None and minutes_fit(statement.claim, true)) or is_margin(
        statement, row, ground.request
    )


def is_margin(statement: Statement, row: EvidenceRow, request: TravelRequest) -> bool:
    """ "Two hours before 15:00": what lies between the ride and a time that was asked for."""
    if not _MARGIN.search(statement.sentence):
        return False
    for label in ("departs_at", "arrives_at"):
        true = _minute(row, label)
        if true is not None and any(
            minutes_fit(statement.claim, abs(limit - true)) for limit in asked_times(request)
        ):
            return True
    return False


def _km(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    return any(
        true is not None and number_fits(statement.claim, true)
        for true in _of_routes(statement, row, ground.routes, "distance_km")
    )


def _of_routes(
    statement: Statement, row: EvidenceRow, routes: Iterable[EvidenceRow], label: str
) -> list[float | None]:
    """Values of the routes that touch the row's place and, where the sentence names another end,
    that end too."""
    own = {key_of(row.name)}
    others = {
        key_of(each.entity.name if each.entity else each.text) for each in statement.others
    } - own
    touching = [route for route in routes if own & _ends(route)]
    ends = set().union(*map(_ends, touching)) - own if touching else set()
    if others & ends:
        touching = [route for route in touching if _ends(route) & others]
    return [route.number(label) for route in touching]


def _ends(route: EvidenceRow) -> set[str]:
    return {key_of(route.text("origin")), key_of(route.text("destination"))}


def _date(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    true = row_days(row, statement)
    if not true:
        return day_is_asked(statement.claim, ground.request)
    readings = statement.claim.values
    if statement.claim.currency == "range":  # every end of a range must be true
        return all(any(same_day(str(said), each) for each in true) for said in readings)
    return any(same_day(str(said), each) for said in readings for each in true)


def _weekday(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    true = row_days(row, statement) or set(asked_days(ground.request))
    return any(
        when.weekday() == int(statement.claim.values[0])
        for each in true
        if (when := day(each)) is not None
    )


def row_days(row: EvidenceRow, statement: Statement) -> set[str]:
    if row.kind == "ride":
        return {text[:10] for text in (row.text("departs_at"), row.text("arrives_at")) if text}
    if row.kind != "hotel":
        return set()
    begin, end = row.text("checkin_date"), row.text("checkout_date")
    words = statement.before.lower()
    if re.search(r"check(?:ing)?[ -]?out|until|\bto\b|leav", words):
        return {end}
    if re.search(r"check(?:ing)?[ -]?in|from|arriv", words):
        return {begin}
    return {begin, end}


def same_day(said: str, true: str) -> bool:
    return all(
        int(one) == 0 or one == two
        for one, two in zip(said.split("-"), true.split("-"), strict=False)
    )


def asked_days(request: TravelRequest) -> list[str]:
    from_stay = [request.depart_date, request.return_date or ""]
    return [each for each in from_stay if each]


def day_is_asked(claim: Claim, request: TravelRequest) -> bool:
    asked = asked_days(request)
    readings = [any(same_day(str(said), each) for each in asked) for said in claim.values]
    return all(readings) if claim.currency == "range" else any(readings)


def _nights(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    nights = nights_of(row)
    return nights is not None and number_fits(statement.claim, nights)


def _rating(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    rating = row.number("rating")
    return rating is not None and number_fits(statement.claim, rating)


def _stops(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    stops = row.number("stops" if row.is_flight else "transfers")
    # faces for tiny models leave it out; then it is no claim on the row
    return stops is None or statement.claim.values[0] == stops


def _next_day(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    return row.text("departs_at")[:10] < row.text("arrives_at")[:10]


def _amenity(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    return (
        str(statement.claim.values[0]) in row.prose
        or re.search(r"\b(?:no|not|without|confirm|ask|check)\b", statement.sentence, re.IGNORECASE)
        is not None
    )


def _best(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    """True of all rows of its answer, or of those that keep to the request."""
    word = str(statement.claim.values[0])
    label, sign = (
        ("rating", -1)
        if "rated" in word
        else ("price", 1)
        if word.startswith(("cheap", "lowest"))
        else ("minutes", 1)
    )
    siblings = [each for call in ground.answered if call.number == row.call for each in call.rows]
    if word == "earliest":
        times = [each.text(end) for each in siblings for end in ("departs_at",) if each.text(end)]
        arrivals = [each.text("arrives_at") for each in siblings if each.text("arrives_at")]
        return bool(times) and (
            row.text("departs_at") == min(times)
            or row.text("arrives_at") == min(arrivals, default="")
        )
    part = (
        "outbound"
        if row.text("depart_city").casefold() == ground.request.origin.casefold()
        else "return"
    )
    fitting = [
        each
        for each in siblings
        if row.kind != "ride" or fits_ride(each, part, ground.request)  # type: ignore[arg-type]
    ]
    mine = row.number(label)
    return mine is not None and any(
        all(
            sign * mine <= sign * value
            for each in group
            if (value := each.number(label)) is not None
        )
        for group in (siblings, fitting)
        if row in group
    )


def _bare(statement: Statement, row: EvidenceRow, ground: ClaimBasis) -> bool:
    said = str(statement.claim.values[0]).lower()
    return said in re.findall(r"[^\s,;|()]+", row.prose) or any(
        said == f"{value:g}"
        for value in row.values.values()
        if isinstance(value, int | float) and not isinstance(value, bool)
    )


def _as_it_stands(claim: Claim, row: EvidenceRow) -> bool:
    """Rows of unknown tools and web pages: the number or the words, as they are written there."""
    numbers = [
        float(each.replace(",", "")) for each in re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", row.prose)
    ]
    numbers += [
        float(value)
        for value in row.values.values()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    if claim.said.lower() in row.prose or claim.kind in ("best", "amenity", "weekday"):
        return True
    if claim.kind == "time":
        clocks = re.findall(r"\b(\d{1,2}):(\d{2})\b", row.prose)
        return any(clock_fits(claim, int(hour) * 60.0 + int(minute)) for hour, minute in clocks)
    if claim.kind == "date":
        return any(
            same_day(str(said), each)
            for said in claim.values
            for each in re.findall(r"\d{4}-\d{2}-\d{2}", row.prose)
        )
    return any(number_fits(claim, number) for number in numbers)


Check = Callable[[Statement, EvidenceRow, ClaimBasis], bool]
_CHECKS: dict[str, Check] = {
    "time": _time,
    "price": _price,
    "minutes": _minutes,
    "km": _km,
    "date": _date,
    "weekday": _weekday,
    "nights": _nights,
    "rating": _rating,
    "stops": _stops,
    "next_day": _next_day,
    "amenity": _amenity,
    "best": _best,
    "bare": _bare,
}


def holds(entity: Entity, text: str) -> bool:
    """Whether a row of this name has the text: its city, its station, its carrier, its address."""
    return any(
        key_of(text) == key_of(said)
        for row in (*entity.rows, *entity.also)
        for said in (*row.said, street_of(row))
    )

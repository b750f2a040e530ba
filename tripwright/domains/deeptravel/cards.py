"""An answer as cards: all that a traveller books by stands in fields, and every card names the row
of a tool's answer that it comes from (DeepTravel, section 3.3 and Appendix A.6: "card-style
evidence"; rows D11, B16).

An answer is one JSON object. Its four parts hold at most two recommendations each. Why a row is
recommended and what may go wrong is said with terms of closed lists, and a term that rests on a
tool's answer names it. There is no place for free text, so nothing in an answer is left unchecked:
`verifiers/` holds each field against its row, and the page that people read is written from the
fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tripwright.domains.deeptravel.request import LABELS, Wish
from tripwright.errors import NotJson, counted, first_problem, one_line, read_json
from tripwright.tools.face import number

CARDS = "cards"  # `plan_format` of the dialects whose answers these are
MOST_RECOMMENDATIONS = 2  # in each part (row D11)
MOST_VISITS = 6
LONGEST_ANSWER = 20_000  # characters

# one line, as all that tools say
_LINE = r"^[^\n\v\f\r\x1c-\x1e\x85\u2028\u2029]*$"
Text = Annotated[str, Field(min_length=1, max_length=300, pattern=_LINE)]
Count = Annotated[int, Field(ge=1, le=999)]
Number = Annotated[float, Field(ge=0, le=1e9, allow_inf_nan=False)]
Day = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$")]
Clock = Annotated[str, Field(pattern=r"^\d{2}:\d{2}$")]
Currency = Annotated[str, Field(pattern=r"^[A-Z]{3}$")]
PartName = Literal["outbound", "stay", "return", "visits"]


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Reference(_Fields):
    """A row that was shown. Both count from 1; calls as they stand in the conversation."""

    call: Count
    row: Count


class Total(_Fields):
    """What the first recommendations cost the whole party."""

    amount: Number
    currency: Currency | None = None  # where the rows show one


class Fare(Total):
    per: Literal["person", "party"]


class RoomPrice(Total):
    """ "room": one room for all nights; "party": all rooms for all nights."""

    per: Literal["room", "room_and_night", "party"]


class Best(_Fields):
    """Among the rows that a call showed; "that_fits": among those that meet the request."""

    term: Literal[
        "cheapest",
        "cheapest_that_fits",
        "fastest",
        "best_rated",
        "first_departure",
        "last_departure",
        "first_arrival",
    ]
    call: Count


class InTime(_Fields):
    """ "arrives 09:14, by 10:00" """

    term: Literal["arrives_by", "departs_after"]
    time: Clock
    limit: Clock


class WithinNightly(_Fields):
    term: Literal["within_nightly_budget"]
    amount: Number  # of one room and night
    limit: Number


class AsNamed(_Fields):
    """Of the hotel or chain that was asked for."""

    term: Literal["as_named"]
    name: Text


class Near(_Fields):
    """A row of the route planner says how far the place is."""

    term: Literal["near"]
    place: Text
    distance_km: Number
    call: Count
    row: Count


RideReason = Annotated[Best | InTime, Field(discriminator="term")]
StayReason = Annotated[Best | WithinNightly | AsNamed | Near, Field(discriminator="term")]


class RideCard(_Fields):
    """One journey; times are local, `days_later` than the departure it arrives."""

    kind: Literal["flight", "train"]
    number: Text
    date: Day
    departs: Clock
    arrives: Clock
    days_later: Annotated[int, Field(ge=-1, le=3)] = 0
    depart_city: Text | None = None
    depart_place: Text | None = None  # station or airport
    arrive_city: Text | None = None
    arrive_place: Text | None = None
    minutes: Number | None = None
    price: Fare | None = None
    call: Count
    row: Count
    reasons: Annotated[list[RideReason], Field(max_length=4)] = []


class StayCard(_Fields):
    kind: Literal["hotel"]
    name: Text
    address: Text | None = None
    room: Text | None = None
    price: RoomPrice | None = None
    guests: Count | None = None  # for how many one room is
    rating: Number | None = None
    checkin: Day
    checkout: Day
    rooms: Count
    call: Count
    row: Count
    reasons: Annotated[list[StayReason], Field(max_length=4)] = []


class Way(_Fields):
    """How to get to a place within its city."""

    mode: Text
    minutes: Number
    distance_km: Number | None = None
    origin: Text | None = None
    call: Count
    row: Count


class VisitCard(_Fields):
    kind: Literal["place"]
    name: Text
    address: Text | None = None
    found: Reference | None = None  # the row of a search for places, which has the address
    way: Way


class Alternative(_Fields):
    """For the case that the first recommendation is sold out."""

    term: Literal["alternative"]
    part: Literal["outbound", "stay", "return"]
    name: Text  # a ride's number, a hotel's name
    call: Count
    row: Count


class OfPart(_Fields):
    """ "not_found": no row for this part; "last_departure": nothing later was shown than the first
    recommendation."""

    term: Literal["not_found", "last_departure"]
    part: Literal["outbound", "stay", "return"]


class NotMet(_Fields):
    """A wish that these recommendations do not meet."""

    term: Literal["not_met"]
    wish: Wish


Risk = Annotated[Alternative | OfPart | NotMet, Field(discriminator="term")]


class Cards(_Fields):
    """A whole answer."""

    party: Count
    outbound: Annotated[list[RideCard], Field(max_length=MOST_RECOMMENDATIONS)] = []
    stay: Annotated[list[StayCard], Field(max_length=MOST_RECOMMENDATIONS)] = []
    back: Annotated[list[RideCard], Field(max_length=MOST_RECOMMENDATIONS, alias="return")] = []
    visits: Annotated[list[VisitCard], Field(max_length=MOST_VISITS)] = []
    total: Total | None = None
    risks: Annotated[list[Risk], Field(max_length=8)] = []

    def to_json(self) -> str:
        """As an answer has it: without blanks and without what is not said."""
        body = _short(self.model_dump(by_alias=True, exclude_defaults=True))
        return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def _short(value: Any) -> Any:
    """Whole amounts without ".0"."""
    if isinstance(value, dict):
        return {key: _short(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    return number(value) if isinstance(value, float) else value


class NotCards(ValueError):
    """An answer outside the contract; the message says what was expected where."""


def read_cards(text: str) -> Cards:
    """Raises NotCards."""
    if not text.strip():
        raise NotCards("the answer is empty: expected one JSON object, as the prompt shows it")
    if len(text) > LONGEST_ANSWER:
        raise NotCards(f"the answer has {len(text)} characters, at most are {LONGEST_ANSWER}")
    try:
        value = read_json(text.encode("utf-8", "surrogatepass"))
    except NotJson as problem:
        raise NotCards(
            f"expected one JSON object and nothing around it, found what is no JSON: {problem}"
        ) from None
    try:
        return Cards.model_validate(value)
    except ValidationError as error:
        raise NotCards(first_problem(error)) from None


# ---- the page that people read, as Markdown

UNITS = {
    "person": "per person",
    "party": "for the party",
    "room": "for one room and all nights",
    "room_and_night": "per room and night",
}
REASONS = {  # term → why a row is recommended
    "cheapest": "the cheapest of call {call}",
    "cheapest_that_fits": "the cheapest that fits what was asked of call {call}",
    "fastest": "the fastest of call {call}",
    "best_rated": "the best rated of call {call}",
    "first_departure": "the first to leave of call {call}",
    "last_departure": "the last to leave of call {call}",
    "first_arrival": "the first to arrive of call {call}",
    "arrives_by": "arrives {time}, by {limit}",
    "departs_after": "departs {time}, not before {limit}",
    "within_nightly_budget": "{amount} a night, at most {limit}",
    "as_named": "{name}, as asked for",
    "near": "{distance_km} km from {place}",
}
RISKS = {  # term → what may go wrong, or is not as it was asked for
    "alternative": "If the first for the {part} is sold out: {name} [call {call}, row {row}]",
    "not_met": "Not met: {wish}",
    "not_found": "Nothing was found for the {part}",
    "last_departure": "Nothing leaves later for the {part}",
}


def page_of(answer: str) -> str:
    """The page of an answer in cards; any other text as it is."""
    try:
        return write_page(read_cards(answer))
    except NotCards:
        return answer


def write_page(cards: Cards) -> str:
    """Of several blanks one is left."""
    parts: tuple[tuple[str, Sequence[RideCard | StayCard | VisitCard]], ...] = (
        ("Outbound recommendations ({0.date})", cards.outbound),
        ("Stay recommendations ({0.checkin} to {0.checkout})", cards.stay),
        ("Return recommendations ({0.date})", cards.back),
        ("Visits", cards.visits),
    )
    blocks = [
        "\n".join([f"### {title.format(found[0])}", *map(_section, found)])
        for title, found in parts
        if found
    ]
    if cards.total is not None:
        money = f"{amount(cards.total.amount)} {cards.total.currency or ''}".strip()
        party = counted(cards.party, "traveller")
        blocks.append(f"**Total** of the first recommendations, for {party}: {money}")
    if cards.risks:
        lines = "\n".join(f"- {one_line(words_of(risk, RISKS))}" for risk in cards.risks)
        blocks.append(f"### Risks and alternatives\n{lines}")
    return "\n\n".join(blocks)


def _section(card: RideCard | StayCard | VisitCard) -> str:
    match card:
        case RideCard():
            name, facts = f"{card.number} {card.kind}", list(_ride(card))
        case StayCard():
            name, facts = card.name, list(_stay(card))
        case VisitCard():
            name, facts = card.name, list(_visit(card))
    lines = [f"- **{label}**: {one_line(text)}" for label, text in facts if text]
    return "\n".join([f"#### {one_line(name)}", *lines])


def _ride(card: RideCard) -> Iterator[tuple[str, str]]:
    later = f" ({card.days_later:+d} day)" if card.days_later else ""
    took = f" ({duration(card.minutes)})" if card.minutes is not None else ""
    begin, end = card.depart_place or card.depart_city, card.arrive_place or card.arrive_city
    arrives = f"arrives {end or ''} {card.arrives}{later}{took}"
    yield "Recommendation", f"{card.date}, departs {begin or ''} {card.departs}, {arrives}"
    yield "Price", _price(card.price)
    yield "Why", why_words(card)
    yield "Evidence", _evidence(card)


def _stay(card: StayCard) -> Iterator[tuple[str, str]]:
    yield "Recommendation", "; ".join(filter(None, (card.address, card.room)))
    yield "Rooms", counted(card.rooms, "room")
    yield "Price", _price(card.price)
    yield "Why", why_words(card)
    yield "Evidence", _evidence(card, *(each for each in card.reasons if isinstance(each, Near)))


def _visit(card: VisitCard) -> Iterator[tuple[str, str]]:
    yield "Recommendation", card.address or ""
    yield "Way there", way_words(card.way)
    yield "Evidence", _evidence(*([card.found] if card.found else []), card.way)


def _price(price: Fare | RoomPrice | None) -> str:
    if price is None:
        return "not stated"
    return f"{amount(price.amount)} {price.currency or ''} {UNITS[price.per]}"


def why_words(card: RideCard | StayCard) -> str:
    return "; ".join(words_of(reason, REASONS) for reason in card.reasons)


def way_words(way: Way) -> str:
    far = f", {amount(way.distance_km)} km" if way.distance_km is not None else ""
    begin = f" from {way.origin}" if way.origin else ""
    return f"{amount(way.minutes)} min {way.mode}{far}{begin}"


def words_of(said: Any, terms: Mapping[str, str]) -> str:
    """A reason or a risk in words."""
    values = {name: amount(each) if isinstance(each, float) else each for name, each in said}
    return terms[said.term].format(**{**values, "wish": LABELS.get(values.get("wish", ""), "")})


def _evidence(*rows: Any) -> str:
    return ", ".join(f"[call {row.call}, row {row.row}]" for row in rows)


def amount(value: float) -> str:
    """Without ".0" and without the noise of binary fractions."""
    return f"{value:.12g}"


def duration(minutes: float) -> str:
    """4 h 8 min, 45 min, 2 h."""
    hours, rest = divmod(round(minutes), 60)
    return " ".join([f"{hours} h"] * (hours > 0) + [f"{rest} min"] * (rest > 0 or hours == 0))

"""An answer as cards: all that a traveller books by stands in fields, and every card names the row
of a tool's answer that it comes from (DeepTravel, section 3.3 and Appendix A.6: "card-style
evidence"; rows D11, B16).

An answer is one JSON object. Its four parts hold at most two recommendations each. Why a row is
recommended and what may go wrong is said with terms of closed lists, and a term that rests on a
tool's answer names it. There is no place for free text, so nothing in an answer is left unchecked:
`verifiers/` holds each field against its row, `page.py` writes the page that people read.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tripwright.domains.deeptravel.request import Wish
from tripwright.errors import NotJson, read_json
from tripwright.tools.face import number

CARDS = "cards"  # `plan_format` of the dialects whose answers these are
MOST_RECOMMENDATIONS = 2  # in each part (row D11)
MOST_VISITS = 6
LONGEST_ANSWER = 20_000  # characters
MOST_PROBLEMS = 3  # that one message tells

Text = Annotated[str, Field(min_length=1, max_length=300)]
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


class Fare(_Fields):
    amount: Number
    currency: Currency | None = None  # where the row shows one
    per: Literal["person", "party"]


class RoomPrice(_Fields):
    """ "room": one room for all nights; "party": all rooms for all nights."""

    amount: Number
    currency: Currency | None = None
    per: Literal["room", "room_and_night", "party"]


class Total(_Fields):
    """What the first recommendations cost the whole party."""

    amount: Number
    currency: Currency | None = None


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
        return json.dumps(
            _short(self.model_dump(by_alias=True, exclude_defaults=True)),
            ensure_ascii=False,
            separators=(",", ":"),
        )


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
        problems = list(_problems(error, value))
        more = f"; and {len(problems) - MOST_PROBLEMS} more" if problems[MOST_PROBLEMS:] else ""
        raise NotCards("; ".join(problems[:MOST_PROBLEMS]) + more) from None


def _problems(error: ValidationError, answer: Any) -> Iterator[str]:
    """ "outbound.0.price.per: expected 'person' or 'party', found room" """
    for problem in error.errors(include_url=False, include_context=False):
        where = ".".join(_steps(problem["loc"], answer)) or "the answer"
        message = problem["msg"].replace("Input should be", "expected")
        if problem["type"] == "model_type":
            message = "expected an object"
        if problem["type"] == "extra_forbidden":
            yield f"{where}: no such field; the contract has no place for it"
        elif problem["type"] == "missing":
            yield f"{where}: this field is missing"
        else:
            found = json.dumps(problem["input"], default=str, ensure_ascii=False)[:60]
            yield f"{where}: {message[:1].lower()}{message[1:]}, found {found}"


def _steps(location: Sequence[str | int], answer: Any) -> Iterator[str]:
    """The way to the place. Pydantic names the members of a union on it, which are no keys."""
    for place, step in enumerate(location, start=1):
        within = isinstance(answer, dict) and step in answer
        within = within or (isinstance(answer, list) and isinstance(step, int))
        if within:
            answer = answer[step]
        if within or place == len(location):
            yield str(step)

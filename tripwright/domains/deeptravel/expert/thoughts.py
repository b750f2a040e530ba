"""The thoughts that the expert writes down, in the tags of Appendix A.2.1 (row D6): what was just
shown, and what comes next. Tiny models get the work alone, where their dialect shows it: how a row
is chosen, row by row, as far as the first thing that decides (dev/LOG.md, 2026-11-22: a model that
has to choose in one forward pass learns to choose badly; one that copies what decides, beside what
is asked for, compares neighbours).

    5 people, 3 rooms; 0 2022-03-08, 1 2022-03-09, 2 2022-03-10 back; flight; from 14:30.
    From 14:30, by 20:00: A 05:21 14:30 early; B 14:50 14:30 21:40 20:00 late; C 15:10 14:30
    17:02 20:00 90 ok; D 16:00 14:30 18:05 20:00 120 90 dear. Take C F 124 2022-03-08 15:10 17:02
    90 1 3.
    2 a room, up to 105 a night: 105 210: A 96 210 1 small; B 210 210 2 ok. Take B Riverside Inn
    210 2022-03-08 2022-03-10 3 2 2.
    5.2 km, up to 3: far.

What is asked for comes first, with the days counted on. Then each row by its letter, with what
decides and what it is held against side by side: when it leaves or arrives, its price and the best
so far, for how many a room is. A row that costs no less than the one found is dear. What is taken
is said in the order in which the answer says it, with its call and its row, so that the answer is
copied from there. A short walk looks at the row that it takes, and at no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tripwright.agent.dialect import ShownWork
from tripwright.domains.deeptravel.cards import amount
from tripwright.domains.deeptravel.expert.choice import Choice, Findings, SeenRow, sleeps
from tripwright.domains.deeptravel.request import TravelRequest, Wish
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import (
    FlightOffer,
    HotelOffer,
    RouteLeg,
    TrainOffer,
)
from tripwright.domains.wording import NUMBERS, listed
from tripwright.errors import counted
from tripwright.tools.face import letters

_SAID = frozenset((*intents.OF_WAY_THERE, *intents.OF_WAY_BACK, *intents.OF_STAY))


class Thoughts:
    def __init__(self, request: TravelRequest, silent: bool, shown: ShownWork):
        self._request, self._silent, self._shown = request, silent, shown
        self._saw, self._begun = "", False
        self._work = ""  # since the last call

    def saw(self, rows: Sequence[SeenRow], note: str) -> None:
        """What is thought of an answer, until a choice is made from it. `note` is what the tool
        said instead of rows."""
        if not rows:
            note = " ".join(note.split())[:200]
            self._saw = f"Nothing was found: {note}" if note else "Nothing was found."
        elif isinstance(rows[0].record, RouteLeg):
            ways = [row.record for row in rows if isinstance(row.record, RouteLeg)]
            way = min(ways, key=lambda leg: leg.minutes)
            self._saw = (
                f"The fastest way from {way.origin} to {way.destination} is {way.mode},"
                f" {amount(way.minutes)} min."
            )
        else:
            self._saw = "That is what I need."

    def chose(self, choice: Choice) -> None:
        if choice.first is None:
            return
        name, record = choice.first.name, choice.first.record
        price = f" at {amount(record.price.amount)} {record.price.currency}" if record.price else ""
        if choice.unmet:
            self._saw = (
                f"Nothing {wish_words(self._request, choice.unmet)}. The closest is {name}{price}."
            )
        else:
            self._saw = f"{name}{price} is the best so far."

    def worked(self, words: str) -> None:
        """How the choice was made, which stands in place of what was chosen, where work is
        shown."""
        if self._shown == "none":
            return
        self._work = f"{self._work} {words}".strip()

    def _worked_out(self) -> str:
        """In silence nothing but the work is said, and that once."""
        words, self._work = self._work, ""
        tag = "tool_response_thinking" if self._begun else "think"
        self._begun = True
        return f"<{tag}>{words}</{tag}>" if words else ""

    def before_call(self, tool: str, arguments: dict[str, Any]) -> str:
        if self._silent:
            return self._worked_out()
        if not self._begun:
            self._begun = True
            said = [wish for wish in self._request.wishes if wish in _SAID]
            wishes = wish_words(self._request, said)
            call = f" What is wished: {wishes}." if wishes else ""
            return f"<think>{trip_words(self._request)}.{call} {_next(tool, arguments)}</think>\n"
        saw, self._work = self._work or self._saw or "No answer came.", ""
        return f"<tool_response_thinking>{saw}</tool_response_thinking>\n<tool_call_thinking>{_next(tool, arguments)}</tool_call_thinking>\n"  # noqa: E501

    def before_answer(self, findings: Findings) -> str:
        if self._silent:
            return self._worked_out()
        choices = (findings.there, findings.back, findings.stay)
        all_met = all(choice.meets for choice in choices if choice.rows)
        rest = (
            "Everything asked for is met."
            if all_met and not findings.over_budget
            else "Not everything can be met, and I say so."
        )
        return (
            f"<tool_response_thinking>{self._work or self._saw} {rest}</tool_response_thinking>\n"
            if self._begun
            else f"<think>{rest}</think>\n"
        )


_WAY = "from {depart_city_name} to {arrival_city_name} on {depart_date}"
_NEXT = {  # what is asked next
    "flight_search": f"flights {_WAY}",
    "train_search": f"trains{{change}} {_WAY}",
    "hotel_search": "a hotel{called} in {city_name} from {checkin_date} to {checkout_date}",
    "route_planning": "the way from {origin_name} to {destination_name}",
    "poi_search": "where to find {query} in {city_name}",
}


def _next(tool: str, arguments: dict[str, Any]) -> str:
    change = ", also with a change," if arguments.get("is_transfer") else ""
    called = f" called {arguments['hotel_name']}" if arguments.get("hotel_name") else ""
    verb = "look for" if tool in ("flight_search", "train_search", "hotel_search") else "look up"
    return f"I {verb} {_NEXT[tool].format(**arguments, change=change, called=called)}."


def trip_words(request: TravelRequest) -> str:
    """From Suzhou to Wuhan on 2026-06-26 and back on 2026-06-28 (2 nights), for two people."""
    nights = intents.nights_of(request)
    stay = f" ({counted(nights, 'night')})" if nights else ""
    back = f" and back on {request.return_date}" if request.return_date else ", one way"
    return (
        f"From {request.origin} to {request.destination} on {request.depart_date}{back}{stay}, for"
        f" {people_words(request.party_size)}"
    )


def people_words(count: int) -> str:
    number = NUMBERS[count - 1] if count <= len(NUMBERS) else str(count)
    return f"{number} {'person' if count == 1 else 'people'}"


def wish_words(request: TravelRequest, kinds: Sequence[Wish]) -> str:
    """Those of these wishes that the request has, as something that a row does: 'arrives by
    15:00'."""
    money = f" {request.currency}"
    words = {
        "transport": f"is a {request.transport}",
        "depart_after": f"departs not before {request.depart_after}",
        "arrive_by": f"arrives by {request.arrive_by}",
        "return_after": f"departs not before {request.return_after}",
        "return_by": f"arrives by {request.return_by}",
        "nightly_budget": f"costs at most {amount(request.nightly_budget or 0)}{money} a night",
        "hotel": f"is {request.hotel}",
        "hotel_near": f"is near {request.hotel_near}",
    }
    return listed([words[kind] for kind in kinds if getattr(request, kind)])


OK, DEAR = "ok", "dear"
# of a row: what decides, and what becomes of it
Look = Callable[[Any], tuple[list[str], str]]


def asked_line(request: TravelRequest) -> str:
    """What was understood of the request: the party and its rooms, the days, the wishes."""
    nights = range(intents.nights_of(request) + 1)
    days = ", ".join(f"{n} {intents.days_after(request.depart_date, n)}" for n in nights)
    wishes = [
        request.transport,
        request.depart_after and f"from {request.depart_after}",
        request.arrive_by and f"by {request.arrive_by}",
        request.return_after and f"back from {request.return_after}",
        request.return_by and f"back by {request.return_by}",
        request.total_budget and f"total {amount(request.total_budget)}",
        request.nightly_budget and f"night {amount(request.nightly_budget)}",
        request.hotel,
        request.hotel_near and f"near {request.hotel_near}",
        *(f"see {place}" for place in request.visit),
    ]
    party = f"{request.party_size} people, {intents.rooms_of(request)} rooms"
    way = "back" if request.return_date else "one way"
    return "; ".join([party, f"{days} {way}", *(wish for wish in wishes if wish)]) + "."


def way_walk(
    request: TravelRequest,
    rows: Sequence[SeenRow],
    choice: Choice,
    back: bool,
    after: Any,
) -> str:
    """Along the rows of one search; `choice` is of all searches so far, `after` the journey there
    that the way back cannot begin before the end of."""
    offers = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
    earliest, latest = intents.limits_of(request, back)
    asked = [f"from {earliest}"] if earliest else []
    asked += [f"by {latest}"] if latest else []

    def look(offer: FlightOffer | TrainOffer) -> tuple[list[str], str]:
        departs, arrives = offer.departs_at[11:16], offer.arrives_at[11:16]
        if after is not None and not intents.follows(after, offer):
            return [departs], "too soon"
        said = [departs, earliest] if earliest else []
        if earliest and departs < earliest:
            return said, "early"
        if intents.is_odd(offer):
            return [*said, arrives], "another day"
        if latest:
            said += [arrives, latest]
            if arrives > latest:
                return said, "late"
        return [*said, _price(offer)], OK

    return _walk(", ".join(asked) or "any time", offers, look, choice, _ride_taken)


def stay_walk(request: TravelRequest, rows: Sequence[SeenRow], choice: Choice) -> str:
    hotels = [row for row in rows if isinstance(row.record, HotelOffer)]
    limit, nights = request.nightly_budget, max(1, intents.nights_of(request))
    rooms = intents.rooms_of(request)
    most = amount(round(limit * nights, 2)) if limit is not None else ""
    asked = [f"{-(-request.party_size // rooms)} a room"]
    if limit is not None:
        sums = " ".join(amount(round(limit * n, 2)) for n in range(1, nights + 1))
        asked.append(f"up to {sums}")

    def look(hotel: HotelOffer) -> tuple[list[str], str]:
        said = [_price(hotel), *([most] if most else ())]
        if limit is not None and (hotel.price is None or hotel.price.amount / nights > limit):
            return said, "over"
        if hotel.guests is None:
            return said, OK
        said.append(str(hotel.guests))
        return said, OK if sleeps(hotel, request) else "small"

    def taken(row: SeenRow) -> str:
        hotel: HotelOffer = row.record
        days = f"{hotel.checkin_date} {hotel.checkout_date}"
        count = intents.rooms_of(request, hotel)
        return f"{hotel.name} {_price(hotel)} {days} {count} {row.call} {row.row}"

    return _walk(", ".join(asked), hotels, look, choice, taken)


def near_step(way: SeenRow) -> str:
    km = way.record.distance_km
    near = "near" if km <= intents.NEAR_KM else "far"
    return f"{amount(km)} km, up to {amount(intents.NEAR_KM)}: {near} {way.call} {way.row}."


def way_step(way: SeenRow) -> str:
    return f"{way.record.mode} {amount(way.record.minutes)} {way.call} {way.row}."


def _ride_taken(row: SeenRow) -> str:
    ride = row.record
    clocks = f"{ride.departs_at[:10]} {ride.departs_at[11:16]} {ride.arrives_at[11:16]}"
    return f"{ride.number} {clocks} {_price(ride)} {row.call} {row.row}"


def _walk(
    asked: str,
    rows: Sequence[SeenRow],
    look: Look,
    choice: Choice,
    taken: Callable[[SeenRow], str],
) -> str:
    """In the order of the rows; the choice is the last that was ok, where one fits."""
    first, best = choice.first, float("inf")
    steps: list[str] = []
    if first is not None and first not in rows:
        best = first.cost  # found before
    for row in rows:
        said, becomes = look(row.record)
        if becomes == OK and best < float("inf"):
            said.append(amount(best))
        if becomes == OK and row is not first and row.cost >= best:
            becomes = DEAR
        if becomes == OK:
            best = row.cost
        steps.append(f"{letters(row.row)} {' '.join(said)} {becomes}")
    walk = "; ".join(steps) or "no row"
    if first is None or not choice.meets:
        ending = "None fits."
    elif first in rows:
        ending = f"Take {letters(first.row)} {taken(first)}."
    else:
        ending = f"Keep {taken(first)}."
    return f"{asked[:1].upper()}{asked[1:]}: {walk}. {ending}"


def _price(offer: Any) -> str:
    return "unknown" if offer.price is None else amount(offer.price.amount)

"""The expert as a policy: a program that plays a traveller's request from the first call to the
answer. Which tool to ask next within the turns that are left, what to do where nothing is found,
and the answer with what it rests on (DeepTravel, section 3.1; rows D6, D11). Its transcripts are
what a cold start learns from.

The order is there, back, stay, visits. Each part keeps back the calls that the later ones need;
what is then to spare compares flights with trains, looks for a hotel nearer by, or finds an
address.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from tripwright.agent.turn import write_call
from tripwright.domains.deeptravel.cards import CARDS, MOST_RECOMMENDATIONS, Cards, write_page
from tripwright.domains.deeptravel.expert.choice import (
    Choice,
    Findings,
    SeenRow,
    by_promise,
    choose_stay,
    choose_way,
    read_answer,
    shortest,
)
from tripwright.domains.deeptravel.expert.thoughts import (
    Thoughts,
    asked_line,
    near_step,
    stay_walk,
    way_step,
    way_walk,
)
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import FlightOffer, PointOfInterest
from tripwright.episode import Session
from tripwright.errors import UserError
from tripwright.policies.base import ScriptedPolicy
from tripwright.tools.answer import unanswered
from tripwright.tools.face import letters

COMPACT_FACE = "deeptravel_compact"
FACES = ("deeptravel", COMPACT_FACE)
SIGHTS = "attractions"


class Over(Exception):
    """The session has ended: nothing more can be said."""


def play_errand(
    name: str, play: Callable[[Session, TravelRequest], Play], session: Session
) -> None:
    """Raises UserError where the session asks for no traveller's request, or the tools' answers
    cannot be read."""
    request = session.task.request
    if not isinstance(request, TravelRequest):
        raise UserError(
            f"Policy '{name}' plays travellers' requests, found a {type(request).__name__}. For"
            " others there is 'expert'."
        )
    if (face := session.tools.face.name) not in FACES:
        raise UserError(f"Policy '{name}' reads the faces {' and '.join(FACES)}, found '{face}'.")
    with suppress(Over):
        play(session, request).run()


class Play:
    """One request, call by call."""

    most_tries = 2  # of a call that our side did not answer

    def __init__(self, session: Session, request: TravelRequest):
        self.session, self.request = session, request
        self.brief = session.tools.face.name == COMPACT_FACE
        self.plan_format = session.dialect.plan_format
        self.thoughts = Thoughts(request, self.brief, session.dialect.shows_work)
        self.findings = Findings(request)
        self.nights = intents.nights_of(request)
        self._answers: dict[str, tuple[SeenRow, ...]] = {}

    def run(self) -> None:
        if self.brief:
            self.thoughts.worked(asked_line(self.request))
        self.findings.there = self._way_of(back=False)
        if self.request.return_date:
            self.findings.back = self._way_of(back=True)
        if self.nights:
            self._stay()
        self._visit()
        self.findings.add_up()
        self.answer(self.thoughts.before_answer(self.findings))

    def answer(self, thoughts: str = "") -> None:
        cards = cards_of(self.findings, self.brief)
        answer = cards.to_json() if self.plan_format == CARDS else write_page(cards)
        self.session.say(f"{thoughts}<answer>{answer}</answer>")

    @property
    def left(self) -> int:
        """Calls that can still be made: the last turn is the answer's."""
        dialect, transcript = self.session.dialect, self.session.transcript
        return min(
            dialect.max_calls - len(transcript.calls), dialect.max_turns - 1 - transcript.turns
        )

    def _needed(self, after: str) -> int:
        """Calls without which a later part would have nothing."""
        request, stay, visits = self.request, 0, 0
        # one look at the sights for the hotel and the visits
        shared = bool(request.hotel_near and not self.brief)
        if self.nights:
            stay = 1 + bool(request.hotel_near) + shared
        if request.visit:
            visits = len(request.visit) + (not shared) + (self.brief and not self.nights)
        back = 1 if request.return_date else 0
        return {"there": back + stay + visits, "back": stay + visits, "stay": visits}[after]

    def _ask(self, tool: str, **arguments: Any) -> tuple[SeenRow, ...]:
        """No row where no call is left for it, or nothing came back. Raises Over."""
        if tool not in self.session.tools.face.names:
            return ()  # nobody answers it
        key = json.dumps([tool, arguments])
        if key in self._answers:
            return self._answers[key]
        for _ in range(self.most_tries):
            if self.left < 1:
                return ()
            thoughts = self.thoughts.before_call(tool, arguments)
            self.session.say(thoughts + write_call(tool, arguments))
            calls = self.session.transcript.calls
            if self.session.done:
                raise Over
            if not unanswered(calls[-1].fault):
                break
        rows = read_answer(calls[-1], len(calls), self.request.currency)
        self._answers[key] = rows
        self.thoughts.saw(rows, calls[-1].rows.note if calls[-1].rows else "")
        if self.brief:
            self.thoughts.worked(f"{len(calls)}.")
        return rows

    def _look_up(self, query: str) -> tuple[SeenRow, ...]:
        return self._ask("poi_search", query=query, city_name=self.request.destination)

    def _way(self, origin: str, destination: str) -> SeenRow | None:
        """The shortest within the city of destination."""
        ends = {"origin_name": origin, "destination_name": destination}
        return shortest(self._ask("route_planning", **ends, city_name=self.request.destination))

    # ---- there and back

    def _way_of(self, back: bool) -> Choice:
        request = self.request
        arguments = intents.way_asked(request, back)
        later = self._needed("back" if back else "there")
        rows: tuple[SeenRow, ...] = ()
        choice = Choice()
        for mode in self._modes(back):
            compare = not self.brief or request.total_budget is not None
            if choice.meets and not (compare and self.left > later + self._unsure(back)):
                break
            if self.left > (later if rows else 0):
                found = self._ask(f"{mode}_search", **arguments)
                rows += found
                choice = self._choose_way(rows, found, back)
        if not choice.meets and request.transport != "flight" and self.left > later:
            changing = self._ask("train_search", **arguments, is_transfer=1)
            choice = self._choose_way((*rows, *changing), changing, back)
        return choice

    def _choose_way(self, rows: Sequence[SeenRow], found: Sequence[SeenRow], back: bool) -> Choice:
        """Of all rows so far; the work is shown along those of the last search."""
        there = self.findings.there.first if back else None
        after = there.record if there else None
        choice = choose_way(self.request, rows, back, after)
        self.thoughts.chose(choice)
        self.thoughts.worked(way_walk(self.request, found, choice, back, after))
        return choice

    def _unsure(self, back: bool) -> int:
        """Calls that may turn out to be needed: the other means of transport back, a second hotel
        to look from."""
        request = self.request
        other_way_back = not back and request.return_date is not None and request.transport is None
        return other_way_back + bool(request.hotel_near)

    def _modes(self, back: bool) -> tuple[str, ...]:
        """On the way back first what was found on the way there."""
        if self.request.transport:
            return (self.request.transport,)
        there = self.findings.there.first
        by_train = back and there and not isinstance(there.record, FlightOffer)
        return ("train", "flight") if by_train else ("flight", "train")

    # ---- the stay

    def _stay(self) -> None:
        request, later = self.request, self._needed("stay")
        arguments = intents.stay_asked(request)
        by_name = {"hotel_name": request.hotel} if request.hotel else {}
        rows = self._ask("hotel_search", **arguments, **by_name)
        if not rows and by_name and self.left > later:
            rows = self._ask("hotel_search", **arguments)
        if request.hotel_near and rows:
            self._look_near(rows, later)
        choice = self.findings.stay = choose_stay(request, rows, self.findings.km_away)
        if not self.findings.near:
            self.thoughts.chose(choice)
            if rows:
                self.thoughts.worked(stay_walk(request, rows, choice))

    def _look_near(self, rows: Sequence[SeenRow], later: int) -> None:
        """Ways from hotels to the place, the most promising first, until one is near."""
        request, place = self.request, str(self.request.hotel_near)
        at = None
        if not self.brief and request.visit:
            at = self._placed((place, *request.visit), self._look_up(SIGHTS)).get(place)
        if at is None and not self.brief and self.left > later + 1:
            at = self._placed((place,), self._look_up(place)).get(place)
        for number, row in enumerate(by_promise(request, rows, at)):
            if self.left <= later:
                break
            first = stay_walk(request, rows, Choice((row,)))
            self.thoughts.worked(f"Next {letters(row.row)} {row.name}." if number else first)
            way = self._way(row.record.name, place)
            if way is not None:
                self.findings.near[row.record.name] = way
                self.thoughts.worked(near_step(way))
                if not intents.unmet_stay(request, row.record, way.record.distance_km):
                    break

    def _placed(self, names: Sequence[str], rows: Sequence[SeenRow]) -> dict[str, PointOfInterest]:
        """Where they lie and their addresses."""
        places, asked = {}, {name.casefold(): name for name in reversed(names)}
        for row in rows:
            if isinstance(row.record, PointOfInterest):
                name = asked.get(row.record.name.casefold())
                if name is not None:
                    places[name], self.findings.places[name] = row.record, row
        return places

    # ---- visits

    def _visit(self) -> None:
        """Two places are looked for with one call, as sights of the city; what that does not find
        is asked for by name."""
        request = self.request
        if not request.visit:
            return
        start = self._start()
        if len(request.visit) > 1:
            self._placed(request.visit, self._look_up(SIGHTS))
        for number, place in enumerate(request.visit):
            ways_to_come = len(request.visit) - number
            if place not in self.findings.places and self.left > ways_to_come:
                self._placed((place,), self._look_up(place))
            if start and (way := self._way(start, place)):
                self.findings.visits[place] = way
                self.thoughts.worked(way_step(way))

    def _start(self) -> str:
        """The hotel; without one where the journey there ends, which a tiny model's rows do not
        say."""
        if self.findings.stay.first is not None:
            return self.findings.stay.first.name
        if self.findings.there.first is None:
            return ""
        way = self.findings.there.first.record
        if place := intents.arrival_of(way):
            return place
        rows = self._look_up("airport" if isinstance(way, FlightOffer) else "train station")
        return str(rows[0].record.name) if rows else ""


# Decides from nothing but the request's intents and what the tools have answered, and says what it
# could not meet.
ErrandExpert = partial(ScriptedPolicy, "errand-expert", partial(play_errand, "errand-expert", Play))

# ---- the answer

Fields = dict[str, Any]


def cards_of(findings: Findings, brief: bool) -> Cards:
    """`brief`: what a compact face shows, one recommendation in each part, and no alternatives."""
    request = findings.request
    most = 1 if brief else MOST_RECOMMENDATIONS
    visits = [place for place in request.visit if place in findings.visits]
    total = None
    if findings.total is not None and not brief:
        total = findings.total._asdict()
    there, stays, back = (
        choice.rows[:most] for choice in (findings.there, findings.stay, findings.back)
    )
    return Cards.model_validate(
        {
            "party": request.party_size,
            "outbound": [_ride_card(findings, row, False, brief) for row in there],
            "stay": [_stay_card(findings, row, brief) for row in stays],
            "return": [_ride_card(findings, row, True, brief) for row in back],
            "visits": [_visit_card(place, findings, brief) for place in visits],
            "total": total,
            "risks": list(_risks(findings)),
        }
    )


def _ride_card(findings: Findings, row: SeenRow, back: bool, brief: bool) -> Fields:
    offer = row.record
    flies, full = isinstance(offer, FlightOffer), dict[str, Any]()
    if not brief:
        full = {
            "depart_city": offer.depart_city,
            "arrive_city": offer.arrive_city,
            "depart_place": (offer.depart_airport if flies else offer.depart_station) or None,
            "arrive_place": intents.arrival_of(offer) or None,
            "minutes": offer.minutes or None,
            "reasons": list(_why_ride(findings, row, back)),
        }
    return {
        "kind": "flight" if flies else "train",
        "number": offer.number,
        "date": offer.departs_at[:10],
        "departs": offer.departs_at[11:16],
        "arrives": offer.arrives_at[11:16],
        "days_later": intents.days_later(offer),
        "price": _price(row, "person", brief),
        **_reference(row),
        **full,
    }


def _stay_card(findings: Findings, row: SeenRow, brief: bool) -> Fields:
    offer, full = row.record, dict[str, Any]()
    if not brief:
        full = {
            "address": offer.address or None,
            "room": offer.room or None,
            "guests": offer.guests,
            "rating": offer.rating,
        }
    return {
        "kind": "hotel",
        "name": offer.name,
        "checkin": offer.checkin_date,
        "checkout": offer.checkout_date,
        "rooms": intents.rooms_of(findings.request, offer),
        "price": _price(row, "room", brief),
        # near is said in both: that a hotel is, stands in another row than the hotel's
        "reasons": list(_why_stay(findings, row, brief)),
        **_reference(row),
        **full,
    }


def _visit_card(place: str, findings: Findings, brief: bool) -> Fields:
    at, way = findings.places.get(place), findings.visits[place]
    leg = {"mode": way.record.mode, "minutes": way.record.minutes, **_reference(way)}
    fields: Fields = {"kind": "place", "name": place, "way": leg}
    if not brief:
        leg |= {"distance_km": way.record.distance_km, "origin": way.record.origin}
        if at is not None:
            fields |= {"found": _reference(at), "address": at.record.address or None}
    return fields


def _reference(row: SeenRow) -> Fields:
    return {"call": row.call, "row": row.row}


def _price(row: SeenRow, per: str, brief: bool) -> Fields | None:
    price = row.record.price
    if price is None:
        return None
    return {"amount": price.amount, "currency": None if brief else price.currency, "per": per}


def _why_ride(findings: Findings, row: SeenRow, back: bool) -> Iterator[Fields]:
    request, offer = findings.request, row.record
    after, by = intents.limits_of(request, back)
    missed = intents.unmet_way(request, offer, back)
    if by and not {"arrive_by", "return_by"} & set(missed):
        yield {"term": "arrives_by", "time": offer.arrives_at[11:16], "limit": by}
    if after and not {"depart_after", "return_after"} & set(missed):
        yield {"term": "departs_after", "time": offer.departs_at[11:16], "limit": after}
    yield from _cheapest(findings.back if back else findings.there, row)


def _why_stay(findings: Findings, row: SeenRow, brief: bool) -> Iterator[Fields]:
    request, offer = findings.request, row.record
    way = findings.near.get(offer.name)
    if way is not None and request.hotel_near and way.record.distance_km <= intents.NEAR_KM:
        far = {"place": request.hotel_near, "distance_km": way.record.distance_km}
        yield {"term": "near", **far, **_reference(way)}
    if brief:
        return
    if request.hotel and intents.is_called(offer.name, request.hotel):
        yield {"term": "as_named", "name": request.hotel}
    if request.nightly_budget is not None and offer.price is not None:
        night = round(offer.price.amount / max(1, intents.nights_of(request)), 2)
        if night <= request.nightly_budget:
            limit = request.nightly_budget
            yield {"term": "within_nightly_budget", "amount": night, "limit": limit}
    yield from _cheapest(findings.stay, row)


def _cheapest(choice: Choice, row: SeenRow) -> Iterator[Fields]:
    if choice.cheapest and choice.meets and row is choice.first:
        yield {"term": "cheapest_that_fits", "call": row.call}


def _risks(findings: Findings) -> Iterator[Fields]:
    request = findings.request
    choices = {"outbound": findings.there}
    if request.return_date:
        choices["return"] = findings.back
    if intents.nights_of(request):
        choices["stay"] = findings.stay
    for part, choice in choices.items():
        if not choice.rows:
            yield {"term": "not_found", "part": part}
    unmet = [wish for choice in choices.values() for wish in choice.unmet]
    if findings.over_budget:
        unmet.append("total_budget")
    if any(place not in findings.visits for place in request.visit):
        unmet.append("visit")
    yield from ({"term": "not_met", "wish": wish} for wish in dict.fromkeys(unmet))

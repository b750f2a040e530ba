"""Plays one request from the first call to the answer: which tool to ask next within the turns that
are left, and what to do where nothing is found.

The order is there, back, stay, visits. Each part keeps back the calls that the later ones need;
what is then to spare compares flights with trains, looks for a hotel nearer by, or finds an
address.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tripwright.agent.session import Session
from tripwright.agent.turn import write_call
from tripwright.domains.deeptravel.expert import work
from tripwright.domains.deeptravel.expert.answer import write_answer
from tripwright.domains.deeptravel.expert.choice import (
    Choice,
    choose_stay,
    choose_way,
    total_of,
    within_budget,
)
from tripwright.domains.deeptravel.expert.findings import Findings
from tripwright.domains.deeptravel.expert.near import by_promise, shortest
from tripwright.domains.deeptravel.expert.observations import SeenAnswer, SeenRow, read_answer
from tripwright.domains.deeptravel.expert.thoughts import Thoughts
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, PointOfInterest
from tripwright.errors import UserError
from tripwright.policies.base import say
from tripwright.tools.face import letters
from tripwright.tools.faults import UNANSWERED, fault_kind

COMPACT_FACE = "deeptravel_compact"
FACES = ("deeptravel", COMPACT_FACE)
MOST_TRIES = 2  # of a call that our side did not answer
SIGHTS = "attractions"
# what a traveller without a hotel starts from, as places are searched for
STARTS = {FlightOffer: "airport"}


class Over(Exception):
    """The session has ended: nothing more can be said."""


def checked_request(session: Session, policy: str) -> TravelRequest:
    """What the session asks. Raises UserError where that is no traveller's request, or the tools'
    answers cannot be read."""
    request = session.query
    if not isinstance(request, TravelRequest):
        raise UserError(
            f"Policy '{policy}' plays travellers' requests, found a {type(request).__name__}. For"
            " others there is 'expert'."
        )
    if session.tools.face.name not in FACES:
        raise UserError(
            f"Policy '{policy}' reads the faces {' and '.join(FACES)}, found"
            f" '{session.tools.face.name}'."
        )
    return request


def play_errand(session: Session) -> None:
    request = checked_request(session, "errand-expert")
    try:
        _Play(session, request).run()
    except Over:
        return


class _Play:
    def __init__(self, session: Session, request: TravelRequest):
        self.session, self.request = session, request
        self.brief = session.tools.face.name == COMPACT_FACE
        self.plan_format = session.dialect.plan_format
        self.shown = session.dialect.shows_work
        self.thoughts = Thoughts(request, silent=self.brief)
        self.findings = Findings(request)
        self.nights = intents.nights_of(request)
        self._answers: dict[str, SeenAnswer] = {}

    def run(self) -> None:
        if self.brief and self.shown != "none":
            self.thoughts.worked(work.asked_line(self.request))
        there = self._ways(back=False)
        back = self._ways(back=True) if self.request.return_date else None
        if self.nights:
            self._stay()
        self._visit()
        ways = [way for way in (there, back) if way is not None]
        self.findings.total = (
            total_of(self.request, ways, self.findings.stay)
            if self.findings.stay.rows or not self.nights
            else None
        )
        choices, self.findings.stay = within_budget(self.request, ways, self.findings.stay)
        self.findings.there, self.findings.back = (
            choices[0],
            choices[1] if back is not None else None,
        )
        say(
            self.session,
            self.thoughts.before_answer(self.findings)
            + f"<answer>{write_answer(self.findings, self.plan_format, self.brief)}</answer>",
        )

    @property
    def left(self) -> int:
        """Calls that can still be made: the last turn is the answer's."""
        dialect, transcript = self.session.dialect, self.session.transcript
        return min(
            dialect.max_calls - len(transcript.calls), dialect.max_turns - 1 - transcript.turns
        )

    def _needed(self, after: str) -> int:
        """Calls without which a later part would have nothing."""
        request = self.request
        stay = (
            0 if not self.nights else 1 + (0 if not request.hotel_near else 1 if self.brief else 2)
        )
        # one look at the sights for the hotel and the visits
        shared = bool(request.hotel_near and not self.brief)
        visits = (
            len(request.visit) + (not shared) + (self.brief and not self.nights)
            if request.visit
            else 0
        )
        back = 1 if request.return_date else 0
        return {"there": back + stay + visits, "back": stay + visits, "stay": visits}[after]

    def _ask(self, tool: str, **arguments: Any) -> SeenAnswer | None:
        """None where no call is left for it, or nothing came back. Raises Over."""
        key = json.dumps([tool, arguments])
        if key in self._answers:
            return self._answers[key]
        for _ in range(MOST_TRIES):
            if self.left < 1:
                return None
            say(
                self.session,
                self.thoughts.before_call(tool, arguments) + write_call(tool, arguments),
            )
            transcript = self.session.transcript
            if self.session.done:
                raise Over
            fault = transcript.calls[-1].fault
            if fault is None or fault_kind(fault) not in UNANSWERED:
                break
        answer = read_answer(transcript.calls[-1], len(transcript.calls), self.request.currency)
        self._answers[key] = answer
        self.thoughts.saw(answer)
        if self.brief and self.shown != "none":
            self.thoughts.worked(f"{len(transcript.calls)}.")
        return answer

    # ---- there and back

    def _ways(self, back: bool) -> Choice:
        request = self.request
        ends = (
            (request.destination, request.origin) if back else (request.origin, request.destination)
        )
        arguments = {
            "depart_city_name": ends[0],
            "arrival_city_name": ends[1],
            "depart_date": request.return_date if back else request.depart_date,
        }
        later = self._needed("back" if back else "there")
        rows: list[SeenRow] = []
        choice = Choice()
        for mode in self._modes(back):
            compare = not self.brief or request.total_budget is not None
            if choice.meets and not (compare and self.left > later + self._unsure(back)):
                break
            answer = (
                self._ask(f"{mode}_search", **arguments) if self.left > later or not rows else None
            )
            if answer is not None:
                rows += answer.rows
                choice = self._choose_way(rows, answer, back)
        if not choice.meets and request.transport != "flight" and self.left > later:
            changing = self._ask("train_search", **arguments, is_transfer=1)
            if changing is not None:
                choice = self._choose_way([*rows, *changing.rows], changing, back)
        if back:
            self.findings.back = choice
        else:
            self.findings.there = choice
        return choice

    def _choose_way(self, rows: list[SeenRow], answer: SeenAnswer, back: bool) -> Choice:
        """Of all rows so far; the work is shown along those of the last answer."""
        first = self.findings.there.first if back else None
        after = first.record if first else None
        choice = choose_way(self.request, rows, back, after)
        self.thoughts.chose(choice)
        if self.shown != "none":
            walk = work.way_walk(self.request, answer.rows, choice, back, after, self.shown)
            self.thoughts.worked(walk)
        return choice

    def _unsure(self, back: bool) -> int:
        """Calls that may turn out to be needed: the other means of transport back, a second hotel
        to look from."""
        return (
            not back and self.request.return_date is not None and self.request.transport is None
        ) + bool(self.request.hotel_near)

    def _modes(self, back: bool) -> tuple[str, ...]:
        """On the way back first what was found on the way there."""
        if self.request.transport:
            return (self.request.transport,)
        there = self.findings.there.first
        return (
            ("train", "flight")
            if back and there and not isinstance(there.record, FlightOffer)
            else ("flight", "train")
        )

    # ---- the stay

    def _stay(self) -> None:
        request, later = self.request, self._needed("stay")
        arguments = {
            "city_name": request.destination,
            "checkin_date": request.depart_date,
            "checkout_date": intents.checkout_of(request),
        }
        by_name = {"hotel_name": request.hotel} if request.hotel else {}
        answer = self._ask("hotel_search", **arguments, **by_name)
        rows = list(answer.rows) if answer else []
        if not rows and by_name and self.left > later:
            answer = self._ask("hotel_search", **arguments)
            rows = list(answer.rows) if answer else []
        if request.hotel_near and rows:
            self._look_near(rows, later)
        choice = self.findings.stay = choose_stay(request, rows, self.findings.km_away)
        if not self.findings.near:
            self.thoughts.chose(choice)
            if self.shown != "none" and rows:
                self.thoughts.worked(work.stay_walk(request, rows, choice, self.shown))

    def _look_near(self, rows: list[SeenRow], later: int) -> None:
        """Ways from hotels to the place, the most promising first, until one is near."""
        request, place = self.request, str(self.request.hotel_near)
        at = None
        if not self.brief and request.visit:
            at = self._placed(
                (place, *request.visit),
                self._ask("poi_search", query=SIGHTS, city_name=request.destination),
            ).get(place)
        if at is None and not self.brief and self.left > later + 1:
            at = self._place(place)
        for number, row in enumerate(by_promise(request, rows, at)):
            if self.left <= later:
                break
            if self.shown != "none":
                first = work.stay_walk(request, rows, Choice((row,)), self.shown)
                self.thoughts.worked(f"Next {letters(row.row)} {row.name}." if number else first)
            answer = self._ask(
                "route_planning",
                origin_name=row.record.name,
                destination_name=place,
                city_name=request.destination,
            )
            way = shortest(answer)
            if way is not None:
                self.findings.near[row.record.name] = way
                if self.shown != "none":
                    self.thoughts.worked(work.near_step(way))
                if not intents.unmet_stay(request, row.record, way.record.distance_km):
                    break

    def _place(self, name: str) -> PointOfInterest | None:
        """Where it lies and its address."""
        return self._placed(
            (name,), self._ask("poi_search", query=name, city_name=self.request.destination)
        ).get(name)

    def _placed(
        self, names: Sequence[str], answer: SeenAnswer | None
    ) -> dict[str, PointOfInterest]:
        places = {}
        for row in answer.rows if answer else ():
            name = next(
                (
                    name
                    for name in names
                    if isinstance(row.record, PointOfInterest)
                    and row.record.name.casefold() == name.casefold()
                ),
                None,
            )
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
            self._placed(
                request.visit, self._ask("poi_search", query=SIGHTS, city_name=request.destination)
            )
        for number, place in enumerate(request.visit):
            ways_to_come = len(request.visit) - number
            if place not in self.findings.places and self.left > ways_to_come:
                self._place(place)
            if start:
                way = shortest(
                    self._ask(
                        "route_planning",
                        origin_name=start,
                        destination_name=place,
                        city_name=request.destination,
                    )
                )
                if way is not None:
                    self.findings.visits[place] = way
                    if self.shown != "none":
                        self.thoughts.worked(work.way_step(way))

    def _start(self) -> str:
        """The hotel; without one where the journey there ends, which a tiny model's rows do not
        say."""
        if self.findings.stay.first is not None:
            record: HotelOffer = self.findings.stay.first.record
            return record.name
        if self.findings.there.first is None:
            return ""
        way = self.findings.there.first.record
        place = way.arrive_airport if isinstance(way, FlightOffer) else way.arrive_station
        if place:
            return str(place)
        answer = self._ask(
            "poi_search",
            query=STARTS.get(type(way), "train station"),
            city_name=self.request.destination,
        )
        return str(answer.rows[0].record.name) if answer and answer.rows else ""

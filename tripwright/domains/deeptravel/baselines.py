"""Policies with a habit in place of a mind, such as taking the cheapest row of every tool answer.
They measure how much of a pass rate the requests give away.

They ask for what the trip needs, decide nothing, and answer in their dialect's format; no wish is
looked at, so what they fail on is what a request asks to be decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tripwright.agent.session import Session
from tripwright.agent.turn import write_call
from tripwright.domains.deeptravel.expert.choice import Choice, Findings, SeenRow, read_answer
from tripwright.domains.deeptravel.expert.play import COMPACT_FACE, checked_request, write_answer
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.make import (
    IN_TIME,
    OF_STAYS,
    OF_WAYS,
    Value,
    price,
)
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, TrainOffer
from tripwright.policies.base import say

_WISHES = (
    *("transport", "depart_after", "arrive_by", "return_after", "return_by"),
    *("total_budget", "nightly_budget", "hotel", "hotel_near"),
)


HABIT_OF = {  # policy → its habits of `requests/make.py`, for ways and for stays
    "errand-first-row": ("first", "first"),
    "errand-cheapest": ("cheapest", "cheapest"),
    "errand-in-time": (IN_TIME, "cheapest"),
    "errand-fastest": ("fastest", "best rated"),
}


class ErrandRows:
    """Plays the habit of that name. "errand-first-row" asks for trains only where no flight goes;
    the others compare both."""

    def __init__(self, name: str):
        self.name, self.habit = name, HABIT_OF[name]

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        """Raises UserError where a session asks for something else than a traveller's request, or
        in a face that cannot be read."""
        for session in sessions:
            request = checked_request(session, self.name)
            findings = self._found(session, request)
            if not session.done:
                brief = session.tools.face.name == COMPACT_FACE
                answer = write_answer(findings, session.dialect.plan_format, brief)
                say(session, f"<answer>{answer}</answer>")
            yield session

    def _found(self, session: Session, request: TravelRequest) -> Findings:
        findings = Findings(request.model_copy(update=dict.fromkeys(_WISHES)))
        findings.there = self._way(
            session, request, request.origin, request.destination, request.depart_date
        )
        if request.return_date:
            findings.back = self._way(
                session, request, request.destination, request.origin, request.return_date
            )
        if intents.nights_of(request):
            stay = {
                "checkin_date": request.depart_date,
                "checkout_date": intents.checkout_of(request),
            }
            findings.stay = _least(
                self._ask(session, request, "hotel_search", city_name=request.destination, **stay),
                OF_STAYS[self.habit[1]],
            )
        for place in request.visit:
            self._visit(session, request, place, findings)
        return findings

    def _way(
        self, session: Session, request: TravelRequest, origin: str, destination: str, day: str
    ) -> Choice:
        arguments = {
            "depart_city_name": origin,
            "arrival_city_name": destination,
            "depart_date": day,
        }
        rows = self._ask(session, request, "flight_search", **arguments)
        if not rows or self.habit[0] != "first":
            rows = [*rows, *self._ask(session, request, "train_search", **arguments)]
        rows = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
        value = OF_WAYS.get(self.habit[0], price)
        if self.habit[0] == IN_TIME:
            unmet = intents.unmet_return if origin != request.origin else intents.unmet_outbound
            heard = request.model_copy(update={"transport": None})
            rows = [row for row in rows if not unmet(heard, row.record)] or rows
        return _least(rows, value)

    def _visit(
        self, session: Session, request: TravelRequest, place: str, findings: Findings
    ) -> None:
        """The place and the first way to it, from the hotel or from where the journey ends."""
        first = (findings.stay.first or findings.there.first) if findings.there.first else None
        start = first.record if first is not None else None
        if isinstance(start, FlightOffer | TrainOffer):
            begin = start.arrive_airport if isinstance(start, FlightOffer) else start.arrive_station
        else:
            begin = start.name if isinstance(start, HotelOffer) else ""
        at = self._ask(session, request, "poi_search", query=place, city_name=request.destination)
        ways = self._ask(
            session,
            request,
            "route_planning",
            origin_name=begin,
            destination_name=place,
            city_name=request.destination,
        )
        if at:
            findings.places[place] = at[0]
        if ways:
            findings.visits[place] = ways[0]

    def _ask(
        self, session: Session, request: TravelRequest, tool: str, **arguments: Any
    ) -> list[SeenRow]:
        """Nothing once the session has ended or its last turn is due, which is the answer's."""
        dialect, transcript = session.dialect, session.transcript
        if (
            session.done
            or transcript.turns >= dialect.max_turns - 1
            or len(transcript.calls) >= dialect.max_calls
        ):
            return []
        say(session, write_call(tool, arguments))
        if session.done:
            return []
        return list(read_answer(transcript.calls[-1], len(transcript.calls), request.currency).rows)


def _least(rows: Sequence[SeenRow], value: Value) -> Choice:
    return Choice(tuple(sorted(rows, key=lambda row: value(row.record))[:1]))

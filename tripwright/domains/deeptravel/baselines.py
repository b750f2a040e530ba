"""Policies with a habit in place of a mind, such as taking the cheapest row of every tool answer.
They measure how much of a pass rate the requests give away.

They ask for what the trip needs, decide nothing, and answer in their dialect's format; no wish is
looked at, so what they fail on is what a request asks to be decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from tripwright.domains.deeptravel.expert.choice import Choice, Findings, SeenRow
from tripwright.domains.deeptravel.expert.play import Over, Play, checked_request
from tripwright.domains.deeptravel.expert.thoughts import Thoughts
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.make import (
    IN_TIME,
    OF_STAYS,
    OF_WAYS,
    Value,
)
from tripwright.domains.deeptravel.tools.answers import FlightOffer, TrainOffer
from tripwright.episode import Session

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
            with suppress(Over):
                _HabitualPlay(session, request, *self.habit).run()
            yield session


class _HabitualPlay(Play):
    most_tries = 1

    def __init__(self, session: Session, request: TravelRequest, ways_by: str, stays_by: str):
        super().__init__(session, request)
        self.ways_by, self.stays_by = ways_by, stays_by
        self.thoughts = Thoughts(request, silent=True, shown="none")
        self.findings = Findings(request.model_copy(update=dict.fromkeys(_WISHES)))

    def run(self) -> None:
        request, findings = self.request, self.findings
        findings.there = self._ride(back=False)
        if request.return_date:
            findings.back = self._ride(back=True)
        if self.nights:
            stays = self._rows("hotel_search", **intents.stay_asked(request))
            findings.stay = _least(stays, OF_STAYS[self.stays_by])
        for place in request.visit:
            self._visit_from_here(place)
        self.answer()

    def _ride(self, back: bool) -> Choice:
        arguments = intents.way_asked(self.request, back)
        rows = self._rows("flight_search", **arguments)
        if not rows or self.ways_by != "first":
            rows += self._rows("train_search", **arguments)
        rows = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
        if self.ways_by == IN_TIME:
            heard = self.request.model_copy(update={"transport": None})
            rows = [row for row in rows if not intents.unmet_way(heard, row.record, back)] or rows
        return _least(rows, OF_WAYS.get(self.ways_by, intents.price_of))

    def _visit_from_here(self, place: str) -> None:
        """The place and the first way to it, from the hotel or from where the journey ends."""
        findings, city = self.findings, self.request.destination
        begin = ""
        if (there := findings.there.first) is not None:
            stay = findings.stay.first
            begin = stay.name if stay is not None else intents.arrival_of(there.record)
        ends = {"origin_name": begin, "destination_name": place}
        if at := self._rows("poi_search", query=place, city_name=city):
            findings.places[place] = at[0]
        if ways := self._rows("route_planning", **ends, city_name=city):
            findings.visits[place] = ways[0]


def _least(rows: Sequence[SeenRow], value: Value) -> Choice:
    return Choice(tuple(sorted(rows, key=lambda row: value(row.record))[:1]))

"""Policies with a habit in place of a mind, such as taking the cheapest row of every tool answer.
They measure how much of a pass rate the requests give away.

They ask for what the trip needs, decide nothing, and answer in their dialect's format; no wish is
looked at, so what they fail on is what a request asks to be decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from tripwright.domains.deeptravel.expert.choice import Choice, Findings, SeenRow
from tripwright.domains.deeptravel.expert.play import Play, play_errand
from tripwright.domains.deeptravel.expert.thoughts import Thoughts
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.make import IN_TIME, OF_STAYS, OF_WAYS, Value
from tripwright.domains.deeptravel.tools.answers import FlightOffer, TrainOffer
from tripwright.episode import Session
from tripwright.policies.base import ScriptedPolicy

HABIT_OF = {  # policy → its habits of `requests/make.py`, for ways and for stays
    "errand-first-row": ("first", "first"),
    "errand-cheapest": ("cheapest", "cheapest"),
    "errand-in-time": (IN_TIME, "cheapest"),
    "errand-fastest": ("fastest", "best rated"),
}


def errand_rows(name: str) -> ScriptedPolicy:
    """Plays the habit of that name. "errand-first-row" asks for trains only where no flight goes;
    the others compare both."""
    play = partial(_HabitualPlay, *HABIT_OF[name])
    return ScriptedPolicy(name, partial(play_errand, name, play))


class _HabitualPlay(Play):
    most_tries = 1

    def __init__(self, ways_by: str, stays_by: str, session: Session, request: TravelRequest):
        super().__init__(session, request)
        self.ways_by, self.stays_by = ways_by, stays_by
        self.thoughts = Thoughts(request, silent=True, shown="none")
        unheard: dict[str, Any] = {wish: None for wish in intents.WISHES if wish != "visit"}
        self.findings = Findings(request.model_copy(update=unheard))

    def run(self) -> None:
        request, findings = self.request, self.findings
        findings.there = self._ride(back=False)
        if request.return_date:
            findings.back = self._ride(back=True)
        if self.nights:
            stays = self._ask("hotel_search", **intents.stay_asked(request))
            findings.stay = _least(stays, OF_STAYS[self.stays_by])
        for place in request.visit:
            self._visit_from_here(place)
        self.answer()

    def _ride(self, back: bool) -> Choice:
        arguments = intents.way_asked(self.request, back)
        rows = self._ask("flight_search", **arguments)
        if not rows or self.ways_by != "first":
            rows += self._ask("train_search", **arguments)
        rides = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
        if self.ways_by == IN_TIME:
            heard = self.request.model_copy(update={"transport": None})
            rides = [
                row for row in rides if not intents.unmet_way(heard, row.record, back)
            ] or rides
        return _least(rides, OF_WAYS.get(self.ways_by, intents.price_of))

    def _visit_from_here(self, place: str) -> None:
        """The place and the first way to it, from the hotel or from where the journey ends."""
        findings, city = self.findings, self.request.destination
        stay, ride = findings.stay.first, findings.there.first
        begin = intents.arrival_of(ride.record) if ride is not None else ""
        if ride is not None and stay is not None:
            begin = stay.name
        if at := self._look_up(place):
            findings.places[place] = at[0]
        ends = {"origin_name": begin, "destination_name": place}
        if ways := self._ask("route_planning", **ends, city_name=city):
            findings.visits[place] = ways[0]


def _least(rows: Sequence[SeenRow], value: Value) -> Choice:
    return Choice(tuple(sorted(rows, key=lambda row: value(row.record))[:1]))

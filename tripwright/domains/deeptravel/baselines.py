"""Habits, such as taking the cheapest row of every tool answer, as policies and as a test of
requests: they measure how much of a pass rate the requests give away.

As a policy a habit asks for what the trip needs, decides nothing, and answers in its dialect's
format; no wish is looked at, so what it fails on is what a request asks to be decided. A request
that a habit meets teaches and measures no choosing: those who make requests look at the rows
themselves (`left_to`), so that thousands of drafts can be tried in seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, TypeVar

from tripwright.domains.deeptravel.expert.choice import Choice, Findings, SeenRow
from tripwright.domains.deeptravel.expert.play import Play, play_errand
from tripwright.domains.deeptravel.expert.thoughts import Thoughts
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.requests import intents
from tripwright.domains.deeptravel.requests.intents import AnswerRow, Offer, TripSurvey, price_of
from tripwright.domains.deeptravel.tools.answers import FlightOffer, HotelOffer, TrainOffer
from tripwright.episode import Session
from tripwright.policies.base import ScriptedPolicy
from tripwright.world.fill import minutes_of_clock

Value = Callable[[Any], float]  # of a row: the one with the least is taken, of equal ones the first


def minutes_of(moment: str) -> int:
    """After midnight, of "2026-06-26T06:54"."""
    return minutes_of_clock(moment[11:16])


# the cheapest of those that keep to the times, and look at nothing else
IN_TIME = "cheapest in time"
OF_WAYS: Mapping[str, Value] = {
    "first": lambda offer: 0.0,
    "cheapest": price_of,
    "dearest": lambda offer: -price_of(offer),
    "fastest": lambda offer: offer.minutes,
    "earliest": lambda offer: minutes_of(offer.departs_at),
    "latest": lambda offer: -minutes_of(offer.departs_at),
    IN_TIME: price_of,
}
OF_STAYS: Mapping[str, Value] = {
    "first": lambda hotel: 0.0,
    "cheapest": price_of,
    "dearest": lambda hotel: -price_of(hotel),
    "best rated": lambda hotel: -(hotel.rating or 0.0),
}
HABIT_OF = {  # policy → its habits for ways and for stays
    "errand-first-row": ("first", "first"),
    "errand-cheapest": ("cheapest", "cheapest"),
    "errand-in-time": (IN_TIME, "cheapest"),
    "errand-fastest": ("fastest", "best rated"),
}


Row = TypeVar("Row", AnswerRow, SeenRow)


def way_taken(habit: str, request: TravelRequest, rows: Sequence[Row], back: bool) -> Row | None:
    if habit == IN_TIME:
        heard = request.model_copy(update={"transport": None})
        rows = [row for row in rows if not intents.unmet_way(heard, row.record, back)] or rows
    return min(rows, key=lambda row: OF_WAYS[habit](row.record), default=None)


# ---- on the rows


def left_to(request: TravelRequest, survey: TripSurvey) -> frozenset[tuple[str, str]]:
    """The habits, one for ways and one for stays, whose rows would meet the request."""
    journeys = {name: ways for name in OF_WAYS if (ways := _journey(name, request, survey))}
    stays: dict[str, HotelOffer | None] = dict.fromkeys(OF_STAYS)
    if journeys and intents.nights_of(request):
        # who arrives later has no bed for the first night
        journeys = {
            name: ways for name, ways in journeys.items() if not intents.days_later(ways[0])
        }
        hotels = [row.record for row in survey.stays(request)]
        taken = {name: min(hotels, key=value) for name, value in OF_STAYS.items() if hotels}
        stays = {
            name: hotel
            for name, hotel in taken.items()
            if intents.holds(hotel, request) and not survey.unmet_stay(request, hotel)
        }
    return frozenset(
        (way, stay)
        for (way, ways), (stay, hotel) in product(journeys.items(), stays.items())
        if intents.is_within(request, intents.total_of(request, ways, hotel))
    )


def _journey(habit: str, request: TravelRequest, survey: TripSurvey) -> list[Offer] | None:
    """There and, where it is asked for, back; None where that does not meet the request."""
    journey: list[Offer] = []
    for back in (False, True) if request.return_date is not None else (False,):
        row = way_taken(habit, request, survey.every_way(request, back), back)
        if row is None or intents.unmet_way(request, row.record, back):
            return None
        journey.append(row.record)
    return journey if len(journey) == 1 or intents.follows(*journey) else None


# ---- as a policy


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
            best = min(stays, key=lambda row: OF_STAYS[self.stays_by](row.record), default=None)
            findings.stay = Choice((best,) if best else ())
        for place in request.visit:
            self._visit_from_here(place)
        self.answer()

    def _ride(self, back: bool) -> Choice:
        arguments = intents.way_asked(self.request, back)
        rows = self._ask("flight_search", **arguments)
        if not rows or self.ways_by != "first":
            rows += self._ask("train_search", **arguments)
        rides = [row for row in rows if isinstance(row.record, FlightOffer | TrainOffer)]
        best = way_taken(self.ways_by, self.request, rides, back)
        return Choice((best,) if best else ())

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

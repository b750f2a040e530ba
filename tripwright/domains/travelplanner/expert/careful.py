"""Styles "careful" and "brief": information first, as an agent plans that does not know the answer.

It follows one line of thought (cities, nights, a way of travelling) as long as that may keep the
budget and the wishes, asks for the first thing about it that it does not know, and turns back at a
dead end: no place to stay as asked, no way back, over budget. Its answer is made of what tools have
shown. Only when every line of thought has ended does it say that there is no plan, and why; at a
limit, or where a tool could not tell, it says that it has found none.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

from tripwright.agent.session import Session
from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.expert.answer import answer_text
from tripwright.domains.travelplanner.expert.no_plan import dead_ends
from tripwright.domains.travelplanner.expert.observations import CITY, Observations, Search
from tripwright.domains.travelplanner.expert.parts import Parts
from tripwright.domains.travelplanner.expert.routes import Outlook, Routes, Trip
from tripwright.domains.travelplanner.expert.style import ExpertStyle
from tripwright.domains.travelplanner.expert.survey import Survey
from tripwright.domains.travelplanner.expert.wording import Words
from tripwright.domains.travelplanner.task import trip_query
from tripwright.errors import UserError
from tripwright.policies.base import say
from tripwright.tools.face import Face
from tripwright.tools.faults import UNANSWERED, fault_kind
from tripwright.tools.signatures import PAGE

MOST_TRIES = 4  # of one call that a fault kept from its answer
# cities beyond those asked for that are looked at because the rest is unlikely, not because it is
# impossible
MOST_WIDENED = 3
SPARE_SHARE = 0.6  # of the context, up to which there is room for searches that only compare


@dataclass(frozen=True)
class CarefulEpisode:
    """How an episode went: the trip that was answered, and each line of thought that had to be
    given up, in words."""

    trip: Trip | None
    dead_ends: tuple[str, ...]


class _Over(Exception):
    """The session has ended, or has no call left."""


def play_careful(session: Session, style: ExpertStyle) -> CarefulEpisode:
    """Plays one session to its end. Raises UserError for a face of other tools."""
    check_tools(session.tools.face)
    return _Play(session, style).run()


def check_tools(face: Face) -> None:
    """Raises UserError for a face that does not offer the searches."""
    if "search_flights" not in face.names:
        raise UserError(
            f"This policy plans with TravelPlanner's tools, which face '{face.name}' does not"
            " offer: choose another dialect."
        )


def unanswered(session: Session) -> bool:
    """Whether a fault kept the last call from its answer: only then may the same call be made
    again."""
    fault = session.transcript.calls[-1].fault if session.transcript.calls else None
    return fault is not None and fault_kind(fault) in UNANSWERED


class _Play:
    def __init__(self, session: Session, style: ExpertStyle):
        self.session, self.style, self.query = session, style, trip_query(session)
        self.observations = Observations(paged=session.dialect.page_rows is not None)
        self.parts = Parts(self.query, self.observations)
        self.routes = Routes(self.query, self.parts)
        self.survey = Survey(self.routes)
        self.words = Words(style, self.parts)
        self.dead_ends: list[str] = []
        self.note = ""  # what the next turn says before the reason for its call
        self.random = random.Random(f"play {style.seed} {self.query.query}")
        self.pursued: Outlook | None = None
        self.considered: list[str] = []  # the cities that are combined
        self.has_ended = False  # every line of thought, without a trip

    def run(self) -> CarefulEpisode:
        trip: Trip | None = None
        try:
            if len(self.query.date) == self.query.days:
                trip = self._plan()
            self.has_ended = trip is None
        except _Over:
            trip = None
        if not self.session.done:
            if trip is not None:
                self._say(
                    self.words.done(trip),
                    answer_text(self.query, trip, self.session.dialect.plan_format),
                )
            else:
                self.note = ""  # what it meant to look at next is no reason any more
                self._say(
                    self.words.nothing_left() if self.has_ended else "",
                    f"<answer>{self._no_plan()}</answer>",
                )
        return CarefulEpisode(trip, tuple(self.dead_ends))

    def _no_plan(self) -> str:
        """In an answer, because it is one: the episode ends by it, and not by a turn that cannot be
        read."""
        if not self.has_ended:
            return "I found no plan for this trip with the calls that I had."
        why = dead_ends(self.routes, self.considered)
        if self.observations.anything_lost:
            return f"I found no plan for this trip in the answers that I could read: {why}."
        if self.observations.anything_unknown:
            return f"I found no plan for this trip in what is known: {why}."
        return f"No plan is possible: {why}."

    def _plan(self) -> Trip | None:
        pool = self._cities()
        considered = self.considered
        considered += pool[: self.query.visiting_city_number + self._room_to_compare()]
        del pool[: len(considered)]
        self._look_around(considered)
        enough = self.query.visiting_city_number + MOST_WIDENED
        while True:
            trip, hope, is_likely = self.survey.look(
                considered, self.pursued.route if self.pursued else None
            )
            if trip is not None:
                return self._compared(trip)
            if hope is not None and (is_likely or not pool or len(considered) >= enough):
                self._turn_to(hope)
                self._ask((hope.unknown or hope.better)[0])
            elif pool:
                considered.append(pool.pop(0))
                if hope is None:
                    self._add_note(f"{self._why_not()} {self.words.widen(considered[-1])}")
            else:
                return None

    def _compared(self, trip: Trip) -> Trip:
        """The best trip after the style's further searches: only such as can still make a better
        one."""
        rival: Outlook | None = None
        for extra in range(self.style.max_extra_searches, 0, -1):
            following = self._worth_comparing(trip, extra)
            if following is None:
                break
            search, other = following
            if rival is None or other is None or other.route != rival.route:
                self._add_note(self.words.compare(other))
            rival = other
            try:
                self._ask(search)
            except _Over:
                break
            now = self.survey.look(self.considered, None).trip
            assert now is not None  # what was seen stays seen
            if now.cost_usd != trip.cost_usd or now.route != trip.route:
                self._add_note(self.words.cheaper(trip, now))
            elif (why := self._why_no_cheaper(search, rival, now)) is not None:
                self._add_note(self.words.no_cheaper(why))
                rival = None
            trip = now
        if rival is not None and rival.route != trip.route:
            self._add_note(self.words.no_cheaper("I have not seen all of the other trip"))
        return trip

    def _why_no_cheaper(self, search: Search, rival: Outlook | None, trip: Trip) -> str | None:
        """What a comparison has shown; None while the rival may still be cheaper."""
        if rival is None:
            return self.words.same_trip(search)
        now = self.routes.outlook(rival.route)
        if now.lower_usd >= trip.cost_usd:
            return (
                f"the other trip costs ${now.lower_usd:,.0f} or more, this one"
                f" ${trip.cost_usd:,.0f}"
            )
        if now.dead is not None:
            return now.dead
        if not now.unknown:
            other = self.routes.trip(now, at_any_cost=True)
            return (
                other
                if isinstance(other, str)
                else f"the other trip costs ${other.cost_usd:,.0f}, this one ${trip.cost_usd:,.0f}"
            )
        likely = self.routes.estimate(now, self.routes.usual_costs())
        if likely < trip.cost_usd:
            return None
        return (
            "with average prices for what I have not asked, the other trip costs about"
            f" ${likely:,.0f}, this one ${trip.cost_usd:,.0f}"
        )

    def _cities(self) -> list[str]:
        """Candidates, in an order of their own: nothing is known of them yet."""
        if self.query.days <= 3:
            return [self.query.dest]
        cities_search = Search.of("get_cities", state=self.query.dest)
        self._ask(cities_search)
        cities = [
            row[CITY]
            for row in self.observations.of(cities_search).rows
            if row[CITY] != self.query.org
        ]
        self.random.shuffle(cities)
        return cities

    def _room_to_compare(self) -> int:
        """How many cities more than needed can be looked at, with a third of the calls left for
        what goes wrong."""
        cities = self.query.visiting_city_number
        spare = self._calls_left() * 2 // 3 - (4 * cities + 1)
        return max(0, min(self.style.compared_cities, spare)) if self.query.days > 3 else 0

    def _look_around(self, cities: list[str]) -> None:
        """The way to each city, where there is more than one to choose from: by car if one can
        drive to the first, else by plane."""
        if len(cities) <= self.query.visiting_city_number:
            return
        family = self.routes.families[0]
        for city in cities:
            for _ in self.routes.families:
                leg = self.parts.leg(self.query.org, city, self.query.date[0], family)
                if leg.unknown is not None:
                    self._ask(leg.unknown)
                    leg = self.parts.leg(self.query.org, city, self.query.date[0], family)
                if leg.dead is None or city != cities[0]:
                    break
                family = self.routes.families[-1]

    def _turn_to(self, hope: Outlook) -> None:
        before = self.pursued
        if before is None:
            self._add_note(self.words.plan(hope.route))
        elif before.route != hope.route:
            why = self._why_given_up(before)
            self._add_note(
                self.words.plan(hope.route)
                if why is None
                else self.words.dead_end(why, before.route, hope.route)
            )
            if why is not None and (before.route.cities, before.route.family) != (
                hope.route.cities,
                hope.route.family,
            ):
                self.dead_ends.append(why)
        self.pursued = hope

    def _why_given_up(self, before: Outlook) -> str | None:
        """None where it was no dead end: another way merely looks better now."""
        now = self.routes.outlook(before.route)
        if now.dead is not None:
            return now.dead
        if not now.unknown and isinstance(why := self.routes.trip(now), str):
            return why
        likely = self.routes.estimate(now, self.routes.usual_costs())
        if likely <= self.query.budget:
            return None
        guess = ", with average prices for what I have not asked" if now.unknown else ""
        return (
            f"the trip would come to about ${likely:,.0f}{guess}, above the budget of"
            f" ${self.query.budget:,}"
        )

    def _why_not(self) -> str:
        """For the last line of thought, when nothing is left to follow."""
        why = self._why_given_up(self.pursued) if self.pursued else None
        self.pursued = None
        if why is None:
            return ""
        self.dead_ends.append(why)
        return f"{why[:1].upper()}{why[1:]}."

    def _worth_comparing(self, trip: Trip, most: int) -> tuple[Search, Outlook | None] | None:
        """A search that can lead to a better trip within `most` searches, and the route of that
        trip if it is another one; None where there is none, or no room for it."""
        dialect = self.session.dialect
        if self._calls_left() < 1 or self.session.length > SPARE_SHARE * dialect.context_tokens:
            return None
        rival = self.survey.rival(self.considered, trip, min(most, self._calls_left()))
        if rival is not None:
            return rival.unknown[0], rival
        cheaper = self.survey.cheaper_parts(trip)
        return (cheaper[0], None) if cheaper else None

    def _calls_left(self) -> int:
        dialect = self.session.dialect
        return min(dialect.max_calls, dialect.max_turns - 1) - len(self.session.transcript.calls)

    def _ask(self, search: Search) -> None:
        """One answer to a search, or to the next page of it. Raises _Over when nothing can be asked
        any more."""
        face, result = self.session.tools.face, self.observations.of(search)
        page, again = result.next_page or 1, result.answered
        name, arguments = face.offer.call_of(search.tool, search.arguments)
        call = write_call(name, {**arguments, PAGE: page} if again else arguments)
        reason = self.words.more() if page > 1 else self.words.ask(search)
        for _ in range(MOST_TRIES):
            if self._calls_left() < 1:
                raise _Over
            self._say(reason, call)
            if self.session.done:
                raise _Over
            if not unanswered(self.session):
                break
            reason = self.words.again()
        else:
            self.observations.add_failure(search)
            return
        rows = self.session.transcript.calls[-1].rows
        assert rows is not None  # played just now
        if not self.observations.add(search, page, again, rows):
            self._add_note(self.words.broken())
        elif self.style.thoughts == "long":
            self._add_note(self.words.learned(search))

    def _add_note(self, sentence: str) -> None:
        self.note = f"{self.note} {sentence}".strip()

    def _say(self, reason: str, text: str) -> None:
        thought = f"{self.note} {reason}".strip() if self.style.thoughts != "none" else ""
        # STAR, Appendix E (row S1): a thought opens every turn
        if not thought and self.session.dialect.plan_format == "itinerary":
            thought = "Next."
        self.note = ""
        # no name of a place closes the thought
        thought = " ".join(thought.replace("<", "").replace(">", "").split())
        say(self.session, f"<think>{thought}</think>\n{text}" if thought else text)

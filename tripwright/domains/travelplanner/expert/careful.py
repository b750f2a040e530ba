"""Styles "careful" and "brief": information first, as an agent plans that does not know the answer.

It keeps a world of the rows that tools have shown, and asks the oracle for the cheapest plan there,
with what it hopes for in place of what it has not asked (`seen.py`). It asks for the first thing
that the plan only hopes for, and so on until a plan within the budget is made of what was seen. It
follows one line of thought (cities and a way of travelling) as long as that is likely to keep the
budget. Only when the oracle finds no plan, even if all that is not known were free, does it say
that there is none, and why; at a limit, or where a tool could not tell, it says that it has found
none.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.expert.seen import (
    CITIES,
    FLIGHTS,
    FREE,
    RESTAURANTS,
    ROAD,
    SIGHTS,
    STAYS,
    Hopes,
    Observations,
    Search,
    SearchResult,
    SeenWorld,
    hoped_for,
    usual_hopes,
)
from tripwright.domains.travelplanner.expert.turns import (
    ExpertStyle,
    answer_text,
    only_what_the_face_shows,
)
from tripwright.domains.travelplanner.oracle.explanation import explain, usd
from tripwright.domains.travelplanner.oracle.options import Problem, unplannable
from tripwright.domains.travelplanner.oracle.planner import (
    Solution,
    plan_days,
    solve,
    within_budget,
)
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.domains.travelplanner.task import check_tools, trip_query
from tripwright.domains.wording import capitalised, listed
from tripwright.episode import Session
from tripwright.errors import counted
from tripwright.tools.answer import unanswered as is_unanswered
from tripwright.tools.signatures import PAGE

MOST_TRIES = 4  # of one call that a fault kept from its answer
# cities beyond those asked for that are looked at because the rest is unlikely, not because it is
# impossible
MOST_WIDENED = 3
SPARE_SHARE = 0.6  # of the context, up to which there is room for searches that only compare
NEAR_KM = 300  # as long as an unknown road is taken to be where a taxi might do
MOST_TRIPS = 100  # of one way of travelling, cheapest first, that are weighed against each other

ASK: Mapping[str, Sequence[str]] = {
    CITIES: (
        "First, which cities does {state} have?",
        "I need the cities of {state}.",
        "Let me list the cities of {state}.",
    ),
    FLIGHTS: (
        "Which flights go from {origin} to {destination} on {date}?",
        "Flights from {origin} to {destination} on {date}.",
        "I look for a flight from {origin} to {destination} on {date}.",
    ),
    ROAD: (
        "How long is the {way} from {origin} to {destination}, and what does it cost?",
        "I check the {way} from {origin} to {destination}.",
        "Next, the {way} from {origin} to {destination}.",
    ),
    STAYS: (
        "Where can one stay in {city}?",
        "I look for a place to stay in {city}{wishes}.",
        "Now a place to stay in {city}{wishes}.",
    ),
    RESTAURANTS: (
        "Where can one eat in {city}?",
        "Now restaurants in {city}{cuisines}.",
        "I look for meals in {city}{cuisines}.",
    ),
    SIGHTS: (
        "What is there to see in {city}?",
        "Now the sights of {city}.",
        "I still need something to see in {city}.",
    ),
}
# what a search shows, in a word, and its price
SHOWN = {
    FLIGHTS: ("flight", "price_usd"),
    STAYS: ("stay", "price_usd"),
    RESTAURANTS: ("restaurant", "average_cost_usd"),
    SIGHTS: ("sight", ""),
}
MORE = ("There is another page.", "I read on.", "Not enough yet: the next page.")
AGAIN = (
    "No answer; I ask again.",
    "The tool failed, so I try once more.",
    "That did not work. Again.",
)
BROKEN = (
    "That answer is not whole.",
    "A part of that answer is missing.",
    "I cannot see all of that answer.",
)
COMPARE = (
    "Before I decide, I compare.",
    "One more look for comparison.",
    "There is a plan now; I still compare.",
)
DEAD_END = ("{Why}.", "A dead end: {why}.", "That does not work: {why}.")
TURN_TO = ("I try {what} instead.", "Then {what}.", "Back to the choice: {what}.")
PLAN = ("My plan: {what}.", "I plan {what}.", "Let me try {what}.")
WIDEN = ("I look at {city} too.", "Let me see what {city} has.", "{city} may do better.")
NOTHING_LEFT = ("Nothing is left to try.", "That was the last way to try.", "No way is left.")
DONE = (
    "Everything is settled: ${cost} of ${budget}.",
    "The plan costs ${cost}, within ${budget}.",
    "In all ${cost}; the budget of ${budget} holds.",
)


class _Over(Exception):
    """The session has ended, or has no call left."""


@dataclass(frozen=True)
class LineOfThought:
    """A line of thought: a plan, and the searches that it needs to become one of rows that were
    seen."""

    plan: Solution
    searches: tuple[Search, ...]

    @property
    def cost_usd(self) -> float:
        return self.plan.cost_usd or 0.0

    @property
    def cities(self) -> list[str]:
        return [stop.city for stop in self.plan.cities]

    @property
    def is_driven(self) -> bool:
        return self.plan.legs[0].mode == "self-driving"

    def is_like(self, other: LineOfThought) -> bool:
        """But for the order of cities and the nights in them."""
        return {*self.cities} == {*other.cities} and self.is_driven == other.is_driven

    def __str__(self) -> str:
        """Such as "2 nights in Dalby and 1 night in Ely, by car"."""
        stops = [f"{counted(stop.nights, 'night')} in {stop.city}" for stop in self.plan.cities]
        return f"{listed(stops)}, {'by car' if self.is_driven else 'by plane or taxi'}"


def play_careful(session: Session, style: ExpertStyle) -> Solution | None:
    """Plays one session to its end, and returns the plan that it has answered. Raises UserError for
    a face of other tools."""
    check_tools(session.tools.face)
    return _Play(session, style).run()


def unanswered(session: Session) -> bool:
    """Whether a fault kept the last call from its answer: only then may the same call be made
    again."""
    calls = session.transcript.calls
    return bool(calls) and is_unanswered(calls[-1].fault)


class _Play:
    def __init__(self, session: Session, style: ExpertStyle):
        self.session, self.style, self.query = session, style, trip_query(session)
        self.seen = Observations(paged=session.dialect.page_rows is not None)
        # reasons in varied words, the same for the same request
        self._words = random.Random(f"words {style.seed} {self.query.query}")
        self.note = ""  # what the next turn says before the reason for its call
        self.random = random.Random(f"play {style.seed} {self.query.query}")
        self.pursued: LineOfThought | None = None
        self.considered: list[str] = []  # the cities that are combined
        self.has_ended = False  # every line of thought, without a plan

    def run(self) -> Solution | None:
        plan: Solution | None = None
        try:
            self.considered += [self.query.dest] if self.query.days <= 3 else []
            if unplannable(self.query, self._world(self.considered)) is None:
                plan = self._plan()
            self.has_ended = plan is None
        except _Over:
            plan = None
        if not self.session.done:
            self._answer(plan)
        return plan

    def _world(self, cities: Sequence[str], hopes: Hopes | None = None) -> SeenWorld:
        return SeenWorld(self.query, cities, self.seen, hopes)

    # ---- which line of thought

    def _plan(self) -> Solution | None:
        pool = self._cities()
        considered, visits = self.considered, self.query.visiting_city_number
        if pool:
            considered += pool[: visits + self._room_to_compare()]
            del pool[: len(considered)]
            self._look_around(considered)
        while True:
            line = self._line(usual_hopes(self.query, self.seen))
            if line is None and not (pool and len(considered) < visits + MOST_WIDENED):
                line = self._line(FREE)
            if line is not None and not line.searches:
                return self._compared(line)
            if line is not None:
                self._turn_to(line)
                self._ask(line.searches[0])
            elif pool:
                considered.append(pool.pop(0))
                self._add_note(self._why_not() + self._one_of(WIDEN, city=considered[-1]))
            else:
                return None

    def _line(self, hopes: Hopes) -> LineOfThought | None:
        """The one that lacks least, of those within the budget: of the cities and the way that are
        pursued, or else of all."""
        lines: list[LineOfThought] = []
        if self.pursued is not None:
            lines = self._lines(self.pursued.cities, hopes, [self.pursued.is_driven])
        lines = lines or self._lines(self.considered, hopes)
        return min(lines, key=lambda line: (len(line.searches), line.cost_usd), default=None)

    def _lines(
        self,
        cities: Sequence[str],
        hopes: Hopes | None,
        driving: Sequence[bool] = (True, False),
        below_usd: float | None = None,
    ) -> list[LineOfThought]:
        """Within the budget, or for less than `below_usd`."""
        query, world = self.query, self._world(cities, hopes)
        if below_usd is not None:
            query = query.model_copy(update={"budget": below_usd - 0.01})
        plans = (
            plan
            for is_driven in driving
            for plan in itertools.islice(within_budget(query, world, is_driven), MOST_TRIPS)
        )
        return [LineOfThought(plan, tuple(hoped_for(self.seen, plan))) for plan in plans]

    def _compared(self, line: LineOfThought) -> Solution:
        """The cheapest plan after the style's further searches: only such as can still make a
        cheaper one."""
        rival: LineOfThought | None = None
        for extra in range(self.style.max_extra_searches, 0, -1):
            following = self._rival(line, extra)
            if rival is not None and str(following) != str(rival):
                self._add_note(self._why_kept(line, rival))
            if following is None:
                return line.plan
            if str(following) != str(rival):
                other = capitalised(str(following))
                self._add_note(f"{self._one_of(COMPARE)} {other}, may cost less.")
            rival = following
            try:
                self._ask(rival.searches[0])
            except _Over:
                break
            lines = self._lines(self.considered, None, below_usd=line.cost_usd)
            if seen := [each for each in lines if not each.searches]:
                now = min(seen, key=lambda each: each.cost_usd)
                saved = f"${now.cost_usd:,.0f} instead of ${line.cost_usd:,.0f}"
                self._add_note(f"That is cheaper: {saved}.")
                line, rival = now, None
        if rival is not None:
            self._add_note(self._why_kept(line, rival))
        return line.plan

    def _why_kept(self, line: LineOfThought, rival: LineOfThought) -> str:
        now = next((each for each in self._likely(rival) if str(each) == str(rival)), None)
        why = "I have not seen all of the other trip"
        if now is None:
            why = "There is no such trip"
        elif now.cost_usd >= line.cost_usd:
            guess = "about " if now.searches else ""
            costs = f"${now.cost_usd:,.0f}, this one ${line.cost_usd:,.0f}"
            why = f"The other trip costs {guess}{costs}"
        return f"{why}, so I keep the plan."

    def _likely(self, line: LineOfThought) -> list[LineOfThought]:
        """All over its cities and its way, with what such parts have cost so far, cheapest
        first."""
        hopes = usual_hopes(self.query, self.seen)
        return self._lines(line.cities, hopes, [line.is_driven], below_usd=math.inf)

    def _rival(self, line: LineOfThought, most: int) -> LineOfThought | None:
        """The plan that promises to be the cheapest, by what such parts have cost so far, settled
        by `most` further searches; None where there is none, or no room for it."""
        dialect = self.session.dialect
        most = min(most, self._calls_left())
        if most < 1 or self.session.length > SPARE_SHARE * dialect.context_tokens:
            return None
        kinds = {search.tool for search, found in self.seen.results.items() if found.rows}
        hopes = usual_hopes(self.query, self.seen)._replace(road_km=NEAR_KM)
        rivals = [
            each
            for each in self._lines(self.considered, hopes, below_usd=line.cost_usd)
            if 0 < len(each.searches) <= most
            and kinds >= {search.tool for search in each.searches} - {SIGHTS, ROAD}
        ]
        return min(rivals, key=lambda each: each.cost_usd, default=None)

    def _cities(self) -> list[str]:
        """Candidates, in an order of their own: nothing is known of them yet."""
        if self.query.days <= 3:
            return []
        search = Search.of(CITIES, state=self.query.dest)
        self._ask(search)
        cities = [row["city"] for row in self.seen.of(search).rows]
        cities = [city for city in dict.fromkeys(cities) if city != self.query.org]
        self.random.shuffle(cities)
        return cities

    def _room_to_compare(self) -> int:
        """How many cities more than needed can be looked at, with a third of the calls left for
        what goes wrong."""
        spare = self._calls_left() * 2 // 3 - (4 * self.query.visiting_city_number + 1)
        return max(0, min(self.style.compared_cities, spare))

    def _look_around(self, cities: list[str]) -> None:
        """The way to each city, where there is more than one to choose from: by car if one can
        drive to the first, else by plane."""
        if len(cities) <= self.query.visiting_city_number:
            return
        wish, by_plane = self.query.local_constraint.transportation, False
        for city in cities:
            ends = {"origin": self.query.org, "destination": city}
            road = Search.of(ROAD, **ends, mode="self-driving")
            if wish != "no self-driving" and not by_plane:
                self._ask(road)
                by_plane = city == cities[0] and not self.seen.of(road).rows
            if wish != "no flight" and (by_plane or wish is not None):
                self._ask(Search.of(FLIGHTS, **ends, date=self.query.date[0]))

    def _turn_to(self, line: LineOfThought) -> None:
        before, self.pursued = self.pursued, line
        if before is not None and before.is_like(line):
            return
        phrases = PLAN
        if before is not None and (why := self._why_given_up(before)) is not None:
            self._add_note(self._one_of(DEAD_END, why=why, Why=capitalised(why)))
            phrases = TURN_TO
        self._add_note(self._one_of(phrases, what=str(line)))

    def _why_given_up(self, before: LineOfThought) -> str | None:
        """None where it was no dead end: another way merely looks better now."""
        free = self._world(before.cities, FREE)
        problem = Problem(self.query, free)
        for stop in before.plan.cities:
            if why := problem.why_not(stop.city, stop.nights):
                return why.removesuffix(".")
        days = itertools.accumulate((stop.nights for stop in before.plan.cities), initial=0)
        for leg, day in zip(before.plan.legs, days, strict=True):
            if problem.leg(leg.origin, leg.destination, day, before.is_driven) is None:
                way = "drive" if before.is_driven else "fly or take a taxi"
                return f"I find no way to {way} from {leg.origin} to {leg.destination}"
        likely = next(iter(self._likely(before)), None)
        if likely is None:
            return f"no trip to {listed(before.cities)} keeps the wishes"
        if likely.cost_usd <= self.query.budget:
            return None
        guess = ", with average prices for what I have not asked" if likely.searches else ""
        return (
            f"the trip would come to about ${likely.cost_usd:,.0f}{guess}, above the budget of"
            f" ${self.query.budget:,}"
        )

    def _why_not(self) -> str:
        """For the last line of thought, when it leads no further."""
        why = self._why_given_up(self.pursued) if self.pursued else None
        self.pursued = None
        return f"{capitalised(why)}. " if why else ""

    # ---- turns

    def _answer(self, plan: Solution | None) -> None:
        if plan is not None:
            plan_format, places = self.session.dialect.plan_format, self._world(self.considered)
            text = answer_text(self.query, self._days(plan), plan_format, city_lookup(places))
            self._say(self._done(plan), text)
            return
        self.note = ""  # what it meant to look at next is no reason any more
        reason = self._one_of(NOTHING_LEFT) if self.has_ended else ""
        self._say(reason, f"<answer>{self._no_plan()}</answer>")

    def _days(self, plan: Solution) -> list[dict[str, Any]]:
        """In Planner-R1's schema, as far as the face has shown it."""
        days = plan_days(self.query, plan)
        travel = [day["transportation"] for day in days if day["transportation"] != "-"]
        for record, leg in zip(travel, plan.legs, strict=True):
            if leg.flight is not None:
                ends = {"origin": leg.origin, "destination": leg.destination}
                found = self.seen.of(Search.of(FLIGHTS, **ends, date=leg.flight.date))
                row = next(row for row in found.rows if row["number"] == leg.flight.number)
                miles = row.get("distance_miles", "-")
                record["distance"] = miles if isinstance(miles, str) else f"{miles:g} miles"
        for day in days:
            only_what_the_face_shows(day, self.session.tools.face)
        return days

    def _no_plan(self) -> str:
        """In an answer, because it is one: the episode ends by it, and not by a turn that cannot be
        read. It claims no more than the answers have shown."""
        if not self.has_ended:
            return "I found no plan for this trip with the calls that I had."
        world = self._world(self.considered, FREE)
        least_usd, reason = solve(self.query, world).cost_usd, explain(self.query, world)
        why = reason.words.removesuffix(".") if reason else ""
        if least_usd is not None:
            budget = usd(self.query.budget)
            why = f"the cheapest trip costs {usd(least_usd)} or more, the budget is {budget}"
        found = self.seen.results.values()
        if any(result.lost for result in found):
            return f"I found no plan for this trip in the answers that I could read: {why}."
        if not all(result.is_known for result in found):
            return f"I found no plan for this trip in what is known: {why}."
        return f"No plan is possible: {why}."

    def _calls_left(self) -> int:
        dialect = self.session.dialect
        return min(dialect.max_calls, dialect.max_turns - 1) - len(self.session.transcript.calls)

    def _ask(self, search: Search) -> None:
        """One answer to a search, or to the next page of it. Raises _Over when nothing can be asked
        any more."""
        face, result = self.session.tools.face, self.seen.of(search)
        page, again = result.next_page or 1, result.answered
        name, arguments = face.offer.call_of(search.tool, search.arguments)
        call = write_call(name, {**arguments, PAGE: page} if again else arguments)
        reason = self._one_of(MORE) if page > 1 else self._reason(search)
        for _ in range(MOST_TRIES):
            if self._calls_left() < 1:
                raise _Over
            self._say(reason, call)
            if self.session.done:
                raise _Over
            if not unanswered(self.session):
                break
            reason = self._one_of(AGAIN)
        else:
            self.seen.add_failure(search)
            return
        rows = self.session.transcript.calls[-1].rows
        assert rows is not None  # played just now
        self.seen.add(search, page, again, rows)
        if not rows.is_whole:
            self._add_note(self._one_of(BROKEN))
        elif self.style.thoughts == "long":
            self._add_note(self._learned(search, self.seen.of(search)))

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
        self.session.say(f"<think>{thought}</think>\n{text}" if thought else text)

    # ---- in words

    def _one_of(self, phrases: Sequence[str], **slots: str) -> str:
        return self._words.choice(phrases).format(**slots)

    def _reason(self, search: Search) -> str:
        wishes = self.query.local_constraint
        room = [wishes.room_type or "", f"{wishes.house_rule} allowed" if wishes.house_rule else ""]
        slots = {
            **search.arguments,
            "way": "drive" if search.arguments.get("mode") == "self-driving" else "taxi ride",
            "wishes": "".join(f", {wish}" for wish in room if wish),
            "cuisines": f": {listed(wishes.cuisine)} wanted" if wishes.cuisine else "",
        }
        return self._one_of(ASK[search.tool], **slots)

    def _done(self, plan: Solution) -> str:
        costs = {"cost": f"{plan.cost_usd:,.0f}", "budget": f"{self.query.budget:,}"}
        sentence = self._one_of(DONE, **costs)
        if self.style.thoughts != "long":
            return sentence
        nights = "; ".join(
            f"{stop.city}, {counted(stop.nights, 'night')} at {stop.stay.accommodation.name}"
            for stop in plan.cities
        )
        return f"{nights}. Travel: {', '.join(leg.mode for leg in plan.legs)}. {sentence}"

    def _learned(self, search: Search, found: SearchResult) -> str:
        """One sentence on what a search has shown so far, for long thoughts."""
        if not found.rows:
            return "Nothing there." if found.is_known else "So that is not known."
        if search.tool == CITIES:
            cities = ", ".join(row["city"] for row in found.rows)
            return f"{search.arguments['state']} has {cities}."
        if search.tool == ROAD:
            row = found.rows[0]
            return f"That takes {row['duration']} and costs ${row['cost_usd']} a vehicle."
        thing, price = SHOWN[search.tool]
        least = f", from ${min(row[price] for row in found.rows):g}" if price else ""
        return f"{counted(len(found.rows), thing)}{least}."

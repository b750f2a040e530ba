"""Styles "careful" and "brief": information first, as an agent plans that does not know the answer.

It follows one line of thought (cities, nights, a way of travelling) as long as that may keep the
budget and the wishes, asks for the first thing about it that it does not know, and turns back at a
dead end: no place to stay as asked, no way back, over budget. Its answer is made of what tools have
shown. Only when every line of thought has ended does it say that there is no plan, and why; at a
limit, or where a tool could not tell, it says that it has found none.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripwright.agent.session import Session
from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.expert.planner import (
    CITY,
    ROAD,
    CarefulPlanner,
    Observations,
    Outlook,
    Row,
    Search,
    Trip,
    TripPart,
    TripRoute,
    route_splits,
)
from tripwright.domains.travelplanner.expert.turns import ExpertStyle, answer_text
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import check_tools, trip_query
from tripwright.domains.wording import listed
from tripwright.errors import counted
from tripwright.policies.base import say
from tripwright.tools.faults import unanswered as is_unanswered
from tripwright.tools.signatures import PAGE

MOST_TRIES = 4  # of one call that a fault kept from its answer
# cities beyond those asked for that are looked at because the rest is unlikely, not because it is
# impossible
MOST_WIDENED = 3
SPARE_SHARE = 0.6  # of the context, up to which there is room for searches that only compare
MOST_NAMED = 3  # dead ends that are named one by one

ASK: Mapping[str, Sequence[str]] = {
    "get_cities": (
        "First, which cities does {state} have?",
        "I need the cities of {state}.",
        "Let me list the cities of {state}.",
    ),
    "search_flights": (
        "Which flights go from {origin} to {destination} on {date}?",
        "Flights from {origin} to {destination} on {date}.",
        "I look for a flight from {origin} to {destination} on {date}.",
    ),
    "search_ground_transportation": (
        "How long is the {way} from {origin} to {destination}, and what does it cost?",
        "I check the {way} from {origin} to {destination}.",
        "Next, the {way} from {origin} to {destination}.",
    ),
    "search_accommodations": (
        "Where can one stay in {city}?",
        "I look for a place to stay in {city}{wishes}.",
        "Now a place to stay in {city}{wishes}.",
    ),
    "search_restaurants": (
        "Where can one eat in {city}?",
        "Now restaurants in {city}{cuisines}.",
        "I look for meals in {city}{cuisines}.",
    ),
    "search_attractions": (
        "What is there to see in {city}?",
        "Now the sights of {city}.",
        "I still need something to see in {city}.",
    ),
}
MORE = ("There is another page.", "I read on.", "Not enough yet: the next page.")
AGAIN = (
    "No answer; I ask again.",
    "The tool failed, so I try once more.",
    "That did not work. Again.",
)
BROKEN = (
    "That answer cannot be right or whole.",
    "I cannot use that answer.",
    "Something is wrong with that answer.",
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


def unanswered(session: Session) -> bool:
    """Whether a fault kept the last call from its answer: only then may the same call be made
    again."""
    calls = session.transcript.calls
    return bool(calls) and is_unanswered(calls[-1].fault)


class _Play:
    def __init__(self, session: Session, style: ExpertStyle):
        self.session, self.style, self.query = session, style, trip_query(session)
        self.observations = Observations(paged=session.dialect.page_rows is not None)
        self.planner = CarefulPlanner(self.query, self.observations)
        self.words = Words(style, self.planner)
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
            self._answer(trip)
        return CarefulEpisode(trip, tuple(self.dead_ends))

    def _answer(self, trip: Trip | None) -> None:
        if trip is not None:
            days, plan_format = plan_days(self.query, trip), self.session.dialect.plan_format
            self._say(self.words.done(trip), answer_text(self.query, days, plan_format))
            return
        self.note = ""  # what it meant to look at next is no reason any more
        reason = self.words.one_of(NOTHING_LEFT) if self.has_ended else ""
        self._say(reason, f"<answer>{self._no_plan()}</answer>")

    def _no_plan(self) -> str:
        """In an answer, because it is one: the episode ends by it, and not by a turn that cannot be
        read."""
        if not self.has_ended:
            return "I found no plan for this trip with the calls that I had."
        why = dead_ends(self.planner, self.considered)
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
            trip, hope, is_likely = self.planner.look(
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
                    self._add_note(
                        f"{self._why_not()} {self.words.one_of(WIDEN, city=considered[-1])}"
                    )
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
            now = self.planner.look(self.considered, None).trip
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
        now = self.planner.outlook(rival.route)
        if now.lower_usd >= trip.cost_usd:
            return (
                f"the other trip costs ${now.lower_usd:,.0f} or more, this one"
                f" ${trip.cost_usd:,.0f}"
            )
        if now.dead is not None:
            return now.dead
        if not now.unknown:
            other = self.planner.trip(now, at_any_cost=True)
            return (
                other
                if isinstance(other, str)
                else f"the other trip costs ${other.cost_usd:,.0f}, this one ${trip.cost_usd:,.0f}"
            )
        likely = self.planner.likely_usd(now)
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
        family = self.planner.families[0]
        for city in cities:
            for _ in self.planner.families:
                leg = self.planner.leg(self.query.org, city, self.query.date[0], family)
                if leg.unknown is not None:
                    self._ask(leg.unknown)
                    leg = self.planner.leg(self.query.org, city, self.query.date[0], family)
                if leg.dead is None or city != cities[0]:
                    break
                family = self.planner.families[-1]

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
            if why is not None and not before.route.is_like(hope.route):
                self.dead_ends.append(why)
        self.pursued = hope

    def _why_given_up(self, before: Outlook) -> str | None:
        """None where it was no dead end: another way merely looks better now."""
        now = self.planner.outlook(before.route)
        if now.dead is not None:
            return now.dead
        if not now.unknown and isinstance(why := self.planner.trip(now), str):
            return why
        likely = self.planner.likely_usd(now)
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
        return f"{_capital(why)}."

    def _worth_comparing(self, trip: Trip, most: int) -> tuple[Search, Outlook | None] | None:
        """A search that can lead to a better trip within `most` searches, and the route of that
        trip if it is another one; None where there is none, or no room for it."""
        dialect = self.session.dialect
        if self._calls_left() < 1 or self.session.length > SPARE_SHARE * dialect.context_tokens:
            return None
        rival = self.planner.rival(self.considered, trip, min(most, self._calls_left()))
        if rival is not None:
            return rival.unknown[0], rival
        cheaper = self.planner.cheaper_parts(trip)
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
        reason = self.words.one_of(MORE) if page > 1 else self.words.ask(search)
        for _ in range(MOST_TRIES):
            if self._calls_left() < 1:
                raise _Over
            self._say(reason, call)
            if self.session.done:
                raise _Over
            if not unanswered(self.session):
                break
            reason = self.words.one_of(AGAIN)
        else:
            self.observations.add_failure(search)
            return
        rows = self.session.transcript.calls[-1].rows
        assert rows is not None  # played just now
        if not self.observations.add(search, page, again, rows):
            self._add_note(self.words.one_of(BROKEN))
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


# ---- in words


class Words:
    """The reasons that it gives, in varied words: drawn by the style's seed, the same for the same
    request."""

    def __init__(self, style: ExpertStyle, planner: CarefulPlanner):
        self.style, self.planner, self.query = style, planner, planner.query
        self._random = random.Random(f"words {style.seed} {planner.query.query}")

    def one_of(self, phrases: Sequence[str], **slots: str) -> str:
        return phrases[self._random.randrange(len(phrases))].format(**slots)

    def ask(self, search: Search) -> str:
        wishes = self.query.local_constraint
        room = [wishes.room_type or "", f"{wishes.house_rule} allowed" if wishes.house_rule else ""]
        slots = {
            **search.arguments,
            "way": "drive" if search.arguments.get("mode") == "self-driving" else "taxi ride",
            "wishes": "".join(f", {wish}" for wish in room if wish),
            "cuisines": f": {listed(wishes.cuisine)} wanted" if wishes.cuisine else "",
        }
        return self.one_of(ASK[search.tool], **slots)

    def plan(self, route: TripRoute) -> str:
        """A line of thought, when it is taken up."""
        return self.one_of(PLAN, what=f"{_stops(route)}, {_way(route)}")

    def compare(self, other: Outlook | None) -> str:
        """`other` is the route that may be better; None where the trip itself may become
        cheaper."""
        trip = f"{_stops(other.route)}, {_way(other.route)}," if other else "The same trip"
        return f"{self.one_of(COMPARE)} {trip} may cost less."

    def cheaper(self, before: Trip, now: Trip) -> str:
        if now.cost_usd < before.cost_usd:
            return f"That is cheaper: ${now.cost_usd:,.0f} instead of ${before.cost_usd:,.0f}."
        return f"Better for its more even nights: {_stops(now.route)}."

    def no_cheaper(self, why: str) -> str:
        return f"{_capital(why)}, so I keep the plan."

    def same_trip(self, search: Search) -> str:
        """What an answer has shown that makes the trip no cheaper."""
        ends, result = search.arguments, self.planner.observations.of(search)
        if "mode" not in ends:
            return "what I read there is no cheaper"
        way = f"from {ends['origin']} to {ends['destination']}"
        if not result.rows:
            is_known = result.is_known and not result.lost
            return f"there is no taxi {way}" if is_known else f"the taxi {way} is not known"
        usd = self.planner.road_usd(result.rows[0], ends["mode"])
        return f"the taxi {way} costs ${usd:,.0f}, which is no less than the flight"

    def dead_end(self, why: str, before: TripRoute, now: TripRoute) -> str:
        sentence = self.one_of(DEAD_END, why=why, Why=_capital(why))
        return f"{sentence} {self.one_of(TURN_TO, what=_changed(before, now))}"

    def done(self, trip: Trip) -> str:
        costs = {"cost": f"{trip.cost_usd:,.0f}", "budget": f"{self.query.budget:,}"}
        sentence = self.one_of(DONE, **costs)
        if self.style.thoughts != "long":
            return sentence
        places = zip(trip.route.cities, trip.route.nights, trip.stays, strict=True)
        nights = "; ".join(
            f"{city}, {counted(count, 'night')} at {stay['name']}" for city, count, stay in places
        )
        return f"{nights}. Travel: {', '.join(leg.mode for leg in trip.legs)}. {sentence}"

    def learned(self, search: Search) -> str:
        """One sentence on what the last answer says, for long thoughts."""
        result, arguments = self.planner.observations.of(search), search.arguments
        if not result.rows:
            return "Nothing there." if result.is_known else "So that is not known."
        if search.tool == "get_cities":
            return f"{arguments['state']} has {', '.join(row[CITY] for row in result.rows)}."
        row = result.rows[0]
        if search.tool == "search_flights":
            row = min(result.rows, key=lambda row: float(row["price_usd"]))
            flights = counted(len(result.rows), "flight")
            return f"{flights}, the cheapest {row['number']} at ${row['price_usd']:g} a seat."
        if search.tool == ROAD:
            return f"That takes {row['duration']} and costs ${row['cost_usd']} a vehicle."
        city = arguments[CITY]
        if search.tool == "search_accommodations":
            return self._stays(result.rows)
        if search.tool == "search_restaurants":
            costs = [float(row["average_cost_usd"]) for row in self.planner.restaurants(city)]
            least = f"{len(costs)} restaurants, from ${min(costs):g} a person." if costs else ""
            return least or "No restaurant will do."
        return f"{counted(len(self.planner.sight_names(city)), 'sight')} in {city}."

    def _stays(self, rows: Sequence[Row]) -> str:
        # nights in one city, with one in each of the others
        longest = self.query.days - self.query.visiting_city_number
        fitting = [
            row for row in rows if self.planner.fits(row) and row["minimum_nights"] <= longest
        ]
        if not fitting:
            return f"{len(rows)} places, none as asked."
        best = min(fitting, key=self.planner.night_usd)
        rooms = self.planner.rooms(best)
        usd = f"${self.planner.night_usd(best):,.0f} a night"
        price = f"{usd} for {rooms} rooms" if rooms > 1 else usd
        return (
            f"{len(fitting)} of {len(rows)} places suit; {best['name']} is {price}, from"
            f" {best['minimum_nights']:g} nights."
        )


def _changed(before: TripRoute, now: TripRoute) -> str:
    if set(before.cities) != set(now.cities):
        return f"{_stops(now)}, {_way(now)}" if before.family != now.family else _stops(now)
    if before.family != now.family:
        same = (before.cities, before.nights) == (now.cities, now.nights)
        return _way(now) if same else f"{_way(now)}, {_stops(now)}"
    if before.cities != now.cities:
        return f"the order {_stops(now)}"
    return f"other nights: {_stops(now)}"


def _stops(route: TripRoute) -> str:
    places = zip(route.cities, route.nights, strict=True)
    return listed([f"{counted(count, 'night')} in {city}" for city, count in places])


def _way(route: TripRoute) -> str:
    return "by car" if route.family == "driving" else "by plane or taxi"


def _capital(why: str) -> str:
    return f"{why[:1].upper()}{why[1:]}"


def dead_ends(planner: CarefulPlanner, cities: Sequence[str]) -> str:
    """Why there is no trip over the cities that were looked at, in words that claim no more than
    the answers have shown: the dead ends that end most lines of thought first, then what the
    cheapest rest costs."""
    query = planner.query
    count = query.visiting_city_number
    if len(query.date) != query.days:
        return f"the request is for {query.days} days and gives {len(query.date)} dates"
    if not route_splits(query):
        return f"{query.days} days are too few for a trip to {counted(count, 'city')}"
    if len(cities) < count:
        found = counted(len(cities), "city")
        return f"the trip is to {count} cities, and I found {found} to go to for {query.dest}"
    reasons: Counter[str] = Counter()
    costs: list[float] = []
    for route in planner.routes(cities):
        why = _obstacle(planner, route)
        if isinstance(why, str):
            reasons[why] += 1
        else:
            costs.append(why)
    clauses = [why for why, _ in reasons.most_common(MOST_NAMED)]
    if len(reasons) > MOST_NAMED:
        clauses.append(f"{len(reasons) - MOST_NAMED} more ways end like these")
    if costs:
        what = "every other trip" if reasons else "the cheapest trip"
        clauses.append(
            f"{what} comes to ${min(costs):,.0f} or more, and the budget is ${query.budget:,}"
        )
    return "; ".join(clauses)


def _obstacle(planner: CarefulPlanner, route: TripRoute) -> str | float:
    """A dead end in words, or what the trip costs at the least, in US dollars."""
    outlook = planner.outlook(route)
    if outlook.lower_usd > planner.query.budget:
        return outlook.lower_usd
    if outlook.dead is not None or outlook.unknown:
        return outlook.dead or "I have not asked for all of it"
    trip = planner.trip(outlook, at_any_cost=True)
    return trip.cost_usd if isinstance(trip, Trip) else trip


def plan_days(query: Query, trip: Trip) -> list[dict[str, Any]]:
    """A trip in Planner-R1's schema. Each place is in the city where its day ends."""
    days: list[dict[str, Any]] = []
    here = query.org
    for index, (city, nights) in enumerate(zip(trip.route.cities, trip.route.nights, strict=True)):
        full_days, names = nights - 1, [row["name"] for row in trip.meals[index]]
        stay = trip.stays[index]["name"]
        arrival = _day(
            len(days) + 1, {"from": here, "to": city}, _leg(trip.legs[index], here, city), stay
        )
        # one arrives before dinner
        arrival.update(zip(reversed(MEALS), names[len(MEALS) * full_days :], strict=False))
        days.append(arrival)
        for day in range(full_days):
            full = _day(len(days) + 1, city, "-", stay)
            full["attraction"] = [trip.sights[index][day]]
            full.update(zip(MEALS, names[len(MEALS) * day :], strict=False))
            days.append(full)
        here = city
    days.append(
        _day(
            len(days) + 1,
            {"from": here, "to": query.org},
            _leg(trip.legs[-1], here, query.org),
            "-",
        )
    )
    return days


def _day(number: int, city: Any, transportation: Any, accommodation: str) -> dict[str, Any]:
    places: dict[str, Any] = {
        "attraction": "-",
        "accommodation": accommodation,
        **dict.fromkeys(MEALS, "-"),
    }
    return {"days": number, "city": city, "transportation": transportation, **places}


def _leg(leg: TripPart, origin: str, destination: str) -> dict[str, Any]:
    row = leg.row
    assert row is not None
    claims: dict[str, Any] = {
        "mode": leg.mode,
        "from": origin,
        "to": destination,
        "duration": row["duration"],
    }
    if leg.mode != "flight":
        return {**claims, "distance": row["distance"], "cost": int(row["cost_usd"])}
    miles = row.get("distance_miles", "-")  # not every face shows it
    claims |= {
        "distance": miles if isinstance(miles, str) else f"{miles:g} miles",
        "cost": int(row["price_usd"]),
    }
    claims["flight_number"] = row["number"]
    return claims | {key: row[key] for key in ("departure_time", "arrival_time") if key in row}

"""The reasons that a careful expert gives, in varied words: drawn by the style's seed, the same for
the same request."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from tripwright.domains.travelplanner.expert.observations import CITY, Search
from tripwright.domains.travelplanner.expert.parts import Parts
from tripwright.domains.travelplanner.expert.routes import Outlook, Trip, TripRoute
from tripwright.domains.travelplanner.expert.style import ExpertStyle
from tripwright.domains.wording import listed
from tripwright.errors import counted

_ASK: Mapping[str, Sequence[str]] = {
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
_MORE = ("There is another page.", "I read on.", "Not enough yet: the next page.")
_AGAIN = (
    "No answer; I ask again.",
    "The tool failed, so I try once more.",
    "That did not work. Again.",
)
_BROKEN = (
    "That answer cannot be right or whole.",
    "I cannot use that answer.",
    "Something is wrong with that answer.",
)
_COMPARE = (
    "Before I decide, I compare.",
    "One more look for comparison.",
    "There is a plan now; I still compare.",
)
_DEAD_END = ("{Why}.", "A dead end: {why}.", "That does not work: {why}.")
_TURN_TO = ("I try {what} instead.", "Then {what}.", "Back to the choice: {what}.")
_PLAN = ("My plan: {what}.", "I plan {what}.", "Let me try {what}.")
_WIDEN = ("I look at {city} too.", "Let me see what {city} has.", "{city} may do better.")
_NOTHING_LEFT = ("Nothing is left to try.", "That was the last way to try.", "No way is left.")
_DONE = (
    "Everything is settled: ${cost} of ${budget}.",
    "The plan costs ${cost}, within ${budget}.",
    "In all ${cost}; the budget of ${budget} holds.",
)


class Words:
    def __init__(self, style: ExpertStyle, parts: Parts):
        self.style, self.parts, self.query = style, parts, parts.query
        self._random = random.Random(f"words {style.seed} {parts.query.query}")

    def ask(self, search: Search) -> str:
        wishes = self.query.local_constraint
        room = [wishes.room_type or "", f"{wishes.house_rule} allowed" if wishes.house_rule else ""]
        slots = {
            **search.arguments,
            "way": "drive" if search.arguments.get("mode") == "self-driving" else "taxi ride",
            "wishes": "".join(f", {wish}" for wish in room if wish),
            "cuisines": f": {listed(wishes.cuisine)} wanted" if wishes.cuisine else "",
        }
        return self._one_of(_ASK[search.tool]).format_map(slots)

    def more(self) -> str:
        return self._one_of(_MORE)

    def again(self) -> str:
        return self._one_of(_AGAIN)

    def broken(self) -> str:
        return self._one_of(_BROKEN)

    def plan(self, route: TripRoute) -> str:
        """A line of thought, when it is taken up."""
        return self._one_of(_PLAN).format(what=f"{_stops(route)}, {_way(route)}")

    def compare(self, other: Outlook | None) -> str:
        """`other` is the route that may be better; None where the trip itself may become
        cheaper."""
        sentence = self._one_of(_COMPARE)
        return (
            f"{sentence} {_stops(other.route)}, {_way(other.route)}, may cost less."
            if other
            else f"{sentence} The same trip may cost less."
        )

    def cheaper(self, before: Trip, now: Trip) -> str:
        if now.cost_usd < before.cost_usd:
            return f"That is cheaper: ${now.cost_usd:,.0f} instead of ${before.cost_usd:,.0f}."
        return f"Better for its more even nights: {_stops(now.route)}."

    def no_cheaper(self, why: str) -> str:
        return f"{why[:1].upper()}{why[1:]}, so I keep the plan."

    def same_trip(self, search: Search) -> str:
        """What an answer has shown that makes the trip no cheaper."""
        ends, result = search.arguments, self.parts.observations.of(search)
        if "mode" not in ends:
            return "what I read there is no cheaper"
        way = f"from {ends['origin']} to {ends['destination']}"
        if not result.rows:
            return (
                f"there is no taxi {way}"
                if result.is_known and not result.lost
                else f"the taxi {way} is not known"
            )
        return (
            f"the taxi {way} costs ${self.parts.road_usd(result.rows[0], ends['mode']):,.0f}, which"
            " is no less than the flight"
        )

    def nothing_left(self) -> str:
        return self._one_of(_NOTHING_LEFT)

    def dead_end(self, why: str, before: TripRoute, now: TripRoute) -> str:
        sentence = self._one_of(_DEAD_END).format(why=why, Why=why[:1].upper() + why[1:])
        return f"{sentence} {self._one_of(_TURN_TO).format(what=_changed(before, now))}"

    def widen(self, city: str) -> str:
        return self._one_of(_WIDEN).format(city=city)

    def done(self, trip: Trip) -> str:
        sentence = self._one_of(_DONE).format(
            cost=f"{trip.cost_usd:,.0f}", budget=f"{self.query.budget:,}"
        )
        if self.style.thoughts != "long":
            return sentence
        places = zip(trip.route.cities, trip.route.nights, trip.stays, strict=True)
        nights = "; ".join(
            f"{city}, {count} night{'s' * (count > 1)} at {stay['name']}"
            for city, count, stay in places
        )
        return f"{nights}. Travel: {', '.join(leg.mode for leg in trip.legs)}. {sentence}"

    def learned(self, search: Search) -> str:
        """One sentence on what the last answer says, for long thoughts."""
        result, arguments = self.parts.observations.of(search), search.arguments
        if not result.rows:
            return "Nothing there." if result.is_known else "So that is not known."
        if search.tool == "get_cities":
            return f"{arguments['state']} has {', '.join(row[CITY] for row in result.rows)}."
        if search.tool == "search_flights":
            cheapest = min(result.rows, key=lambda row: float(row["price_usd"]))
            flights = f"{len(result.rows)} flight{'s' * (len(result.rows) != 1)}"
            return (
                f"{flights}, the cheapest {cheapest['number']} at ${cheapest['price_usd']:g} a"
                " seat."
            )
        if search.tool == "search_ground_transportation":
            return (
                f"That takes {result.rows[0]['duration']} and costs ${result.rows[0]['cost_usd']} a"
                " vehicle."
            )
        city = arguments[CITY]
        if search.tool == "search_accommodations":
            return self._stays(city)
        if search.tool == "search_restaurants":
            rows = self.parts.restaurants(city)
            costs = [float(row["average_cost_usd"]) for row in rows]
            return (
                f"{len(rows)} restaurants, from ${min(costs):g} a person."
                if costs
                else "No restaurant will do."
            )
        sights = len(self.parts.sight_names(city))
        return f"{sights} sight{'s' * (sights != 1)} in {city}."

    def _stays(self, city: str) -> str:
        rows = self.parts.observations.of(Search.of("search_accommodations", city=city)).rows
        # nights in one city, with one in each of the others
        longest = self.query.days - self.query.visiting_city_number
        fitting = sorted(
            (row for row in rows if self.parts.fits(row) and row["minimum_nights"] <= longest),
            key=self.parts.night_usd,
        )
        if not fitting:
            return f"{len(rows)} places, none as asked."
        best = fitting[0]
        rooms = self.parts.rooms(best)
        price = (
            f"${self.parts.night_usd(best):,.0f} a"
            f" night{f' for {rooms} rooms' if rooms > 1 else ''}"
        )
        return (
            f"{len(fitting)} of {len(rows)} places suit; {best['name']} is {price}, from"
            f" {best['minimum_nights']:g} nights."
        )

    def _one_of(self, phrases: Sequence[str]) -> str:
        return phrases[self._random.randrange(len(phrases))]


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
    return listed(
        [
            f"{counted(count, 'night')} in {city}"
            for city, count in zip(route.cities, route.nights, strict=True)
        ]
    )


def _way(route: TripRoute) -> str:
    return "by car" if route.family == "driving" else "by plane or taxi"

"""Steps about ways, costs and the sum, as they stand in a note: read by writing what was shown.

A way is true where it was shown for that leg, on whatever day: which of them to take is the agent's
to choose. That there is none is true where the last search for it says so. A cost is that of the
ways, nights and meals last noted, and the sum of a trip is asked of the costs that were said.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tripwright.domains.travelplanner.expert.work import (
    BACK,
    COST,
    DEAR,
    EATING,
    GO,
    HOME,
    OK,
    PLAN,
    SEE,
    TRIP,
    TripStop,
    called,
    eating_words,
    full_day,
    left_of_budget,
    left_words,
    leg_taken,
    meals_cost,
    nights_cost,
    plan_words,
    sights_words,
    signs_of,
    to_the_cent,
    trip_words,
    way_cost,
    way_words,
)
from tripwright.domains.travelplanner.oracle.options import MEALS, SEATS, sights_to_plan
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.tools.calculator import evaluate
from tripwright.tools.answer import ToolError
from tripwright.transcript import Rows, ToolCall

HEADS = (GO, BACK, TRIP, EATING, SEE, PLAN, COST)
NO_WAY = ("no_flights", "unknown_search", "no_road", "no_road_data", "road_over_a_day")
Found = tuple[str, str, str]  # kind, said, expected


class ShownWay(NamedTuple):
    name: str  # a flight's number, "self-driving" or "taxi"
    cost_usd: float  # of a seat, or a car
    duration: str = ""
    distance: str = ""

    @property
    def words(self) -> str:
        return way_words(self.cost_usd, self.name, self.duration, self.distance)


class ChosenStay(NamedTuple):
    city: str
    words: str
    nights: int
    price_usd: float
    here: str  # where one is before, by its letter; empty if one cannot know
    day: int  # on which one is there


Leg = tuple[str, str, ShownWay | None]  # from, to, by letters
Meal = tuple[str, float | None]  # its name, what it costs, if one can know


@dataclass
class WrittenWays:
    """What was shown of ways, and what the last sentences chose."""

    query: Query
    letter_of: Mapping[str, str] = field(default_factory=dict)  # city → what it is called
    # what was taken from home on, by letters, as far as one can know; the way back and its cost
    path: dict[str, TripStop] = field(default_factory=dict)
    _back: tuple[str, str] | None = None
    is_known: bool = True
    # by the leg's ends; None: there was no way when it was asked for
    _shown: dict[tuple[str, str], list[ShownWay | None]] = field(default_factory=dict)
    _destination: str = ""  # of the last search
    _stay: ChosenStay | None = None  # the last one
    # where one has yet to, on the trip just said, and how many meals; None before it is said
    _to_eat: list[tuple[str, int]] | None = None
    meals_to_come: int = 0  # in the city where one eats next; 0 if one cannot know
    _was_trip: bool = False  # what the next cost is of, unless meals stand before it
    _costs: str = ""  # of the trip just said, in its own words
    _eaten: str = ""  # of its meals so far; wanted cuisines are seen to before the trip is said
    _meals: list[str] = field(default_factory=list)  # those, by name
    _sights: dict[str, list[str]] = field(default_factory=dict)  # by city, that a plan can name
    _seen: str = ""  # the city whose sights were shown last
    _calculated: str = ""  # the expression, if the last call has one

    def look(self, call: ToolCall) -> None:
        """At what a search for a way has shown, or what a calculator was asked."""
        asked = call.arguments
        self._calculated = str(asked.get("expression", ""))
        origin = str(asked.get("origin", asked.get("departure")))  # STAR's word
        self._destination = str(asked.get("destination"))
        ways = self._shown.setdefault((origin, self._destination), [])
        for row in call.rows.records() if call.rows else ():
            mode, number = str(row.get("mode") or asked.get("mode")), row.get("number")
            facts = [str(row.get(fact) or "") for fact in ("duration", "distance")]
            if number and row.get("price_usd") is not None:
                ways.append(ShownWay(str(number), row["price_usd"], *facts))
            elif row.get("cost_usd") is not None and mode in SEATS:
                ways.append(ShownWay(mode, row["cost_usd"], *facts))
        if call.rows and call.rows.problem in NO_WAY:
            ways.append(None)

    def see(self, city: str, sights: Sequence[str]) -> None:
        """All that were shown of it so far."""
        self._seen = city
        self._sights[city] = [sights[number] for number in sights_to_plan(sights)]

    def stay_in(self, stay: ChosenStay) -> None:
        self._stay, self._back = stay, None
        self._to_eat, self._costs = None, ""

    def reached(self) -> list[tuple[Sequence[str], int]]:
        """Where one has been, and on which day that is: at home, and after each stop of the way so
        far; if one cannot know, in any cities of the state on any day."""
        if not self.is_known:
            letters = [letter for letter in self.letter_of.values() if letter != HOME]
            stops = range(min(self.query.visiting_city_number, len(letters) + 1))
            paths = ((HOME, *path) for n in stops for path in itertools.permutations(letters, n))
            return list(itertools.product(paths, range(1, self.query.days)))
        days = itertools.accumulate((stop.nights for stop in self.path.values()), initial=1)
        been = [HOME, *self.path]
        return [(been[:count], day) for count, day in enumerate(days, start=1)]

    def read(self, head: str, said: str, meals: Sequence[Meal]) -> Iterator[Found]:
        """`meals`: those that the note has just chosen."""
        if head in (GO, BACK):
            named = self._named(head)
            several = said.split(", ")  # where no work is shown
            is_true = all(each in named for each in several)
            yield "way: choice", said, said if is_true else next(iter(named), "")
            self._go(head, said, named.get(said))
        elif head == TRIP:
            if trip := self.trip():
                yield "way: trip", said, trip
            self._was_trip, self._to_eat = True, list(self._eating()) if trip else []
        elif head == EATING:
            left = [*self._to_serve()] if self._to_eat is None else self._to_eat
            to_come = left.pop(0) if left else None
            self.meals_to_come = to_come[1] if to_come and to_come[0] == said else 0
            if to_come:
                yield "city: meals", said, to_come[0]
        elif head == SEE:
            for words in self.seen()[:1]:
                yield "city: sights", said, words
        elif head == PLAN:
            full_days = self._full_days()
            if self.is_known and self._back and full_days is not None:
                yield "way: plan", said, plan_words(self.path.values(), full_days, self._back[0])
        elif meals:
            before = self._costs and self._eaten  # of this trip
            known = [price for _, price in meals if price is not None]
            if len(known) == len(meals):
                cost = meals_cost(self.query.party_size, known)
                is_whole = len(meals) == (self.meals_to_come or len(meals))
                true = f"{self._eaten}+{cost}" if before else cost
                yield "cost: term", said, true if is_whole else ""
            names = [name for name, _ in meals]
            self.meals_to_come = 0
            self._eaten, self._meals = said, [*(self._meals if before else ()), *names]
        elif self._was_trip:
            if self.trip() and self._back:
                there = itertools.chain(*(stop.costs for stop in self.path.values()))
                costs = (*there, self._back[1])
                yield "cost: term", said, "+".join(costs)
            self._was_trip, self._costs = False, said
            if not self.query.local_constraint.cuisine:
                self._eaten = ""
        else:  # of meals of which no work is shown
            self._eaten = said

    def trip(self) -> str:
        """Its words; none where a way was taken that nobody has shown."""
        if not self.is_known or self._back is None:
            return ""
        return trip_words(self.query.party_size, [*self.path.values()], self._back[0])

    def _to_serve(self) -> Iterator[tuple[str, int]]:
        """Before a trip is said: where all wanted cuisines are to be served, in the city chosen
        last, and by how many meals."""
        signs, stay = signs_of(self.query), self._stay
        if signs and stay and stay.here:
            name = called(self.letter_of.get(stay.city, ""), stay.city)
            meals = len(MEALS) * (stay.nights - 1)
            yield eating_words(stay.day, stay.here, name, meals, signs), meals

    def _eating(self) -> Iterator[tuple[str, int]]:
        """Where one eats: cuisines were seen to before the trip was said, in the first city with
        full days."""
        day, here, is_left = 1, HOME, not self.query.local_constraint.cuisine
        for letter, stop in self.path.items():
            if stop.nights > 1:
                if is_left:
                    meals = len(MEALS) * (stop.nights - 1)
                    yield eating_words(day, here, stop.city, meals, {}), meals
                is_left = True
            day, here = day + stop.nights, letter

    def seen(self) -> list[str]:
        """The words for what one sees in the city whose sights were shown last, if one stays
        there: as was chosen last, or on the trip just said."""
        stays = [(self._stay.city, self._stay.nights)] if self._stay else []
        stays += [(stop.name, stop.nights) for stop in self.path.values()]
        letter, shown = self.letter_of.get(self._seen, ""), self._sights.get(self._seen, [])
        return [sights_words(letter, shown, n) for city, n in stays if city == self._seen]

    def _full_days(self) -> list[str] | None:
        """None where nobody has shown a sight for each, or chosen as many meals."""
        shown = (self._sights.get(s.name, [])[: s.nights - 1] for s in self.path.values())
        sights = list(itertools.chain(*shown))
        days = sum(stop.nights - 1 for stop in self.path.values())
        if len(sights) < days or len(self._meals) != days * len(MEALS):
            return None
        meals = iter(self._meals)
        return [full_day(sight, itertools.islice(meals, len(MEALS))) for sight in sights]

    def _go(self, head: str, said: str, leg: Leg | None) -> None:
        if self._stay is None:
            return
        here, there, way = leg or ("", "", None)
        if way is None:  # there is none, or nobody has shown it
            self.is_known &= leg is not None
            return
        cost = way_cost(self.query.party_size, way.cost_usd, way.name)
        if head == BACK:
            self._back = said, cost
            return
        letters = [HOME, *self.path]
        self.is_known = here == HOME or (self.is_known and here in letters)
        city, stay, nights, price_usd, *_ = self._stay
        costs = cost, nights_cost(nights, price_usd)
        stop = TripStop(there, city, said, stay, nights, *costs)
        before = letters[1 : letters.index(here) + 1] if here in letters else []
        self.is_known &= bool(there) and there not in before
        self.path = {**{each: self.path[each] for each in before}, there: stop}

    def _named(self, head: str) -> dict[str, Leg]:
        """By the words for them, to the city that was chosen or from it home. Where none was, a way
        has its own name alone."""
        if self._stay is None:
            shown = (way for ways in self._shown.values() for way in ways if way)
            return {way.name: ("", "", way) for way in shown}
        city, at, named = self._stay.city, self._stay.here, dict[str, Leg]()
        for (here, there), ways in self._shown.items():
            is_there = there == city and at in ("", self.letter_of.get(here, ""))
            if (here, there) == (city, self.query.org) if head == BACK else is_there:
                named |= self._legs(here, there, ways)
        return named

    def shown_legs(self) -> list[str]:
        """The words for each."""
        return [w for ends, ways in self._shown.items() for w, _ in self._legs(*ends, ways)]

    def _legs(
        self, here: str, there: str, ways: Sequence[ShownWay | None]
    ) -> Iterator[tuple[str, Leg]]:
        ends = self.letter_of.get(here, ""), self.letter_of.get(there, "")
        for way in filter(None, ways) if ways[-1:] != [None] else ways:
            to = called(ends[1], there) if way else ends[1]
            yield leg_taken(ends[0], to, way and way.words), (*ends, way)

    def road(self, note: str) -> Iterator[Found]:
        """Whether there is one from home, asked for before a city is chosen: "home V ok"."""
        said = note.partition(". ")[0].removesuffix(".")
        ways = self._shown.get((self.query.org, self._destination), [])
        if self._stay is None and ways and said.startswith(f"{HOME} "):
            there = self.letter_of.get(self._destination, "")
            yield "way: road", said, leg_taken(HOME, there, OK if any(ways) else None)

    def sums(self, note: str, shown: Rows) -> Iterator[Found]:
        """Such as "458 left ok", of a calculator's answer or behind what it would be asked; before
        it, whether all costs of the trip were asked."""
        budget = left_of_budget(self.query.budget, ()).removesuffix(")")
        for sentence in note.removesuffix(".").split(". "):
            terms, _, said = sentence.rpartition(": ")
            is_left = said.endswith((f" left {OK}", f" left {DEAR}"))
            if not is_left or said[0] not in "-0123456789":
                continue
            asked = terms or self._calculated
            if self._costs:
                costs = filter(None, (self._costs, self._eaten))
                yield "cost: asked", asked, left_of_budget(self.query.budget, costs)
            try:
                left = evaluate(terms) if terms else _number(shown)
            except ToolError:  # these terms cannot be added up
                left = None
            if not asked.startswith(budget):
                left = None
            yield "cost: sum", said, "" if left is None else left_words(to_the_cent(left))


def _number(shown: Rows) -> Any:
    values = [row[0] for row in shown.values if shown.kind == "Number"]
    return next(iter(values), None)

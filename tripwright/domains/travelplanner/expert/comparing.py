"""Style "comparing": trips over several cities from answers alone, by comparisons and a sum.

Which cities, and how many nights in each, the oracle knows and no answer says; to find the cheapest
plan takes sums over all orders of cities. This expert does without: it looks at what every city has
for three nights, for two and for one, takes the cheapest city for the longest stay that there is a
way to, then the cheapest of the others for the next one, and so home. Then the calculator takes
what was noted from the budget, and where that does not hold, the nights are spent otherwise
(SHAPES). By car, where two cities have a road from home; else, or if no such trip keeps the budget,
by plane or taxi. Cities are called by letters, as rows are: the next one is found by counting on.
And whatever is needed again far from where it was read is said behind the same words as there,
because a small model finds what followed them before (docs/log.md, 2026-11-26). It compares two
numbers badly, so they stand side by side, and their digits in pairs as far as they differ; what is
left of the budget has a sign; dates are counted out once; and which cities may be the first and the
last is said before each try, and after each way that there is not.

    3, 1 nights. First U V X. Last U X. day 1, home, 3 nights, U V X: U 3 nights 211 ok; V 3 nights
    159 211 12 ok; X 3 nights 164 159 11 65 dear. Stay: V 3 nights 159: (B) Ash Inn. Go: home V 7
    hours 9 mins 640 km 33 self-driving. day 4, V, 1 night, U X: U 1 night 240 ok; X 1 night 310 240
    32 dear. Stay: U 1 night 240: (C) Elm Lodge. From V Dalby to U Corbeck on day 4.

It is made for states of few cities, and looks at the first MOST_CITIES of others. A trip to one
city is that of style "direct".
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, cast

from tripwright.agent.dialect import ShownWork
from tripwright.domains.travelplanner.expert.direct import expert_turns
from tripwright.domains.travelplanner.expert.notes import ChoiceNotes, purposes
from tripwright.domains.travelplanner.expert.turns import Turns
from tripwright.domains.travelplanner.expert.work import (
    BACK,
    COST,
    GO,
    HOME,
    MOST_CITIES,
    NONE,
    OK,
    STAY,
    TRIP,
    RowStep,
    asked_of_cities,
    beside,
    choice,
    city_letter,
    left_of_budget,
    left_words,
    leg_taken,
    meal_walks,
    meals_cost,
    nights_cost,
    stop_reached,
    to_the_cent,
    trip_words,
    vehicles,
    way_cost,
    way_words,
)
from tripwright.domains.travelplanner.oracle.options import MEALS, Leg, Stay
from tripwright.domains.travelplanner.oracle.planner import (
    CityChoice,
    Solution,
    SolveStatus,
    plan_days,
)
from tripwright.domains.travelplanner.oracle.problem import Problem, city_pool, why_unplannable
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.tools.calculator import evaluate
from tripwright.tools.face import Face
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World

# (nights, cities) → the nights in each, in the order in which they are tried
SHAPES = {
    (4, 2): ((3, 1), (2, 2), (1, 3)),
    (6, 3): ((3, 2, 1), (2, 2, 2), (1, 2, 3), (2, 3, 1), (3, 1, 2)),
}
LENGTHS = (3, 2, 1)
Visits = tuple[tuple[str, int], ...]  # (city, nights) of each stop


def comparing_turns(
    query: Query,
    world: World,
    face: Face,
    plan_format: str = "json",
    page_rows: int | None = None,
    shows_work: ShownWork = "none",
) -> list[str]:
    """The assistant's turns, in order. Where no trip was found that keeps the budget, and where the
    request cannot be met anywhere, the last turn says so (and is no answer)."""
    shapes = SHAPES.get((query.days - 1, query.visiting_city_number))
    if shapes is None:
        return expert_turns(query, world, face, plan_format, page_rows, shows_work)
    if why := why_unplannable(query, world):
        return [f"No plan is possible: {why}"]
    turns = Turns(face, plan_format, page_rows)
    trip = _Search(query, world, turns, ChoiceNotes(query, world, face, shows_work)).found(shapes)
    if trip is None:
        return [*turns.texts, f"{turns.note}No plan was found."]
    turns.answer(query, plan_days(query, trip), world)
    return turns.texts


class _Search:
    """What was asked already, and the choice of cities, ways and meals."""

    def __init__(self, query: Query, world: World, turns: Turns, notes: ChoiceNotes):
        self.query, self.world, self.turns, self.notes = query, world, turns, notes
        self.letters = notes.letters
        self.problem = Problem(query, world, comfortable=True)
        self._may_fly = query.local_constraint.transportation != "no flight"
        self._asked: set[tuple[str, ...]] = set()
        self._stays: dict[str, dict[int, Accommodation | None]] = {}  # city → nights → the cheapest
        # Cities that may be the first, and the last: from home, and home, no day but one is asked
        # for, so that what has no way then has none for other nights either
        self._first, self._last = list[str](), list[str]()

    def found(self, shapes: Sequence[tuple[int, ...]]) -> Solution | None:
        """The first trip that keeps the budget."""
        self._ask("get_cities", state=self.query.dest)
        for driving, cities, ends in self._families():
            self._look_at_stays([city for city in cities if city not in self._stays])
            self._first, self._last = [*ends], [*ends]
            for shape in shapes:
                first, last = map(self._listed, self._ends(shape))
                nights = ", ".join(map(str, shape))
                self._note(f"{nights} nights. First {first}. Last {last}.")
                visits = self._visits(shape, cities, driving)
                trip = self._with_meals(visits, driving) if visits else None
                if trip is not None and self._left_of_budget(trip) >= 0:
                    return trip
        return None

    # ---- what is asked, and what is noted of it

    def _ask(self, tool: str, rows: Sequence[Any] = (), before: str = "", **arguments: str) -> None:
        """Once: what was asked before is known. `before`: a sentence before the call."""
        search = (tool, *arguments.values())
        if search not in self._asked:
            self._asked.add(search)
            if before:
                self._note(before)
            names = [row.number if isinstance(row, Flight) else row.name for row in rows]
            self.turns.call(tool, rows, names, **arguments)

    def _note(self, sentence: str) -> None:
        self.turns.note += f"{sentence} "

    def _families(self) -> Iterator[tuple[bool, list[str], list[str]]]:
        """(by own car?, the cities that may be visited so, and which of them first or last)"""
        listed = [city for city in self.world.states[self.query.dest] if city != self.query.org]
        self.letters[self.query.org] = HOME
        self.letters |= {city: city_letter(n + 1) for n, city in enumerate(listed[:MOST_CITIES])}
        cities = [city for city in city_pool(self.query, self.world) if city in self.letters]
        called = ", ".join(map(self._lettered, self.letters))
        self._note(f"{vehicles(self.query.party_size)}. {called}.")
        if self.query.local_constraint.transportation != "no self-driving":
            near = [city for city in cities if self._has_road(city)]
            if len(near) >= 2:  # one to begin with and one to end with
                visited = near if self.query.visiting_city_number == 2 else cities
                self._note(choice("Drive", self._called(visited)))
                yield True, visited, near
        if self._may_fly:
            dates = (f"day {number} {date}" for number, date in enumerate(self.query.date, 1))
            self._note(f"{', '.join(dates)}.")
        self._note(choice("Fly" if self._may_fly else "Taxi", self._called(cities)))
        yield False, cities, cities

    def _called(self, cities: Sequence[str]) -> str:
        return ", ".join(self.letters[city] for city in cities)

    def _listed(self, cities: Sequence[str]) -> str:
        return " ".join(self.letters[city] for city in cities) or NONE

    def _has_road(self, city: str) -> bool:
        ends = {"origin": self.query.org, "destination": city}
        self._ask("search_ground_transportation", **ends, mode="self-driving")
        leg = self.problem.leg(self.query.org, city, 0, driving=True)
        self._note(f"{self._leg_taken(leg, self.query.org, city)}.")
        return leg is not None

    def _leg_taken(self, leg: Leg | None, origin: str, destination: str) -> str:
        ends = self.letters[origin], self.letters[destination]
        if leg is None:
            return leg_taken(*ends, None)
        name = leg.flight.number if leg.flight else leg.mode
        return leg_taken(*ends, way_words(leg.cost_usd, name, leg.duration, leg.distance))

    def _look_at_stays(self, cities: Sequence[str]) -> None:
        if cities:
            self._note(f"Look at {', '.join(map(self._lettered, cities))}.")
        for city in cities:
            self._ask("search_accommodations", self.world.accommodations(city), city=city)
            note, self._stays[city] = self.notes.on_stays(city, LENGTHS)
            self._note(note)

    def _lettered(self, city: str) -> str:
        return f"{self.letters[city]} {city}"

    def _leg(self, origin: str, destination: str, day: int, driving: bool) -> Leg | None:
        """The way of the day with this index, asked for where it was not."""
        leg = self.problem.leg(origin, destination, day, driving)
        ends = {"origin": origin, "destination": destination}
        before = f"From {self._lettered(origin)} to {self._lettered(destination)} on day {day + 1}."
        if driving:
            self._ask("search_ground_transportation", (), before, **ends, mode="self-driving")
            return leg
        if self._may_fly:
            flights = {**ends, "date": self.query.date[day]}
            self._ask("search_flights", self.world.flights(**flights) or (), before, **flights)
        if leg is None or leg.mode == "taxi":
            self._ask("search_ground_transportation", (), before, **ends, mode="taxi")
        return leg

    # ---- which cities, in which order

    def _visits(
        self, shape: tuple[int, ...], cities: list[str], driving: bool, done: Visits = ()
    ) -> Visits | None:
        """The cheapest city for the next stay that has a way there and, in the end, home; and so
        on."""
        if len(done) == len(shape):
            return done
        passed = {city for city, _ in done}  # visited, or refused
        day, nights = sum(shape[: len(done)]), shape[len(done)]
        here = done[-1][0] if done else self.query.org
        while found := self._cheapest(
            here, day, nights, self._left(shape, cities, len(done), passed)
        ):
            city, _ = found
            legs = [(here, city, day)]
            if len(done) + 1 == len(shape):
                legs.append((city, self.query.org, day + nights))
            if self._can_go(legs, driving) and (
                visits := self._visits(shape, cities, driving, (*done, (city, nights)))
            ):
                return visits
            passed.add(city)
        return None

    def _left(
        self, shape: tuple[int, ...], cities: list[str], stop: int, passed: set[str]
    ) -> list[str]:
        """For the stop with this index. None are if there is none for an end; one that is the only
        one for the last is kept for it."""
        first, last = self._ends(shape)
        if not first or not last:
            return []
        kept = {*passed, *(last if len(last) == 1 and stop + 1 < len(shape) else ())}
        of_stop = first if stop == 0 else last if stop + 1 == len(shape) else cities
        return [city for city in of_stop if city not in kept]

    def _ends(self, shape: tuple[int, ...]) -> tuple[list[str], list[str]]:
        """Cities that have a place for as long as the first stay is, and the last."""
        ends = (self._first, shape[0]), (self._last, shape[-1])
        first, last = ([c for c in of if self._stays[c][nights]] for of, nights in ends)
        return first, [c for c in last if first != [c]]

    def _cheapest(
        self, here: str, day: int, nights: int, cities: Sequence[str]
    ) -> tuple[str, Accommodation] | None:
        """One price beside the next, each dear unless it is less than those before it."""
        steps = list[RowStep]()
        found: tuple[str, Accommodation] | None = None
        for city in cities:
            stay = self._stays[city][nights]
            steps.append(beside(self.letters[city], nights, stay, found and found[1]))
            found = (city, stay) if stay and steps[-1].judged == OK else found
        left = [self.letters[city] for city in cities]
        asked = asked_of_cities(self.letters[here], day + 1, nights, left)
        looked = "; ".join(step.words() for step in steps) or NONE
        self._note(f"{', '.join(asked)}: {looked}.")
        taken = self.notes.stay_in(found[0], nights, found[1]) if found else NONE
        self._note(choice(STAY, taken))
        return found

    def _can_go(self, legs: list[tuple[str, str, int]], driving: bool) -> bool:
        """To a city, and from the last one home."""
        for head, (origin, destination, day) in zip((GO, BACK), legs, strict=False):
            leg = self._leg(origin, destination, day, driving)
            self._note(choice(head, self._leg_taken(leg, origin, destination)))
            if leg is None:
                self._no_way(origin, destination)
                return False
        return True

    def _no_way(self, origin: str, destination: str) -> None:
        if origin == self.query.org:
            self._first.remove(destination)
        if destination == self.query.org:
            self._last.remove(origin)
            self._note(f"Last {self._listed(self._last)}.")

    def _note_trip(self, visits: Visits, legs: Sequence[Leg]) -> None:
        """All that was taken, in order, without what was given up; and its cost."""
        costs, stops = list(self._travelled(visits, legs)), list[str]()
        ways = [self._leg_taken(leg, leg.origin, leg.destination) for leg in legs]
        each = zip(visits, ways, costs[::2], costs[1::2], strict=False)
        for (city, nights), way, way_term, nights_term in each:
            stay = self.notes.stay_in(city, nights, self._stay(city, nights))
            stops.append(stop_reached(self._lettered(city), way, way_term, stay, nights_term))
        trip = trip_words(stops, self._lettered(self.query.org), ways[-1], costs[-1])
        self._note(choice(TRIP, trip))
        self._note(choice(COST, "+".join(costs)))

    def _stay(self, city: str, nights: int) -> Accommodation:
        """Of a city that was chosen for so many nights."""
        return cast(Accommodation, self._stays[city][nights])

    def _travelled(self, visits: Visits, legs: Sequence[Leg]) -> Iterator[str]:
        """What each way costs, and the nights behind it."""
        ways = [way_cost(self.query.party_size, leg.cost_usd, leg.mode) for leg in legs]
        for way, (city, nights) in zip(ways, visits, strict=False):
            yield from (way, nights_cost(nights, self._stay(city, nights).price_usd))
        yield ways[-1]

    # ---- meals, and the sum

    def _with_meals(self, visits: Visits, driving: bool) -> Solution | None:
        """The trip with the cheapest meals of each city; in the first one with full days every
        wanted cuisine. None where a city has too few, or that one does not serve them."""
        stops = [self.query.org, *(city for city, _ in visits), self.query.org]
        days = [0, *itertools.accumulate(nights for _, nights in visits)]
        ends = zip(stops[:-1], stops[1:], days, strict=True)
        found = (self.problem.leg(here, there, day, driving) for here, there, day in ends)
        legs = [leg for leg in found if leg is not None]
        self._note_trip(visits, legs)
        wanted, cities = bool(self.query.local_constraint.cuisine), list[CityChoice]()
        for city, nights in visits:
            meals = self._meals(city, len(MEALS) * (nights - 1), wanted) if nights > 1 else ()
            if meals is None:
                self._note(choice("Eat", NONE))
                return None
            wanted = wanted and nights == 1
            sights = self.problem.sights(city)[: nights - 1]
            row = self._stay(city, nights)
            stay = Stay(row, 1, row.price_usd)
            cities.append(self.notes.as_found(CityChoice(city, nights, stay, meals, sights)))
            if meals:
                self._note(self.notes.on_meals(cities[-1]))
                self._note(choice(COST, self._eaten(cities[-1].meals)))
                self._ask("search_attractions", self.world.attractions(city), city=city)
            if len(sights) < nights - 1:
                self._note(choice("See", NONE))
                return None
        return Solution(SolveStatus.FEASIBLE, None, tuple(cities), tuple(legs))

    def _meals(self, city: str, count: int, wanted: bool) -> tuple[Restaurant, ...] | None:
        self._ask("search_restaurants", self.world.restaurants(city), city=city)
        rows = self.problem.meals(city)[0]
        if not wanted:
            return tuple(rows[:count]) if len(rows) >= count else None
        walks = meal_walks(self.query, [("", row) for row in rows], purposes(count), True)
        if walks is None:
            return None
        return tuple(cast(Restaurant, walk.taken) for walk in walks)

    def _eaten(self, meals: tuple[Restaurant, ...]) -> str:
        return meals_cost(self.query.party_size, (row.average_cost_usd for row in meals))

    def _left_of_budget(self, trip: Solution) -> float:
        """What a trip leaves in USD, asked and noted."""
        visits = tuple((stop.city, stop.nights) for stop in trip.cities)
        eaten = [self._eaten(stop.meals) for stop in trip.cities if stop.meals]
        costs = (*self._travelled(visits, trip.legs), *eaten)
        expression = left_of_budget(self.query.budget, costs)
        if self.turns.can("calculator"):
            self._ask("calculator", expression=expression)
        else:
            self._note(f"{expression}:")
        left_usd = to_the_cent(evaluate(expression))
        self._note(f"{left_words(left_usd)}.")
        return left_usd

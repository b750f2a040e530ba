"""The styles that play with a world at hand: "direct", "spender" and "comparing". The first plays
the plan that the oracle found through the real tools, so that every decision stands behind what
makes it visible.

Search, read, note the decision in a few words, go on; at the end copy the notes into the plan. The
order of searches depends only on the request and on answers already seen, so that a model can
imitate it: driving is tried first (it is nearly always cheapest), flights when driving is unwanted
or impossible, taxis last.

Style "spender" is the expert of somebody who never looks at a price: in each city a place to stay
is drawn from all that fit the wishes and hold the party, whatever it costs. So a part of its plans
breaks the budget, and whoever imitates it does the same; a reward can teach what it does not show
(dev/LOG.md, 2026-11-26).

Style "comparing" finds trips over several cities from answers alone, by comparisons and a sum.

Which cities, and how many nights in each, the oracle knows and no answer says; to find the cheapest
plan takes sums over all orders of cities. This expert does without: it looks at what every city has
for three nights, for two and for one, takes the cheapest city for the first stay that there is a
way to, then the cheapest of the others for the next one, and so home. Then the calculator takes
what was noted from the budget, and where that does not hold, the nights are spent otherwise
(SHAPES). By car, where two cities have a road from home; else, or if no such trip keeps the budget,
by plane from home and home; else by taxi, too. Cities are called by letters, as rows are: the next
one is found by counting on.
Two ends of a trip, from home and home, are of the same day whatever the nights are, so a city
without such a way is no end again; and one that alone can be the last is kept for it. The first
city with full days has to serve all wanted cuisines; whether it does is asked before a way there.

A small model finds what followed the same words before, and little else (dev/LOG.md, 2026-11-26
and 27). So whatever is needed again far from where it was read is said again behind the same words;
a list that has to be thinned stands beside what thins it; a trip that was found is said once more
from home to home, with what it costs so far. It compares two numbers badly, so they stand side by
side, and their digits in pairs as far as they differ; what is left has a sign.

    3 and 1; 2 and 2; 1 and 3 nights. 1 night U X, back U V X. Last U X. 3 nights U V X, out U V X.
    First U V X. day 1, home, 3 and 1 nights, U V X: U 3 nights 211 ok; V 3 nights 159, 211, 12 ok;
    X 3 nights 164, 159, 11 65 dear. Stay: V 3 nights 159 V: (B) Ash Inn. Go: home V Dalby 7 hours 9
    mins 640 km 33 self-driving. Been V. Last U X. day 4, home V, 1 night, U X: U 1 night 240 ok; X
    1 night 310, 240, 32 dear. Stay: U 1 night 240 U: (C) Elm Lodge.

Of a state's cities it looks at the first MOST_CITIES. Other trips are those of style "direct".
"""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from tripwright.agent.dialect import Dialect
from tripwright.domains.travelplanner.expert import work
from tripwright.domains.travelplanner.expert.turns import Turns
from tripwright.domains.travelplanner.oracle.options import (
    Leg,
    OutOfTime,
    Problem,
    Stay,
    at_most,
    city_pool,
    road_km,
    stays,
    why_unplannable,
)
from tripwright.domains.travelplanner.oracle.planner import CityChoice, Solution, plan_days, solve
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.tools.calculator import MAX_MAGNITUDE, evaluate
from tripwright.errors import counted
from tripwright.tools.face import letters
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World

ROAD = "search_ground_transportation"


COMFORTS_USD = tuple(2 ** (n / 2) for n in range(-4, 12))  # that are tried
COMFORT_SECONDS = 5.0  # then the best that was found is taken


def expert_solution(query: Query, world: World) -> Solution:
    """The comfortable plan if it keeps the budget, else the cheapest. For whoever says how much of
    the budget comfort may cost, the one with the most comfort for that, of days that somebody would
    live, as far as the budget reaches for them."""
    if query.besides is not None and query.besides.comfort is not None:
        for lenient in (0, 1, 2):
            find = partial(solve, query, world, livable=True, lenient=lenient)
            plan = find()
            if plan.cost_usd is not None and plan.cost_usd <= query.budget:
                room_usd = query.besides.comfort * (query.budget - plan.cost_usd)
                return _most_comfort(find, plan, plan.cost_usd + room_usd)
    comfortable = solve(query, world, comfortable=True)
    if comfortable.cost_usd is not None and comfortable.cost_usd <= query.budget:
        return comfortable
    return solve(query, world)


def _most_comfort(find: Callable[..., Solution], cheapest: Solution, most_usd: float) -> Solution:
    """What a plan costs never falls when comfort counts for more."""
    plans = [cheapest]

    def costs_more(comfort_usd: float) -> bool:
        plan = find(comfort_usd=comfort_usd)
        if fits := (plan.cost_usd or math.inf) <= most_usd:
            plans.append(plan)
        return not fits

    with suppress(OutOfTime), at_most(COMFORT_SECONDS):
        bisect.bisect(COMFORTS_USD, False, key=costs_more)
    return plans[-1]


def expert_turns(
    query: Query, world: World, dialect: Dialect, solution: Solution | None = None
) -> list[str]:
    """The assistant's turns in a dialect, in order: of the expert's own solution, or of the one
    given. Where no plan exists, one turn that says so (and is no answer)."""
    solution = solution or expert_solution(query, world)
    if not solution.cities:
        return [f"No plan is possible: {solution.why}"]
    if solution.cost_usd is not None and solution.cost_usd > query.budget:
        return [
            f"No plan is possible: the cheapest costs ${solution.cost_usd:,.0f}, the budget is"
            f" ${query.budget:,}."
        ]
    turns, notes = Turns(dialect), ChoiceNotes(query, world, dialect)
    solution = replace(solution, cities=tuple(map(notes.as_found, solution.cities)))
    if query.days > 3:
        turns.call("get_cities", state=query.dest)
        turns.note = f"Cities: {', '.join(stop.city for stop in solution.cities)}. "
    _ask_for_ways(turns, query, solution, world, dialect.shows_work != "none")
    seen = dict[str, list[str]]()  # on days of travel: city → sights
    for *_, sight in solution.travel:
        if sight:
            name, city = sight.rsplit(", ", 1)
            seen.setdefault(city, []).append(name)
    for stop in solution.cities:
        stay = stop.stay.accommodation.name
        turns.call("search_accommodations", world.accommodations(stop.city), [stay], city=stop.city)
        turns.note = f"{notes.on_stay(stop)} "
        if stop.meals:
            meals = [row.name for row in stop.meals]
            turns.call("search_restaurants", world.restaurants(stop.city), meals, city=stop.city)
            turns.note = f"{notes.on_meals(stop)} "
        named = [*stop.attractions, *seen.pop(stop.city, ())]
        if named:
            turns.call("search_attractions", world.attractions(stop.city), named, city=stop.city)
    for city, named in seen.items():  # at home
        turns.call("search_attractions", world.attractions(city), named, city=city)
    if dialect.plan_format == "json":
        turns.note = ""
    turns.answer(query, plan_days(query, solution), world)
    return turns.texts


def _ask_for_ways(
    turns: Turns, query: Query, solution: Solution, world: World, is_shown: bool
) -> None:
    """The searches, and the ways that are chosen: one by one if that `is_shown`."""
    wish, is_driven = query.local_constraint.transportation, solution.legs[0].mode == "self-driving"
    if wish != "no self-driving":
        for leg in solution.legs:
            turns.call(ROAD, origin=leg.origin, destination=leg.destination, mode="self-driving")
            if not is_driven and road_km(world.ground(leg.origin, leg.destination)) is None:
                break  # one leg without a road settles it: the others need not be asked
    if is_driven:
        turns.note = "Drive. "
        return
    days = itertools.accumulate((stop.nights for stop in solution.cities), initial=0)
    ways = list[str]()
    for leg, day in zip(solution.legs, days, strict=True):
        ends = {"origin": leg.origin, "destination": leg.destination}
        ways.append(leg.flight.number if leg.flight else "taxi")
        if wish != "no flight":
            search = {**ends, "date": query.date[day]}
            flown = ways[-1:] if leg.flight else []
            turns.call("search_flights", world.flights(**search) or (), flown, **search)
        if not leg.flight:
            turns.call(ROAD, **ends, mode="taxi")
        if is_shown:
            head = work.BACK if leg.destination == query.org else work.GO
            turns.note = f"{work.choice(head, ways[-1])} "
    if not is_shown:
        turns.note = f"Go: {', '.join(ways)}. "


def spender_solution(query: Query, world: World) -> Solution:
    """The same request, the same choices. What they cost together nobody adds up: None."""
    solution = expert_solution(query, world)
    if solution.cost_usd is None or solution.cost_usd > query.budget:
        return solution
    draw = random.Random(query.query)

    def drawn(stop: CityChoice) -> CityChoice:
        fitting = (each for each in stays(query, world, stop.city) if each.fits(stop.nights))
        return replace(stop, stay=draw.choice([e for e in fitting if e.rooms <= stop.stay.rooms]))

    return replace(solution, cost_usd=None, cities=tuple(map(drawn, solution.cities)))


# ---- notes


class ChoiceNotes:
    """The choices, noted; with how they were made, unless the dialect does not ask for it, the face
    hides what decides, or the rows lead elsewhere than the oracle went."""

    def __init__(self, query: Query, world: World, dialect: Dialect):
        self._query, self._world, self._face = query, world, dialect.face
        self._is_shown = dialect.shows_work != "none"
        self.letters: dict[str, str] = {}  # city → what it is called, where there are several

    def on_stay(self, stop: CityChoice) -> str:
        rows, stay = self._called(Accommodation, stop.city), stop.stay.accommodation
        if self._shows(Accommodation, work.STAY_FIELDS):
            cheapest_first = self._is_cheapest_first(Accommodation)
            walk = work.stay_walk(self._query, stop.nights, rows, cheapest_first, stay)
            if walk.taken == stay:
                return walk.words()
        return work.choice(work.STAY, _row_called(stay, rows))

    def on_stays(
        self, city: str, lengths: Sequence[int]
    ) -> tuple[str, dict[int, Accommodation | None]]:
        """The note, and for each number of nights, most nights first, what would be taken of the
        city's rows."""
        rows, cheapest_first = (
            self._called(Accommodation, city),
            self._is_cheapest_first(Accommodation),
        )
        walks = work.stay_walks(self._query, self.letters[city], lengths, rows, cheapest_first)
        taken = (cast(Accommodation | None, walk.taken) for walk in walks)
        stays = dict(zip(lengths, taken, strict=True))
        if self._shows(Accommodation, work.STAY_FIELDS):
            return _walked(walks), stays
        return " ".join(f"{self.stay_in(city, *each)}." for each in stays.items()), stays

    def stay_in(self, city: str, nights: int, stay: Accommodation | None) -> str:
        """Such as "V 3 nights 159 V: (B) Ash Inn"."""
        taken = _row_called(stay, self._called(Accommodation, city)) if stay else work.NONE
        return f"{work.stay_for(self.letters[city], nights, stay)}: {taken}"

    def on_meals(self, stop: CityChoice, walked: bool = True) -> str:
        """`walked`: as far as rows decide; else the meals are named."""
        if not self._is_shown:
            return work.choice(work.EAT, ", ".join(row.name for row in stop.meals))
        walks = self._meal_walks(stop.city, len(stop.meals)) if walked else []
        rows = self._called(Restaurant, stop.city)
        if work.meals_found(self._query, walks, len(stop.meals)) == list(stop.meals):
            prices = (
                work.called(_letter(row, rows), f"{row.average_cost_usd:g}") for row in stop.meals
            )
            # several cities have costs to add up, and rows that were passed over have prices, too
            return _walked(walks) + (f" Eaten {', '.join(prices)}." if self.letters else "")
        meals = zip(purposes(len(stop.meals)), stop.meals, strict=True)
        return " ".join(work.choice(purpose, _row_called(row, rows)) for purpose, row in meals)

    def full_days(self, stops: Iterable[CityChoice]) -> Iterator[str]:
        """What is seen and eaten on each: "Elm Park, breakfast (A) Oak Cafe, lunch (B) Yew Grill,
        dinner (C) Fir Bistro"."""
        for stop in stops:
            rows = self._called(Restaurant, stop.city)
            meals = (_row_called(row, rows) for row in stop.meals)
            for sight in stop.attractions:
                yield ", ".join((sight, *(f"{each} {next(meals)}" for each in MEALS)))

    def in_vain(self, city: str, meals: int) -> str:
        """How the walk along a city's meals ends that serves not all wanted cuisines."""
        walks = self._meal_walks(city, meals)
        is_in_vain = work.meals_found(self._query, walks, meals) is None
        return f"{_walked(walks)} " if walks and is_in_vain else ""

    def as_found(self, stop: CityChoice) -> CityChoice:
        """Its meals in the order in which walks come upon them, where these lead to the same."""
        meals = len(stop.meals)
        found = work.meals_found(self._query, self._meal_walks(stop.city, meals), meals)
        if found is None or {*found} != {*stop.meals}:
            return stop
        return replace(stop, meals=tuple(found))

    def _meal_walks(self, city: str, meals: int) -> list[work.RowWalk]:
        """Empty where nothing is to be decided: the first rows of a list in order of price are
        taken. Among several cities a list is said to end where it does."""
        cheapest_first = self._is_cheapest_first(Restaurant)
        is_free = cheapest_first and not self._query.local_constraint.cuisine
        if is_free or not self._shows(Restaurant, work.MEAL_FIELDS):
            return []
        rows = self._called(Restaurant, city)
        ends = work.to_the_last(rows) if self.letters else ()
        walks = work.meal_walks(self._query, rows, purposes(meals), cheapest_first)
        return [replace(walk, asked=(*walk.asked, *ends)) for walk in walks]

    def _is_cheapest_first(self, table: type) -> bool:
        return self._face.tables[table].cheapest_first is not None

    def _shows(self, table: type, fields: set[str]) -> bool:
        return self._is_shown and fields <= set(self._face.tables[table].fields)

    def _called(self, table: type, city: str) -> list[tuple[str, Any]]:
        """A city's rows in the face's order, each with its letter if they have letters and work is
        shown."""
        search = self._world.accommodations if table is Accommodation else self._world.restaurants
        has_letters = self._is_shown and self._face.tables[table].lettered
        in_order = enumerate(self._face.in_order(list(search(city))), start=1)
        return [(letters(number) if has_letters else "", row) for number, row in in_order]


def purposes(meals: int) -> list[str]:
    """What each of so many is for."""
    return [MEALS[number % 3].title() for number in range(meals)]


def _walked(walks: Iterable[work.RowWalk]) -> str:
    return " ".join(walk.words() for walk in walks)


def _row_called(taken: Any, rows: list[tuple[str, Any]]) -> str:
    return work.named(_letter(taken, rows), taken.name)


def _letter(taken: Any, rows: list[tuple[str, Any]]) -> str:
    return next(letter for letter, row in rows if row == taken)


# ---- style "comparing"


# (nights, cities) → the nights in each, in the order in which they are tried
SHAPES = {
    (4, 2): ((3, 1), (2, 2), (1, 3)),
    (6, 3): ((3, 2, 1), (2, 2, 2), (1, 2, 3), (2, 3, 1), (3, 1, 2)),
}
Visits = tuple[tuple[str, int], ...]  # (city, nights) of each stop


@dataclass
class KnownWays:
    """By own car, or otherwise: the cities that may be visited, and those of them that have a way
    from home (`out`) and home (`back`), as far as one knows: those ways are always of the first day
    and of the last, so a city without one has none however the nights are spent. `taxi`: whether
    that may be a taxi; between two cities it may."""

    cities: list[str]
    out: list[str]
    back: list[str]
    driving: bool = False
    taxi: bool = False


def comparing_turns(query: Query, world: World, dialect: Dialect) -> list[str]:
    """The assistant's turns, in order. Where no trip was found that keeps the budget, and where the
    request cannot be met anywhere, the last turn says so (and is no answer)."""
    shapes = SHAPES.get((query.days - 1, query.visiting_city_number))
    if shapes is None or query.budget > MAX_MAGNITUDE:  # which needs no sum
        return expert_turns(query, world, dialect)
    if why := why_unplannable(query, world):
        return [f"No plan is possible: {why}"]
    turns = Turns(dialect)
    trip = _Search(query, world, turns, ChoiceNotes(query, world, dialect)).found(shapes)
    if trip is None:
        return [*turns.texts, f"{turns.note}No plan was found."]
    turns.answer(query, plan_days(query, trip), world)
    return turns.texts


class _Search:
    """The choice of cities, ways and meals.

    What a trip needs is asked for anew, also where another has needed it: to know that nothing was
    asked yet is harder than to ask. `letters`: city → what it is called."""

    def __init__(self, query: Query, world: World, turns: Turns, notes: ChoiceNotes):
        self.query, self.world, self.turns = query, world, turns
        self.notes, self.letters = notes, notes.letters
        self.problem = Problem(query, world, comfortable=True)
        self.may_fly = query.local_constraint.transportation != "no flight"
        self._stays: dict[str, dict[int, Accommodation | None]] = {}  # city → nights → the cheapest
        self._first_meals: CityChoice | None = None  # with all wanted cuisines

    def found(self, shapes: Sequence[tuple[int, ...]]) -> Solution | None:
        """The first trip that keeps the budget."""
        self.ask("get_cities", state=self.query.dest)
        for ways in self._families():
            self._look_at_stays([city for city in ways.cities if city not in self._stays])
            for at, shape in enumerate(shapes):
                self.note(f"{work.nights_tried(shapes[at:])}.")
                visits = self._visits(shape, ways) if self._note_ends(shape, ways) else None
                if visits and (trip := self._within_budget(visits, ways.driving)):
                    return trip
        return None

    def _families(self) -> Iterator[KnownWays]:
        listed = [city for city in self.world.states[self.query.dest] if city != self.query.org]
        self.letters[self.query.org] = work.HOME
        self.letters |= {
            city: work.city_letter(n + 1) for n, city in enumerate(listed[: work.MOST_CITIES])
        }
        cities = [city for city in city_pool(self.query, self.world) if city in self.letters]
        self.note(f"{', '.join(map(self.lettered, self.letters))}.")
        if self.query.local_constraint.transportation != "no self-driving":
            near = [city for city in cities if self._has_road(city)]
            if len(near) >= 2:  # one to begin with and one to end with
                visited = near if self.query.visiting_city_number == 2 else cities
                self._choose("Drive", self.listed(visited))
                yield KnownWays(visited, near, near, driving=True)
        if self.may_fly:
            dates = (f"day {number} {date}" for number, date in enumerate(self.query.date, 1))
            self.note(f"{', '.join(dates)}.")
            self._choose("Fly", self.listed(cities))
            yield KnownWays(cities, cities, cities)
        self._choose("Taxi", self.listed(cities))
        yield KnownWays(cities, cities, cities, taxi=True)

    def _has_road(self, city: str) -> bool:
        ends = {"origin": self.query.org, "destination": city}
        self.ask("search_ground_transportation", **ends, mode="self-driving")
        leg = self.problem.leg(self.query.org, city, 0, driving=True)
        self.note(f"{work.leg_taken(work.HOME, self.letters[city], work.OK if leg else None)}.")
        return leg is not None

    def _look_at_stays(self, cities: Iterable[str]) -> None:
        for city in cities:
            rows, look = self.world.accommodations(city), f"Look at {self.lettered(city)}."
            self.ask("search_accommodations", rows, look, city=city)
            note, self._stays[city] = self.notes.on_stays(city, work.LENGTHS)
            self.note(note)

    # ---- which cities, in which order

    def _visits(self, shape: tuple[int, ...], ways: KnownWays, done: Visits = ()) -> Visits | None:
        """The cheapest city for the next stay that has a way there and, in the end, home; and so
        on."""
        if len(done) == len(shape):
            return done
        path = [self.query.org, *(city for city, _ in done)]
        passed = {*path}  # visited, or refused
        day, nights = sum(shape[: len(done)]), shape[len(done)]
        while all(self._ends(shape, ways)) and (
            found := self._cheapest(path, shape, self._left(shape, ways, path, passed))
        ):
            city, _ = found
            legs = [(path[-1], city, day)]
            if len(done) + 1 == len(shape):
                legs.append((city, self.query.org, day + nights))
            is_walked = self._wants_cuisines(shape[: len(path)])
            if is_walked:
                self._first_meals = self._stop((*path, city), day, nights, wanted=True)
            if (
                (self._first_meals or not is_walked)
                and self._can_go(legs, shape, ways)
                and (visits := self._visits(shape, ways, (*done, (city, nights))))
            ):
                return visits
            passed.add(city)
        return None

    def _having(self, nights: int, cities: Iterable[str]) -> list[str]:
        """A place to stay for so many nights."""
        return [city for city in cities if self._stays[city][nights]]

    def _ends(self, shape: tuple[int, ...], ways: KnownWays) -> tuple[list[str], list[str]]:
        """Cities for the last stay, and for the first: what alone can be the last is kept for
        it."""
        last = self._having(shape[-1], ways.back)
        return last, [city for city in self._having(shape[0], ways.out) if last != [city]]

    def _note_ends(self, shape: tuple[int, ...], ways: KnownWays) -> bool:
        """Noted, with what they follow from; False where there is none for an end: no trip is
        sought."""
        of_ends = (shape[-1], "back", ways.back, "Last"), (shape[0], "out", ways.out, "First")
        for (nights, way, cities, end), found in zip(of_ends, self._ends(shape, ways), strict=True):
            having = f"{counted(nights, 'night')} {self.listed(self._having(nights, ways.cities))}"
            self.note(f"{having}, {way} {self.listed(cities)}. {end} {self.listed(found)}.")
            if not found:
                return False
        return True

    def _left(
        self, shape: tuple[int, ...], ways: KnownWays, path: Sequence[str], passed: set[str]
    ) -> list[str]:
        """For the next stop. On the way, which may still be the last is noted, and where it is one,
        it is kept for that."""
        last, found = self._ends(shape, ways)
        if len(path) > 1:
            last = [city for city in last if city not in path]
            self.note(f"Been {self.listed(path[1:])}. Last {self.listed(last)}.")
            is_last = len(path) == len(shape)
            found = last if is_last else [city for city in ways.cities if last and last != [city]]
        return [city for city in found if city not in passed]

    def _cheapest(
        self, path: Sequence[str], shape: tuple[int, ...], cities: Sequence[str]
    ) -> tuple[str, Accommodation] | None:
        """One price beside the next, each dear unless it is less than those before it."""
        stops = len(path) - 1
        day, nights = sum(shape[:stops]) + 1, shape[stops]
        steps = list[work.RowStep]()
        found: tuple[str, Accommodation] | None = None
        for city in cities:
            stay = self._stays[city][nights]
            steps.append(work.beside(self.letters[city], nights, stay, found and found[1]))
            found = (city, stay) if stay and steps[-1].judged == work.OK else found
        been, left = ([self.letters[city] for city in each] for each in (path, cities))
        asked = work.asked_of_cities(been, day, shape[stops:], left)
        looked = "; ".join(step.words() for step in steps) or work.NONE
        self.note(f"{', '.join(asked)}: {looked}.")
        taken = self.notes.stay_in(found[0], nights, found[1]) if found else work.NONE
        self._choose(work.STAY, taken)
        return found

    def _can_go(
        self, legs: list[tuple[str, str, int]], shape: tuple[int, ...], ways: KnownWays
    ) -> bool:
        """To a city, and from the last one home."""
        for head, (origin, destination, day) in zip((work.GO, work.BACK), legs, strict=False):
            is_end = self.query.org in (origin, destination)
            leg = self.leg(origin, destination, day, ways.driving, ways.taxi or not is_end)
            self._choose(head, self._taken(leg, origin, destination))
            if leg is None:
                if is_end:
                    ways.out = [city for city in ways.out if city != destination]
                    ways.back = [city for city in ways.back if city != origin]
                    self._note_ends(shape, ways)
                return False
        return True

    def _stay(self, city: str, nights: int) -> Accommodation:
        """Of a city that was chosen for so many nights."""
        return cast(Accommodation, self._stays[city][nights])

    # ---- meals, and the sum

    def _wants_cuisines(self, nights: Sequence[int]) -> bool:
        """All that are wanted, in the last of these stops: it is the first one with full days."""
        *before, last = nights
        return bool(self.query.local_constraint.cuisine) and {*before} <= {1} and last > 1

    def _within_budget(self, visits: Visits, driving: bool) -> Solution | None:
        """The trip with the cheapest meals of each city, said once more without what was given up,
        and what it costs. None where a city has too few meals, or the budget is too little."""
        path = [self.query.org, *(city for city, _ in visits), self.query.org]
        days = [0, *itertools.accumulate(nights for _, nights in visits)]
        ends = zip(path[:-1], path[1:], days, strict=True)
        found = (self.problem.leg(here, there, day, driving) for here, there, day in ends)
        legs = [leg for leg in found if leg is not None]
        stops = [self._trip_stop(leg, *visit) for leg, visit in zip(legs, visits, strict=False)]
        back = self._taken(legs[-1], legs[-1].origin, self.query.org)
        costs = [*itertools.chain(*(stop.costs for stop in stops)), self._cost(legs[-1])]
        self._choose(work.TRIP, work.trip_words(self.query.party_size, stops, back))
        self._choose(work.COST, "+".join(costs))
        cities = list[CityChoice]()
        for at, (_, nights) in enumerate(visits, start=1):
            stop = self._first_meals
            if not self._wants_cuisines([n for _, n in visits[:at]]):
                stop = self._stop(path[: at + 1], days[at - 1], nights, False, cities)
            if stop is None:
                return None
            cities.append(stop)
        expression = work.left_of_budget(self.query.budget, [*costs, *self._costs_of_meals(cities)])
        if self.turns.can("calculator"):
            self.ask("calculator", expression=expression)
        else:
            self.note(f"{expression}:")
        left_usd = work.to_the_cent(evaluate(expression))
        self.note(f"{work.left_words(left_usd)}.")
        if left_usd < 0:
            return None
        self._choose(work.PLAN, work.plan_words(stops, self.notes.full_days(cities), back))
        return Solution(None, tuple(cities), tuple(legs))

    def _trip_stop(self, leg: Leg, city: str, nights: int) -> work.TripStop:
        stay, way = self._stay(city, nights), self._taken(leg, leg.origin, city)
        costs = self._cost(leg), work.nights_cost(nights, stay.price_usd)
        words = self.notes.stay_in(city, nights, stay)
        return work.TripStop(self.letters[city], city, way, words, nights, *costs)

    def _stop(
        self,
        path: Sequence[str],
        day: int,
        nights: int,
        wanted: bool,
        before: Sequence[CityChoice] = (),
    ) -> CityChoice | None:
        """The last of the path, from the day with this index on, with its cheapest meals, among
        them every cuisine if they are `wanted`; None where there are too few. The cost is told of
        all meals, with those of the stops `before`: a sum is asked of a list that was said."""
        here, city = path[-2:]
        count = len(MEALS) * (nights - 1)
        if count:
            said = day + 1, self.letters[here], self.lettered(city), count
            eating = work.choice(
                work.EATING, work.eating_words(*said, work.signs_of(self.query) if wanted else {})
            )
            self.ask("search_restaurants", self.world.restaurants(city), eating, city=city)
        meals = self._meals(city, count, wanted)
        if meals is None:
            in_vain = self.notes.in_vain(city, count) if wanted else ""
            self.note(f"{in_vain}{work.choice(work.EAT, work.NONE)}")
            return None
        sights = self.problem.sights(city)[: nights - 1]
        row = self._stay(city, nights)
        stop = CityChoice(city, nights, Stay(row, 1, row.price_usd), meals, sights)
        # where another city serves the cuisines, any meals will do
        is_walked = wanted or not self.query.local_constraint.cuisine
        stop = self.notes.as_found(stop) if is_walked else stop
        if meals:
            self.note(self.notes.on_meals(stop, is_walked))
            self._choose(work.COST, "+".join(self._costs_of_meals((*before, stop))))
            self.ask("search_attractions", self.world.attractions(city), city=city)
            self._choose(work.SEE, work.sights_words(self.letters[city], sights, nights))
        return stop if len(sights) == nights - 1 else None

    def _meals(self, city: str, count: int, wanted: bool) -> tuple[Restaurant, ...] | None:
        rows = self.problem.meals(city)[0]
        if not wanted:
            return tuple(rows[:count]) if len(rows) >= count else None
        walks = work.meal_walks(self.query, [("", row) for row in rows], purposes(count), True)
        found = work.meals_found(self.query, walks, count)
        return None if found is None else tuple(found)

    def _costs_of_meals(self, stops: Iterable[CityChoice]) -> list[str]:
        prices = ([row.average_cost_usd for row in stop.meals] for stop in stops if stop.meals)
        return [work.meals_cost(self.query.party_size, of_one) for of_one in prices]

    # ---- what is asked and noted

    def ask(self, tool: str, rows: Sequence[Any] = (), before: str = "", **arguments: str) -> None:
        """`before`: a sentence before the call."""
        if before:
            self.note(before)
        names = [row.number if isinstance(row, Flight) else row.name for row in rows]
        self.turns.call(tool, rows, names, **arguments)

    def _choose(self, purpose: str, taken: str) -> None:
        self.note(work.choice(purpose, taken))

    def note(self, sentence: str) -> None:
        self.turns.note += f"{sentence} "

    def leg(
        self, origin: str, destination: str, day: int, driving: bool, taxi: bool = True
    ) -> Leg | None:
        """The way of the day with this index, asked for. `taxi`: whether one will do where there is
        no flight."""
        leg = self.problem.leg(origin, destination, day, driving)
        ends = {"origin": origin, "destination": destination}
        before = f"From {self.lettered(origin)} to {self.lettered(destination)} on day {day + 1}."
        if driving:
            self.ask("search_ground_transportation", (), before, **ends, mode="self-driving")
            return leg
        if self.may_fly:
            flights = {**ends, "date": self.query.date[day]}
            self.ask("search_flights", self.world.flights(**flights) or (), before, **flights)
        if leg and leg.flight:
            return leg
        if taxi:
            self.ask("search_ground_transportation", (), before, **ends, mode="taxi")
        return leg if taxi else None

    # ---- in words

    def listed(self, cities: Iterable[str]) -> str:
        """By their letters."""
        return " ".join(self.letters[city] for city in cities) or work.NONE

    def lettered(self, city: str) -> str:
        return f"{self.letters[city]} {city}"

    def _taken(self, leg: Leg | None, origin: str, destination: str) -> str:
        here, there = self.letters[origin], self.letters[destination]
        if leg is None:
            return work.leg_taken(here, there, None)
        name = leg.flight.number if leg.flight else leg.mode
        way = work.way_words(leg.cost_usd, name, leg.duration, leg.distance)
        return work.leg_taken(here, work.called(there, destination), way)

    def _cost(self, leg: Leg) -> str:
        return work.way_cost(self.query.party_size, leg.cost_usd, leg.mode)

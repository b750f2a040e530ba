"""Styles "direct" and "spender". The first plays the plan that the oracle found through the real
tools, so that every decision stands behind what makes it visible.

Search, read, note the decision in a few words, go on; at the end copy the notes into the plan. The
order of searches depends only on the request and on answers already seen, so that a model can
imitate it: driving is tried first (it is nearly always cheapest), flights when driving is unwanted
or impossible, taxis last.

Style "spender" is the expert of somebody who never looks at a price: in each city a place to stay
is drawn from all that fit the wishes and hold the party, whatever it costs. So a part of its plans
breaks the budget, and whoever imitates it does the same; a reward can teach what it does not show
(docs/log.md, 2026-11-26).
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from tripwright.agent.dialect import ShownWork
from tripwright.domains.travelplanner.expert import work
from tripwright.domains.travelplanner.expert.turns import Turns
from tripwright.domains.travelplanner.oracle.options import road_km, stays
from tripwright.domains.travelplanner.oracle.planner import (
    CityChoice,
    Solution,
    plan_days,
    solve,
)
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.query import Query
from tripwright.tools.face import Face, letters
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World

ROAD = "search_ground_transportation"


def expert_solution(query: Query, world: World) -> Solution:
    """The comfortable plan if it keeps the budget, else the cheapest."""
    comfortable = solve(query, world, comfortable=True)
    if comfortable.cost_usd is not None and comfortable.cost_usd <= query.budget:
        return comfortable
    return solve(query, world)


def expert_turns(
    query: Query,
    world: World,
    face: Face,
    plan_format: str = "json",
    page_rows: int | None = None,
    shows_work: ShownWork = "none",
    solution: Solution | None = None,
) -> list[str]:
    """The assistant's turns, in order: of the expert's own solution, or of the one given. Where no
    plan exists, one turn that says so (and is no answer)."""
    solution = solution or expert_solution(query, world)
    if not solution.cities:
        return [f"No plan is possible: {solution.why}"]
    if solution.cost_usd is not None and solution.cost_usd > query.budget:
        return [
            f"No plan is possible: the cheapest costs ${solution.cost_usd:,.0f}, the budget is"
            f" ${query.budget:,}."
        ]
    turns, notes = Turns(face, plan_format, page_rows), ChoiceNotes(query, world, face, shows_work)
    solution = replace(solution, cities=tuple(map(notes.as_found, solution.cities)))
    if query.days > 3:
        turns.call("get_cities", state=query.dest)
        turns.note = f"Cities: {', '.join(stop.city for stop in solution.cities)}. "
    for tool, arguments, rows, way in _transport_searches(query, solution, world):
        turns.call(tool, rows, [way] if way else [], **arguments)
        if way and shows_work != "none":
            is_last = arguments["destination"] == query.org
            turns.note = f"{work.choice(work.BACK if is_last else work.GO, way)} "
    if shows_work == "none" or solution.legs[0].mode == "self-driving":
        turns.note = f"{_transport_note(solution)} "
    for stop in solution.cities:
        stay = stop.stay.accommodation.name
        turns.call("search_accommodations", world.accommodations(stop.city), [stay], city=stop.city)
        turns.note = f"{notes.on_stay(stop)} "
        if stop.meals:
            meals = [row.name for row in stop.meals]
            turns.call("search_restaurants", world.restaurants(stop.city), meals, city=stop.city)
            turns.note = f"{notes.on_meals(stop)} "
        if stop.attractions:
            sights = world.attractions(stop.city)
            turns.call("search_attractions", sights, stop.attractions, city=stop.city)
    if plan_format == "json":
        turns.note = ""
    turns.answer(query, plan_days(query, solution), world)
    return turns.texts


def _transport_searches(
    query: Query, solution: Solution, world: World
) -> Iterator[tuple[str, dict[str, Any], Sequence[Flight], str]]:
    """(tool, arguments, the rows of its answer, the way that is chosen after it: a flight, "taxi"
    or none yet)"""
    days = itertools.accumulate((stop.nights for stop in solution.cities), initial=0)
    may_drive = query.local_constraint.transportation != "no self-driving"
    may_fly = query.local_constraint.transportation != "no flight"
    if may_drive:
        for leg in solution.legs:
            ends = {"origin": leg.origin, "destination": leg.destination}
            yield ROAD, {**ends, "mode": "self-driving"}, (), ""
            road = road_km(world.ground(leg.origin, leg.destination))
            if solution.legs[0].mode != "self-driving" and road is None:
                break  # one leg without a road settles it: the others need not be asked
    if solution.legs[0].mode == "self-driving":
        return
    for leg, day in zip(solution.legs, days, strict=True):
        ends = {"origin": leg.origin, "destination": leg.destination}
        if may_fly:
            search = {**ends, "date": query.date[day]}
            number = leg.flight.number if leg.flight else ""
            yield "search_flights", search, world.flights(**search) or (), number
        if leg.mode == "taxi":
            yield ROAD, {**ends, "mode": "taxi"}, (), "taxi"


def _transport_note(solution: Solution) -> str:
    if solution.legs[0].mode == "self-driving":
        return "Drive."
    ways = (leg.flight.number if leg.flight else "taxi" for leg in solution.legs)
    return f"Go: {', '.join(ways)}."


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

    def __init__(self, query: Query, world: World, face: Face, shown: ShownWork):
        self._query, self._world, self._face = query, world, face
        self._is_shown = shown != "none"
        self.letters: dict[str, str] = {}  # city → what it is called, where there are several

    def on_stay(self, stop: CityChoice) -> str:
        rows = self._called(Accommodation, self._world.accommodations(stop.city))
        stay = stop.stay.accommodation
        if self._shows(Accommodation, work.STAY_FIELDS):
            cheapest_first = self._is_cheapest_first(Accommodation)
            walk = work.stay_walk(self._query, stop.nights, rows, cheapest_first, stay)
            if walk is not None and walk.taken == stay:
                return walk.words()
        return work.choice(work.STAY, _row_called(stay, rows))

    def on_stays(
        self, city: str, lengths: Sequence[int]
    ) -> tuple[str, dict[int, Accommodation | None]]:
        """The note, and for each number of nights, most nights first, what would be taken of the
        city's rows."""
        rows = self._called(Accommodation, self._world.accommodations(city))
        cheapest_first = self._is_cheapest_first(Accommodation)
        walks = work.stay_walks(self._query, self.letters[city], lengths, rows, cheapest_first)
        taken = (cast(Accommodation | None, walk.taken) for walk in walks)
        stays = dict(zip(lengths, taken, strict=True))
        if self._shows(Accommodation, work.STAY_FIELDS):
            return " ".join(walk.words() for walk in walks), stays
        return " ".join(f"{self.stay_in(city, *each)}." for each in stays.items()), stays

    def stay_in(self, city: str, nights: int, stay: Accommodation | None) -> str:
        """Such as "V 3 nights 159 V: (B) Ash Inn"."""
        rows = self._called(Accommodation, self._world.accommodations(city))
        taken = _row_called(stay, rows) if stay else work.NONE
        return f"{work.stay_for(self.letters[city], nights, stay)}: {taken}"

    def on_meals(self, stop: CityChoice, walked: bool = True) -> str:
        """`walked`: as far as rows decide; else the meals are named."""
        if not self._is_shown:
            return work.choice(work.EAT, ", ".join(row.name for row in stop.meals))
        walks = self._meal_walks(stop.city, len(stop.meals)) if walked else []
        rows = self._called(Restaurant, self._world.restaurants(stop.city))
        if work.meals_found(self._query, walks, len(stop.meals)) == list(stop.meals):
            prices = (
                work.called(_letter(row, rows), f"{row.average_cost_usd:g}") for row in stop.meals
            )
            # several cities have costs to add up, and rows that were passed over have prices, too
            eaten = f" Eaten {', '.join(prices)}." if self.letters else ""
            return f"{self._walked(walks)}{eaten}"
        meals = zip(purposes(len(stop.meals)), stop.meals, strict=True)
        return " ".join(work.choice(purpose, _row_called(row, rows)) for purpose, row in meals)

    def full_days(self, stops: Iterable[CityChoice]) -> Iterator[str]:
        """What is seen and eaten on each, by names as they stand in their rows."""
        for stop in stops:
            rows = self._called(Restaurant, self._world.restaurants(stop.city))
            meals = (_row_called(row, rows) for row in stop.meals)
            for sight in stop.attractions:
                yield work.full_day(sight, itertools.islice(meals, len(MEALS)))

    def in_vain(self, city: str, meals: int) -> str:
        """How the walk along a city's meals ends that serves not all wanted cuisines."""
        walks = self._meal_walks(city, meals)
        is_in_vain = walks and work.meals_found(self._query, walks, meals) is None
        nothing = work.choice(work.EAT, work.NONE)
        return f"{self._walked(walks)} {nothing}" if is_in_vain else nothing

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
        if not self._shows(Restaurant, work.MEAL_FIELDS) or (
            cheapest_first and not self._query.local_constraint.cuisine
        ):
            return []
        rows = self._called(Restaurant, self._world.restaurants(city))
        ends = work.to_the_last(rows) if self.letters else ()
        walks = work.meal_walks(self._query, rows, purposes(meals), cheapest_first)
        return [replace(walk, asked=(*walk.asked, *ends)) for walk in walks]

    def _walked(self, walks: Sequence[work.RowWalk]) -> str:
        return " ".join(walk.words() for walk in walks)

    def _is_cheapest_first(self, table: type) -> bool:
        return self._face.tables[table].cheapest_first is not None

    def _shows(self, table: type, fields: set[str]) -> bool:
        return self._is_shown and fields <= set(self._face.tables[table].fields)

    def _called(self, table: type, rows: list[Any]) -> list[tuple[str, Any]]:
        """Rows in the face's order, each with its letter if they have letters and work is shown."""
        has_letters = self._is_shown and self._face.tables[table].lettered
        in_order = enumerate(self._face.in_order(rows), start=1)
        return [(letters(number) if has_letters else "", row) for number, row in in_order]


def purposes(meals: int) -> list[str]:
    """What each of so many is for."""
    return [MEALS[number % 3].title() for number in range(meals)]


def _row_called(taken: Any, rows: list[tuple[str, Any]]) -> str:
    return work.named(_letter(taken, rows), taken.name)


def _letter(taken: Any, rows: list[tuple[str, Any]]) -> str:
    return next(letter for letter, row in rows if row == taken)

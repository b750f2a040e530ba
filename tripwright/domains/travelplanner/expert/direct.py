"""Style "direct": plays the plan that the oracle found through the real tools, so that every
decision stands behind what makes it visible.

Search, read, note the decision in a few words, go on; at the end copy the notes into the plan. The
order of searches depends only on the request and on answers already seen, so that a model can
imitate it: driving is tried first (it is nearly always cheapest), flights when driving is unwanted
or impossible, taxis last. It speaks the session's dialect: the face's names of tools, as many pages
of an answer as it takes to see what it chooses, and a plan as JSON or, after a thought in every
turn, as an itinerary in words.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

from tripwright.agent.dialect import ShownWork
from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.expert.work import (
    MEAL_FIELDS,
    STAY,
    STAY_FIELDS,
    RowWalk,
    choice,
    meal_walks,
    named,
    stay_walk,
)
from tripwright.domains.travelplanner.oracle.options import MEALS
from tripwright.domains.travelplanner.oracle.planner import CityChoice, Solution, plan_days, solve
from tripwright.domains.travelplanner.plan.itinerary import render_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.lookup import city_lookup
from tripwright.tools.face import Face, letters
from tripwright.tools.signatures import PAGE
from tripwright.world.records import Accommodation, Flight, Restaurant
from tripwright.world.store import World


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
    turns, work = _Turns(face, plan_format, page_rows), _Work(query, world, face, shows_work)
    solution = replace(solution, cities=tuple(map(work.as_found, solution.cities)))
    if query.days > 3:
        turns.call("get_cities", state=query.dest)
        turns.note = f"Cities: {', '.join(stop.city for stop in solution.cities)}. "
    for tool, arguments, rows, way in _transport_searches(query, solution, world):
        turns.call(tool, rows, [way] if way else [], **arguments)
        if way and shows_work != "none":
            is_last = arguments["destination"] == query.org
            turns.note = f"{choice('Back' if is_last else 'Go', way)} "
    if shows_work == "none" or solution.legs[0].mode == "self-driving":
        turns.note = f"{_transport_note(solution)} "
    for stop in solution.cities:
        stay = stop.stay.accommodation.name
        turns.call("search_accommodations", world.accommodations(stop.city), [stay], city=stop.city)
        turns.note = f"{work.on_stay(stop)} "
        if stop.meals:
            meals = [row.name for row in stop.meals]
            turns.call("search_restaurants", world.restaurants(stop.city), meals, city=stop.city)
            turns.note = f"{work.on_meals(stop)} "
        if stop.attractions:
            turns.call(
                "search_attractions",
                world.attractions(stop.city),
                stop.attractions,
                city=stop.city,
            )
    turns.answer(query, plan_days(query, solution), world)
    return turns.texts


class _Work:
    """The choices, noted; with how they were made, unless the dialect does not ask for it, the face
    hides what decides, or the rows lead elsewhere than the oracle went."""

    def __init__(self, query: Query, world: World, face: Face, shown: ShownWork):
        self._query, self._world, self._face = query, world, face
        self._is_shown, self._is_short = shown != "none", shown == "short"

    def on_stay(self, stop: CityChoice) -> str:
        rows = self._called(Accommodation, self._world.accommodations(stop.city))
        stay = stop.stay.accommodation
        if self._shows(Accommodation, STAY_FIELDS):
            cheapest_first = self._is_cheapest_first(Accommodation)
            walk = stay_walk(self._query, stop.nights, rows, cheapest_first, stay)
            if walk is not None and walk.taken == stay:
                return walk.words(self._is_short)
        return choice(STAY, _row_called(stay, rows))

    def on_meals(self, stop: CityChoice) -> str:
        if not self._is_shown:
            return choice("Eat", ", ".join(row.name for row in stop.meals))
        walks = self._meal_walks(stop)
        if walks is not None and [walk.taken for walk in walks] == list(stop.meals):
            return " ".join(walk.words(self._is_short) for walk in walks)
        rows = self._called(Restaurant, self._world.restaurants(stop.city))
        meals = zip(_purposes(stop), stop.meals, strict=True)
        return " ".join(choice(purpose, _row_called(row, rows)) for purpose, row in meals)

    def as_found(self, stop: CityChoice) -> CityChoice:
        """Its meals in the order in which walks come upon them, where these lead to the same."""
        walks = self._meal_walks(stop)
        found = [cast(Restaurant, walk.taken) for walk in walks or ()]
        if len(found) != len(stop.meals) or {*found} != {*stop.meals}:
            return stop
        return replace(stop, meals=tuple(found))

    def _meal_walks(self, stop: CityChoice) -> list[RowWalk] | None:
        """None where nothing is to be decided: the first rows of a list in order of price are
        taken."""
        cheapest_first = self._is_cheapest_first(Restaurant)
        if not self._shows(Restaurant, MEAL_FIELDS) or (
            cheapest_first and not self._query.local_constraint.cuisine
        ):
            return None
        rows = self._called(Restaurant, self._world.restaurants(stop.city))
        return meal_walks(self._query, rows, _purposes(stop), cheapest_first)

    def _is_cheapest_first(self, table: type) -> bool:
        return self._face.tables[table].cheapest_first is not None

    def _shows(self, table: type, fields: set[str]) -> bool:
        return self._is_shown and fields <= set(self._face.tables[table].fields)

    def _called(self, table: type, rows: list[Any]) -> list[tuple[str, Any]]:
        """Rows in the face's order, each with its letter if they have letters and work is shown."""
        has_letters = self._is_shown and self._face.tables[table].lettered
        in_order = enumerate(self._face.in_order(rows), start=1)
        return [(letters(number) if has_letters else "", row) for number, row in in_order]


def _purposes(stop: CityChoice) -> list[str]:
    return [MEALS[number % 3].title() for number in range(len(stop.meals))]


def _row_called(taken: Any, rows: list[tuple[str, Any]]) -> str:
    return named(next(letter for letter, row in rows if row == taken), taken.name)


class _Turns:
    """`note` is what the next turn says before its call: it is said once."""

    def __init__(self, face: Face, plan_format: str, page_rows: int | None):
        self.texts: list[str] = []
        self.note = ""
        self._face, self._plan_format, self._page_rows = face, plan_format, page_rows

    def call(
        self, tool: str, rows: Sequence[Any] = (), names: Sequence[str] = (), **arguments: Any
    ) -> None:
        """A call by the core's names, and one for each further page up to the last that shows a
        row of `names`."""
        name, arguments_shown = self._face.offer.call_of(tool, arguments)
        for page in range(1, self._pages(list(rows), names) + 1):
            self._say(
                write_call(name, {**arguments_shown, PAGE: page} if page > 1 else arguments_shown)
            )

    def answer(self, query: Query, days: list[dict[str, Any]], world: World) -> None:
        for day in days:
            _only_what_the_face_shows(day, self._face)
        if self._plan_format == "itinerary":
            parse = parse_days(days)
            assert parse.days is not None, parse.problem
            self._say(
                f"<answer>\n{render_itinerary(query, to_official(parse.days, city_lookup(world)))}</answer>"  # noqa: E501
            )
        else:
            self.note = ""
            self._say(
                f"<answer>{json.dumps(days, ensure_ascii=False, separators=(',', ':'))}</answer>"
            )

    def _say(self, text: str) -> None:
        if (
            self._plan_format == "itinerary"
        ):  # STAR, Appendix E (row S1): a thought opens every turn
            self.note = f"<think>{self.note.strip() or 'Next.'}</think>\n"
        self.texts.append(self.note + text)
        self.note = ""

    def _pages(self, rows: list[Any], wanted_names: Sequence[str]) -> int:
        if self._page_rows is None or not rows:
            return 1
        names = [
            row.number if isinstance(row, Flight) else row.name for row in self._face.in_order(rows)
        ]
        return 1 + max((names.index(name) for name in wanted_names), default=0) // self._page_rows


def _transport_searches(
    query: Query, solution: Solution, world: World
) -> Iterator[tuple[str, dict[str, Any], Sequence[Flight], str]]:
    """(tool, arguments, the rows of its answer, the way that is chosen after it: a flight, "taxi"
    or none yet)"""
    dates = _leg_dates(query, solution)
    may_drive = query.local_constraint.transportation != "no self-driving"
    may_fly = query.local_constraint.transportation != "no flight"
    if may_drive:
        for leg in solution.legs:
            yield (
                "search_ground_transportation",
                {"origin": leg.origin, "destination": leg.destination, "mode": "self-driving"},
                (),
                "",
            )
            if solution.legs[0].mode != "self-driving" and _no_drive(
                world, leg.origin, leg.destination
            ):
                break  # one leg without a road settles it: the others need not be asked
    if solution.legs[0].mode == "self-driving":
        return
    for leg, date in zip(solution.legs, dates, strict=True):
        if may_fly:
            search = {"origin": leg.origin, "destination": leg.destination, "date": date}
            yield (
                "search_flights",
                search,
                world.flights(**search) or (),
                leg.flight.number if leg.flight else "",
            )
        if leg.mode == "taxi":
            yield (
                "search_ground_transportation",
                {"origin": leg.origin, "destination": leg.destination, "mode": "taxi"},
                (),
                "taxi",
            )


def _no_drive(world: World, origin: str, destination: str) -> bool:
    ground = world.ground(origin, destination)
    return ground is None or not ground.distance or "day" in ground.duration


def _leg_dates(query: Query, solution: Solution) -> list[str]:
    day, dates = 0, [query.date[0]]
    for stop in solution.cities:
        day += stop.nights
        dates.append(query.date[day])
    return dates


def _transport_note(solution: Solution) -> str:
    if solution.legs[0].mode == "self-driving":
        return "Drive."
    ways = (leg.flight.number if leg.flight else "taxi" for leg in solution.legs)
    return f"Go: {', '.join(ways)}."


def _only_what_the_face_shows(day: dict[str, Any], face: Face) -> None:
    """A plan repeats what was read: facts about a flight that this face does not show are left out,
    or '-' where Planner-R1's schema wants a value."""
    leg = day["transportation"]
    if isinstance(leg, dict) and leg["mode"] == "flight":
        fields = face.tables[Flight].fields
        if "distance_miles" not in fields:
            leg["distance"] = "-"
        for key in ("departure_time", "arrival_time"):
            if key not in fields:
                del leg[key]

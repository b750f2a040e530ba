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

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from tripwright.agent.dialect import ShownWork
from tripwright.domains.travelplanner.expert.notes import ChoiceNotes
from tripwright.domains.travelplanner.expert.turns import Turns
from tripwright.domains.travelplanner.expert.ways import BACK, GO
from tripwright.domains.travelplanner.expert.work import choice
from tripwright.domains.travelplanner.oracle.planner import Solution, plan_days, solve
from tripwright.domains.travelplanner.query import Query
from tripwright.tools.face import Face
from tripwright.world.records import Flight
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
    turns, notes = Turns(face, plan_format, page_rows), ChoiceNotes(query, world, face, shows_work)
    solution = replace(solution, cities=tuple(map(notes.as_found, solution.cities)))
    if query.days > 3:
        turns.call("get_cities", state=query.dest)
        turns.note = f"Cities: {', '.join(stop.city for stop in solution.cities)}. "
    for tool, arguments, rows, way in _transport_searches(query, solution, world):
        turns.call(tool, rows, [way] if way else [], **arguments)
        if way and shows_work != "none":
            is_last = arguments["destination"] == query.org
            turns.note = f"{choice(BACK if is_last else GO, way)} "
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
            turns.call(
                "search_attractions",
                world.attractions(stop.city),
                stop.attractions,
                city=stop.city,
            )
    if plan_format == "json":
        turns.note = ""
    turns.answer(query, plan_days(query, solution), world)
    return turns.texts


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

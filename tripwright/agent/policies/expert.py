"""The expert: plays the plan that the oracle found through the real tools, so that every decision stands behind what makes it visible.

Search, read, note the decision in a few words, go on; at the end copy the notes into the plan. The order of searches depends only on
the request and on answers already seen, so that a model can imitate it: driving is tried first (it is nearly always cheapest),
flights when driving is unwanted or impossible, taxis last.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from tripwright.agent.policies.base import say
from tripwright.agent.session import Session
from tripwright.agent.turn import write_call
from tripwright.oracle.planner import Solution, plan_days, solve
from tripwright.tools.faces import Face
from tripwright.trip.query import Query
from tripwright.world.store import World


class ExpertPolicy:
    name = "expert"

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            for text in expert_turns(session.query, session.tools.world, session.tools.face):
                say(session, text)
                if session.done:
                    break
            yield session


def expert_solution(query: Query, world: World) -> Solution:
    """The comfortable plan if it keeps the budget, else the cheapest."""
    comfortable = solve(query, world, comfortable=True)
    if comfortable.cost_usd is not None and comfortable.cost_usd <= query.budget:
        return comfortable
    return solve(query, world)


def expert_turns(query: Query, world: World, face: Face) -> list[str]:
    """The assistant's turns, in order. Where no plan exists, one turn that says so (and is no answer)."""
    solution = expert_solution(query, world)
    if not solution.cities:
        return [f"No plan is possible: {solution.why}"]
    if solution.cost_usd is not None and solution.cost_usd > query.budget:
        return [f"No plan is possible: the cheapest costs ${solution.cost_usd:,.0f}, the budget is ${query.budget:,}."]
    turns, note = [], ""

    def call(name: str, **arguments: Any) -> None:
        turns.append(note + write_call(name, arguments))

    if query.days > 3:
        call("get_cities", state=query.dest)
        note = f"Cities: {', '.join(choice.city for choice in solution.cities)}. "
    for found in _transport_searches(query, solution, world):
        call(found[0], **found[1])
        note = ""
    note = f"{_transport_note(solution)} "
    for choice in solution.cities:
        call("search_accommodations", city=choice.city)
        note = f"Stay: {choice.stay.accommodation.name}. "
        if choice.meals:
            call("search_restaurants", city=choice.city)
            note = f"Eat: {', '.join(row.name for row in choice.meals)}. "
        if choice.attractions:
            call("search_attractions", city=choice.city)
            note = ""
    plan = plan_days(query, solution)
    for day in plan:
        _only_what_the_face_shows(day, face)
    turns.append(f"<answer>{json.dumps(plan, ensure_ascii=False, separators=(',', ':'))}</answer>")
    return turns


def _transport_searches(query: Query, solution: Solution, world: World) -> Iterator[tuple[str, dict[str, Any]]]:
    dates = _leg_dates(query, solution)
    may_drive = query.local_constraint.transportation != "no self-driving"
    may_fly = query.local_constraint.transportation != "no flight"
    if may_drive:
        for leg in solution.legs:
            yield "search_ground_transportation", {"origin": leg.origin, "destination": leg.destination, "mode": "self-driving"}
            if solution.legs[0].mode != "self-driving" and _no_drive(world, leg.origin, leg.destination):
                break  # one leg without a road settles it: the others need not be asked
    if solution.legs[0].mode == "self-driving":
        return
    for leg, date in zip(solution.legs, dates, strict=True):
        if may_fly:
            yield "search_flights", {"origin": leg.origin, "destination": leg.destination, "date": date}
        if leg.mode == "taxi":
            yield "search_ground_transportation", {"origin": leg.origin, "destination": leg.destination, "mode": "taxi"}


def _no_drive(world: World, origin: str, destination: str) -> bool:
    ground = world.ground(origin, destination)
    return ground is None or not ground.distance or "day" in ground.duration


def _leg_dates(query: Query, solution: Solution) -> list[str]:
    day, dates = 0, [query.date[0]]
    for choice in solution.cities:
        day += choice.nights
        dates.append(query.date[day])
    return dates


def _transport_note(solution: Solution) -> str:
    if solution.legs[0].mode == "self-driving":
        return "Drive."
    ways = (leg.flight.number if leg.flight else "taxi" for leg in solution.legs)
    return f"Go: {', '.join(ways)}."


def _only_what_the_face_shows(day: dict[str, Any], face: Face) -> None:
    """A plan repeats what was read: facts about a flight that this face does not show are left out, or '-' where P3 wants a value."""
    leg = day["transportation"]
    if isinstance(leg, dict) and leg["mode"] == "flight":
        shown = face.legend()["search_flights"]
        if "distance" not in shown:
            leg["distance"] = "-"
        for key in ("departure_time", "arrival_time"):
            if key not in shown:
                del leg[key]

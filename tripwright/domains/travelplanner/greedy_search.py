"""TravelPlanner's own baseline without a language model, `agents/greedy_search.py` of
OSU-NLP-Group/TravelPlanner (the papers' tables call it "Greedy Search"): it looks at prices alone,
and at the tables themselves, so its episodes hold an answer and no calls.

Its choices, kept as they are:
- 3 days go to the destination; 5 and 7 days to the first two and three cities of the state in the
  order of the file, the origin left out, two nights each. A state with fewer cities stops the
  authors' program; here the trip then gets no plan.
- Each leg takes whatever is cheapest for ONE person, however large the party: the cheapest flight
  of the day, a car, a taxi, in this order where they cost the same. Nothing keeps it from driving
  there and flying back. A leg without any of them is left out of the plan.
- All three meals of each day are at the cheapest restaurant of the city in which the day ends, so
  no plan is ever diverse; on the last day that city is home.
- The sight of a day is drawn at random, and may be the same twice. The authors draw without a seed;
  here `seed` and the request's words decide.
- The room is the cheapest, whatever its rules, its kind, its minimum of nights and its size.

Two things differ, neither of them a choice. Among equal prices the authors take what an unstable
sort leaves on top, which depends on their numpy and their processor; here it is the first row of
the file. And their text of a sight has no ';' at its end, so that their evaluator never checks it;
an answer in the dialects' formats has one, and is checked. Where an imported world does not know a
flight search, there are no flights: the authors' table has no such gaps.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from tripwright.agent.session import Session
from tripwright.domains.travelplanner.plan.itinerary import render_itinerary
from tripwright.domains.travelplanner.plan.parse import parse_days
from tripwright.domains.travelplanner.plan.plan import MEALS, to_official
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import trip_query
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.policies.base import at_hand, say
from tripwright.tools.answer import ToolError
from tripwright.world.store import World

CITIES = {3: 1, 5: 2, 7: 3}  # days → cities


class GreedySearch:
    """`seed` is of the sights alone."""

    name = "greedy-search"

    def __init__(self, seed: int = 0):
        self._seed = seed

    def play(self, sessions: Iterable[Session]) -> Iterator[Session]:
        for session in sessions:
            query = trip_query(session)
            days = greedy_plan(
                query,
                at_hand(session, "The greedy search"),
                random.Random(f"greedy {self._seed} {query.query}"),
            )
            say(session, _answer(query, days, session.dialect.plan_format))
            yield session


def greedy_plan(query: Query, world: World, rng: random.Random) -> list[dict[str, Any]] | None:
    """The plan in Planner-R1's schema; None where the authors' program would stop."""
    cities = _route(query, world)
    if cities is None or len(query.date) != query.days:
        return None
    stops = [query.org, *cities, query.org]
    days: list[dict[str, Any]] = []
    for number in range(1, query.days + 1):
        travels, last = number % 2 == 1, number == query.days
        here, there = stops[(number - 1) // 2], stops[(number + 1) // 2]
        days.append(
            {
                "days": number,
                "city": {"from": here, "to": there} if travels else there,
                "transportation": (_leg(world, here, there, query.date[number - 1]) or "-")
                if travels
                else "-",
                "attraction": _sight(world, there, rng),
                "accommodation": "-"
                if last
                else _cheapest(
                    [(room.price_usd, room.name) for room in world.accommodations(there)]
                ),
                **dict.fromkeys(
                    MEALS,
                    _cheapest(
                        [(each.average_cost_usd, each.name) for each in world.restaurants(there)]
                    ),
                ),
            }
        )
    return days


def _route(query: Query, world: World) -> list[str] | None:
    if query.days == 3:
        return [query.dest]
    count = CITIES.get(query.days)
    cities = [city for city in world.states.get(query.dest, []) if city != query.org]
    return cities[:count] if count and len(cities) >= count else None


def _leg(world: World, origin: str, destination: str, date: str) -> dict[str, Any] | None:
    """The cheapest way for one person. `min` keeps the first of equals: flight, car, taxi."""
    ways = [
        way
        for way in (_flight(world, origin, destination, date), *_roads(world, origin, destination))
        if way
    ]
    return min(ways, key=lambda way: way["cost"], default=None)


def _flight(world: World, origin: str, destination: str, date: str) -> dict[str, Any] | None:
    flight = min(
        world.flights(origin, destination, date) or [],
        key=lambda row: row.price_usd,
        default=None,
    )
    if flight is None:
        return None
    route = {
        "mode": "flight",
        "from": origin,
        "to": destination,
        "duration": flight.duration,
        "distance": f"{flight.distance_miles:g} miles",
    }
    return {**route, "cost": int(flight.price_usd), "flight_number": flight.number}


def _roads(world: World, origin: str, destination: str) -> Iterator[dict[str, Any]]:
    """As the official tool finds and prices them."""
    tools = TravelTools(world)
    modes: tuple[Literal["self-driving"], Literal["taxi"]] = ("self-driving", "taxi")
    for mode in modes:
        try:
            road = tools.search_ground_transportation(origin, destination, mode)
        except ToolError:
            continue
        route = {"mode": mode, "from": origin, "to": destination}
        yield {**route, "duration": road.duration, "distance": road.distance, "cost": road.cost_usd}


def _sight(world: World, city: str, rng: random.Random) -> list[str] | str:
    sights = world.attractions(city)
    return [rng.choice(sights).name] if sights else "-"


def _cheapest(offers: list[tuple[float, str]]) -> str:
    return min(offers, key=lambda offer: offer[0])[1] if offers else "-"


def _answer(query: Query, days: list[dict[str, Any]] | None, plan_format: str) -> str:
    if days is None:
        return f"The greedy search has no plan for {query.days} days in {query.dest}."
    if plan_format == "json":
        return f"<answer>{json.dumps(days, ensure_ascii=False)}</answer>"
    parse = parse_days(days)
    assert parse.days is not None, parse.problem
    return f"<answer>\n{render_itinerary(query, to_official(parse.days))}</answer>"

"""Policies without a model, which measure how hard a set of queries is: take the first row of every
answer, or the cheapest; and the benchmark's greedy search. And two that show what a reward gives
away: one plan said to every request, and an evening at home.

The first two use the real tools and give well-formed plans of distinct meals, so that what they
fail on is what the query asks to be decided.
"""

from __future__ import annotations

import json
import math
import random
from contextlib import suppress
from functools import lru_cache, partial
from typing import Any, Literal

from tripwright.agent.turn import write_call
from tripwright.domains.travelplanner.expert.turns import answer_text
from tripwright.domains.travelplanner.plan.plan import MEALS
from tripwright.domains.travelplanner.queries.reading import CITIES_BY_DAYS
from tripwright.domains.travelplanner.queries.sample import Exhausted, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.task import trip_query
from tripwright.domains.travelplanner.tools.catalog import TravelTools
from tripwright.episode import Session
from tripwright.policies.base import ScriptedPolicy, at_hand
from tripwright.tools.answer import ToolError
from tripwright.world.store import World

NOTHING = dict.fromkeys(("transportation", "attraction", "accommodation", *MEALS), "-")
PRICES = ("price_usd", "average_cost_usd", "cost_usd")


class RowsPolicy(ScriptedPolicy):
    """`pick` is "first" or "cheapest". Plans 3-day trips to one city; other queries get no
    answer."""

    def __init__(self, pick: Literal["first", "cheapest"]):
        super().__init__(f"{pick}-row", self._plan)
        self._pick = pick

    def _plan(self, session: Session) -> None:
        query = trip_query(session)
        if query.days != 3:
            session.say("Only 3-day trips.")
            return
        out = self._leg(session, query, query.org, query.dest, query.date[0])
        back = self._leg(session, query, query.dest, query.org, query.date[2])
        stay, meals, sights = (
            [row["name"] for row in self._rows(session, tool, city=query.dest)]
            for tool in ("search_accommodations", "search_restaurants", "search_attractions")
        )
        if session.done:
            return
        night = NOTHING | {"accommodation": stay[0] if stay else "-"}
        full = {"attraction": sights[:1] or "-", **dict(zip(MEALS, meals, strict=False))}
        there, home = {"from": query.org, "to": query.dest}, {"from": query.dest, "to": query.org}
        plan = [
            {"days": 1, "city": there, **night, "transportation": out},
            {"days": 2, "city": query.dest, **night, **full},
            {"days": 3, "city": home, **NOTHING, "transportation": back},
        ]
        session.say(f"<answer>{json.dumps(plan)}</answer>")

    def _leg(self, session: Session, query: Query, origin: str, destination: str, date: str) -> Any:
        ends = {"origin": origin, "destination": destination}
        flights = self._rows(session, "search_flights", **ends, date=date)
        roads = self._rows(session, "search_ground_transportation", **ends, mode="self-driving")
        cars = math.ceil(query.people_number / 5)
        choices = [(row["price_usd"] * query.people_number, "flight", row) for row in flights]
        choices += [(row["cost_usd"] * cars, "self-driving", row) for row in roads]
        if not choices:
            return "-"
        if self._pick == "cheapest":
            choices.sort(key=lambda choice: choice[0])
        _, mode, row = choices[0]
        distance = str(row.get("distance", row.get("distance_miles", "-")))
        cost_usd = row["price_usd" if mode == "flight" else "cost_usd"]
        leg = _leg_record(mode, origin, destination, row["duration"], distance, cost_usd)
        return leg | ({"flight_number": row["number"]} if mode == "flight" else {})

    def _rows(self, session: Session, tool: str, **arguments: str) -> list[dict[str, Any]]:
        """The rows of one answer, in the order that this policy prefers; none of an answer that was
        cut."""
        if session.done:
            return []
        session.say(write_call(*session.tools.face.offer.call_of(tool, arguments)))
        if session.done:  # a limit, or tools that cannot answer: nothing more is said
            return []
        answer = session.transcript.calls[-1].rows
        records = answer.records() if answer is not None and answer.is_whole else []
        if self._pick == "cheapest":
            records.sort(key=lambda row: next((row[price] for price in PRICES if price in row), 0))
        return records


class GreedySearch(ScriptedPolicy):
    """TravelPlanner's own baseline without a language model, `agents/greedy_search.py` of
    OSU-NLP-Group/TravelPlanner (the papers' tables call it "Greedy Search"): it looks at prices
    alone, and at the tables themselves, so its episodes hold an answer and no calls.

    Its choices, kept as they are:
    - 3 days go to the destination; 5 and 7 days to the first two and three cities of the state in
      the order of the file, the origin left out, two nights each. A state with fewer cities stops
      the authors' program; here the trip then gets no plan.
    - Each leg takes whatever is cheapest for ONE person, however large the party: the cheapest
      flight of the day, a car, a taxi, in this order where they cost the same. Nothing keeps it
      from driving there and flying back. A leg without any of them is left out of the plan.
    - All three meals of each day are at the cheapest restaurant of the city in which the day ends,
      so no plan is ever diverse; on the last day that city is home.
    - The sight of a day is drawn at random, and may be the same twice. The authors draw without a
      seed; here `seed` and the request's words decide.
    - The room is the cheapest, whatever its rules, its kind, its minimum of nights and its size.

    Two things differ, neither of them a choice. Among equal prices the authors take what an
    unstable sort leaves on top, which depends on their numpy and their processor; here it is the
    first row of the file. And their text of a sight has no ';' at its end, so that their evaluator
    never checks it; an answer in the dialects' formats has one, and is checked. Where an imported
    world does not know a flight search, there are no flights: the authors' table has no such gaps.
    """

    def __init__(self, seed: int = 0):
        super().__init__("greedy-search", self._answer)
        self._seed = seed

    def _answer(self, session: Session) -> None:
        query, world = trip_query(session), at_hand(session, "The greedy search")
        days = greedy_plan(query, world, random.Random(f"greedy {self._seed} {query.query}"))
        answer = f"The greedy search has no plan for {query.days} days in {query.dest}."
        if days is not None:
            answer = answer_text(query, days, session.dialect.plan_format)
        session.say(answer)


@lru_cache(maxsize=8)
def first_answer(world: World, plan_format: str) -> str:
    """To the first request that is made in this world, for which it passes."""
    with suppress(Exhausted):
        made = next(make_queries(world, 1, seed=0))
        return answer_text(made, made.record()["oracle"]["plan"], plan_format)
    return "No request can be made in this world."


def fixed_plan(session: Session) -> None:
    """Says one plan to every request of a world."""
    world = at_hand(session, "Policy 'fixed-plan'")
    session.say(first_answer(world, session.dialect.plan_format))


def meal_at_home(session: Session) -> None:
    """Says a dinner and a sight in the city where the trip should start, and nothing else."""
    query, world = trip_query(session), at_hand(session, "Policy 'meal-at-home'")
    days = [{"days": n + 1, "city": query.org, **NOTHING} for n in range(query.days)]
    meals, sights = world.restaurants(query.org), world.attractions(query.org)
    days[0] |= {"dinner": meals[0].name} if meals else {}
    days[0] |= {"attraction": [sights[0].name]} if sights else {}
    session.say(answer_text(query, days, session.dialect.plan_format))


FIXED_PLAN = partial(ScriptedPolicy, "fixed-plan", fixed_plan)
MEAL_AT_HOME = partial(ScriptedPolicy, "meal-at-home", meal_at_home)


def greedy_plan(query: Query, world: World, rng: random.Random) -> list[dict[str, Any]] | None:
    """The plan in Planner-R1's schema; None where the authors' program would stop."""
    cities = _route(query, world)
    if cities is None or len(query.date) != query.days:
        return None
    stops = [query.org, *cities, query.org]
    days: list[dict[str, Any]] = []
    for number, date in enumerate(query.date, start=1):
        is_travel, here, there = number % 2 == 1, stops[(number - 1) // 2], stops[(number + 1) // 2]
        rooms, sights = world.accommodations(there), world.attractions(there)
        room = min(rooms, key=lambda row: row.price_usd, default=None)
        meal = min(world.restaurants(there), key=lambda row: row.average_cost_usd, default=None)
        days.append(
            {
                "days": number,
                "city": {"from": here, "to": there} if is_travel else there,
                "transportation": _cheapest_leg(world, here, there, date) if is_travel else "-",
                "attraction": [rng.choice(sights).name] if sights else "-",
                "accommodation": room.name if room and number < query.days else "-",
                **dict.fromkeys(MEALS, meal.name if meal else "-"),
            }
        )
    return days


def _route(query: Query, world: World) -> list[str] | None:
    if query.days == 3:
        return [query.dest]
    count = CITIES_BY_DAYS.get(query.days)
    cities = [city for city in world.states.get(query.dest, []) if city != query.org]
    return cities[:count] if count and len(cities) >= count else None


def _cheapest_leg(world: World, origin: str, destination: str, date: str) -> Any:
    """The cheapest way for one person, as the official tools find and price it; "-" without any.
    `min` keeps the first of equals: flight, car, taxi."""
    tools, ways = TravelTools(world), list[dict[str, Any]]()
    with suppress(ToolError):
        flights = tools.search_flights(origin, destination, date)
        flight = min(flights, key=lambda row: row.price_usd)
        facts = flight.duration, f"{flight.distance_miles:g} miles", flight.price_usd
        leg = _leg_record("flight", origin, destination, *facts)
        ways.append(leg | {"flight_number": flight.number})
    modes: tuple[Literal["self-driving"], Literal["taxi"]] = ("self-driving", "taxi")
    for mode in modes:
        with suppress(ToolError):
            road = tools.search_ground_transportation(origin, destination, mode)
            facts = road.duration, road.distance, road.cost_usd
            ways.append(_leg_record(mode, origin, destination, *facts))
    return min(ways, key=lambda way: way["cost"], default="-")


def _leg_record(
    mode: str, origin: str, destination: str, duration: str, distance: str, cost_usd: float
) -> dict[str, Any]:
    leg = {"mode": mode, "from": origin, "to": destination, "duration": duration}
    return leg | {"distance": distance, "cost": int(cost_usd)}

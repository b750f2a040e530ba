"""A careful expert gives a plan where there is one, says that there is none only where none is, and
says why in words that hold."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tripwright.agent.session import Session
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import STYLES
from tripwright.domains.travelplanner.expert.careful import play_careful
from tripwright.domains.travelplanner.oracle.planner import solve
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import close_session, open_session
from tripwright.transcript import StopReason
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World

CAREFUL = STYLES["careful"]
LONG: dict[str, Any] = {"max_calls": 150, "max_turns": 151, "context_tokens": 1_000_000}
DATES = [f"2022-03-0{day}" for day in range(1, 8)]


@pytest.fixture(scope="module")
def world() -> World:
    return World.in_memory(build_tables("nano", 11))


def played(query: Query, world: World, dialect: str = "planner_r1", **changed: Any) -> Session:
    session = open_session(
        TripTask("q", query, world), replace(dialect_named(dialect), **{**LONG, **changed})
    )
    play_careful(session, CAREFUL)
    return session


def last(session: Session) -> str:
    return session.transcript.segments[-1].text


def request(days: int, cities: int, **changed: Any) -> Query:
    wishes = {"house rule": None, "cuisine": None, "room type": None, "transportation": None}
    fields = {
        "org": "Midland",
        "dest": "Rochester" if days <= 3 else "Lakeland",
        "days": days,
        "visiting_city_number": cities,
        "date": DATES[:days],
        "people_number": 1,
        "local_constraint": wishes,
        "budget": 2000,
        "query": f"Midland to Rochester, {days} days.",
        "level": "easy",
    }
    return Query.model_validate({**fields, **changed})


def lakes(
    flights: list[tuple[str, ...]],
    covered: list[tuple[str, str, str]] | None,
    roads: list[tuple[str, ...]],
) -> World:
    cities = ["Rochester", "Eastport"]
    return World.in_memory(
        WorldTables(
            cities=[("Midland", "Elsewhere"), *((city, "Lakeland") for city in cities)],
            flights=flights,
            grounds=roads,
            restaurants=[
                (f"{city} Table {n}", city, "Tea", str(10 + n), "4.0")
                for city in cities
                for n in range(9)
            ],
            attractions=[
                (f"{city} Tower {n}", "1", "2", "a", "p", "w", city)
                for city in cities
                for n in range(3)
            ],
            accommodations=[
                (f"{city} Inn", "Private room", "80", "1", "4", "No smoking", "2", city)
                for city in cities
            ],
            covered_searches=covered,
        )
    )


@pytest.mark.parametrize("days", range(2, 8))
def test_it_finds_a_plan_exactly_where_the_planner_does(world: World, days: int) -> None:
    """As made, and with so little money that about half of the requests cannot be met."""
    made = list(
        make_queries(
            world,
            8,
            days,
            Mix(days=(days if days in (3, 5, 7) else 3 if days < 3 else 5 if days < 6 else 7,)),
        )
    )
    counts = {True: 0, False: 0}
    for query in made:
        visits = min(query.visiting_city_number, days - 1)
        shorter = query.model_copy(
            update={"days": days, "date": query.date[:days], "visiting_city_number": visits}
        )
        cost = solve(shorter, world).cost_usd
        for budget in (query.budget, int(cost or 0) // 2, int(cost or 0) + 1):
            asked = shorter.model_copy(update={"budget": budget})
            is_possible = cost is not None and cost <= budget
            session = played(asked, world)
            episode = close_session(session)
            assert (episode.more["plan"] is not None) is is_possible, last(session)
            assert ("No plan is possible" in last(session)) is not is_possible
            if episode.more["plan"] is not None:
                assert all(
                    judge(asked, episode.more["plan"], world, rules).final
                    for rules in ("official", "strict")
                )
            counts[is_possible] += 1
    assert min(counts.values()) >= 3


def test_it_names_the_dead_end_and_claims_no_more_than_it_has_seen() -> None:
    roads: list[tuple[str, ...]] = [("Midland", "Rochester", "3 hours", "200 km")]  # no way back
    session = played(request(3, 1), lakes([], None, roads))
    assert "one cannot drive from Rochester to Midland" in last(
        session
    ) and "No plan is possible" in last(session)
    assert "all there is" not in last(session)
    poor = played(
        request(3, 1, budget=50),
        lakes([], None, [*roads, ("Rochester", "Midland", "3 hours", "200 km")]),
    )
    assert re.search(r"comes to \$\d+ or more, and the budget is \$50", last(poor))
    many = played(request(7, 3), lakes([], None, roads))
    assert "the trip is to 3 cities, and I found 2 cities to go to for Lakeland" in last(many)


@pytest.mark.parametrize("dialect", ["planner_r1", "compact", "star"])
def test_what_a_tool_cannot_tell_is_never_said_to_be_missing(dialect: str) -> None:
    there = (
        "F1",
        "90",
        "08:00",
        "09:15",
        "1 hours 15 minutes",
        DATES[0],
        "Midland",
        "Rochester",
        "190",
    )
    known, unknown = (
        [("Midland", "Rochester", DATES[0])],
        "the flights from Rochester to Midland on 2022-03-03 are not known",
    )
    session = played(request(3, 1), lakes([there], known, []), dialect)
    said = "\n".join(
        segment.text for segment in session.transcript.segments if segment.role == "assistant"
    )
    assert unknown in said and "there is no flight" not in said
    assert "No plan is possible" not in last(
        session
    ) and "I found no plan for this trip in what is known" in last(session)
    surely = played(
        request(3, 1), lakes([there], [*known, ("Rochester", "Midland", DATES[2])], []), dialect
    )
    assert "there is no flight from Rochester to Midland on 2022-03-03" in last(
        surely
    ) and "No plan is possible" in last(surely)


@pytest.mark.parametrize("dialect", ["planner_r1", "star"])
def test_without_a_plan_the_episode_ends_by_an_answer_that_is_none(dialect: str) -> None:
    limits: list[dict[str, Any]] = [{}, {"max_calls": 2}]
    for changed in limits:
        session = played(
            request(3, 1, budget=50),
            lakes([], None, [("Midland", "Rochester", "3 hours", "200 km")]),
            dialect,
            **changed,
        )
        assert (
            session.transcript.stop_reason is StopReason.ANSWER
            and close_session(session).more["plan"] is None
        )
        assert "I found no plan for this trip with the calls" in last(
            session
        ) or "No plan is possible" in last(session)


def test_at_the_limit_it_announces_nothing_that_it_will_not_do(world: World) -> None:
    stopped = 0
    for query in make_queries(world, 12, 3, Mix(days=(7,))):
        for calls in range(4, 14, 3):
            session = played(
                query.model_copy(update={"budget": query.budget * 2 // 3}),
                world,
                max_calls=calls,
                max_turns=calls + 1,
            )
            if (
                session.transcript.answer is not None
                and "I found no plan" in session.transcript.answer
            ):
                assert last(session) == f"<answer>{session.transcript.answer}</answer>"
                stopped += 1
    assert stopped > 10

"""Once a careful expert has a plan, it looks further only at what can make it cheaper, says what
that showed, and takes what is better."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from tripwright.agent.session import Session
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.expert import STYLES
from tripwright.domains.travelplanner.expert.careful import CarefulEpisode, play_careful
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import close_session, open_session
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World

CAREFUL = replace(STYLES["careful"], compared_cities=3)
CITIES = ("Near", "Middle", "Far")
DATES = [f"2022-03-0{day}" for day in range(1, 6)]


def played(query: Query, world: World, extra: int) -> tuple[Session, CarefulEpisode, str]:
    changed: dict[str, Any] = {"max_calls": 90, "max_turns": 91, "context_tokens": 1_000_000}
    session = open_session(
        TripTask("q", query, world), replace(dialect_named("planner_r1"), **changed)
    )
    found = play_careful(session, replace(CAREFUL, max_extra_searches=extra))
    said = "\n".join(
        segment.text for segment in session.transcript.segments if segment.role == "assistant"
    )
    episode = close_session(session)
    assert episode.more["plan"] is not None
    assert all(
        judge(query, episode.more["plan"], world, rules).final for rules in ("official", "strict")
    )
    return session, found, said


def state(night_usd: dict[str, str]) -> tuple[World, Query]:
    """Home, and three cities as alike as can be, but for the ways there and what a night costs."""
    km = {"Near": "100 km", "Middle": "110 km", "Far": "120 km"}
    grounds = [
        pair
        for city in CITIES
        for pair in (("Home", city, "3 hours", km[city]), (city, "Home", "3 hours", km[city]))
    ]
    grounds += [(a, b, "1 hours", "100 km") for a in CITIES for b in CITIES if a != b]
    world = World.in_memory(
        WorldTables(
            cities=[("Home", "Elsewhere"), *((city, "Trapland") for city in CITIES)],
            flights=[],
            grounds=grounds,
            restaurants=[
                (f"{city} Table {n}", city, "Tea", str(10 + n), "4.0")
                for city in CITIES
                for n in range(9)
            ],
            attractions=[
                (f"{city} Tower {n}", "1", "2", "a", "p", "w", city)
                for city in CITIES
                for n in range(3)
            ],
            accommodations=[
                (f"{city} Inn", "Private room", night_usd[city], "1", "4", "No smoking", "2", city)
                for city in CITIES
            ],
        )
    )
    wishes = {"house rule": None, "cuisine": None, "room type": None, "transportation": None}
    fields = {
        "org": "Home",
        "dest": "Trapland",
        "days": 5,
        "visiting_city_number": 2,
        "date": DATES,
        "people_number": 2,
    }
    asked = {
        **fields,
        "local_constraint": wishes,
        "budget": 5000,
        "query": "Home to Trapland, 5 days.",
        "level": "easy",
    }
    return world, Query.model_validate(asked)


def test_another_place_to_stay_is_compared_and_taken_where_it_is_cheaper() -> None:
    world, query = state({"Near": "100", "Middle": "900", "Far": "50"})
    session, first, _ = played(query, world, 0)
    assert not any(call.arguments == {"city": "Far"} for call in session.transcript.calls)
    session, better, said = played(query, world, 8)
    assert (
        first.trip is not None
        and better.trip is not None
        and better.trip.cost_usd < first.trip.cost_usd
    )
    assert "Far" in better.trip.route.cities
    steps = re.findall(r"That is cheaper: \$([\d,]+) instead of \$([\d,]+)\.", said)
    assert (
        steps[0][1] == f"{first.trip.cost_usd:,.0f}"
        and steps[-1][0] == f"{better.trip.cost_usd:,.0f}"
    )


def test_what_turns_out_dearer_is_said_to_be_and_the_plan_is_kept() -> None:
    world, query = state({"Near": "100", "Middle": "900", "Far": "1200"})
    _, first, _ = played(query, world, 0)
    session, kept, said = played(query, world, 8)
    assert any(call.arguments == {"city": "Far"} for call in session.transcript.calls)
    assert (
        first.trip is not None
        and kept.trip is not None
        and kept.trip.cost_usd == first.trip.cost_usd
    )
    assert re.search(
        r"the other trip costs (about )?\$[\d,]+.*so I keep the plan", said, re.IGNORECASE
    )


@pytest.mark.parametrize("days", [3, 5, 7])
def test_a_comparison_never_mixes_ways_that_exclude_each_other_and_never_costs_more(
    days: int,
) -> None:
    world = World.in_memory(build_tables("nano", 11))
    compared = 0
    for query in make_queries(world, 20 if days == 3 else 10, days, Mix(days=(days,))):
        (_, plain, _), (session, further, said) = played(query, world, 0), played(query, world, 4)
        assert plain.trip is not None and further.trip is not None
        calls = [call.arguments for call in session.transcript.calls]
        compared += "may cost less" in said
        # one city, reached by car: nothing is cheaper
        if plain.trip.route.family == "driving" and days == 3:
            assert (
                not any("taxi" in each.values() for each in calls) and "may cost less" not in said
            )
        if "may cost less" in said:
            assert re.search(r"so I keep the plan|That is cheaper|more even nights", said)
        if "more even nights" not in said:
            assert further.trip.cost_usd <= plain.trip.cost_usd
    assert compared >= (1 if days == 3 else 2)

"""Careful and brief experts pass from what they have read alone, turn back at dead ends, and play
the same game every time."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from tripwright.agent.session import Session
from tripwright.domains import dialect_named, face_named
from tripwright.domains.travelplanner.expert import STYLES, ExpertPolicy, ExpertStyle
from tripwright.domains.travelplanner.expert.careful import play_careful
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.query import Query
from tripwright.domains.travelplanner.rules.evaluate import judge
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, close_session, open_session, play
from tripwright.errors import UserError
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.faults import Faults
from tripwright.tools.toolbox import ToolBox
from tripwright.transcript import StopReason
from tripwright.world.generator import build_tables
from tripwright.world.records import WorldTables
from tripwright.world.store import World

CAREFUL, BRIEF = STYLES["careful"], STYLES["brief"]
# a tight budget over three cities can need more searches than a dialect allows
LONG: dict[str, Any] = {"max_calls": 90, "max_turns": 91}


@pytest.fixture(scope="module")
def world() -> World:
    return World.in_memory(build_tables("nano", 11))


@pytest.fixture(scope="module")
def queries(world: World) -> list[Query]:
    return [
        query
        for days, count in ((3, 60), (5, 45), (7, 45))
        for query in make_queries(world, count, days, Mix(days=(days,)))
    ]


def episodes(
    world: World,
    queries: list[Query],
    dialect: str,
    style: ExpertStyle,
    faults: Faults | None = None,
    **changed: Any,
) -> list[Episode]:
    tasks = [TripTask(str(i), query, world) for i, query in enumerate(queries)]
    return list(
        play(ExpertPolicy(style), tasks, replace(dialect_named(dialect), **changed), faults=faults)
    )


def passes(episode: Episode) -> bool:
    query, world = episode.task.query, episode.task.world
    return episode.more["plan"] is not None and all(
        judge(query, episode.more["plan"], world, rules).final for rules in ("official", "strict")
    )


def texts_of(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for each in value.values() for text in texts_of(each)]
    if isinstance(value, list):
        return [text for each in value for text in texts_of(each)]
    return [] if value == "-" or isinstance(value, bool) else [str(value)]


def is_in(text: str, read: str) -> bool:
    """Numbers as whole numbers: 12 is not in 120."""
    return (
        text in read
        if not text.isdigit()
        else re.search(rf"(?<!\d)(?<!\d[,.]){text}(?!\d)", read) is not None
    )


def unread(episode: Episode) -> list[str]:
    """What a call or the plan says that was neither in the request nor in an earlier answer."""
    query = episode.task.query
    modes = "self-driving driving taxi flight"
    read = json.dumps([query.query, query.org, query.dest, query.date, modes], ensure_ascii=False)
    missing = []
    for segment in episode.transcript.segments:
        if segment.call is not None:
            missing += [
                text
                for text in texts_of(
                    {k: v for k, v in segment.call.arguments.items() if k != "page"}
                )
                if not is_in(text, read)
            ]
        if segment.role == "tool":
            read += "\n" + segment.text.replace("\\n", "\n").replace('\\"', '"')
    plan = (
        json.loads(episode.transcript.answer or "")
        if episode.transcript.answer and episode.transcript.answer[0] == "["
        else []
    )
    return missing + [
        text
        for day in plan
        for text in texts_of({k: v for k, v in day.items() if k != "days"})
        if not is_in(text, read)
    ]


@pytest.mark.parametrize(
    ("dialect", "style", "share"),
    [
        ("planner_r1", CAREFUL, 1),
        ("compact", BRIEF, 3),
        ("star", CAREFUL, 6),
        ("planner_r1", BRIEF, 6),
        ("compact", CAREFUL, 6),
    ],
)
def test_it_passes_and_has_read_whatever_it_says(
    world: World, queries: list[Query], dialect: str, style: ExpertStyle, share: int
) -> None:
    for episode in episodes(world, queries[::share], dialect, style, **LONG):
        assert passes(episode), episode.task.query.query
        assert not unread(episode)


@pytest.mark.parametrize("dialect", ["planner_r1", "star"])
def test_within_the_limits_of_the_dialects_it_mostly_passes_and_never_gives_a_bad_plan(
    world: World, queries: list[Query], dialect: str
) -> None:
    found = episodes(world, queries[::5], dialect, CAREFUL)
    assert all(passes(episode) for episode in found if episode.more["plan"] is not None)
    assert sum(map(passes, found)) >= 0.95 * len(found)


def test_three_days_fit_the_small_dialect(world: World, queries: list[Query]) -> None:
    for style in (CAREFUL, BRIEF):
        assert all(map(passes, episodes(world, queries[:25], "compact", style)))


@pytest.mark.parametrize("dialect", ["planner_r1", "compact", "star"])
def test_it_turns_pages(world: World, queries: list[Query], dialect: str) -> None:
    found = episodes(world, queries[::15], dialect, CAREFUL, page_rows=3, **LONG)
    assert all(passes(episode) and not unread(episode) for episode in found)
    assert any("page" in call.arguments for episode in found for call in episode.transcript.calls)


@pytest.mark.parametrize("dialect", ["planner_r1", "star"])
def test_the_calls_replayed_give_the_same_answers(
    world: World, queries: list[Query], dialect: str
) -> None:
    for episode in episodes(world, queries[::10], dialect, CAREFUL, **LONG):
        fresh = ToolBox(world, face_named(dialect))
        assert [
            fresh.call(call.name, call.arguments).text for call in episode.transcript.calls
        ] == [call.result for call in episode.transcript.calls]


def test_the_same_seed_plays_the_same_and_another_speaks_otherwise(
    world: World, queries: list[Query]
) -> None:
    some = queries[60:70]
    first, again, other = (
        [episode.transcript.to_json() for episode in episodes(world, some, "star", style)]
        for style in (CAREFUL, CAREFUL, replace(CAREFUL, seed=1))
    )
    assert first == again and first != other


def test_length_is_set_by_thoughts_and_extra_searches(world: World, queries: list[Query]) -> None:
    def size(style: ExpertStyle) -> tuple[int, int]:
        found = episodes(world, queries[60:75], "planner_r1", replace(style, compared_cities=1))
        said = sum(
            len(segment.text)
            for episode in found
            for segment in episode.transcript.segments
            if segment.role == "assistant"
        )
        return sum(len(episode.transcript.calls) for episode in found), said

    sizes = [
        size(replace(BRIEF, thoughts=thoughts, max_extra_searches=extra))
        for extra in (0, 2)
        for thoughts in ("none", "short", "long")
    ]
    assert sizes[0][0] == sizes[1][0] == sizes[2][0] < sizes[3][0] == sizes[4][0] == sizes[5][0]
    assert sizes[0][1] < sizes[1][1] < sizes[2][1] < sizes[5][1]


def test_brief_thinks_only_where_every_turn_must(world: World, queries: list[Query]) -> None:
    for dialect, has_thoughts in (("planner_r1", False), ("star", True)):
        (episode,) = episodes(world, queries[:1], dialect, BRIEF)
        assert all(
            ("<think>" in segment.text) is has_thoughts
            for segment in episode.transcript.segments
            if segment.role == "assistant"
        )


# ---- tools that fail


@pytest.mark.parametrize("style", [CAREFUL, BRIEF])
def test_unanswered_calls_are_made_again(
    world: World, queries: list[Query], style: ExpertStyle
) -> None:
    faults = Faults(probability=0.2, kinds={"unavailable": 1.0, "timeout": 1.0, "latency": 1.0})
    found = episodes(world, queries[::9], "star", style, faults, **LONG)
    assert all(map(passes, found))
    assert (
        sum(call.fault is not None for episode in found for call in episode.transcript.calls) > 20
    )


@pytest.mark.parametrize("kind", ["stale", "truncated"])
@pytest.mark.parametrize("dialect", ["planner_r1", "star"])
@pytest.mark.parametrize("page_rows", [None, 4])
def test_wrong_and_broken_answers_never_make_a_bad_plan(
    world: World, queries: list[Query], dialect: str, kind: str, page_rows: int | None
) -> None:
    found = episodes(
        world,
        queries[::14],
        dialect,
        CAREFUL,
        Faults(probability=0.2, kinds={kind: 1.0}),
        page_rows=page_rows,
        **LONG,
    )
    planned = [episode for episode in found if episode.more["plan"] is not None]
    assert all(map(passes, planned)) and len(planned) >= len(found) // 3
    assert not any(
        "No plan is possible" in episode.transcript.segments[-1].text for episode in found
    )  # what was not read is not said to be seen


def test_a_search_is_given_up_when_its_tool_never_answers(
    world: World, queries: list[Query]
) -> None:
    for episode in episodes(
        world,
        queries[60:63],
        "planner_r1",
        CAREFUL,
        Faults(per_tool={"search_flights": 1.0}),
        **LONG,
    ):
        assert episode.more["plan"] is None or passes(episode)
        assert episode.transcript.stop_reason is StopReason.ANSWER


# ---- dead ends


def test_it_plays_with_tools_that_have_no_world_here(world: World, queries: list[Query]) -> None:
    class Elsewhere:
        def __init__(self) -> None:
            self.box = ToolBox(world, face_named("star"))
            self.face, self.schemas = self.box.face, self.box.schemas

        def call(self, name: str, arguments: Any) -> ToolAnswer:
            return self.box.call(name, arguments)

    task = TripTask("q", queries[70], world)
    for style, is_possible in ((CAREFUL, True), (STYLES["direct"], False)):
        session = Session(task.query, Elsewhere(), dialect_named("star"), key=task)
        if is_possible:
            assert [
                passes(close_session(each)) for each in ExpertPolicy(style).play([session])
            ] == [True]
        else:
            with pytest.raises(UserError, match="cannot play with tools that run elsewhere"):
                list(ExpertPolicy(style).play([session]))


def trap(near_stays: list[tuple[str, ...]]) -> tuple[World, Query]:
    """Home, and a state of three cities of which Near is by far the cheapest to reach."""
    cities = ["Near", "Middle", "Far"]
    dates = [f"2022-03-0{day}" for day in range(1, 6)]
    roads = {"Near": "40 km", "Middle": "200 km", "Far": "400 km"}
    grounds = [
        pair
        for city in cities
        for pair in (("Home", city, "3 hours", roads[city]), (city, "Home", "3 hours", roads[city]))
    ]
    grounds += [(a, b, "1 hours", "100 km") for a in cities for b in cities if a != b]
    world = World.in_memory(
        WorldTables(
            cities=[("Home", "Elsewhere"), *((city, "Trapland") for city in cities)],
            flights=[],
            grounds=grounds,
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
                *near_stays,
                *(
                    (f"{city} Inn", "Private room", "80", "1", "4", "No smoking", "2", city)
                    for city in cities[1:]
                ),
            ],
        )
    )
    wishes = {
        "house rule": "pets",
        "cuisine": None,
        "room type": "private room",
        "transportation": None,
    }
    fields = {
        "org": "Home",
        "dest": "Trapland",
        "days": 5,
        "visiting_city_number": 2,
        "date": dates,
        "people_number": 2,
    }
    return world, Query.model_validate(
        {
            **fields,
            "local_constraint": wishes,
            "budget": 1500,
            "query": "Home to Trapland, 5 days.",
            "level": "hard",
        }
    )


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (
            ("Near Flat", "Entire home/apt", "20", "1", "4", "No smoking", "2", "Near"),
            "no private room in Near allows pets",
        ),
        (
            ("Near Room", "Private room", "20", "1", "4", "No pets", "2", "Near"),
            "no private room in Near allows pets",
        ),
        (
            ("Near Den", "Private room", "20", "9", "4", "No smoking", "2", "Near"),
            "is let for 9 nights or more",
        ),
        (
            ("Near Palace", "Private room", "1900", "1", "4", "No smoking", "2", "Near"),
            "the budget is \\$1,500|above \\$1,500",
        ),
    ],
)
def test_a_city_that_has_no_valid_place_is_left_again(row: tuple[str, ...], reason: str) -> None:
    world, query = trap([row])
    session = open_session(TripTask("trap", query, world), dialect_named("planner_r1"))
    played = play_careful(session, replace(CAREFUL, compared_cities=3))
    said = "\n".join(
        segment.text for segment in session.transcript.segments if segment.role == "assistant"
    )
    asked = [
        call.arguments.get("city")
        for call in session.transcript.calls
        if call.name == "search_accommodations"
    ]
    # the cheapest way is looked at first
    assert asked[0] == "Near" and set(asked[1:]) == {"Middle", "Far"}
    assert re.search(reason, said, re.IGNORECASE) and played.dead_ends
    episode = close_session(session)
    assert passes(episode) and "Near" not in (episode.transcript.answer or "")


def test_that_there_is_no_plan_is_said_only_when_all_was_seen() -> None:
    world, query = trap([])
    poor = query.model_copy(update={"budget": 100})
    for changed, said in (
        (LONG, "No plan is possible"),
        ({"max_calls": 3}, "with the calls that I had"),
    ):
        session = open_session(
            TripTask("poor", poor, world), replace(dialect_named("planner_r1"), **changed)
        )
        assert play_careful(session, CAREFUL).trip is None
        assert (
            said in session.transcript.segments[-1].text
            and close_session(session).more["plan"] is None
        )


def test_a_style_that_is_none_is_refused() -> None:
    with pytest.raises(UserError, match="direct, spender, comparing, careful, brief"):
        ExpertStyle("hasty")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="at least 0"):
        ExpertStyle("careful", max_extra_searches=-1)

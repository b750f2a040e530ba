"""Injected faults: what each looks like, that they are noted, and that they depend on the seed and
the episode alone."""

from __future__ import annotations

import json
import math
import random
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from tripwright.domains import domain_named, face_named
from tripwright.errors import UserError
from tripwright.tools.answer import ToolAnswer
from tripwright.tools.faults import Faults, FaultyTools, fault_kind
from tripwright.tools.toolbox import ToolBox
from tripwright.world.records import WorldTables
from tripwright.world.store import World

FACES = [face.name for face in domain_named("travelplanner").faces]

CITY = {"city": "Boston"}


def always(kind: str, **settings: Any) -> Faults:
    return Faults(probability=1.0, kinds={kind: 1.0}, **settings)


def faulty(world: World, faults: Faults, key: str = "q1", face: str = "planner_r1") -> FaultyTools:
    return FaultyTools(ToolBox(world, face_named(face)), faults, key)


@pytest.mark.parametrize("face", FACES)
def test_an_unavailable_tool_says_stars_sentence(world: World, face: str) -> None:
    tools = faulty(world, always("unavailable"), face=face)
    name, arguments = tools.face.offer.call_of(
        "search_flights", {"origin": "Boston", "destination": "Rockford", "date": "2022-03-16"}
    )
    sentence = f"Error: Current tool {name} is not available."
    said = (
        json.dumps({"error": sentence})
        if face == "planner_r1"
        else f'{{"error":"{sentence}"}}'
        if face == "compact"
        else sentence
    )
    assert tools.call(name, arguments) == ToolAnswer(said, error=True, fault="unavailable")


def test_latency_is_noted_and_waited_only_where_asked(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    clean = ToolBox(world, face_named("planner_r1")).call("search_restaurants", CITY)
    for wait in (False, True):
        answer = faulty(world, always("latency", latency_seconds=(2.0, 3.0), wait=wait)).call(
            "search_restaurants", CITY
        )
        assert (answer.text, answer.error) == (clean.text, False)
        kind, seconds, unit = (answer.fault or "").split()
        assert kind == "latency" and 2 <= float(seconds) <= 3 and unit == "s"
    assert len(waited) == 1 and f"{waited[0]:.2f}" == seconds


def test_too_much_latency_is_a_time_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr(time, "sleep", waited.append)
    slow = always("latency", latency_seconds=(31.0, 40.0), timeout_seconds=30.0, wait=True)
    for faults in (slow, always("timeout", wait=True)):
        answer = faulty(world, faults).call("search_restaurants", CITY)
        assert json.loads(answer.text) == {
            "error": "Error: Current tool search_restaurants timed out after 30 seconds."
        }
        assert answer.error
        assert answer.fault == "timeout 30 s"
        assert fault_kind(answer.fault) == "timeout"
    assert waited == [30.0, 30.0]


def test_a_truncated_answer_is_half_of_it_and_does_not_say_so(world: World) -> None:
    clean = ToolBox(world, face_named("star")).call("SearchRestaurant", CITY)
    answer = faulty(world, always("truncated"), face="star").call("SearchRestaurant", CITY)
    assert answer == ToolAnswer(clean.text[: len(clean.text) // 2], error=False, fault="truncated")
    assert answer.rows() == clean.rows(answer.text) and not answer.rows().is_whole


def test_stale_flights_are_those_of_the_day_before() -> None:
    flights = [
        (f"F{day}", "9", "08:00", "09:00", "1 hours", f"2022-03-{day}", "Boston", "Salem", "10.0")
        for day in ("15", "16")
    ]
    world = World.in_memory(
        WorldTables([("Boston", "MA"), ("Salem", "MA")], flights, [], [], [], [])
    )
    tools = faulty(world, always("stale"), face="star")
    search = {"departure": "Boston", "destination": "Salem", "date": "2022-03-16"}
    answer = tools.call("SearchFlight", search)
    the_day_before = ToolBox(world, face_named("star")).call(
        "SearchFlight", {**search, "date": "2022-03-15"}
    )
    assert answer == replace(the_day_before, fault="stale")
    assert answer.rows() == the_day_before.rows()
    # no flight was there on the 14th
    assert tools.call("SearchFlight", {**search, "date": "2022-03-15"}).error
    # there is no day before
    assert tools.call("SearchFlight", {**search, "date": "soon"}).fault is None


def test_any_other_stale_answer_is_what_the_tool_last_said_of_something_else(world: World) -> None:
    tools, clean = faulty(world, always("stale")), ToolBox(world, face_named("planner_r1"))
    massachusetts, illinois = {"state": "Massachusetts"}, {"state": "Illinois"}
    first = tools.call("get_cities", massachusetts)
    # nothing to be stale yet
    assert first == clean.call("get_cities", massachusetts) and first.fault is None
    assert tools.call("search_restaurants", CITY).fault is None  # another tool
    # the same question: its old answer is right
    assert tools.call("get_cities", massachusetts).fault is None
    assert tools.call("get_cities", illinois) == ToolAnswer(first.text, error=False, fault="stale")


def outcome(world: World, faults: Faults, key: str, calls: int = 300) -> list[str | None]:
    tools = faulty(world, faults, key)
    return [tools.call("search_restaurants", CITY).fault for _ in range(calls)]


MIXED = Faults(
    probability=0.3,
    kinds={"unavailable": 1.0, "latency": 1.0, "timeout": 1.0, "truncated": 1.0},
    seed=4,
)


def test_the_same_seed_and_episode_meet_the_same_faults(world: World) -> None:
    first = outcome(world, MIXED, "q1")
    random.seed(1)
    together = [faulty(world, MIXED, "q1"), faulty(world, MIXED, "q2")]
    interleaved = [
        [tools.call("search_restaurants", CITY).fault for tools in together][0] for _ in range(300)
    ]
    assert interleaved == first
    assert outcome(world, MIXED, "q2") != first
    assert outcome(world, Faults(**{**vars(MIXED), "seed": 5}), "q1") != first


def test_the_draws_are_the_same_on_every_machine_and_in_every_version(world: World) -> None:
    assert [
        n for n, fault in enumerate(outcome(world, Faults(probability=0.1), "q1", 40)) if fault
    ] == [6, 13, 22, 25, 32]


def test_what_one_call_is_does_not_move_the_faults_of_the_next(world: World) -> None:
    tools = faulty(world, MIXED, "q1")
    found = [
        tools.call(*(("eat", {}) if n % 2 else ("search_restaurants", CITY))).fault
        for n in range(300)
    ]
    assert found[::2] == outcome(world, MIXED, "q1")[::2]


def test_they_come_as_often_as_asked(world: World) -> None:
    met = Counter(fault_kind(fault) for fault in outcome(world, MIXED, "many", 4000) if fault)
    assert 0.27 < met.total() / 4000 < 0.33
    assert set(met) == set(MIXED.kinds) and max(met.values()) < 1.4 * min(met.values())
    assert outcome(world, Faults(), "q1") == [None] * 300


def test_tools_may_have_their_own_probability(world: World) -> None:
    tools = faulty(world, Faults(probability=1.0, per_tool={"search_restaurants": 0.0}))
    assert tools.call("search_restaurants", CITY).fault is None
    assert tools.call("get_cities", {"state": "Illinois"}).fault == "unavailable"


def test_a_tool_that_the_face_does_not_know_is_refused(world: World) -> None:
    with pytest.raises(UserError, match="'SearchFlight'"):
        faulty(world, Faults(per_tool={"SearchFlight": 0.1}))


def test_what_is_no_tool_cannot_fail(world: World) -> None:
    answer = faulty(world, always("unavailable")).call("eat", {})
    assert answer.fault is None and "Unknown tool 'eat'" in answer.text


@pytest.mark.parametrize(
    "settings",
    [
        *({"probability": value} for value in (1.5, math.nan)),
        {"per_tool": {"calculator": -1.0}},
        *({"kinds": kinds} for kinds in ({}, {"slow": 1.0}, {"stale": 0.0}, {"timeout": math.nan})),
        {"kinds": {"timeout": math.inf}},
        *({"latency_seconds": between} for between in ((3.0, 2.0), (1.0,), (1.0, 2.0, 3.0))),
        {"latency_seconds": (1.0, math.inf)},
        *({"timeout_seconds": seconds} for seconds in (0.0, math.nan, math.inf)),
    ],
)
def test_settings_that_make_no_sense_are_one_line(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError) as refused:
        Faults(**settings)
    assert "\n" not in str(refused.value)

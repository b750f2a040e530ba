"""Injected faults: what each looks like, that they are noted, and that they depend on the seed and
the episode alone."""

import json
import math
import random

import pytest

from tripwright.domains import domain_named, face_named
from tripwright.errors import UserError
from tripwright.tools.faults import Faults, FaultyTools
from tripwright.tools.toolbox import ToolBox
from tripwright.world.store import World

FACES = [face.name for face in domain_named("travelplanner").faces]

CITY = {"city": "Boston"}


def faulty(world: World, faults: Faults, key: str = "q1", face: str = "planner_r1") -> FaultyTools:
    return FaultyTools(ToolBox(world, face_named(face)), faults, key)


@pytest.mark.parametrize("face", FACES)
def test_an_unavailable_tool_says_stars_sentence(world, face):
    tools = faulty(world, Faults(probability=1.0), face=face)
    name, arguments = tools.face.offer.call_of(
        "search_flights", {"origin": "Boston", "destination": "Rockford", "date": "2022-03-16"}
    )
    sentence = f"Error: Current tool {name} is not available."
    answer = tools.call(name, arguments)
    said = answer.text if face == "star" else json.loads(answer.text)["error"]
    assert (said, answer.error, answer.fault) == (sentence, True, "unavailable")


def outcome(world: World, faults: Faults, key: str, calls: int = 300) -> list[str | None]:
    tools = faulty(world, faults, key)
    return [tools.call("search_restaurants", CITY).fault for _ in range(calls)]


MIXED = Faults(probability=0.3, seed=4)


def test_the_same_seed_and_episode_meet_the_same_faults(world):
    first = outcome(world, MIXED, "q1")
    random.seed(1)
    together = [faulty(world, MIXED, "q1"), faulty(world, MIXED, "q2")]
    interleaved = [
        [tools.call("search_restaurants", CITY).fault for tools in together][0] for _ in range(300)
    ]
    assert interleaved == first
    assert outcome(world, MIXED, "q2") != first
    assert outcome(world, Faults(**{**vars(MIXED), "seed": 5}), "q1") != first


def test_the_draws_are_the_same_on_every_machine_and_in_every_version(world):
    assert [
        n for n, fault in enumerate(outcome(world, Faults(probability=0.1), "q1", 40)) if fault
    ] == [6, 13, 22, 25, 32]


def test_what_one_call_is_does_not_move_the_faults_of_the_next(world):
    tools = faulty(world, MIXED, "q1")
    found = [
        tools.call(*(("eat", {}) if n % 2 else ("search_restaurants", CITY))).fault
        for n in range(300)
    ]
    assert found[::2] == outcome(world, MIXED, "q1")[::2]


def test_what_is_no_tool_cannot_fail(world):
    answer = faulty(world, Faults(probability=1.0)).call("eat", {})
    assert answer.fault is None and "Unknown tool 'eat'" in answer.text


@pytest.mark.parametrize("value", [1.5, -1.0, math.nan])
def test_settings_that_make_no_sense_are_one_line(value):
    with pytest.raises(UserError) as refused:
        Faults(probability=value)
    assert "\n" not in str(refused.value)

"""The ablations of row D7: what the halves of the joint reward read."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from tripwright.domains import dialect_named, domain_named
from tripwright.episode import Episode, close_session
from tripwright.training.data_source import COLD_START, RL, trips_of
from tripwright.training.grpo import ReplayBuffer, ReplaySettings
from tripwright.training.recipe import load_recipe
from tripwright.training.rollouts import RolloutGroup
from tripwright.training.trips import Trips, expert_session

DEEPTRAVEL = domain_named("deeptravel")
RECIPE = Path(__file__).parents[2] / "recipes" / "nano_errands" / "deeptravel.toml"
TURNS = 'grpo.curriculum.stages=[["turns", 500]]'  # without the trajectory verifier


@cache
def one_trip() -> tuple[Any, Any]:
    """A request and its world, which take a while to make."""
    return trips_of(load_recipe(RECIPE, [TURNS]), RL).request_at(0)


def played(every_turn: bool, old: str = "", new: str = "") -> Episode:
    """The expert's episode of one request, with something else in its answer."""
    request, world = one_trip()
    task = DEEPTRAVEL.task("e", request, world)
    dialect = dialect_named("deeptravel_cards_compact")
    session = expert_session(request, world, dialect, None)
    session.task = DEEPTRAVEL.judge.ungated["turns"](task) if every_turn else task
    answer = session.transcript.answer
    assert answer is not None and old in answer
    session.transcript.answer = answer.replace(old, new) if old else answer
    return close_session(session)


def empty_answer() -> str:
    """Cards that recommend nothing."""
    return json.dumps({"party": one_trip()[0].party_size})


def worth(episode: Episode) -> dict[str, float]:
    return {
        stage: DEEPTRAVEL.rewards[stage](episode).total
        for stage in ("success", "trajectory", "turns")
    }


def test_a_sound_answer_is_worth_everything_to_each_half():
    assert worth(played(True)) == {"success": 1.0, "trajectory": 1.0, "turns": 1.0}


def test_an_itinerary_of_true_words_that_is_no_trip():
    """Nothing said is false, and nothing is recommended: the turns alone are content with it."""
    answer, nothing = played(True).transcript.answer, empty_answer()
    assert worth(played(True, answer, nothing)) == {"success": 0.0, "trajectory": 0.0, "turns": 1.0}
    # spared by the early stop
    assert worth(played(False, answer, nothing))["turns"] == 0.0


def test_a_trip_with_a_false_word():
    """The trip could be made; a price is not its row's."""
    assert worth(played(True, '"amount":', '"amount":1')) == {
        "success": 0.0,
        "trajectory": 1.0,
        "turns": 0.0,
    }


def test_only_the_recipe_without_the_trajectory_verifier_has_every_turn_judged(monkeypatch):
    monkeypatch.setattr(Trips, "request_at", lambda trips, number: one_trip())
    every = {}
    for change in (TURNS, "grpo.replay=none"):
        every[change] = [
            getattr(trips_of(load_recipe(RECIPE, [change]), stage).at(0), "every_turn", None)
            for stage in (RL, COLD_START)
        ]
    assert every == {TURNS: [True, False], "grpo.replay=none": [False, False]}


def test_a_request_waits_for_replay_where_nobody_has_the_stages_full_reward():
    """Without the trajectory verifier an answer that only the turns pass has solved its request."""
    request, world = one_trip()
    trips = trips_of(load_recipe(RECIPE, [TURNS]), RL)
    answer = played(True).transcript.answer or ""
    episode = played(True, answer, empty_answer())
    for stage, waiting in (("turns", 0), ("trajectory", 1), ("success", 1)):
        group = RolloutGroup(0, DEEPTRAVEL.task("train-0", request, world), [episode])
        group.rewards = group.rewarded(DEEPTRAVEL.rewards[stage])
        buffer = ReplayBuffer(ReplaySettings(), trips)
        buffer.remember([group])
        assert len(buffer) == waiting

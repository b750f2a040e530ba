"""Answers without a thought: what they say, and that judging gives them no pass."""

import pytest

from tripwright.domains import dialect_named, domain_named
from tripwright.domains.travelplanner.queries.sample import Mix, make_queries
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import play
from tripwright.world.generator import load_world

TRIPS = domain_named("travelplanner")


def played(policy, dialect="compact"):
    world = load_world("nano", 7)
    queries = make_queries(world, 20, 1, Mix(days=(3, 5)))
    tasks = [TripTask(f"q{number}", query, world) for number, query in enumerate(queries)]
    return list(play(TRIPS.players[policy](), tasks, dialect_named(dialect)))


@pytest.mark.parametrize("dialect", ["compact", "planner_r1", "star"])
def test_one_plan_is_said_word_by_word_to_every_request_without_a_call(dialect):
    episodes = played("fixed-plan", dialect)
    assert len({episode.transcript.answer for episode in episodes}) == 1
    assert all(episode.verdict.readable for episode in episodes)
    assert not any(episode.transcript.calls or episode.passed for episode in episodes)


def test_a_plan_that_is_said_to_all_is_one_that_passes():
    world = load_world("nano", 7)
    task = TripTask("its own", next(make_queries(world, 1, 0)), world)
    (episode,) = play(TRIPS.players["fixed-plan"](), [task], dialect_named("compact"))
    assert episode.passed


def test_a_meal_and_a_sight_at_home_earn_half_of_the_facts_of_common_sense():
    groups = [each.verdict.group("commonsense") for each in played("meal-at-home")]
    assert {group.passed_count for group in groups} == {4} and not any(g.passed for g in groups)

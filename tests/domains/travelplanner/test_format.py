"""STAR's protocol (rows S1, S5): what is not in the printed format is worth nothing, for reward,
evaluation and the choice of training data alike."""

import pytest

from tripwright.data.trajectories import ending_problem, format_problem
from tripwright.domains import dialect_named
from tripwright.domains.travelplanner.queries.sample import make_queries
from tripwright.domains.travelplanner.rewards import SUM
from tripwright.domains.travelplanner.task import TripTask
from tripwright.episode import Episode, Turn, close_session, open_session
from tripwright.training.trips import expert_session
from tripwright.world.generator import build_tables
from tripwright.world.store import World

DIALECT = dialect_named("star")


@pytest.fixture(scope="module")
def trip() -> TripTask:
    world = World.in_memory(build_tables("nano", 21))
    return TripTask("t", next(make_queries(world, 1, 3)), world)


@pytest.fixture(scope="module")
def turns(trip: TripTask) -> list[str]:
    """A passing episode's."""
    session = expert_session(trip.request, trip.world, DIALECT, None)
    return [s.text for s in session.transcript.segments if s.role == "assistant"]


def replayed(trip: TripTask, turns: list[str]) -> Episode:
    session = open_session(trip, DIALECT)
    for text in turns:
        if not session.done:
            session.take(Turn(text))
    return close_session(session)


def test_what_is_in_the_format_is_worth_all(trip, turns):
    episode = replayed(trip, [f"\n{text}\n" for text in turns])
    assert episode.passed and SUM(episode).total == 5.0
    assert format_problem(episode.transcript, DIALECT) is None


@pytest.mark.parametrize(
    ("number", "old", "new"),
    [
        (0, "<think>", "Well. <think>"),
        (-1, "<think>", "Well. <think>"),
        (0, "</think>", "</think> So:"),
        (-1, "</think>", "</think> So:"),
        (0, "</think>", ""),
        (0, "<think>", "<think>One.</think><think>"),
        (0, "</tool_call>", "</tool_call> Now I wait."),
        (-1, "</answer>", "</answer> Have fun!"),
    ],
)
def test_a_format_error_is_worth_nothing(trip, turns, number, old, new):
    spoilt = list(turns)
    assert old in spoilt[number]
    spoilt[number] = spoilt[number].replace(old, new)
    episode = replayed(trip, spoilt)
    assert episode.verdict is not None and not episode.verdict.group("format").passed
    assert (episode.passed, SUM(episode).total) == (False, 0.0)
    assert ending_problem(episode.transcript) == "no answer: format_error"

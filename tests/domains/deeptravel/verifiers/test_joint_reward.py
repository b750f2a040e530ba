"""Row D5: the trajectory first, then the turns; a fault of the verifier is no zero."""

import pytest

from tests.domains.deeptravel.verifiers import hand_made as by_hand
from tripwright.domains.deeptravel.request import TravelRequest
from tripwright.domains.deeptravel.verifiers.findings import (
    Conclusion,
    JointFinding,
    NoVerdict,
    TrajectoryFinding,
    TurnConclusion,
    TurnFinding,
    joint,
)
from tripwright.domains.deeptravel.verifiers.rules import RuleVerifier


class Scripted:
    """Says what it is told to; an exception is raised."""

    name = "scripted"

    def __init__(self, conclusion: Conclusion | Exception, *turns: TurnConclusion | Exception):
        self.conclusion, self.turns, self.asked = conclusion, turns, 0

    def trajectory(self, request: TravelRequest, transcript: object) -> TrajectoryFinding:
        if isinstance(self.conclusion, Exception):
            raise self.conclusion
        return TrajectoryFinding(self.conclusion)

    def turn(self, request: TravelRequest, transcript: object, call: int) -> TurnFinding:
        self.asked += 1
        said = self.turns[call - 1]
        if isinstance(said, Exception):
            raise said
        return TurnFinding(call, said)


@pytest.fixture
def run():
    def judge(verifier: object, **settings: object) -> JointFinding:
        return joint(verifier, by_hand.REQUEST, by_hand.made_transcript(by_hand.ANSWER), **settings)

    return judge


def test_all_turns_pass(run):
    verifier = Scripted("very_satisfied_without_backup", *["satisfied"] * 5)
    found = run(verifier)
    assert (found.reward, len(found.turns), found.turns_saved, verifier.asked) == (1.0, 5, 0, 5)


def test_a_failed_trajectory_spares_every_turn(run):
    verifier = Scripted("basically_satisfied")
    found = run(verifier)
    assert (found.reward, found.turns, found.turns_saved, verifier.asked) == (0.0, (), 5, 0)
    lenient = Scripted("basically_satisfied", *["satisfied"] * 5)
    assert run(lenient, passing=("basically_satisfied",)).reward == 1.0


def test_without_the_early_stop_the_turns_are_judged_and_the_reward_is_0_all_the_same(run):
    turns = ("satisfied", "inconsistent_with_response", *["satisfied"] * 3)
    found = run(Scripted("basically_satisfied", *turns), every_turn=True)
    assert (found.reward, len(found.turns), found.turns_saved) == (0.0, 5, 0)
    assert run(Scripted("basically_satisfied", *["satisfied"] * 5), every_turn=True).reward == 0.0


def test_the_first_failed_turn_decides(run):
    turns = ("satisfied", "inconsistent_with_response", NoVerdict("never asked"))
    found = run(verifier := Scripted("very_satisfied", *turns))
    assert (found.reward, len(found.turns), found.turns_saved, verifier.asked) == (0.0, 2, 3, 2)
    every = Scripted("very_satisfied", "satisfied", "tool_call_logic_error", *["satisfied"] * 3)
    assert (run(every, every_turn=True).reward, every.asked) == (0.0, 5)


@pytest.mark.parametrize("turns", [(), ("satisfied", NoVerdict("the endpoint is dead"))])
def test_a_verifier_that_fails_is_unscored(run, turns):
    conclusion = "very_satisfied" if turns else NoVerdict("the endpoint is dead")
    found = run(Scripted(conclusion, *turns))
    assert found.reward is None and found.unscored == "the endpoint is dead"


def test_an_episode_that_our_side_broke_is_unscored():
    transcript = by_hand.made_transcript(by_hand.ANSWER)
    transcript.fault = "The tool host is down."
    assert joint(RuleVerifier(), by_hand.REQUEST, transcript).reward is None


def test_no_answer_is_the_models_failure():
    transcript = by_hand.made_transcript("")
    transcript.answer = None
    found = joint(RuleVerifier(), by_hand.REQUEST, transcript)
    assert (found.reward, found.turns_saved) == (0.0, 5)
